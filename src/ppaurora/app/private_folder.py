"""A private folder of one run of the app, gone when the app ends; if it was killed, at the next start.

On Windows, nothing that is open can be removed or renamed: there the lock goes last.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO

from ppaurora.errors import InputError
from ppaurora.io.locks import lock

FOLDER = "app"  # in a kit
_PREFIX = "ppaurora-app-"  # among temporary files
_LOCK = "in-use"


class PrivateFolder:
    """`FOLDER` of a kit has one such folder per app that runs; without a kit, it is a temporary one."""

    def __init__(self, kit: Path | None) -> None:
        try:
            if kit is None:
                remove_abandoned(Path(tempfile.gettempdir()), f"{_PREFIX}*")
                self.path, self._lock = make_held(prefix=_PREFIX)
            else:
                parent = kit / FOLDER
                parent.mkdir(mode=0o700, exist_ok=True)
                remove_abandoned(parent)
                self.path, self._lock = make_held(parent)
        except OSError as error:
            where = kit or "the folder for temporary files"
            raise InputError(f"{where}: cannot be written to: {error.strerror or error}") from None

    def __enter__(self) -> PrivateFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_held(self.path, self._lock)
        with contextlib.suppress(OSError):  # another app may have its folder beside it
            if self.path.parent.name == FOLDER:
                self.path.parent.rmdir()


def remove_abandoned(parent: Path, names: str = "*") -> None:
    """Folders of apps that were killed: nobody holds their locks."""
    for folder in parent.glob(names):
        with contextlib.suppress(OSError):  # or it is no folder of an app's
            held = hold_abandoned(folder)
            if held is not None:
                remove_held(folder, held)


def make_held(parent: Path | None = None, prefix: str = "tmp") -> tuple[Path, IO[bytes]]:
    """Make a folder, and keep it until the file is closed.

    Between the making and the keeping, another app may take it for abandoned: then this makes another one.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        file = (folder / _LOCK).open("wb")
        with contextlib.suppress(BlockingIOError):
            lock(file)
            if (folder / _LOCK).exists():
                return folder, file
        file.close()


def hold_abandoned(folder: Path) -> IO[bytes] | None:
    """Keep a folder that is this user's, and that nobody's app uses; None if it is not like that."""
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or (sys.platform != "win32" and about.st_uid != os.getuid()):
        return None
    file = (folder / _LOCK).open("r+b")
    try:
        lock(file)
    except BlockingIOError:
        file.close()
        return None
    return file


def remove_held(folder: Path, file: IO[bytes]) -> None:
    """Remove a folder that this process keeps."""
    shutil.rmtree(folder, ignore_errors=True)
    file.close()
    with contextlib.suppress(OSError):  # it has gone with the rest, where what is open can be removed
        (folder / _LOCK).unlink()
        folder.rmdir()
