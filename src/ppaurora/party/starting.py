"""Starting server processes, if need be before it is known what their task will be.

This loads next to nothing: a process that is started before its starter is ready to give it a task
loads its own modules meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading

from ppaurora.party.shared_socket import write_shared

# Arrays of a chunk, up to a few megabytes, come and go by the million; keep glibc from giving their pages
# back to the kernel each time. Whole lists are larger: their pages are given back. Elsewhere these variables
# mean nothing.
_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 26), "MALLOC_MMAP_THRESHOLD_": str(1 << 23)}
# Nothing here is linear algebra, so NumPy's libraries for it need no threads.
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
PROCESS_VARIABLES = {**_ALLOCATOR, **ONE_THREAD}


def start_process(module: str, title: str) -> subprocess.Popen[bytes]:
    """Start a process that sees the packages that this one sees; it complains only to who debugs.

    It waits for its task on a local socket, which can also carry the descriptor that comes first; on Windows,
    on a pipe.
    """
    if sys.platform == "win32":
        return _start(module, title, subprocess.PIPE)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = _start(module, title, theirs.fileno())
        process.stdin = ours.makefile("wb")
    return process


def _start(module: str, title: str, commands: int) -> subprocess.Popen[bytes]:
    variables = {
        **PROCESS_VARIABLES,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    python = sys.executable
    if sys.platform == "win32":
        # An environment's python.exe starts another process, of another number; this is what it starts.
        python = getattr(sys, "_base_executable", python)
        variables["__PYVENV_LAUNCHER__"] = sys.executable
    return subprocess.Popen(  # noqa: S603 (this interpreter, our own words)
        [python, "-P", "-m", module, title],
        stdin=commands,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("PPAURORA_DEBUG") else subprocess.DEVNULL,
        env=variables,
    )


def pass_listener(process: subprocess.Popen[bytes], listener: int, *more: int) -> None:
    """Pass a server process the first that it gets: the socket at which the others will find it.

    A worker also gets those that lead to the other workers of its server. On Windows, where a server has one
    worker, the socket itself is shared with that process, which is told how to find it.
    """
    assert process.stdin is not None  # noqa: S101
    if sys.platform == "win32":
        write_shared(process.stdin, listener, process.pid)
        return
    with socket.socket(fileno=os.dup(process.stdin.fileno())) as commands:
        socket.send_fds(commands, [b"."], [listener, *more])


class WarmPool:
    """Processes that have no task yet, at most one of each kind; from any thread.

    Each is taken once, for one task, and ends with it, as one does that was started for that task.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        self._closed = False

    def keep(self, module: str, title: str) -> None:
        """Start one, unless one waits already. If the machine cannot, there will be none to take."""
        with self._lock, contextlib.suppress(OSError):
            process = self._waiting.get((module, title))
            if self._closed or (process is not None and process.poll() is None):
                return
            if process is not None:
                discard(process)
            self._waiting[module, title] = start_process(module, title)

    def take(self, module: str, title: str) -> subprocess.Popen[bytes] | None:
        """Return a process that waits, if there is one; from now on it is the caller's."""
        with self._lock:
            process = self._waiting.pop((module, title), None)
        if process is not None and process.poll() is not None:
            discard(process)
            return None
        return process

    def close(self) -> None:
        """End what waits: no process is left behind, and none is started any more."""
        with self._lock:
            self._closed = True
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for process in waiting:
            process.kill()
        for process in waiting:
            discard(process)


def discard(process: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it does, and whatever nobody has heard of it."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
