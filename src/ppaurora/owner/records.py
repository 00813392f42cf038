"""Files in which an owner's kit keeps what it has sent and got."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from ppaurora.errors import InputError
from ppaurora.files import read_text
from ppaurora.models import StrictModel, checked

R = TypeVar("R", bound=StrictModel)


def read_record(kind: type[R], path: Path) -> R | None:
    """None if there is no such file; one that is damaged is an error."""
    if not path.exists():
        return None
    try:
        content = msgspec.json.decode(read_text(path))
    except (msgspec.DecodeError, RecursionError):
        raise InputError(f"{path}: is damaged (no JSON); restore it from a backup") from None
    return checked(kind, content, str(path))
