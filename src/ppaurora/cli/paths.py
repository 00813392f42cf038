"""Paths on the command line, apart from options that need metrics and protocols: this loads nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ppaurora.errors import InputError
from ppaurora.io.system import quoted

_PACKED = ".kit"


class _KitFolder(click.Path):
    """A kit, which is a folder. Who gives the file that was handed over is told to unpack it."""

    name = "kit"

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(value))
        if not path.is_file():
            return Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix != _PACKED:
            raise InputError(
                f"{path}: is a file, and a kit is a folder; name the folder that 'ppaurora unpack' made"
            )
        raise _is_packed(path)


class _File(click.Path):
    """A file that is read or written, but no packed kit: what is meant is in the folder that it becomes."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.suffix == _PACKED and path.is_file():
            raise _is_packed(path)
        return path


def _is_packed(path: Path) -> InputError:
    """Return the error that says how to unpack a kit."""
    folder = path.with_suffix("")
    shown = quoted(str(folder))
    if folder.is_dir():
        return InputError(f"{path}: is the packed kit; name the folder that it was unpacked into: {shown}")
    into = "" if folder.parent == Path() else f" --into {shown}"
    return InputError(
        f"{path}: is a packed kit; unpack it first: ppaurora unpack {quoted(str(path))}{into}; then "
        f"name the folder {shown}"
    )


FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = _File()
ANY_FILE = click.Path(path_type=Path, dir_okay=False)
KIT = _KitFolder()
