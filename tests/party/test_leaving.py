"""Servers end with their driver, whatever ends it."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.local import processes
from ppaurora.local.processes import LocalProcesses
from ppaurora.messages.process import Alive, Event
from ppaurora.party.driver import ServerProcess
from ppaurora.session import no_progress
from tests.support.server_processes import (
    A_FEW_SECONDS,
    children_of,
    open_sockets,
    owners,
    servers_of,
    title_of,
    wait_until,
    work_long,
)

pytestmark = pytest.mark.usefixtures("ordinary_starts")


def test_the_census_finds_a_child_and_a_folder_left_behind() -> None:
    """The control of the fixture above, and of whoever counts servers below."""
    command = [sys.executable, "-c", "input()", "-m", "ppaurora.party", "proxy 1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.pid in children_of(os.getpid())
        # It has its words a moment after it was started.
        assert wait_until(lambda: servers_of(os.getpid()) == {"proxy 1": child.pid})
        child.communicate(b"\n")
    assert child.pid not in children_of(os.getpid())
    assert Path(tempfile.gettempdir()).name == "temporary"


DRIVER = """
import numpy, ppaurora
owner = (numpy.arange(5000) % 2, numpy.arange(5000) / 5000)
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

    def go_away(servers: LocalProcesses, *_: object) -> None:
        for held in servers._processes.values():
            assert held._writer is not None
            held._writer.join()
        for held in servers._processes.values():  # one by one, so that the first has lost nobody yet
            assert held._process.stdin is not None
            held._process.stdin.close()
            codes.append(held._process.wait(A_FEW_SECONDS))
        raise GoneError

    monkeypatch.setattr(processes, "_outcomes", go_away)
    with pytest.raises(GoneError):
        work_long(no_progress)
    left_with_driver, lost_a_peer = 75, 3
    assert codes[0] == left_with_driver
    assert set(codes) <= {left_with_driver, lost_a_peer}


def test_a_server_that_places_workers_gives_signs_and_leaves_with_its_driver() -> None:
    heard: queue.Queue[Event | None] = queue.Queue()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = ServerProcess("tests.support.slow_placing", "proxy 0", heard.put, theirs.fileno())
        try:
            assert [heard.get(timeout=120) for _ in range(3)] == [Alive()] * 3
            assert server._process.stdin is not None
            server._process.stdin.close()  # as it is when the driver is gone
            while heard.get(timeout=A_FEW_SECONDS) is not None:
                pass
            assert server.end() == "ended with exit code 75"
        finally:
            server.close()


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
    assert wait_until(lambda: open_sockets(servers["helper"]) >= 3)  # it has met a peer: they are at work
    send(driver.pid, signal.SIGINT)
    output, errors = driver.communicate(timeout=A_FEW_SECONDS)
    assert driver.returncode == 130
    assert output == ""
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert all_gone(set(servers.values()))
