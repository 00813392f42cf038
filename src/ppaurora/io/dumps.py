"""What a process holds in memory stays there: it is in no core dump, and no debugger of its user reads it."""

from __future__ import annotations

import contextlib
import ctypes
import sys

_PR_SET_DUMPABLE = 4


def forbid_dumps() -> None:
    """Keep shares and keys out of core dumps, as far as the system allows.

    Where it has such limits, this process and those that it starts write no core file. On Linux its memory is
    also no longer readable by other processes of its user, and is not given to a program that collects dumps,
    which need not respect the limit; each process has to ask for that itself. Windows knows neither.
    """
    if sys.platform != "win32":
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            _, hard = resource.getrlimit(resource.RLIMIT_CORE)
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
