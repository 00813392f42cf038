"""A file from the browser, streamed to a private one; too large a file is refused before it is read."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from aiohttp import web

from ppaurora.app.forms import file_of
from ppaurora.app.jobs import TooLargeError
from ppaurora.errors import InputError

MOST_BYTES = 2 << 30
_MARGIN = 1 << 16  # of a form around its file
_SPARE = 256 << 20  # that stays free on the disk
_PIECE = 1 << 18


def too_large() -> str:
    """Return what to do with a file that is too large for the page."""
    return (
        f"The page takes files up to {MOST_BYTES >> 30} GB. Keep only the columns that the study needs. "
        "If the file is still larger, ask whoever installed ppaurora here to submit it without the browser"
    )


def check_length(request: web.Request, folder: Path, hint: str) -> None:
    """Refuse a file that is too large, by what the browser says before it sends anything."""
    length = request.content_length
    if length is None:
        raise web.HTTPLengthRequired
    if length > MOST_BYTES + _MARGIN:
        raise TooLargeError(f"nothing was read. {hint}")
    free = shutil.disk_usage(folder).free
    if length + _SPARE > free:
        raise TooLargeError(
            f"{folder}: there is not enough disk space for a copy of this file, {length >> 20:,} MB; "
            f"{free >> 20:,} MB are free; nothing was read. {hint}"
        )


async def receive_file(request: web.Request, folder: Path) -> tuple[Path, str]:
    """Return the private file, and the name that it had. What is cut off leaves nothing behind."""
    part, name = await file_of(request, "choose a table with a score and a label for each person")
    path = folder / secrets.token_hex(16)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            while piece := await part.read_chunk(_PIECE):
                file.write(piece)
    except OSError as error:
        path.unlink(missing_ok=True)
        if isinstance(error, ConnectionError):
            raise
        raise InputError(f"{name}: cannot be kept: {error.strerror or error}; nothing was kept") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path, name
