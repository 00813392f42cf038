"""A Python on Linux that lacks what Windows lacks, and those that it starts: see tests/support/on_windows.py.

Names that only POSIX has are gone, what Windows refuses is refused, and what Windows has instead is there,
made of what is here. `sys.platform` is "win32" in the package's own modules only: what others do on Windows
is their makers' concern, and cannot be tried here.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import ctypes
import errno
import fcntl
import getpass
import http.client
import importlib.machinery
import logging.handlers
import multiprocessing.connection
import os
import platform
import random
import re
import secrets
import select
import selectors
import shutil
import signal
import socket
import sqlite3
import ssl
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import types
import urllib.request
import uuid
import warnings
import webbrowser
import zipfile
from collections.abc import Callable
from typing import Any, NoReturn

_LOADED_BEFORE = [
    concurrent.futures.thread,
    getpass,
    http.client,
    logging.handlers,
    multiprocessing.connection,
    platform,
    random,
    secrets,
    sqlite3,
    ssl,
    tarfile,
    urllib.request,
    uuid,
    webbrowser,
    zipfile,
]
_ABSENT = {
    "crypt",
    "fcntl",
    "grp",
    "nis",
    "posix",
    "pty",
    "pwd",
    "resource",
    "spwd",
    "syslog",
    "termios",
    "tty",
}
_ABSENT_OF = {
    os: "O_ASYNC O_CLOEXEC O_DIRECTORY O_DIRECT O_DSYNC O_NOATIME O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC "
    "WNOHANG nice chown chroot ctermid eventfd fchdir fchmod fchown fdatasync fork forkpty "
    "fpathconf getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority "
    "getresuid getsid getuid initgroups killpg lchown memfd_create MFD_CLOEXEC mkfifo mknod openpty "
    "pathconf pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev readv "
    "register_at_fork sched_getaffinity sched_setaffinity sendfile setegid seteuid setgid setpgid "
    "setpriority setsid setuid splice statvfs sync sysconf tcgetpgrp ttyname wait waitid wait3 wait4 writev",
    select: "poll epoll POLLIN POLLOUT POLLHUP POLLERR",
    signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGIO SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU "
    "SIGUSR1 SIGUSR2 alarm pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigwait",
    socket: "AF_UNIX CMSG_LEN SCM_RIGHTS SO_REUSEPORT recv_fds send_fds",
    __import__("time"): "clock_gettime clock_gettime_ns tzset CLOCK_BOOTTIME",
}
_RESERVED = re.compile(r'(?i).*[<>:"|?*\x00-\x1f].*|.*[. ]|(con|prn|aux|nul|com\d|lpt\d)(\..*)?')
_PLATFORM = b"sys.platform"
_BREAK = 21


def _lacking() -> None:
    """Modules and names that are not there; the standard library has loaded what it needs."""
    for name in _ABSENT:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Absent())
    for module, names in _ABSENT_OF.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)


class _Absent:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in _ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}, as on Windows", name=name)


def _package_on_windows() -> None:
    """Have the package's modules read another `sys.platform`, unless a test wants to see what then fails."""
    if "PLATFORM_AS_IT_IS" in os.environ:
        return
    compiled = importlib.machinery.SourceFileLoader.source_to_code

    def source_to_code(loader: Any, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        if loader.name.partition(".")[0] == "ppaurora" and isinstance(data, bytes):
            data = data.replace(_PLATFORM, b'"win32"')
        return compiled(loader, data, path, _optimize=_optimize)

    importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[assignment]
    warnings.filterwarnings("error", category=EncodingWarning, module=r"ppaurora\.")


# Files


def _check_name(path: Any) -> None:
    name = os.path.basename(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else ""
    if _RESERVED.fullmatch(name):
        raise OSError(errno.EINVAL, "Windows has no file of this name", os.fsdecode(path))


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    """Check new names, however they are made."""
    if (event == "open" and arguments[2] & os.O_CREAT) or event == "os.mkdir":
        _check_name(arguments[0])
    elif event == "os.rename":
        _check_name(arguments[1])


def _check_closed(path: Any) -> None:
    """What this process has open can be neither removed nor renamed, nor can a folder with that in it."""
    place = os.path.realpath(os.fsdecode(path))
    opened = {line.split(maxsplit=5)[-1] for line in _read("/proc/self/maps").splitlines() if "/" in line}
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            opened.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue
    if any(one == place or one.startswith(f"{place}/") for one in opened):
        raise PermissionError(errno.EACCES, "is open, and Windows does not do this then", place)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _files() -> None:
    os.umask(0)
    opened, made, synced = os.open, os.mkdir, os.fsync

    def open_file(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(path, flags, 0o666, **more)  # modes let everybody in

    def mkdir(path: Any, mode: int = 0o777, **more: Any) -> None:
        made(path, 0o777, **more)

    def fsync(file: Any) -> None:
        number = file if isinstance(file, int) else file.fileno()
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        synced(number)

    def checked(act: Callable[..., Any]) -> Callable[..., Any]:
        def do(*paths: Any, **more: Any) -> Any:
            for path in paths[:2]:
                _check_closed(path)
            return act(*paths, **more)

        return do

    os.open, os.mkdir, os.fsync = open_file, mkdir, fsync  # type: ignore[assignment]
    for name in ("rename", "replace", "remove", "unlink", "rmdir"):
        setattr(os, name, checked(getattr(os, name)))
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    status = os.statvfs
    usage = shutil.disk_usage

    def disk_usage(path: Any) -> Any:
        os.statvfs = status
        try:
            return usage(path)
        finally:
            del os.statvfs

    shutil.disk_usage = disk_usage
    tempfile._get_candidate_names()  # type: ignore[attr-defined]
    sys.addaudithook(_heard)


# Locks


def _locks() -> None:
    """`msvcrt`, of which locks of byte ranges that belong to an open file come closest."""
    msvcrt: Any = types.ModuleType("msvcrt")
    msvcrt.LK_UNLCK, msvcrt.LK_LOCK, msvcrt.LK_NBLCK = 0, 1, 2

    def locking(descriptor: int, mode: int, count: int) -> None:
        kind = fcntl.F_UNLCK if mode == msvcrt.LK_UNLCK else fcntl.F_WRLCK
        start = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            fcntl.fcntl(
                descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, count, 0)
            )
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    msvcrt.locking = locking
    sys.modules["msvcrt"] = msvcrt


# Sockets


def _sockets() -> None:
    unix, send_fds, recv_fds = socket.AF_UNIX, socket.send_fds, socket.recv_fds
    credentials = struct.Struct("3i")
    selected = select.select

    def pair(*_: Any) -> tuple[socket.socket, socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours = socket.create_connection(listener.getsockname())
            return ours, listener.accept()[0]

    def share(shared: socket.socket, process_id: int) -> bytes:
        """Whoever asks for it gets it, if it is this process."""
        waiting = socket.socket(unix)
        waiting.bind("")
        waiting.listen()
        copy = shared.dup()

        def give() -> None:
            with waiting, copy:
                asking, _ = waiting.accept()
                with asking:
                    about = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
                    if credentials.unpack(about)[0] == process_id:
                        send_fds(asking, [b"."], [copy.fileno()])

        threading.Thread(target=give, daemon=True).start()
        name = waiting.getsockname()
        return name if isinstance(name, bytes) else name.encode()

    def fromshare(found_by: bytes) -> socket.socket:
        with socket.socket(unix) as asking:
            asking.connect(found_by)
            _, descriptors, _, _ = recv_fds(asking, 1, 1)
        if not descriptors:
            raise OSError(10022, "the socket was shared with another process")
        return socket.socket(fileno=descriptors[0])

    def select_sockets(readers: Any, writers: Any, failed: Any, timeout: float | None = None) -> Any:
        if not (readers or writers or failed):
            raise OSError(10022, "An invalid argument was supplied")
        for one in (*readers, *writers, *failed):
            number = one if isinstance(one, int) else one.fileno()
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                raise OSError(10038, "An operation was attempted on something that is not a socket")
        return selected(readers, writers, failed, timeout)

    sockets: Any = socket
    sockets.socketpair, sockets.fromshare, sockets.socket.share = pair, fromshare, share
    sockets.SO_EXCLUSIVEADDRUSE = socket.SO_REUSEADDR
    select.select = select_sockets
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc,assignment]
    selectors.SelectSelector._select = staticmethod(select_sockets)  # type: ignore[attr-defined]


# Processes


class _Library(ctypes.CDLL):
    def __init__(self, name: Any, *more: Any, **options: Any) -> None:
        if name is None:
            raise TypeError("LoadLibrary() argument 1 must be str, not None")
        super().__init__(name, *more, **options)


def _processes() -> None:
    popen: Any = subprocess.Popen
    signals: Any = signal
    begun, handled, killed = popen.__init__, signal.signal, int(signal.SIGKILL)

    def begin(process: Any, words: Any, *more: Any, **options: Any) -> None:
        for option in (
            "pass_fds",
            "preexec_fn",
            "start_new_session",
            "process_group",
            "user",
            "group",
        ):
            if options.get(option):
                raise ValueError(f"{option} is not supported on Windows platforms")
        for stream in ("stdin", "stdout", "stderr"):
            given = options.get(stream)
            number = given if given is None or isinstance(given, int) else given.fileno()
            if isinstance(number, int) and number >= 0 and stat.S_ISSOCK(os.fstat(number).st_mode):
                raise OSError(errno.EBADF, "Bad file descriptor")
        begun(process, words, *more, **options)

    def handle(number: int, handler: Any) -> Any:
        if number not in (signal.SIGINT, signal.SIGTERM, signal.SIGABRT, _BREAK):
            raise ValueError("invalid signal value")
        return handled(number, handler)

    def not_here(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError

    ctypes.CDLL = _Library  # type: ignore[misc]
    popen.__init__ = begin
    popen.kill = lambda process: process.send_signal(killed)
    signals.signal = handle
    signals.SIGBREAK = _BREAK
    for name in ("add_signal_handler", "add_reader", "add_writer", "remove_reader", "remove_writer"):
        setattr(asyncio.SelectorEventLoop, name, not_here)


if sys.platform == "linux":
    if sys.pycache_prefix is None:
        sys.exit("on_windows() says with which environment this is loaded")
    _files()
    _sockets()
    _processes()
    _locks()
    _lacking()
    _package_on_windows()
