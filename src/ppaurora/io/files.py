"""Files: read with a clear complaint, written whole or not at all, so that they survive a power cut.

Private ones have modes that let nobody else in. Windows has no such modes: there the access list of the
folder decides, and a kit is as private as the folder that it is in, such as its user's profile.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ppaurora.errors import InputError

R = TypeVar("R")
_SECONDS_TO_BE_CLOSED = 2.0  # by whoever has a file open, on Windows


if sys.platform == "win32":

    def _patiently(act: Callable[[], R]) -> R:
        """Do what is refused while somebody reads a file, or puts one in its place: try for a while."""
        deadline = time.monotonic() + _SECONDS_TO_BE_CLOSED
        while True:
            try:
                return act()
            except PermissionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

else:

    def _patiently(act: Callable[[], R]) -> R:
        """Do it; only Windows refuses what is so for a moment only."""
        return act()


def read_text(path: Path, most_bytes: int | None = None) -> str:
    """Read a file in UTF-8, with its line ends; of somebody else's, only if it is not too large."""
    try:
        with _patiently(lambda: path.open("rb")) as file:
            content = file.read(-1 if most_bytes is None else most_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if most_bytes is not None and len(content) > most_bytes:
        raise InputError(f"{path}: is larger than {most_bytes >> 20} MB, and no file of ppaurora's")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: cannot be read: line {line} is not UTF-8 text; save it in UTF-8") from None


def replace_file(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Put the content in the file's place; whoever reads meanwhile sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if sys.platform != "win32":
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(Path(beside), path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    sync(path.parent)


def write_secret(path: Path, content: bytes) -> None:
    """Write a file for its owner's eyes only, and never over something that is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def put_in_place(made: Path, path: Path) -> None:
    """Give a file, or a folder, its name."""
    _patiently(lambda: os.replace(made, path))


def others_can_read(path: Path) -> bool:
    """Return whether other users of this machine can read a file, by its mode; Windows has none."""
    mode = stat.S_IMODE(path.stat().st_mode)
    return sys.platform != "win32" and bool(mode & 0o077)


def sync(path: Path) -> None:
    """Make a file, or what a folder lists, durable. Windows syncs no folder, and only what may be written."""
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
