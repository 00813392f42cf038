"""How servers start: with what they need and nothing else, and before the command has read its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.cli.main import cli
from ppaurora.party.starting import discard, start_process
from ppaurora.protocols import Fast
from tests.support.command_line import OWNERS, RUN, CommandLine, check_refused, check_result, table, written
from tests.support.server_processes import (
    A_FEW_SECONDS,
    children_of,
    record_started,
    servers_of,
    title_of,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("ordinary_starts")

NOT_FOR_SERVERS = {
    "aiohttp",
    "asyncio",
    "click",
    "cryptography.x509",
    "rich",
    "sklearn",
    "sqlite3",
    "subprocess",
    "tempfile",
    "tomllib",
    "ppaurora.credentials.certificates",
    "ppaurora.cli",
    "ppaurora.evaluation",
    "ppaurora.local",
    "ppaurora.node",
    "ppaurora.owner",
    "ppaurora.party.driver",
    "ppaurora.evaluation.report",
    "ppaurora.study",
}
HEAVY = {"cryptography", "msgspec", "numpy", "rich", "ssl"}


def loaded_by(module: str) -> set[str]:
    """All modules that a fresh interpreter has loaded after it has loaded this one."""
    code = f"import {module}, sys; print(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True
        ).stdout.split()
    )


def test_a_server_loads_nothing_that_only_others_need() -> None:
    assert loaded_by("ppaurora.party.process") & NOT_FOR_SERVERS == set()


def test_a_command_that_only_helps_loads_nothing_heavy() -> None:
    assert loaded_by("ppaurora.cli.main") & HEAVY == set()


def test_what_is_loaded_is_found() -> None:
    """The control of the two tests above."""
    found = loaded_by("ppaurora.cli.evaluate")
    assert found >= HEAVY
    assert found >= {"click", "rich", "subprocess", "ppaurora.evaluation", "ppaurora.local"}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    return record_started(monkeypatch)


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [written(tmp_path, name, table(samples)) for name, samples in OWNERS.items()]


def test_a_command_uses_the_servers_that_were_started_before_it_read_the_files(
    paths: list[Path], started: list[subprocess.Popen[bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    finished = CommandLine(capsys)("evaluate", "--format", "json", *paths)
    assert finished.code == 0, finished.err
    check_result(finished.out)
    assert len(started) == 3
    assert all(process.returncode is not None for process in started)


def test_a_shell_that_completes_a_line_starts_nothing(started: list[subprocess.Popen[bytes]]) -> None:
    line = ["evaluate", "a.csv"]
    with cli.make_context("ppaurora", line, resilient_parsing=True) as context:
        cli.resolve_command(context, line)
    assert started == []


@pytest.mark.parametrize(
    ("spoilt", "servers"),
    [
        (["--metrics", "nonsense"], 3),
        (["--key-bits", "7"], 3),
        (["--timeout", "0"], 3),
        (["--no-such-option"], 0),
        (["--protocol", "unheard-of"], 0),
        (["--transport", "memory", "--metrics", "nonsense"], 0),
    ],
)
def test_bad_arguments_leave_no_process(
    spoilt: list[str],
    servers: int,
    paths: list[Path],
    started: list[subprocess.Popen[bytes]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_refused(CommandLine(capsys)("evaluate", *spoilt, *paths))
    assert len(started) == servers
    assert children_of(os.getpid()).isdisjoint(process.pid for process in started)


def test_a_bad_file_leaves_no_process(
    tmp_path: Path, started: list[subprocess.Popen[bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    bad = written(tmp_path, "bad.csv", b"score,label\n0.5,1\n0.25,maybe\n")
    check_refused(CommandLine(capsys)("evaluate", bad, bad), "bad.csv", "row 3", "label")
    check_refused(CommandLine(capsys)("evaluate", tmp_path / "none.csv"), "none.csv", "cannot be read")
    assert len(started) == 6
    assert children_of(os.getpid()).isdisjoint(process.pid for process in started)


@pytest.fixture
def loading(tmp_path: Path, paths: list[Path]) -> Iterator[subprocess.Popen[str]]:
    """A command whose servers run and which is not yet ready itself: one of its files comes late."""
    late = tmp_path / "late.csv"
    os.mkfifo(late)
    program = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {RUN[-1]}"
    with subprocess.Popen(
        [sys.executable, "-c", program, "evaluate", *paths, late],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        yield command
        if command.poll() is None:
            command.kill()


def all_gone(servers: set[int]) -> bool:
    """One that the signal met between its start and its registration leaves by itself."""
    return wait_until(lambda: all(title_of(pid) is None for pid in servers), A_FEW_SECONDS)


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to the command", "to all, as a terminal does"])
def test_ctrl_c_before_the_data_is_read_leaves_no_server(
    send: Callable[[int, int], None], loading: subprocess.Popen[str]
) -> None:
    assert wait_until(lambda: len(servers_of(loading.pid)) == 3)
    servers = set(servers_of(loading.pid).values())
    send(loading.pid, signal.SIGINT)
    output, errors = loading.communicate(timeout=A_FEW_SECONDS)
    assert (loading.returncode, output) == (130, "")
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert all_gone(servers)


def test_servers_of_a_command_that_is_killed_leave(loading: subprocess.Popen[str]) -> None:
    assert wait_until(lambda: len(servers_of(loading.pid)) == 3)
    servers = set(servers_of(loading.pid).values())
    loading.kill()
    assert all_gone(servers)


def test_a_server_that_waits_has_one_thread() -> None:
    """NumPy's libraries for linear algebra would start one for every core."""
    process = start_process(Fast.process, "proxy 0")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b'{"event":"alive"}\n'
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
    finally:
        discard(process)


def test_who_sets_the_number_of_threads_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    process = start_process("tests.support.mirror", "0")  # it tells its environment
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        given = json.loads(process.stdout.readline())["environment"]
        assert (given["OMP_NUM_THREADS"], given["OPENBLAS_NUM_THREADS"]) == ("3", "1")
    finally:
        discard(process)
