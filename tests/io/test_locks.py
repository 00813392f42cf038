"""Locks: one holder at a time, none once it is released or its process is gone; here and as on Windows."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ppaurora.io.locks import folder_locked, lock, unlock, wait_for_lock
from tests.support.on_windows import needs_linux, python_on_windows, windows_environment

HOLDER = """
    import pathlib, sys
    from ppaurora.io import locks
    with pathlib.Path(sys.argv[1]).open("ab") as file:
        locks.lock(file)
        print("held", flush=True)
        sys.stdin.read()
"""
SAME_HERE = """
    import pathlib, sys
    from ppaurora.io.locks import folder_locked, lock, unlock, wait_for_lock
    path = pathlib.Path(sys.argv[1])
    path.write_bytes(b"content")
    with path.open("r+b") as one, path.open("r+b") as other:
        lock(one)
        for take in (lock, lambda file: wait_for_lock(file, 0.05)):
            try:
                take(other)
            except BlockingIOError:
                continue
            raise SystemExit("two have it")
        assert other.read() == b"content"  # who has no lock can read all the same
        unlock(one)
        lock(other)
    with path.open("r+b") as again, folder_locked(path.parent):
        lock(again)
    print("done")
"""


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("ab") as one, path.open("ab") as other:
        lock(one)
        with pytest.raises(BlockingIOError):
            lock(other)
        with pytest.raises(BlockingIOError):
            lock(other, shared=True)
        with pytest.raises(BlockingIOError):
            wait_for_lock(other.fileno(), 0.02)
        unlock(one)
        wait_for_lock(other)
    with path.open("ab") as one, path.open("ab") as other:
        lock(one, shared=True)
        lock(other, shared=True)


def test_a_folder_is_locked_without_a_trace(tmp_path: Path) -> None:
    with folder_locked(tmp_path):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("on_windows", [False, pytest.param(True, marks=needs_linux)])
def test_a_lock_ends_with_its_process(tmp_path: Path, on_windows: bool) -> None:
    words = [sys.executable, "-c", textwrap.dedent(HOLDER), str(tmp_path / "lock")]
    environment = windows_environment() if on_windows else None
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        second = subprocess.run(words, input=b"", capture_output=True, env=environment, check=False)
        assert b"BlockingIOError" in second.stderr
        holder.kill()
    third = subprocess.run(words, input=b"", capture_output=True, env=environment, check=False)
    assert third.stdout == b"held\n", third.stderr


@needs_linux
def test_the_same_holds_on_windows(tmp_path: Path) -> None:
    finished = python_on_windows("-c", textwrap.dedent(SAME_HERE), tmp_path / "lock")
    assert finished.stdout == "done\n", finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "lock"]
