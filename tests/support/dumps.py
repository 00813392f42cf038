"""Whether the system would write a process's memory into a core dump."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys

import pytest

_PR_GET_DUMPABLE = 3


def core_limit(pid: int) -> int:
    """How large a core file of this process may be, as it has asked for."""
    return resource.prlimit(pid, resource.RLIMIT_CORE)[0]


def may_be_dumped() -> bool:
    """Return what the system would do with this process."""
    asked = ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) if sys.platform == "linux" else 0
    return resource.getrlimit(resource.RLIMIT_CORE)[0] != 0 or asked != 0


def leaves_dump(process: subprocess.Popen[bytes], *, limited: bool) -> bool:
    """End a child of this process by an error of memory, and return whether the system dumped that memory.

    Unless it stays `limited`, it is first allowed core files of any size, as far as this user may do that.
    """
    if not limited:
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_CORE)
        if hard == 0:
            pytest.skip("this user may have no core files")
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (hard, hard))
    process.send_signal(signal.SIGSEGV)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -os.WTERMSIG(status)
    assert process.returncode == -signal.SIGSEGV
    return os.WCOREDUMP(status)
