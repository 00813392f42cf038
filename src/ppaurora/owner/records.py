"""Files in which an owner's kit keeps what it has sent and got.

Each has a digest of itself: what a disk has changed is neither used nor held against anybody.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ppaurora.errors import InputError, Wording
from ppaurora.io.files import read_text, replace_file
from ppaurora.io.models import StrictModel, canonical_json, checked, to_builtins, to_json

R = TypeVar("R", bound=StrictModel)

_DIGEST = "digest"


def read_record(kind: type[R], path: Path) -> R | None:
    """Read a record; None if there is no such file. One that is damaged is an error."""
    if not path.exists():
        return None
    try:
        content = msgspec.json.decode(read_text(path))
    except (msgspec.DecodeError, RecursionError):
        raise InputError(f"{path}: is damaged (not JSON); restore it from a backup") from None
    if not isinstance(content, dict) or content.pop(_DIGEST, None) != _digest(content):
        raise InputError(
            f"{path}: is damaged (it has changed since it was written); restore it from a backup"
        )
    return checked(kind, content, str(path))


def keep_record(path: Path, record: StrictModel) -> None:
    """Durable, whole or not at all, for its owner's eyes only."""
    with writing(path):
        replace_file(path, with_digest(to_builtins(record)), mode=0o600)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an `InputError` for what this machine's disk does not take: its owner can fix it."""
    try:
        yield
    except OSError as error:
        said = (
            f"{path}: cannot be written: {error.strerror or error}. Make room, or let this user write there;"
        )
        raise InputError(
            Wording(
                f"{said} then run the same command again. 'ppaurora status' shows what was sent before",
                f"{said} then do the same again. The study's page shows what was sent before",
            )
        ) from None


def with_digest(content: dict[str, Any]) -> bytes:
    """Return the content as it stands in the file, with its digest."""
    return to_json({**content, _DIGEST: _digest(content)})


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(content)).hexdigest()
