"""A private folder of one run of the app, gone when the app ends; if it was killed, at the next start."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from ppaurora.errors import InputError

FOLDER = "app"  # in a kit
_PREFIX = "ppaurora-app-"  # among temporary files
_LOCK, _BEING_MADE = "in-use", "being-made"


class PrivateFolder:
    """`FOLDER` of a kit has one such folder per app that runs; without a kit, it is a temporary one."""

    def __init__(self, kit: Path | None) -> None:
        try:
            if kit is None:
                remove_abandoned(Path(tempfile.gettempdir()), f"{_PREFIX}*")
                self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            else:
                parent = kit / FOLDER
                parent.mkdir(mode=0o700, exist_ok=True)
                remove_abandoned(parent)
                self.path = Path(tempfile.mkdtemp(dir=parent))
            self._lock = hold(self.path)
        except OSError as error:
            where = kit or "the folder for temporary files"
            raise InputError(f"{where}: cannot be written to: {error.strerror or error}") from None

    def __enter__(self) -> PrivateFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()
        with contextlib.suppress(OSError):  # another app may have its folder beside it
            if self.path.parent.name == FOLDER:
                self.path.parent.rmdir()


def remove_abandoned(parent: Path, names: str = "*") -> None:
    """Folders of apps that were killed: nobody holds their locks."""
    for folder in parent.glob(names):
        with contextlib.suppress(OSError), held(folder) as is_free:  # or it is no folder of an app's
            if is_free:
                shutil.rmtree(folder, ignore_errors=True)


def hold(folder: Path) -> IO[bytes]:
    """Keep a new folder until this is closed. The lock gets its name once it is held."""
    lock = (folder / _BEING_MADE).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (folder / _BEING_MADE).rename(folder / _LOCK)
    return lock


@contextlib.contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Whether it is this user's, and nobody's app uses it."""
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        yield False
        return
    with (folder / _LOCK).open("r+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
