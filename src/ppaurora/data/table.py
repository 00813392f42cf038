"""Reading an owner's file."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ppaurora.data.samples import MISSING, MISSING_HINT, Samples, check_finite, labels_from
from ppaurora.errors import DataError, InputError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NUMERAL = re.compile(r"[+-]?[\d.,_]+([eE][+-]?\d+)?\s*%?")  # also the kinds that we do not read
_DELIMITERS = ",;\t|"
_MOST_NAMES_SHOWN = 20


def read_table(
    path: Path, score: str = "score", label: str = "label", pos_label: str | None = None
) -> Samples:
    """Samples from a text file: UTF-8, a header row, and commas, semicolons, tabs or bars between values.

    Parameters
    ----------
    path
        The file, one row per sample.
    score, label
        The names of the columns; others are ignored.
    pos_label
        The label of the positive class, if labels are not 0/1 or true/false.

    Returns
    -------
    Samples
        Checked. A value that cannot be used is a `DataError`, with its row and column but not the value.
    """
    source = str(path)
    if score == label:
        raise InputError(f"score and label cannot both be column '{score}'; name a column for each")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error
    return _read(_decode(content, source), source, score, label, pos_label)


def _decode(content: bytes, source: str) -> str:
    content = content.removeprefix(codecs.BOM_UTF8)
    bad = content.find(b"\0")  # text has none, unless it is UTF-16
    text = ""
    if bad < 0:
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            bad = error.start
    if bad >= 0:
        row = len((content[:bad] + b"-").splitlines())
        raise DataError("is not UTF-8 text", source=source, row=row, hint="save the table as CSV in UTF-8")
    return text


def _read(text: str, source: str, score: str, label: str, pos_label: str | None) -> Samples:
    first_line = next((line for line in io.StringIO(text, newline="") if line.strip()), None)
    if first_line is None:
        raise DataError("is empty", source=source, hint="the first row must name the columns")
    records = _records(text, _delimiter(first_line, score, label), source)
    header_row, names = next(records, (1, []))
    if not names:
        raise DataError("is empty", source=source, hint="the first row must name the columns")
    header = [name.strip() for name in names]
    score_at, label_at = (_find(name, header, source, header_row) for name in (score, label))

    scores: list[float] = []
    labels: list[str] = []
    rows: list[int] = []
    for row, record in records:
        if len(record) != len(header):
            raise DataError(
                f"values in the row: {len(record)}, columns in the header: {len(header)}",
                source=source,
                row=row,
                hint="look for a decimal comma, a delimiter inside a value, or a value left out",
            )
        scores.append(_number(record[score_at], source, row, score))
        labels.append(record[label_at])
        rows.append(row)
    if not rows:
        raise DataError("has a header but no samples", source=source, hint="leave this file out")
    samples = Samples(
        source, np.array(scores), labels_from(labels, source, label, rows, pos_label), np.array(rows), score
    )
    check_finite(samples)
    return samples


def _delimiter(first_line: str, score: str, label: str) -> str:
    """The one that sets both columns' names apart; else the most frequent, for the error message."""
    for delimiter in _DELIMITERS:
        with contextlib.suppress(csv.Error):
            names = {name.strip() for name in next(csv.reader([first_line], delimiter=delimiter))}
            if {score, label} <= names:
                return delimiter
    return max(_DELIMITERS, key=first_line.count)


def _records(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Every record and the line of the file on which it begins; blank lines are passed over.

    Strictly: a stray quotation mark must not swallow the rows up to the next one.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
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


def _find(name: str, header: list[str], source: str, row: int) -> int:
    matches = header.count(name)
    if matches == 1:
        return header.index(name)
    if matches:
        problem, hint = f"there are {matches} columns of that name", "rename all but one"
    elif any(_is_value(other) for other in header):
        # A file without a header: its first row may be a patient's.
        problem, hint = (
            "there is no such column",
            "the first row must name the columns; this one holds values",
        )
    else:
        shown = [" ".join(other.split()) for other in header[:_MOST_NAMES_SHOWN]]
        more = ", ..." if len(header) > _MOST_NAMES_SHOWN else ""
        problem, hint = "there is no such column", f"the file has: {', '.join(shown)}{more}"
    raise DataError(problem, source=source, row=row, column=name, hint=hint)


def _is_value(text: str) -> bool:
    """Whether this is rather a value than a column's name; a nameless column is nothing special."""
    return bool(_NUMERAL.fullmatch(text) or _NOT_FINITE.fullmatch(text)) or text.lower() in MISSING - {""}


def _number(text: str, source: str, row: int, column: str) -> float:
    text = text.strip()
    if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return float(text)
    if text.lower() in MISSING:
        raise DataError("the score is missing", source=source, row=row, column=column, hint=MISSING_HINT)
    hint = "write a point, not a comma" if "," in text else "write digits and a decimal point, as in 0.25"
    raise DataError("the score is not a number", source=source, row=row, column=column, hint=hint)
