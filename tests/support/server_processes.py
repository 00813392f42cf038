"""Server processes, as the system sees them, and work to give to them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

import ppaurora
from ppaurora.party import driver, starting
from ppaurora.session import Progress
from ppaurora.suites.role import Role
from tests.support.forking import waits_to_be_forked

Owner = tuple[ArrayLike, ArrayLike]
TITLES = [role.title for role in Role]
A_FEW_SECONDS = 30.0  # on a busy machine; far less than what is to be cut short would take


def owners(*sizes: int, seed: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
    """Labels and scores, with ties."""
    random = np.random.default_rng(seed)
    return [(random.integers(0, 2, size), random.integers(0, 65, size) / 64) for size in sizes]


def pooled(data: Sequence[Owner]) -> tuple[np.ndarray, np.ndarray]:
    labels, scores = zip(*data, strict=True)
    return np.concatenate(labels), np.concatenate(scores)


def work_long(progress: Progress, timeout: float = 300.0) -> None:
    """Some seconds of work, if nobody interferes; who hangs is given up far later."""
    ppaurora.evaluate(owners(400, 400), protocol="paper", transport="tls", progress=progress, timeout=timeout)


def children_of(parent: int) -> set[int]:
    """All of them, those that nobody has waited for included; not what only waits to be forked."""
    children = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent and not waits_to_be_forked(int(stat.parent.name)):
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


def descriptors_of(pid: int) -> list[Path]:
    """The open files of a process, which lets nobody but root look."""
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except PermissionError:
        pytest.skip("needs root, to see the open files of a process that holds shares")


def open_sockets(pid: int) -> int:
    sockets = 0
    for descriptor in descriptors_of(pid):
        with contextlib.suppress(FileNotFoundError):  # closed while we look
            sockets += os.readlink(descriptor).startswith("socket:")
    return sockets


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def record_started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started from now on, early or late, for the warm pool or for a task."""
    found: list[subprocess.Popen[bytes]] = []
    start_process = starting.start_process

    def start(module: str, title: str) -> subprocess.Popen[bytes]:
        found.append(start_process(module, title))
        return found[-1]

    for module in (starting, driver):
        monkeypatch.setattr(module, "start_process", start)
    return found
