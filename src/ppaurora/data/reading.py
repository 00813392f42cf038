"""One owner's data, from wherever it is: a file, arrays, a data frame, the result of a query."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ppaurora.data import arrow, numpy_files
from ppaurora.data.columns import Wanted
from ppaurora.data.dataset import Dataset
from ppaurora.data.samples import Samples
from ppaurora.data.tables import NamedColumns, dataset_from, table_in_memory
from ppaurora.data.text import MOST_BYTES, read_text, too_large
from ppaurora.errors import DataError, InputError


def _no_table(problem: str, source: str) -> DataError:
    return DataError(f"{problem}, not a table", source=source, hint="export the table as CSV in UTF-8")


_TABLES = {
    arrow.PARQUET: arrow.parquet_table,
    arrow.ARROW_FILE: arrow.file_table,
    arrow.ARROW_STREAM: arrow.stream_file_table,
    numpy_files.ZIP: numpy_files.archive_table,
}
_NO_TABLES: dict[bytes, Callable[[str], DataError]] = {
    numpy_files.NUMPY: numpy_files.single_array,
    numpy_files.OLD_WORKBOOK: numpy_files.workbook,
    b"%PDF-": partial(_no_table, "is a PDF"),
    b"<!DOCTYP": partial(_no_table, "is a web page"),
    b"<!doctyp": partial(_no_table, "is a web page"),
    b"<html": partial(_no_table, "is a web page"),
}


def read_data(
    source: Any, score: str = "score", label: str = "label", *, id: str | None = None, name: str | None = None
) -> Dataset:
    """Read one owner's data, without judging yet what is missing or how labels are spelt.

    Parameters
    ----------
    source
        The path of a file: text (CSV and its relatives), Parquet, Arrow, NumPy's .npz. Or what is in memory:
        a data frame, named arrays in a dict, anything that exports an Arrow stream, a database's cursor
        after its query; or a pair `(y_true, y_score)`, whose columns have these names.
    score, label
        The names of the columns; others are ignored.
    id
        The name of a column that tells samples apart, to count duplicates. It is used for nothing else.
    name
        Whose data it is, for errors; a file's path by default.

    Returns
    -------
    Dataset
        Its `description` is for people, its `samples(pos_label)` are what is computed with. What cannot
        even be described is refused here: text as scores, rows of unequal lengths, no such column.
    """
    wanted = Wanted(score, label, id)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return _read_file(path, str(path) if name is None else name, wanted)
    name = "the data" if name is None else name
    table = table_in_memory(source, name)
    if table is None:
        table, wanted = _pair(source, name), replace(wanted, score="y_score", label="y_true")
    return dataset_from(table, name, wanted)


def read_table(
    path: Path, score: str = "score", label: str = "label", pos_label: object | None = None
) -> Samples:
    """Samples from a file, checked: `read_data` without the description."""
    return read_data(path, score, label).samples(pos_label)


def _pair(source: Any, name: str) -> NamedColumns:
    try:
        y_true, y_score = source
    except (TypeError, ValueError):
        raise InputError(f"{name}: give two arrays, (y_true, y_score), a data frame, or a file") from None
    arrays = {"y_true": y_true, "y_score": y_score}
    return NamedColumns("arrays", list(arrays), lambda names: [arrays[name] for name in names])


def _read_file(path: Path, source: str, wanted: Wanted) -> Dataset:
    try:
        with path.open("rb") as file:
            table = _table_in(file, source)
            if table is not None:
                return dataset_from(table, source, wanted)
            about = os.fstat(file.fileno())
            if stat.S_ISREG(about.st_mode) and about.st_size > MOST_BYTES:
                raise too_large(source)
            return read_text(file, source, wanted)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error


def _table_in(file: io.BufferedReader, source: str) -> NamedColumns | None:
    """By what the file begins with, whatever it is called; None if that may be text."""
    start = file.peek(8)[:8]
    for magic, refusal in _NO_TABLES.items():
        if start.startswith(magic):
            raise refusal(source)
    for magic, table_in in _TABLES.items():
        if start.startswith(magic):
            if not file.seekable():
                raise DataError("cannot be read from a pipe", source=source, hint="give the file itself")
            return table_in(file, source)
    return None
