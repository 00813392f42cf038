"""One sheet of an Excel workbook (.xlsx), as a table of texts; needs the extra `excel`.

openpyxl reads it row by row: memory does not depend on how many rows there are, nor on how far away a stray
cell lies. It unpacks with Python's `zipfile`, which never gives more than the sizes that an archive states;
these are limited here first, and documents with a type declaration, of which entities are made, are refused.
"""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from xml.parsers import expat

from ppaurora.data.arrow import damaged, needed_module, undamaged
from ppaurora.data.columns import Columns
from ppaurora.data.numpy_files import ZIP
from ppaurora.data.text import MOST_BYTES, TextTable, too_large
from ppaurora.errors import DataError
from ppaurora.io.system import quoted

_COMPOUND = b"\xd0\xcf\x11\xe0"  # of old workbooks, and of those with a password
_SAVE = "save it as an Excel workbook (.xlsx), or as CSV in UTF-8"
_AGAIN = "open it in Excel and save it again, or save the sheet as CSV in UTF-8"
_KIND = "an Excel workbook"
_ERRORS = frozenset(
    {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#FIELD!"}
    | {"#GETTING_DATA", "#CONNECT!", "#BLOCKED!", "#UNKNOWN!", "#BUSY!", "#EXTERNAL!", "#PYTHON!"}
)
_MOST_ROWS = 1 << 20  # that a sheet can have
_MOST_MEMBERS = 10_000
_MOST_BYTES_KEPT = 1 << 28  # of what is in memory as a whole: the texts of all sheets, formats
_ROWS_AT_A_TIME = 4096
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?\bref\s*=\s*["']([A-Z]+)(\d+):([A-Z]+)(\d+)["']""")
_LONGEST_REFERENCE = 256

Row = Sequence[Any]


def is_workbook(file: io.BufferedReader, source: str) -> bool:
    """Return whether it is a workbook that can be read; one of another kind is refused."""
    start = file.peek(8)[:8]
    if start.startswith(_COMPOUND):
        raise _compound(file, source)
    if not start.startswith(ZIP) or not file.seekable():
        return False
    try:
        with zipfile.ZipFile(file) as archive:
            members, kind = set(archive.namelist()), b""
            if "mimetype" in members:
                with archive.open("mimetype") as said:
                    kind = said.read(80)
    except Exception:  # of a damaged archive, which is refused as one
        return False
    finally:
        file.seek(0)
    if b"opendocument.spreadsheet" in kind:
        raise DataError("is an OpenDocument spreadsheet (.ods)", source=source, hint=_SAVE)
    if "xl/workbook.bin" in members:
        raise DataError("is a binary Excel workbook (.xlsb)", source=source, hint=_SAVE)
    return "xl/workbook.xml" in members


def _compound(file: io.BufferedReader, source: str) -> DataError:
    """Tell a workbook that is encrypted from one of before 2007, by the names of its streams."""
    header = file.read(512)
    sector = 1 << min(int.from_bytes(header[30:32], "little"), 12)
    first = int.from_bytes(header[48:52], "little")
    if file.seekable():
        file.seek((first + 1) * sector)
    if "EncryptedPackage".encode("utf-16-le") in file.read(4 * sector):
        hint = "remove the password in Excel, or save the sheet as CSV in UTF-8"
        return DataError("is protected by a password", source=source, hint=hint)
    return DataError("is an Excel workbook of an old format (.xls)", source=source, hint=_SAVE)


def sheets_of(file: io.BufferedReader, source: str) -> tuple[str, ...]:
    """Return the names of the sheets that have values."""
    with _opened(file, source) as workbook:
        return tuple(sheet.title for sheet in _with_values(workbook, source))


@contextmanager
def sheet_in(
    file: io.BufferedReader, source: str, name: str | None, used: Columns | None = None
) -> Iterator[TextTable]:
    """Open a sheet by its name, or the only one that has values; its first row with values is the header.

    Rows are numbered as Excel does. Cells of used columns are judged: errors, dates, merged cells and
    formulas without a result are refused, with the name of the cell.
    """
    with _opened(file, source) as workbook:
        sheet = _chosen(workbook, source, name)
        rows = _rows(sheet, source)
        header_row, first = next((numbered for numbered in rows if _has_values(numbered[1])), (1, ()))
        if not first:
            raise DataError("is empty", source=source, hint="the first row must name the columns")
        header = [_text(value).strip() for value in first]
        while not header[-1]:
            header.pop()
        judged: dict[int, str] = {}
        if used is not None:
            found = used.find(header, source, header_row)
            judged = {found[role]: column for role, column in used.named.items() if role.option != "id"}
        cells = _Cells(file, source, sheet, judged)
        records = _records(rows, len(header), cells)
        yield TextTable(header, header_row, records, f"Excel, sheet '{sheet.title}'", commas=True)


@contextmanager
def _opened(file: io.BufferedReader, source: str, *, values: bool = True) -> Iterator[Any]:
    openpyxl = needed_module("openpyxl", _KIND, source, "excel")
    with undamaged(_KIND, source, _AGAIN):
        file.seek(0)
        _check_archive(file, source)
        file.seek(0)
        with _quiet():
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=values, keep_links=False)
    yield workbook  # which does not own the file


def _check_archive(file: io.BufferedReader, source: str) -> None:
    """Refuse what would fill the memory."""
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith((".xml", ".rels"))]
        kept = [member.file_size for member in members if not member.filename.startswith("xl/worksheets/")]
        if len(members) > _MOST_MEMBERS or max(member.file_size for member in members) > MOST_BYTES:
            raise too_large(source)
        if sum(kept) > _MOST_BYTES_KEPT:
            problem = f"has more than {_MOST_BYTES_KEPT >> 20} MiB of texts"
            hint = "keep only the columns of scores and labels, or save the sheet as CSV in UTF-8"
            raise DataError(problem, source=source, hint=hint)
        for member in members:
            with archive.open(member) as content:
                _check_no_entities(content)


def _check_no_entities(content: Any) -> None:
    """Read up to the first element, and refuse a type declaration, which no workbook has."""
    has_begun = False

    def begin(*_: Any) -> None:
        nonlocal has_begun
        has_begun = True

    def refuse(*_: Any) -> None:
        raise ValueError("a type declaration")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = begin
    while not has_begun and (some := content.read(1 << 12)):
        parser.Parse(some)


@contextmanager
def _quiet() -> Iterator[None]:
    """openpyxl warns of formats that it does not know, which do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _chosen(workbook: Any, source: str, name: str | None) -> Any:
    """Return the sheet of this name, or the only one that has values."""
    if name is not None:
        for sheet in workbook.worksheets:
            if sheet.title == name:
                return sheet
        there = _quoted(sheet.title for sheet in workbook.worksheets)
        raise DataError(f"there is no sheet '{name}'", source=source, hint=f"the workbook has: {there}")
    sheets = _with_values(workbook, source)
    if len(sheets) > 1:
        names = [sheet.title for sheet in sheets]
        hint = f"write --sheet {quoted(names[0])}, in Python sheet={names[0]!r}, or another of them"
        raise DataError(f"has several sheets: {_quoted(names)}", source=source, hint=hint)
    if not sheets:
        raise DataError("is empty", source=source, hint="the first row must name the columns")
    return sheets[0]


def _quoted(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _with_values(workbook: Any, source: str) -> list[Any]:
    return [
        sheet for sheet in workbook.worksheets if any(_has_values(row) for _, row in _rows(sheet, source))
    ]


def _has_values(row: Row) -> bool:
    return any(value is not None and _text(value).strip() for value in row)


def _rows(sheet: Any, source: str, *, values_only: bool = True) -> Iterator[tuple[int, Row]]:
    """Every row with its number, from 1; those without cells are empty."""
    with undamaged(_KIND, source, _AGAIN):
        sheet.reset_dimensions()  # what a workbook says about them may be wrong, and rows would be missing
        rows, number = sheet.iter_rows(values_only=values_only), 0
    while True:
        with undamaged(_KIND, source, _AGAIN), _quiet():
            some = list(islice(rows, _ROWS_AT_A_TIME))
        if not some:
            return
        for row in some:
            number += 1
            if number > _MOST_ROWS:
                raise damaged(_KIND, source, _AGAIN)
            yield number, row


def _records(rows: Iterator[tuple[int, Row]], width: int, cells: _Cells) -> Iterator[tuple[int, list[str]]]:
    """Every row that has values, as texts, one for each name of the header."""
    for number, row in rows:
        texts = [cells.text(number, place, value) for place, value in enumerate(row[:width])]
        if any(text and not text.isspace() for text in texts):
            texts += [""] * (width - len(texts))
            for place in cells.judged:
                if not texts[place]:
                    cells.check_empty(number, place)
            yield number, texts


def _text(value: Any) -> str:
    """Return a value as it would stand in a text file: numbers with all their digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return repr(value) if isinstance(value, float) else str(value)


@dataclass
class _Cells:
    """The cells of a sheet: those of judged columns, by their places, hold texts, numbers or booleans."""

    file: io.BufferedReader
    source: str
    sheet: Any
    judged: dict[int, str]
    _merged: list[tuple[range, range]] | None = field(default=None, repr=False)  # rows and places
    _formulas: Iterator[tuple[int, Row]] | None = field(default=None, repr=False)

    def text(self, row: int, place: int, value: Any) -> str:
        """Return a cell's text."""
        if place in self.judged:
            if isinstance(value, str) and value in _ERRORS:
                problem = f"cell {_name(row, place)} has the error {value}"
                raise self._bad(problem, row, place, "correct the formula, or leave the row out")
            if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
                problem = f"cell {_name(row, place)} holds a date or a time"
                hint = (
                    "Excel makes dates of numbers such as 3.14: format the column as text, and enter it again"
                )
                raise self._bad(problem, row, place, hint)
        return _text(value)

    def check_empty(self, row: int, place: int) -> None:
        """Refuse a cell that is empty because it is merged with another, or because nothing was computed."""
        if self._merged is None:
            self._merged = _merged_cells(self.sheet, self.source)
        for rows, places in self._merged:
            if row in rows and place in places:
                problem = f"cell {_name(row, place)} is merged with others"
                raise self._bad(problem, row, place, "unmerge them, and fill in what each row has")
        if self._has_formula(row, place):
            problem = f"cell {_name(row, place)} has a formula without a result"
            raise self._bad(problem, row, place, "open the workbook in Excel, and save it")

    def _has_formula(self, row: int, place: int) -> bool:
        """Look at the formulas, in a second walk through the sheet, which goes on from gap to gap."""
        if self._formulas is None:
            self._formulas = self._walk()
        for number, cells in self._formulas:
            if number == row:
                return place in cells
        return False

    def _walk(self) -> Iterator[tuple[int, Row]]:
        """For each row, and as often as it has judged columns, the places of formulas."""
        with _opened(self.file, self.source, values=False) as workbook:
            sheet = workbook[self.sheet.title]
            for number, cells in _rows(sheet, self.source, values_only=False):
                found = [
                    place for place in self.judged if place < len(cells) and cells[place].data_type == "f"
                ]
                for _ in self.judged:
                    yield number, found

    def _bad(self, problem: str, row: int, place: int, hint: str) -> DataError:
        return DataError(problem, source=self.source, row=row, column=self.judged[place], hint=hint)


def _merged_cells(sheet: Any, source: str) -> list[tuple[range, range]]:
    """Return the rows and the places of merged cells, but for the first ones, which have the values.

    They stand behind all rows, and openpyxl passes over them.
    """
    found, rest = [], b""
    with undamaged(_KIND, source, _AGAIN), sheet._get_source() as content:
        while some := content.read(1 << 16):
            for match in _MERGED.finditer(rest + some):
                (left, top, right, bottom) = match.groups()
                rows = range(int(top), int(bottom) + 1)
                found.append((rows, range(_place(left), _place(right) + 1)))
            rest = some[-_LONGEST_REFERENCE:]
    return found


def _place(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = 26 * place + letter - ord("A") + 1
    return place - 1


def _name(row: int, place: int) -> str:
    """Return what Excel calls a cell: C17."""
    letters, number = "", place + 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"
