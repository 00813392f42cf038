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
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.chunks import ROWS_PER_CHUNK, Chunk, Reading
from ppaurora.data.columns import Columns, Role
from ppaurora.data.design import Design
from ppaurora.data.encodings import ENCODING_HINT, REPLACEMENT, is_undecoded, readable, readings
from ppaurora.data.labels import MISSING
from ppaurora.errors import DataError

MOST_BYTES = 1 << 32
_GZIP = b"\x1f\x8b"
_LONGEST_LINE = 1 << 24
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SEPARATOR_LINE = re.compile(r'"?sep=([^\w"]|\t)"?\s*', re.IGNORECASE)  # Excel's own first line
_CONTROL = re.compile("[\x01-\x08\x0e-\x1f\x7f]")  # what no table has, and most other files
PERCENT_HINT = "if 12.5% means 0.125, add --percent, in Python percent=True; else remove the signs"


def too_large(source: str) -> DataError:
    return DataError(
        f"is larger than {MOST_BYTES >> 30} GiB",
        source=source,
        hint="keep only the columns of scores and labels, or save it as Parquet",
    )


@dataclass(frozen=True)
class TextTable:
    """A table of texts of which the header is read: one record per sample follows, with its row."""

    header: list[str]
    header_row: int
    records: Iterator[tuple[int, list[str]]]
    kind: str
    commas: bool  # whether a comma may be the decimal sign


def rows_in(
    text: io.TextIOWrapper, source: str, used: Columns, most_bytes: int | None, design: Design | None = None
) -> Reading:
    """Read a header row; one row per sample follows. Commas, semicolons, tabs or bars stand between values.

    UTF-8, or UTF-16 with its mark; compressed by gzip or not. Where no comma separates values, it may be the
    decimal sign. Text longer than `most_bytes` is refused. With a design, further columns are read.
    """
    return rows_of_texts(_begin(_lines(text, source, most_bytes), source, used), source, used, design)


def rows_of_texts(table: TextTable, source: str, used: Columns, design: Design | None = None) -> Reading:
    """Read the rows of a table of texts; with a design, further columns as well."""
    numbers = _Numbers(source, used.score, used, commas=table.commas)
    spellings: dict[str, int] = {}
    further = _Further(source, used, commas=table.commas)
    return Reading(
        source=source,
        columns=tuple(table.header),
        used=used,
        kind=lambda: f"{table.kind}{numbers.remark or further.remark}",
        spellings=spellings,
        chunks=_chunks(table, source, used, numbers, spellings, further),
        is_empty=DataError(
            "has a header but no samples",
            source=source,
            hint="is it the right file? Without samples, leave it out",
        ),
        design=design,
        codes=further.codes,
    )


def read_header(file: io.BufferedReader, source: str, encoding: str | None = None) -> list[str]:
    """Return the names of the columns of such a table, and no more of it."""
    with opened(file, source, encoding) as text:
        return text_table(text, source).header


def text_table(text: io.TextIOWrapper, source: str) -> TextTable:
    """Return a table of which nobody has said yet which columns are meant."""
    return _begin(_lines(text, source, None), source, None)


def _begin(lines: Iterator[str], source: str, used: Columns | None) -> TextTable:
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
    between = _DELIMITERS.get(delimiter, repr(delimiter))
    wanted = set() if used is None else set(used.named.values())
    header = _decoded_names([name.strip() for name in names], wanted)
    return TextTable(header, header_row, records, f"text, {between} between values", delimiter != ",")


def _decoded_names(names: list[str], wanted: set[str]) -> list[str]:
    """Return names in which letters of an unnamed code page are replaced, but for those that are wanted.

    A wanted name says itself how such a column is spelt, if exactly one of them is spelt so in any of the
    usual code pages.
    """
    unclear = {place: name for place, name in enumerate(names) if is_undecoded(name)}
    found = {place: readable(name) for place, name in unclear.items()}
    for name in wanted - set(names):
        fitting = [place for place, spelt in unclear.items() if name in readings(spelt)]
        if len(fitting) == 1:
            found[fitting[0]] = name
    return [found.get(place, name) for place, name in enumerate(names)]


def _chunks(
    table: TextTable,
    source: str,
    used: Columns,
    numbers: _Numbers,
    spellings: dict[str, int],
    further: _Further,
) -> Iterator[Chunk]:
    header = table.header
    found = used.find(header, source, table.header_row)
    score_at, label_at = (found[role] for role in used.first)
    id_at = found.get(Role("id"))
    places_of_further = {role: found[role] for role in used.further}
    scores, places, lines, ids = array("d"), array("q"), array("q"), list[str]()
    for line, record in table.records:
        if len(record) != len(header):
            raise DataError(
                f"values in the row: {len(record)}, columns in the header: {len(header)}",
                source=source,
                row=line,
                hint="look for a decimal comma, a delimiter inside a value, or a value left out",
            )
        scores.append(numbers.read(record[score_at], line, len(scores)))
        places.append(_place(record[label_at].strip(), spellings, source, used.label, line))
        lines.append(line)
        if id_at is not None:
            ids.append(record[id_at].strip())
        for role, at in places_of_further.items():
            further.add(role, record[at], line)
        if len(scores) == ROWS_PER_CHUNK:
            yield _chunk(scores, places, lines, numbers.take_gap(), ids, further.take())
            scores, places, lines, ids = array("d"), array("q"), array("q"), []
    if scores:
        yield _chunk(scores, places, lines, numbers.take_gap(), ids, further.take())


def _place(text: str, spellings: dict[str, int], source: str, column: str, row: int) -> int:
    """Return where a text stands among the spellings, which get it if it is new."""
    place = spellings.get(text)
    if place is None:
        if is_undecoded(text):
            raise undecoded(source, row, column)
        place = spellings[text] = len(spellings)
    return place


def undecoded(source: str, row: int, column: str) -> DataError:
    """Return what to raise where a value that is needed depends on the code page."""
    problem = "the text is not UTF-8, and reads differently in different code pages"
    return DataError(problem, source=source, row=row, column=column, hint=ENCODING_HINT)


def _chunk(
    scores: array[float],
    places: array[int],
    lines: array[int],
    first_gap: int | None,
    ids: list[str],
    further: dict[Role, NDArray[Any]],
) -> Chunk:
    labels, rows = (np.frombuffer(values, np.int64) for values in (places, lines))
    return Chunk(np.frombuffer(scores), labels, rows, first_gap, ids, further)


class _Further:
    """The other columns of a design: scores as numbers, all else by how it is spelt."""

    def __init__(self, source: str, used: Columns, *, commas: bool) -> None:
        self._source = source
        self._names = used.further
        self._numbers = {
            role: _Numbers(source, name, used, commas=commas)
            for role, name in used.further.items()
            if role.option == "score"
        }
        self.codes: dict[Role, dict[str, int]] = {role: {} for role in used.further if role.option != "score"}
        self._values = self._empty()

    def _empty(self) -> dict[Role, array[Any]]:
        return {role: array("d") for role in self._numbers} | {role: array("q") for role in self.codes}

    def add(self, role: Role, text: str, line: int) -> None:
        """Take the value of one more row."""
        values = self._values[role]
        if role in self._numbers:
            values.append(self._numbers[role].read(text, line, len(values)))
        elif role.option == "patient":  # of which it only matters which ones are equal
            values.append(self.codes[role].setdefault(text.strip(), len(self.codes[role])))
        else:
            values.append(_place(text.strip(), self.codes[role], self._source, self._names[role], line))

    @property
    def remark(self) -> str:
        return next((numbers.remark for numbers in self._numbers.values() if numbers.remark), "")

    def take(self) -> dict[Role, NDArray[Any]]:
        """Return the columns of a chunk; the next one begins without any row."""
        taken, self._values = self._values, self._empty()
        return {
            role: np.frombuffer(values, np.float64 if role in self._numbers else np.int64)
            for role, values in taken.items()
        }


class _Numbers:
    """Scores as they are written: with decimal points, or with commas where these separate nothing.

    Percentages are read as hundredths, if their owner has agreed to that.
    """

    def __init__(self, source: str, column: str, used: Columns, *, commas: bool) -> None:
        self._source = source
        self._column = column
        self._percent = used.percent
        self._commas = commas
        self._sign = ""
        self._percents: bool | None = None  # whether scores have percent signs; None before the first
        self._first_gap: int | None = None

    def read(self, text: str, row: int, place: int) -> float:
        """Return the nearest float64; NaN if there is nothing, at this place of the chunk."""
        text = text.strip()
        bare = text.removesuffix("%").rstrip() if text.endswith("%") else text
        sign = "," if self._commas and "," in bare else "." if "." in bare else ""
        digits = bare.replace(",", ".") if sign == "," else bare
        if digits.isascii() and "_" not in digits:  # these float would take as well
            try:
                number = float(digits if bare is text else f"{digits}e-2")
            except ValueError:
                pass
            else:
                if sign and sign != self._sign:
                    self._settle(sign, row)
                if self._percents is not (bare is not text):
                    self._settle_percent(bare is not text, row)
                return number
        if text.lower() in MISSING:
            self._first_gap = place if self._first_gap is None else self._first_gap
            return math.nan
        if is_undecoded(text):
            raise undecoded(self._source, row, self._column)
        hint = "write digits and a decimal point, as in 0.25"
        if "," in text:
            hint = "write a point, not a comma" if sign != "," else "write digits and one decimal comma"
        raise self._bad("the score is not a number", row, hint)

    def take_gap(self) -> int | None:
        """Return where the chunk's first missing score is; the next chunk begins without one."""
        taken, self._first_gap = self._first_gap, None
        return taken

    @property
    def remark(self) -> str:
        commas = ", decimal commas" if self._sign == "," else ""
        return f"{commas}, percentages read as hundredths" if self._percents else commas

    def _settle(self, sign: str, row: int) -> None:
        """A file has one decimal sign: where it has two, one of them may separate thousands."""
        if self._sign:
            problem = "some scores have a decimal point, and others a comma"
            raise self._bad(problem, row, "write a point, not a comma, in all of them")
        self._sign = sign

    def _settle_percent(self, has_sign: bool, row: int) -> None:
        """Either all scores of a column are percentages, or none."""
        if self._percents is not None:
            problem = "some scores have a percent sign, and others none"
            raise self._bad(problem, row, "write all of them the same way")
        if has_sign and not self._percent:
            raise self._bad("the score has a percent sign", row, PERCENT_HINT)
        self._percents = has_sign

    def _bad(self, problem: str, row: int, hint: str) -> DataError:
        return DataError(problem, source=self._source, row=row, column=self._column, hint=hint)


@contextlib.contextmanager
def opened(file: io.BufferedReader, source: str, encoding: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Unpacked and decoded, with marks in place of what cannot be. A byte order mark says the encoding."""
    try:
        if file.peek(2)[:2] == _GZIP:
            file = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=file)))
        start = file.peek(3)[:3]
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            text = io.TextIOWrapper(file, "utf-16", "replace", newline="")
        elif encoding is None or start == codecs.BOM_UTF8:
            text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        else:
            errors = "replace" if encoding.startswith("utf-16") else "surrogateescape"
            text = io.TextIOWrapper(file, encoding, errors, newline="")
        with text:
            yield text
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            "is compressed by gzip, and damaged or not whole", source=source, hint="copy or pack it again"
        ) from None


def _lines(text: io.TextIOWrapper, source: str, most_bytes: int | None) -> Iterator[str]:
    """Every line with its end. What is no text is refused where it is found.

    Where nobody has named the encoding, bytes that are not UTF-8 are left as marks: they matter only where a
    value that is needed has them, and are refused there.
    """
    is_usual, characters = text.encoding == "utf-8-sig", 0
    shown = "UTF-8" if text.encoding in ("utf-8-sig", "utf-16") else text.encoding
    for row, line in enumerate(iter(partial(text.readline, _LONGEST_LINE), ""), start=1):
        is_bad = not line.isascii() and (is_undecoded(line) or (not is_usual and REPLACEMENT in line))
        if "\0" in line or (is_bad and not (is_usual and _CONTROL.search(line) is None)):
            hint = "save the table as CSV in UTF-8"
            raise DataError(f"is not {shown} text", source=source, row=row, hint=hint)
        if len(line) == _LONGEST_LINE:
            hint = "look for ends of lines: there are none for long"
            raise DataError("the row is too long", source=source, row=row, hint=hint)
        characters += len(line)
        if most_bytes is not None and characters > most_bytes:  # of a compressed file, or of a pipe
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
