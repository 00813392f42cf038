"""The file of a form."""

from __future__ import annotations

from pathlib import Path

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from ppaurora.app.security import form_parts
from ppaurora.errors import InputError
from ppaurora.io.text import printable


async def file_of(request: web.Request, what_to_do: str) -> tuple[BodyPartReader, str]:
    """Return the rest of the form's file to read, and its name as it may be shown."""
    parts = await form_parts(request)
    try:
        part = await parts.next()
        while isinstance(part, BodyPartReader) and part.name != "file":
            part = await parts.next()
    except (HttpProcessingError, ValueError, AssertionError):  # as aiohttp says that it cannot be read
        raise InputError(
            "the file's name has letters that cannot be sent; nothing was read. Give it a plain name, and "
            "choose it again"
        ) from None
    if not isinstance(part, BodyPartReader) or not part.filename:
        raise InputError(f"no file was chosen; {what_to_do}")
    return part, printable(Path(part.filename).name)
