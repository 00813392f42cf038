"""Tests fork most of their processes: such a process is like one that was started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.forking import ordinary_starts, waits_to_be_forked
from tests.support.server_processes import children_of, wait_until

Start = Callable[[], AbstractContextManager[None]]
STARTS: dict[str, Start] = {"forked": contextlib.nullcontext, "started": ordinary_starts}
MIRROR = [sys.executable, "-P", "-m", "tests.support.mirror"]


def variables() -> dict[str, str]:
    """Return an environment in which a process that is started finds the tests' modules, too."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def mirrored(folder: Path, **options: Any) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [*MIRROR, "7", "ä b"],
        input="given",
        capture_output=True,
        text=True,
        cwd=folder,
        env={**variables(), "PPAURORA_TEST": "x"},
        check=False,
        **options,
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def test_a_fork_sees_and_does_what_a_started_process_does(tmp_path: Path) -> None:
    forked = mirrored(tmp_path, start_new_session=True)
    with ordinary_starts():
        assert mirrored(tmp_path, start_new_session=True) == forked
    code, told, said = forked
    assert (code, said) == (7, "told on standard error\n")
    assert (told["argv"], told["given"], told["folder"]) == (["7", "ä b"], "given", str(tmp_path))
    assert (told["parent"], told["leads_session"]) == (os.getpid(), True)


@pytest.mark.parametrize("start", STARTS)
def test_it_is_killed_and_buried_like_one(start: str) -> None:
    words = [*MIRROR, "0"]
    with STARTS[start](), subprocess.Popen(words, stdin=subprocess.PIPE, env=variables()) as process:
        # What was started has its words a moment later.
        shown = b"\0".join(map(os.fsencode, words))
        assert wait_until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(shown))
        assert process.pid in children_of(os.getpid())
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert process.pid not in children_of(os.getpid())


def test_nodes_and_servers_are_forked_indeed() -> None:
    """The control: there is one process to fork from, and it belongs to this one."""
    subprocess.run([*MIRROR, "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    threads = Path("/proc/self/task").glob("*/children")
    own = [int(pid) for thread in threads for pid in thread.read_text().split()]
    assert [waits_to_be_forked(pid) for pid in own].count(True) == 1
