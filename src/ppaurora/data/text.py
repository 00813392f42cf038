"""Tables as text: CSV, TSV and similar, read row by row, so that a large file needs little memory."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import math
import re
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from ppaurora.data.columns import Columns
from ppaurora.data.dataset import Dataset, Repeats, dataset_of
from ppaurora.data.labels import MISSING
from ppaurora.errors import DataError

MOST_BYTES = 1 << 32
_GZIP = b"\x1f\x8b"
_LONGEST_LINE = 1 << 24
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SEPARATOR_LINE = re.compile(r'"?sep=([^\w"]|\t)"?\s*', re.IGNORECASE)  # Excel's own first line
_NOT_DECODED = {"utf-8-sig": re.compile("[\udc80-\udcff]"), "utf-16": re.compile("\ufffd")}


def too_large(source: str) -> DataError:
    return DataError(
        f"is larger than {MOST_BYTES >> 30} GiB",
        source=source,
        hint="keep only the columns of scores and labels, or save it as Parquet",
    )


def read_text(file: io.BufferedReader, source: str, used: Columns) -> Dataset:
    """Read a header row, then one row per sample; commas, semicolons, tabs or bars stand between values.

    UTF-8, or UTF-16 with its mark; compressed by gzip or not. Where no comma separates values, it may be the
    decimal sign.
    """
    try:
        with _opened(file) as text:
            return _read_rows(_begin(_lines(text, source), source, used), source, used)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise _damaged(source) from None


def read_header(file: io.BufferedReader, source: str) -> list[str]:
    """Return the names of the columns of such a table, and no more of it."""
    try:
        with _opened(file) as text:
            return _begin(_lines(text, source), source, None).header
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise _damaged(source) from None


def _damaged(source: str) -> DataError:
    return DataError(
        "is compressed by gzip, and damaged or not whole", source=source, hint="copy or pack it again"
    )


@dataclass(frozen=True)
class _Begun:
    """A table of which the header is read: what follows, and what is between values."""

    header: list[str]
    header_row: int
    records: Iterator[tuple[int, list[str]]]
    delimiter: str


def _begin(lines: Iterator[str], source: str, used: Columns | None) -> _Begun:
    above: list[str] = []
    for line in lines:
        above.append(line)
        if line.strip():
            break
    else:
        raise DataError("is empty", source=source, hint="the first row must name the columns")
    named = _SEPARATOR_LINE.fullmatch(above[-1])
    if named:
        above[-1] = ""
    delimiter = named[1] if named else _delimiter(above[-1], used)
    records = _records(itertools.chain(above, lines), delimiter, source)
    header_row, names = next(records, (1, []))
    if not names:
        raise DataError("is empty", source=source, hint="the first row must name the columns")
    return _Begun([name.strip() for name in names], header_row, records, delimiter)


def _read_rows(table: _Begun, source: str, used: Columns) -> Dataset:
    header, delimiter = table.header, table.delimiter
    found = used.find(header, source, table.header_row)
    score_at, label_at, id_at = found["score"], found["label"], found.get("id")
    numbers = _Numbers(source, used.score, commas=delimiter != ",")
    scores, places, rows = array("d"), array("q"), array("q")
    spellings: dict[str, int] = {}
    repeats = Repeats()
    for row, record in table.records:
        if len(record) != len(header):
            raise DataError(
                f"values in the row: {len(record)}, columns in the header: {len(header)}",
                source=source,
                row=row,
                hint="look for a decimal comma, a delimiter inside a value, or a value left out",
            )
        scores.append(numbers.read(record[score_at], row))
        places.append(spellings.setdefault(record[label_at].strip(), len(spellings)))
        rows.append(row)
        if id_at is not None:
            repeats.add(record[id_at].strip(), row)
    if not rows:
        raise DataError("has a header but no samples", source=source, hint="leave this file out")
    return dataset_of(
        source,
        f"text, {_DELIMITERS.get(delimiter, repr(delimiter))} between values{numbers.remark}",
        header,
        used,
        scores=np.frombuffer(scores),
        first_gap=numbers.first_gap,
        labels=np.frombuffer(places, np.int64),
        spellings=tuple(spellings),
        rows=np.frombuffer(rows, np.int64),
        repeats=repeats,
    )


class _Numbers:
    """Scores as they are written: with decimal points, or with commas where these separate nothing."""

    def __init__(self, source: str, column: str, *, commas: bool) -> None:
        self._source = source
        self._column = column
        self._commas = commas
        self._sign = ""
        self._read = 0
        self.first_gap: int | None = None

    def read(self, text: str, row: int) -> float:
        """Return the nearest float64; NaN if there is nothing."""
        self._read += 1
        text = text.strip()
        sign = "," if self._commas and "," in text else "." if "." in text else ""
        digits = text.replace(",", ".") if sign == "," else text
        if digits.isascii() and "_" not in digits:  # these float would take as well
            try:
                number = float(digits)
            except ValueError:
                pass
            else:
                if sign and sign != self._sign:
                    self._settle(sign, row)
                return number
        if text.lower() in MISSING:
            self.first_gap = self._read - 1 if self.first_gap is None else self.first_gap
            return math.nan
        hint = "write digits and a decimal point, as in 0.25"
        if "," in text:
            hint = "write a point, not a comma" if sign != "," else "write digits and one decimal comma"
        raise self._bad("the score is not a number", row, hint)

    @property
    def remark(self) -> str:
        return ", decimal commas" if self._sign == "," else ""

    def _settle(self, sign: str, row: int) -> None:
        """A file has one decimal sign: where it has two, one of them may separate thousands."""
        if self._sign:
            problem = "some scores have a decimal point, and others a comma"
            raise self._bad(problem, row, "write a point, not a comma, in all of them")
        self._sign = sign

    def _bad(self, problem: str, row: int, hint: str) -> DataError:
        return DataError(problem, source=self._source, row=row, column=self._column, hint=hint)


def _opened(file: io.BufferedReader) -> io.TextIOWrapper:
    """Unpacked and decoded, with marks in place of what cannot be."""
    if file.peek(2)[:2] == _GZIP:
        file = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=file)))
    if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return io.TextIOWrapper(file, "utf-16", "replace", newline="")
    return io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")


def _lines(text: io.TextIOWrapper, source: str) -> Iterator[str]:
    """Every line with its end. What is no text is refused where it is found."""
    not_decoded, characters = _NOT_DECODED[text.encoding], 0
    for row, line in enumerate(iter(partial(text.readline, _LONGEST_LINE), ""), start=1):
        if "\0" in line or not (line.isascii() or not_decoded.search(line) is None):
            hint = "save the table as CSV in UTF-8"
            raise DataError("is not UTF-8 text", source=source, row=row, hint=hint)
        if len(line) == _LONGEST_LINE:
            hint = "look for ends of lines: there are none for long"
            raise DataError("the row is too long", source=source, row=row, hint=hint)
        characters += len(line)
        if characters > MOST_BYTES:  # of a compressed file, or of a pipe
            raise too_large(source)
        yield line


def _delimiter(first_line: str, used: Columns | None) -> str:
    """Return the delimiter that sets the columns' names apart, if these are known; else the most frequent."""
    names_used = set() if used is None else {used.score, used.label}
    for delimiter in _DELIMITERS if names_used else ():
        with contextlib.suppress(csv.Error):
            names = {name.strip() for name in next(csv.reader([first_line], delimiter=delimiter))}
            if names_used <= names:
                return delimiter
    return max(_DELIMITERS, key=first_line.count)


def _records(lines: Iterator[str], delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Every record and the line of the file on which it begins; blank lines are passed over.

    Strictly: a stray quotation mark must not swallow the rows up to the next one.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        row = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"cannot be taken apart into values: {error}",
                source=source,
                row=row,
                hint="look for a quotation mark too many or too few",
            ) from None
        if len(record) > 1 or any(value.strip() for value in record):
            yield row, record
