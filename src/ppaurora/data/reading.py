"""One owner's data, from wherever it is: a file, arrays, a data frame, the result of a query."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, overload

from ppaurora.data import arrow, excel, numpy_files
from ppaurora.data.candidates import Candidate, candidates_of, rows_of_parts
from ppaurora.data.columns import Columns, is_value
from ppaurora.data.count_table import CountTable
from ppaurora.data.dataset import CountedDataset, Dataset, gather
from ppaurora.data.design import Design
from ppaurora.data.grid import Grid
from ppaurora.data.pairs import arrays_of
from ppaurora.data.samples import Samples
from ppaurora.data.tables import NamedColumns, rows_of, table_in_memory
from ppaurora.data.text import MOST_BYTES, opened, read_header, rows_in, rows_of_texts, text_table, too_large
from ppaurora.errors import DataError, InputError

T = TypeVar("T")


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
    b"%PDF-": partial(_no_table, "is a PDF"),
    b"\x89PNG": partial(_no_table, "is a picture"),
    b"\xff\xd8\xff": partial(_no_table, "is a picture"),
    b"<!DOCTYP": partial(_no_table, "is a web page"),
    b"<!doctyp": partial(_no_table, "is a web page"),
    b"<html": partial(_no_table, "is a web page"),
}


Watch = Callable[[int], None]  # with how many bytes of a file are read


def read_data(
    source: Any,
    score: str = "score",
    label: str = "label",
    *,
    id: str | None = None,
    name: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    percent: bool = False,
) -> Dataset:
    """Read one owner's data, without judging yet what is missing or how labels are spelt.

    Parameters
    ----------
    source
        The path of a file: text (CSV, TSV and similar), Excel, Parquet, Arrow, NumPy's .npz. Or in memory:
        a data frame, named arrays in a dict, anything that exports an Arrow stream, a database's cursor
        after its query; or a pair `(y_true, y_score)`, whose columns have these names.
    score, label
        The names of the columns; others are ignored.
    id
        The name of a column that identifies samples, to count duplicates. It is used for nothing else.
    name
        Whose data it is, for errors; a file's path by default.
    sheet
        The sheet of an Excel workbook, if several have values.
    encoding
        The encoding of a text file that is neither UTF-8 nor UTF-16, such as cp1252.
    percent
        Whether scores with a percent sign are read as hundredths; by default they are refused.

    Returns
    -------
    Dataset
        Its `description` is for people, its `samples(pos_label)` are what is computed with. What cannot
        even be described is refused here: text as scores, rows of unequal lengths, no such column.
    """
    columns = Columns(score=score, label=label, id=id, sheet=sheet, encoding=encoding, percent=percent)
    return read_dataset(source, columns, name=name)


@overload
def read_dataset(
    source: Any,
    columns: Columns,
    *,
    design: Design | None = None,
    name: str | None = None,
    watch: Watch | None = None,
) -> Dataset: ...


@overload
def read_dataset(
    source: Any,
    columns: Columns,
    *,
    design: Design | None = None,
    name: str | None = None,
    watch: Watch | None = None,
    grid: Grid | None,
) -> Dataset | CountedDataset: ...


def read_dataset(
    source: Any,
    columns: Columns,
    *,
    design: Design | None = None,
    name: str | None = None,
    watch: Watch | None = None,
    grid: Grid | None = None,
) -> Dataset | CountedDataset:
    """Read one owner's data as `read_data` does.

    Of a file, `watch` is called now and then with how many bytes of it are read. With a grid, a source may be
    of any size: many rows are counted on it, and none is kept.

    With a design that names columns, all of them are read. Arrays are then `(y_true, y_score)`, each a dict
    where the study names outcomes or models, and perhaps a dict of further columns behind them. With any
    design that is not plain, rows are kept, and so are rows of which some are left out.
    """
    wanted = Design() if design is None else design
    is_file = isinstance(source, str | os.PathLike)
    columns = columns.under(wanted, is_file=is_file)
    has_further = wanted.names_columns or columns.leave_out_missing or any(columns.stated.counts)
    grid = grid if wanted.is_plain and not has_further else None
    judged = wanted if has_further else None
    if is_file:
        read = partial(_dataset_in, used=columns, grid=grid, design=judged)
        return _read_file(Path(source), name, read, watch)
    name = "the data" if name is None else name
    table = table_in_memory(source, name)
    if table is None:
        table, columns = arrays_of(source, name, columns, wanted)
    return gather(rows_of(table, name, columns, judged), grid)


def tabulate(
    data: Any,
    grid: Grid,
    *,
    score: str = "score",
    label: str = "label",
    pos_label: object | None = None,
    name: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    percent: bool = False,
) -> CountTable:
    """Count one owner's samples by class and by the value of a grid that their score is read as.

    Rows are read in a stream and not kept: some hundred megabytes of memory are enough for any number of
    them, from CSV, Parquet and Arrow files, from cursors and Arrow streams. The table is what `evaluate` and
    `Study` take in the place of the data, where a study reads scores on this grid.

    Parameters
    ----------
    data
        Anything that `ppaurora.data.read_data` takes.
    grid
        How scores are read. One outside of its range is refused, with its row and column.
    score, label, pos_label
        The names of the columns, and the label of the positive class, if labels are not 0/1 or true/false.
    name
        Whose data it is, for errors; a file's path by default.
    sheet, encoding, percent
        How a file is written, as for `ppaurora.data.read_data`.

    Examples
    --------
    >>> import ppaurora
    >>> table = ppaurora.tabulate(([1, 0, 0], [0.75, 0.25, 0.251]), ppaurora.Grid(decimals=2))
    >>> len(table), table.grid.cells
    (3, 101)
    >>> table.negatives[25]
    np.uint32(2)
    """
    columns = Columns(
        score=score, label=label, pos_label=pos_label, sheet=sheet, encoding=encoding, percent=percent
    )
    read = read_dataset(data, columns, name=name, grid=grid).samples(pos_label)
    return read if isinstance(read, CountTable) else CountTable.of(read, grid)


def read_table(
    path: Path, score: str = "score", label: str = "label", pos_label: object | None = None
) -> Samples:
    """Samples from a file, checked: `read_data` without the description."""
    return read_data(path, score, label).samples(pos_label)


def read_columns(
    path: Path, name: str | None = None, *, sheet: str | None = None, encoding: str | None = None
) -> tuple[str, ...]:
    """Return the names of a file's columns, for a person to choose from; what looks like a value is none.

    Only as much is read as that takes. A file that cannot be used is refused as `read_data` does.
    """
    read = partial(_columns_in, sheet=sheet, encoding=encoding)
    found = [column for column in _read_file(path, name, read) if column and not is_value(column)]
    if len(found) < 2:
        raise DataError(
            "the first row does not name two columns",
            source=name or str(path),
            hint="one is needed for scores, and one for labels; the first row must name the columns",
        )
    return tuple(found)


def read_candidates(
    path: Path, name: str | None = None, *, sheet: str | None = None, encoding: str | None = None
) -> tuple[Candidate, ...]:
    """Return for every column whether it may hold scores or labels, and if not, why not.

    Nothing of a file that cannot be read: whoever reads it is told.
    """
    try:
        return _read_file(path, name, partial(_candidates_in, sheet=sheet, encoding=encoding))
    except InputError:
        return ()


def read_sheets(path: Path, name: str | None = None) -> tuple[str, ...]:
    """Return the names of a workbook's sheets that have values; none if it is another file."""
    return _read_file(path, name, _sheets_in)


def _read_file(path: Path, name: str | None, read: Callable[..., T], watch: Watch | None = None) -> T:
    source = str(path) if name is None else name
    try:
        with io.BufferedReader(_WatchedFile(path, watch)) as file:
            return read(file, source)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error


class _WatchedFile(io.FileIO):
    """Tells how far it is read."""

    def __init__(self, path: Path, watch: Watch | None) -> None:
        super().__init__(path)
        self._watch = watch

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        if self._watch is not None:
            self._watch(self.tell())
        return count


def _dataset_in(
    file: io.BufferedReader, source: str, used: Columns, grid: Grid | None, design: Design | None
) -> Dataset | CountedDataset:
    if excel.is_workbook(file, source):
        with excel.sheet_in(file, source, used.sheet, used) as sheet:
            return gather(rows_of_texts(sheet, source, used, design), grid)
    table = _table_in(file, source)
    if table is not None:
        return gather(rows_of(table, source, used, design), grid)
    most_bytes = MOST_BYTES if grid is None else None  # what is counted takes no room
    _check_size(file, source, most_bytes)
    with opened(file, source, used.encoding) as text:
        return gather(rows_in(text, source, used, most_bytes, design), grid)


def _columns_in(
    file: io.BufferedReader, source: str, sheet: str | None, encoding: str | None
) -> Sequence[str]:
    if excel.is_workbook(file, source):
        with excel.sheet_in(file, source, sheet) as table:
            return table.header
    named = _table_in(file, source)
    return read_header(file, source, encoding) if named is None else named.names


def _candidates_in(
    file: io.BufferedReader, source: str, sheet: str | None, encoding: str | None
) -> tuple[Candidate, ...]:
    if excel.is_workbook(file, source):
        with excel.sheet_in(file, source, sheet) as table:
            return candidates_of(table.header, table.records)
    named = _table_in(file, source)
    if named is not None:
        return candidates_of(named.names, rows_of_parts(named.parts(list(named.names))))
    with opened(file, source, encoding) as text:
        table = text_table(text, source)
        return candidates_of(table.header, table.records)


def _sheets_in(file: io.BufferedReader, source: str) -> tuple[str, ...]:
    return excel.sheets_of(file, source) if excel.is_workbook(file, source) else ()


def _check_size(file: io.BufferedReader, source: str, most_bytes: int | None) -> None:
    about = os.fstat(file.fileno())
    if most_bytes is not None and stat.S_ISREG(about.st_mode) and about.st_size > most_bytes:
        raise too_large(source)


def _table_in(file: io.BufferedReader, source: str) -> NamedColumns | None:
    """Open a table by what the file begins with, whatever it is called; None if that may be text."""
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
