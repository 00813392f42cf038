"""NumPy's archives of named arrays (.npz), and other zip archives, which are none."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from ppaurora.data.chunks import MOST_ROWS, too_many
from ppaurora.data.tables import NamedColumns
from ppaurora.errors import DataError

ZIP = b"PK\x03\x04"
NUMPY = b"\x93NUMPY"


def archive_table(file: BinaryIO, source: str) -> NamedColumns:
    """Arrays by the names under which `numpy.savez` has saved them."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = {member.filename: member.file_size for member in archive.infolist()}
    except Exception:  # damage shows as errors of many kinds
        raise DataError(
            "looks like a zip archive, but is damaged or not whole", source=source, hint="copy it again"
        ) from None
    names = [member.removesuffix(".npy") for member in members if member.endswith(".npy")]
    if not names:
        raise DataError(
            "is a zip archive, not a table", source=source, hint="unpack it, or pack the table with gzip"
        )

    def parts(names: Sequence[str]) -> Sequence[Sequence[Any]]:
        for name in names:
            if members[f"{name}.npy"] > 8 * MOST_ROWS:
                raise too_many(source, members[f"{name}.npy"] // 8)
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                return [[archive[name] for name in names]]
        except Exception:
            raise DataError(
                "has an array that cannot be read: it holds Python objects, or is damaged",
                source=source,
                hint='save numbers or texts, as in numpy.savez("data.npz", score=scores, label=labels)',
            ) from None

    return NamedColumns("NumPy archive", names, parts, is_file=True)


def single_array(source: str) -> DataError:
    return DataError(
        "is one NumPy array, and has no columns",
        source=source,
        hint='save both with their names: numpy.savez("data.npz", score=scores, label=labels)',
    )
