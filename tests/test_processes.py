"""Three servers as processes of their own: the right result, and nothing left behind whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

import ppaurora
from ppaurora.errors import MisuseError, PartyFailedError, PeerLostError, PeerTimeoutError, ProtocolError
from ppaurora.local import processes
from ppaurora.local.threads import root_cause
from ppaurora.party.job import PROTOCOLS
from ppaurora.session import Progress, no_progress
from ppaurora.suites.role import Role

Owner = tuple[ArrayLike, ArrayLike]
PROXY_0, PROXY_1, HELPER = Role
TITLES = [role.title for role in Role]
A_FEW_SECONDS = 6.0


def owners(*sizes: int, seed: int = 1) -> list[Owner]:
    """Labels and scores, with ties."""
    random = np.random.default_rng(seed)
    return [(random.integers(0, 2, size), random.integers(0, 65, size) / 64) for size in sizes]


def pooled(data: Sequence[Owner]) -> tuple[np.ndarray, np.ndarray]:
    labels, scores = zip(*data, strict=True)
    return np.concatenate(labels), np.concatenate(scores)


def work_long(progress: Progress, timeout: float = 60.0) -> None:
    """Some seconds of work, if nobody interferes."""
    ppaurora.evaluate(owners(400, 400), protocol="paper", transport="tls", progress=progress, timeout=timeout)


def children_of(parent: int) -> set[int]:
    """All of them, those that nobody has waited for included."""
    children = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent:
            children.add(int(stat.parent.name))
    return children


def title_of(pid: int) -> str | None:
    """Which server this process is; None if it is none, or not any more."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return None
    return words[words.index("ppaurora.party") + 1] if "ppaurora.party" in words else None


def servers_of(parent: int) -> dict[str, int]:
    titles = {pid: title_of(pid) for pid in children_of(parent)}
    return {title: pid for pid, title in titles.items() if title is not None}


def open_sockets(pid: int) -> int:
    sockets = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed while we look
            sockets += os.readlink(descriptor).startswith("socket:")
    return sockets


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(autouse=True)
def leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No child of this process, running or unburied, and no folder with keys."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = children_of(os.getpid())
    yield
    assert children_of(os.getpid()) <= before
    assert list(folder.iterdir()) == []


def test_the_census_finds_a_child_and_a_folder_left_behind() -> None:
    """The control of the fixture above, and of whoever counts servers below."""
    command = [sys.executable, "-c", "input()", "-m", "ppaurora.party", "proxy 1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.pid in children_of(os.getpid())
        assert servers_of(os.getpid()) == {"proxy 1": child.pid}
        child.communicate(b"\n")
    assert child.pid not in children_of(os.getpid())
    assert Path(tempfile.gettempdir()).name == "temporary"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_result_is_that_of_scikit_learn_on_the_pooled_data(protocol: str) -> None:
    data = owners(30, 1, 25)
    report = ppaurora.evaluate(data, metrics=["auroc", "aupr"], protocol=protocol, transport="tls")
    y_true, y_score = pooled(data)
    precision, recall, _ = precision_recall_curve(y_true, y_score)
    assert report.metrics["auroc"] == pytest.approx(roc_auc_score(y_true, y_score), abs=1e-9)
    assert report.metrics["aupr"] == pytest.approx(auc(recall, precision), abs=1e-7)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_processes_and_threads_say_the_same_and_pay_the_same(protocol: str) -> None:
    data = owners(12, 9)
    in_threads = ppaurora.evaluate(data, protocol=protocol, transport="memory")
    in_processes = ppaurora.evaluate(data, protocol=protocol, transport="tls")
    assert in_processes.metrics == pytest.approx(in_threads.metrics, abs=1e-9)
    for figure in ("messages", "bytes", "rounds", "bytes_by_party", "bytes_by_step"):
        assert getattr(in_processes.cost, figure) == getattr(in_threads.cost, figure)


def test_progress_is_reported_while_it_runs() -> None:
    reports: list[tuple[str, int, int]] = []
    running: list[dict[str, int]] = []

    def watch(step: str, done: int, total: int) -> None:
        reports.append((step, done, total))
        running.append(servers_of(os.getpid()))

    ppaurora.evaluate(owners(20, 20), protocol="paper", transport="tls", progress=watch)
    assert all(0 <= done <= total for _, done, total in reports)
    assert sorted(running[0]) == sorted(TITLES)


def test_the_servers_end_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left alone, every server ends by itself and without an abort."""
    codes: dict[Role, int] = {}
    stop = processes._Parties.stop

    def wait_and_stop(parties: processes._Parties) -> None:
        codes.update((role, process.wait(10)) for role, process in parties._processes.items())
        stop(parties)

    monkeypatch.setattr(processes._Parties, "stop", wait_and_stop)
    ppaurora.evaluate(owners(3, 3), transport="tls")
    assert codes == dict.fromkeys(Role, 0)


LITTLE_DATA = [([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5]), ([0, 1], [0.5, 0.5])]
SCRIPT = f"""
import ppaurora
print("once")
print(ppaurora.evaluate({LITTLE_DATA}, metrics=["auroc"], transport="tls").metrics["auroc"])
"""


def check_output_of_script(run: subprocess.CompletedProcess[str]) -> None:
    assert run.stderr == ""
    assert run.returncode == 0
    first, result = run.stdout.split()
    assert first == "once"
    assert float(result) == pytest.approx(roc_auc_score(*pooled(LITTLE_DATA)), abs=1e-9)


def test_it_runs_from_a_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    check_output_of_script(
        subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, timeout=30)
    )


def test_it_runs_from_a_script_on_standard_input(tmp_path: Path) -> None:
    check_output_of_script(
        subprocess.run(
            [sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, cwd=tmp_path, timeout=30
        )
    )


class Strike:
    """A progress report that sends a signal to one server, the first time it is called."""

    def __init__(self, title: str, number: signal.Signals) -> None:
        self._title = title
        self._number = number
        self.time: float | None = None

    def __call__(self, step: str, done: int, total: int) -> None:
        if self.time is None:
            os.kill(servers_of(os.getpid())[self._title], self._number)
            self.time = time.monotonic()


@pytest.mark.parametrize("title", TITLES)
def test_a_killed_server_is_named_at_once(title: str) -> None:
    strike = Strike(title, signal.SIGKILL)
    with pytest.raises(PartyFailedError, match=f"^{title} was killed by signal 9 before it was done"):
        work_long(progress=strike)
    assert strike.time is not None
    assert time.monotonic() - strike.time < A_FEW_SECONDS
    assert servers_of(os.getpid()) == {}


@pytest.mark.parametrize("title", TITLES)
def test_a_frozen_server_is_named_after_the_timeout(title: str) -> None:
    strike = Strike(title, signal.SIGSTOP)
    with pytest.raises(
        ProtocolError, match=f"^{title} (gave no sign of life|sent nothing|received nothing) for"
    ):
        work_long(progress=strike, timeout=2.5)
    assert strike.time is not None
    assert time.monotonic() - strike.time < 2.5 + A_FEW_SECONDS
    assert servers_of(os.getpid()) == {}


def test_an_error_in_the_drivers_own_code_stops_the_servers() -> None:
    def stumble(step: str, done: int, total: int) -> None:
        assert len(servers_of(os.getpid())) == 3
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work_long(progress=stumble)
    assert servers_of(os.getpid()) == {}


def say(**event: object) -> str:
    """A line of shell that tells the driver something."""
    return f"echo '{json.dumps(event)}'"


LISTENS = say(event="listening", port=1)
READS_ORDER = "read order"
FALLS_SILENT = "exec sleep 60"
BLAMES_HELPER = say(event="error", kind="PeerTimeoutError", peer="helper", message="helper sent nothing")
BLAMES_ITSELF = say(event="error", kind="MisuseError", message="a bug")

IMPOSTORS = {
    "never speaks": ([FALLS_SILENT], PartyFailedError, "gave no sign of life for 1.5 seconds"),
    "never reads": ([LISTENS, FALLS_SILENT], PartyFailedError, "gave no sign of life for 1.5 seconds"),
    "ends at once": (["exit 3"], PartyFailedError, "ended with exit code 3 before it was done"),
    "ends later": (
        [LISTENS, READS_ORDER, "exit 4"],
        PartyFailedError,
        "ended with exit code 4 before it was done",
    ),
    "babbles": (["echo babble", FALLS_SILENT], PartyFailedError, "could no longer be understood"),
    "babbles later": (
        [LISTENS, "echo babble", FALLS_SILENT],
        PartyFailedError,
        "could no longer be understood",
    ),
    "blames a peer": ([LISTENS, BLAMES_HELPER, FALLS_SILENT], PeerTimeoutError, "^helper sent nothing$"),
    "blames itself": ([LISTENS, BLAMES_ITSELF, FALLS_SILENT], MisuseError, "^(proxy .|helper): a bug$"),
}


@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_a_server_that_does_not_do_its_part_is_a_clear_error(
    impostor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, kind, message = IMPOSTORS[impostor]
    program = tmp_path / "impostor"
    program.write_text("\n".join(["#!/bin/sh", *script]) + "\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(processes, "_SECONDS_TO_START", 1.5)
    monkeypatch.setattr(processes, "_SECONDS_FOR_LAST_WORDS", 0.3)
    more_than_a_pipe_holds = owners(20_000, 20_000)
    start = time.monotonic()
    with pytest.raises(kind, match=message):
        ppaurora.evaluate(more_than_a_pipe_holds, transport="tls", timeout=1.5)
    assert time.monotonic() - start < A_FEW_SECONDS


def test_the_cause_is_preferred_to_its_echoes() -> None:
    lost, cause = PeerLostError("proxy 1", "closed"), MisuseError("a bug")
    assert root_cause({PROXY_0: lost, PROXY_1: cause}) is cause
    assert root_cause({PROXY_1: cause, PROXY_0: lost}) is cause


def test_a_party_that_was_heard_is_not_the_one_that_fell_silent() -> None:
    """The helper waited for proxy 1, which itself waited for proxy 0."""
    echo, cause = PeerTimeoutError("proxy 1", "sent nothing"), PeerTimeoutError("proxy 0", "sent nothing")
    assert root_cause({HELPER: echo, PROXY_1: cause}) is cause
    assert root_cause({PROXY_1: cause, HELPER: echo}) is cause


def test_else_the_first_to_complain_is_believed() -> None:
    first, second = PeerLostError("proxy 1", "closed"), PeerLostError("proxy 0", "closed")
    assert root_cause({PROXY_0: first, PROXY_1: second}) is first


DRIVER = """
import numpy, ppaurora
owner = (numpy.arange(1000) % 2, numpy.arange(1000) / 1000)
running = lambda *_: print("running", flush=True)
ppaurora.evaluate([owner, owner], protocol="paper", transport="tls", progress=running)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a driver in a session of its own; whatever is left of it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str | Path) -> subprocess.Popen[str]:
        folder = tmp_path / "of-the-driver"
        folder.mkdir()
        started.append(
            subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "TMPDIR": str(folder)},
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    for driver in started:
        with driver:
            if driver.poll() is None:
                driver.kill()


def all_gone(pids: set[int]) -> bool:
    """None of them is a server any more; who is dead and unburied is nobody's server."""
    return wait_until(lambda: all(title_of(pid) is None for pid in pids), A_FEW_SECONDS)


@pytest.mark.parametrize("moment", ["starting", "running"])
def test_a_killed_driver_takes_its_servers_with_it(
    moment: str, start: Callable[..., subprocess.Popen[str]]
) -> None:
    driver = start("-c", DRIVER)
    if moment == "running":
        assert driver.stdout is not None
        assert driver.stdout.readline() == "running\n"
    assert wait_until(lambda: len(servers_of(driver.pid)) == 3)
    servers = set(servers_of(driver.pid).values())
    driver.kill()
    assert all_gone(servers)


def test_a_server_whose_input_ends_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It need not wait until it has something to say, and finds nobody listening."""
    codes: list[int] = []

    class GoneError(Exception):
        pass

    def go_away(parties: processes._Parties, *_: object) -> None:
        for courier in parties._couriers:
            courier.join()
        for process in parties._processes.values():
            assert process.stdin is not None
            process.stdin.close()
        codes.extend(process.wait(A_FEW_SECONDS) for process in parties._processes.values())
        raise GoneError

    monkeypatch.setattr(processes._Parties, "outcomes", go_away)
    with pytest.raises(GoneError):
        work_long(no_progress)
    left_with_driver, lost_a_peer = 75, 3
    assert codes[0] == left_with_driver
    assert set(codes) <= {left_with_driver, lost_a_peer}


# Whoever runs these tests in the background may have handed down an ignored SIGINT.
COMMAND_LINE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from ppaurora.cli import main
main()
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, (labels, scores) in zip(paths, owners(1000, 1000), strict=True):
        rows = (f"{label},{score}" for label, score in zip(labels, scores, strict=True))
        path.write_text("\n".join(["label,score", *rows]) + "\n")
    return paths


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to the driver", "to all, as a terminal does"])
def test_ctrl_c_ends_everything_quietly(
    send: Callable[[int, int], None], files: list[Path], start: Callable[..., subprocess.Popen[str]]
) -> None:
    driver = start("-c", COMMAND_LINE, "evaluate", "--protocol", "paper", *files)
    assert wait_until(lambda: len(servers_of(driver.pid)) == 3)
    servers = servers_of(driver.pid)
    assert wait_until(lambda: open_sockets(servers["helper"]) >= 2)  # it has met a peer: they are at work
    send(driver.pid, signal.SIGINT)
    output, errors = driver.communicate(timeout=A_FEW_SECONDS)
    assert driver.returncode == 130
    assert output == ""
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert all_gone(set(servers.values()))
