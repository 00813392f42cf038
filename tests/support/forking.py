"""Processes that start in milliseconds: forks of one that has loaded the package already.

Tests start hundreds of nodes, servers and commands as `python -m ppaurora...`, and loading modules is most
of what such a process does. While `forked_starts` lasts, `subprocess.Popen` has them forked instead. They
are real processes, children of the one that asked, with a number, a command line, an environment, streams
and an exit code of their own; only the modules are there already. A node that was forked has its servers
forked in turn. Other programs are started as ever, and so is everything while `ordinary_starts` lasts.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ppaurora.party.starting import PROCESS_VARIABLES

_PRELOADED = (
    "ppaurora.app.application",
    "ppaurora.cli.main",
    "ppaurora.node.serve",
    "ppaurora.owner.study",
    "ppaurora.party.process",
    "ppaurora.protocols",
)
_PACKAGES = ("ppaurora", "tests")
# What starts further processes.
_STARTERS = ("ppaurora.workers", "tests.campaign.faulty", "serve", "evaluate", "app", "poc")
WAITING = "waits to be forked"  # the command line of a process that others are forked from
_ROOM_FOR_WORDS = 8192  # of a command line
_MOST_DESCRIPTORS = 16  # of one process
_PYTHON = sys.executable
_LENGTH = struct.Struct("!I")
_PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None).prctl
_execute_child: Callable[..., None] = subprocess.Popen._execute_child  # type: ignore[attr-defined]


class Preloaded:
    """The process that is forked, seen from the one whose children the forks become."""

    def __init__(self, commands: socket.socket | None = None) -> None:
        """Without a socket to one that runs, one is started when there is something to fork."""
        self._commands = commands
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def fork(self, task: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """Return the number of a new child of this process, which has begun with the task."""
        content = json.dumps(task).encode()
        with self._lock, _undisturbed(), _adopting():
            if self._commands is None:
                self._commands = self._start()
            socket.send_fds(self._commands, [_LENGTH.pack(len(content))], descriptors)
            self._commands.sendall(content)
            number = self._commands.recv(_LENGTH.size)
        if not number:
            raise ConnectionError("there is nothing to fork any more")
        return int(_LENGTH.unpack(number)[0])

    def _start(self) -> socket.socket:
        """In a new process, which does nothing before it has loaded everything."""
        ours, theirs = socket.socketpair()
        words = [_PYTHON, "-P", "-m", __name__, " " * _ROOM_FOR_WORDS]
        path = os.pathsep.join(filter(None, sys.path))
        variables = {**PROCESS_VARIABLES, **os.environ, "PYTHONPATH": path}
        with theirs, ordinary_starts():
            self._process = subprocess.Popen(words, stdin=theirs.fileno(), env=variables)
        return ours

    def close(self) -> None:
        """Let it end; forks go on."""
        if self._commands is not None:
            self._commands.close()
        if self._process is not None:
            self._process.wait()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait meanwhile: else there might be a child that nobody knows of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Meanwhile this process gets the children of descendants that end."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def waits_to_be_forked(pid: int) -> bool:
    """Whether this is a process that does nothing else; False of one that is gone."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        return words[0] == WAITING or words[2:4] == ["-m", __name__]
    return False


@contextlib.contextmanager
def forked_starts() -> Iterator[None]:
    """Fork what can be forked from now on; where that is not Linux, nothing can."""
    if sys.platform != "linux":
        yield
        return
    preloaded = Preloaded()
    _fork_from(preloaded)
    try:
        yield
    finally:
        _start(_execute_child)
        preloaded.close()


@contextlib.contextmanager
def ordinary_starts() -> Iterator[None]:
    """Start processes as users do, for tests of just that."""
    forking = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    _start(_execute_child)
    try:
        yield
    finally:
        _start(forking)


def _start(execute_child: Callable[..., None]) -> None:
    subprocess.Popen._execute_child = execute_child  # type: ignore[attr-defined]


def _fork_from(preloaded: Preloaded) -> None:
    """Have `Popen` fork what can be forked."""

    def execute_child(
        self: subprocess.Popen[bytes],
        args: Any,
        executable: Any,
        preexec_fn: Any,
        close_fds: bool,
        pass_fds: Any,
        cwd: Any,
        env: Mapping[str, str] | None,
        startupinfo: Any,
        creationflags: Any,
        shell: bool,
        *streams_and_more: Any,
    ) -> None:
        p2cread, _, _, c2pwrite, _, errwrite, _, *users, umask, new_session, group = streams_and_more
        variables = dict(os.environ if env is None else env)
        is_plain = (executable, preexec_fn, shell, users, umask, group, close_fds) == (
            *(None, None, False, [None] * 3, -1, -1, True),
        )
        if is_plain and os.path.isdir(cwd or ".") and _is_ours(args) and _is_usual(variables):
            task = {
                "words": [str(word) for word in args],
                "environment": variables,
                "folder": os.path.abspath(os.fsdecode(cwd or ".")),
                "umask": _umask(),
                "new_session": new_session,
                "descriptors": [0, 1, 2, *pass_fds],
            }
            streams = (
                number if stream == -1 else stream
                for number, stream in enumerate((p2cread, c2pwrite, errwrite))
            )
            with contextlib.suppress(ConnectionError):
                self.pid = preloaded.fork(task, [*streams, *pass_fds])
                self._child_created = True  # type: ignore[attr-defined]
                self._close_pipe_fds(*streams_and_more[:6])  # type: ignore[attr-defined]
                return
        _execute_child(
            self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags,
            shell, *streams_and_more,
        )  # fmt: skip

    _start(execute_child)


def _is_ours(args: Any) -> bool:
    words = [] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
    if words[:1] != [_PYTHON] or "-m" not in words[1:3] or (words[1] != "-m" and words[1] != "-P"):
        return False
    return words[words.index("-m") + 1].partition(".")[0] in _PACKAGES


def _is_usual(variables: Mapping[str, str]) -> bool:
    """Whether Python itself, and the C library, would be told nothing else than here."""

    def told(them: Mapping[str, str]) -> dict[str, str]:
        return {
            name: value
            for name, value in them.items()
            if name.startswith(("PYTHON", "LC_", "LANG", "LD_")) and name != "PYTHONPATH"
        }

    return told(variables) == told(os.environ)


def _umask() -> int:
    return int(Path("/proc/self/status").read_text().partition("Umask:")[2].split()[0], 8)


def _run_tasks(commands: socket.socket) -> NoReturn:
    """Fork for every task that comes, until nobody is there to send one."""
    _set_words([WAITING])
    while True:
        start, given, _, _ = socket.recv_fds(commands, _LENGTH.size, _MOST_DESCRIPTORS)
        if not start:
            os._exit(0)
        content = b""
        while len(content) < _LENGTH.unpack(start)[0]:
            piece = commands.recv(1 << 20)
            if not piece:  # it was killed in the middle of a task
                os._exit(0)
            content += piece
        told, tells = os.pipe()
        # The parent of a fork ends at once, so that the process that asked becomes its parent.
        between = os.fork()
        if between == 0:
            number = os.fork()
            if number == 0:
                os.close(told)
                os.close(tells)
                commands.close()
                _run(json.loads(content), given)
            os.write(tells, _LENGTH.pack(number))
            os._exit(0)
        for descriptor in (tells, *given):
            os.close(descriptor)
        number_of_fork = os.read(told, _LENGTH.size)
        os.close(told)
        os.waitpid(between, 0)
        with contextlib.suppress(ConnectionError):
            commands.sendall(number_of_fork)


def _run(task: Mapping[str, Any], given: Sequence[int]) -> NoReturn:
    """Be the process that the task describes, until it ends."""
    words = task["words"]
    place = words.index("-m") + 1
    module, arguments = words[place], words[place + 1 :]
    aside = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, max(task["descriptors"]) + 1) for one in given]
    for one in given:
        os.close(one)
    for number, one in zip(task["descriptors"], aside, strict=True):
        os.dup2(one, number)
        os.close(one)
    if task["new_session"]:
        os.setsid()
    os.umask(task["umask"])
    os.chdir(task["folder"])
    os.environ.clear()
    os.environ.update(task["environment"])
    if module in _STARTERS or arguments[:1] in [[command] for command in _STARTERS]:
        _fork_from(_fork_of_this())
    _set_words(words)
    signal.signal(signal.SIGINT, _sigint)
    _open_streams()
    if "-P" not in words[:place]:
        sys.path.insert(0, os.getcwd())
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


def _open_streams() -> None:
    """As Python does when it starts."""
    files: list[Any] = [
        open(0, closefd=False),  # noqa: SIM115 (until the process ends)
        open(1, "w", closefd=False),  # noqa: SIM115
        open(2, "w", 1, errors="backslashreplace", closefd=False),  # noqa: SIM115
    ]
    if os.environ.get("PYTHONUNBUFFERED"):
        files[1].reconfigure(write_through=True)
    sys.stdin, sys.stdout, sys.stderr = files
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = files  # type: ignore[misc]


def _fork_of_this() -> Preloaded:
    """Another process to fork, for what this one will start; so far it has one thread."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.detach()
        _let_go_of(0, 1, 2)
        os.closerange(3, theirs.fileno())
        os.closerange(theirs.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        _run_tasks(theirs)
    theirs.close()
    return Preloaded(ours)


def _let_go_of(*streams: int) -> None:
    """So that whoever is at the other end finds nobody here."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(null, stream)
    os.close(null)


def _set_words(words: Sequence[str]) -> None:
    """Show these as the command line of this process."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    shown = b"".join(os.fsencode(word) + b"\0" for word in words)
    ctypes.memmove(start, shown[: end - start].ljust(end - start, b"\0"), end - start)


if __name__ == "__main__":
    _sigint = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for name in _PRELOADED:
        importlib.import_module(name)
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:
        raise SystemExit("what has several threads cannot be forked")
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as received:
        _let_go_of(0)
        _run_tasks(received)
