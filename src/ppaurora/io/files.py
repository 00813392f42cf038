"""Files: read with a clear complaint, written whole or not at all, so that they survive a power cut."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ppaurora.errors import InputError


def read_text(path: Path, most_bytes: int | None = None) -> str:
    """Read a file in UTF-8, with its line ends; of somebody else's, only if it is not too large."""
    try:
        with path.open("rb") as file:
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
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    sync(path.parent)


def write_secret(path: Path, content: bytes) -> None:
    """Write a file for its owner's eyes only, and never over something that is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def sync(path: Path) -> None:
    """Make a file, or what a folder lists, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
