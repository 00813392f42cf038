"""Reading an owner's file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ppaurora.errors import DataError, InputError
from ppaurora.owner.samples import Samples, check_finite, labels_from

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DELIMITERS = ",;\t|"


def read_table(
    path: Path, score: str = "score", label: str = "label", pos_label: str | None = None
) -> Samples:
    """Samples from a delimited text file with a header row."""
    source = str(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(file, source, score, label, pos_label)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8 text", source=source, hint="save the table as CSV in UTF-8") from error
    except csv.Error as error:
        raise DataError(f"is not a well-formed table: {error}", source=source) from error


def _read(file: Iterator[str], source: str, score: str, label: str, pos_label: str | None) -> Samples:
    header_line = next(file, "")
    if not header_line.strip():
        raise DataError("is empty", source=source, hint="the first row must name the columns")
    delimiter = max(_DELIMITERS, key=header_line.count)
    header = [name.strip() for name in next(csv.reader([header_line], delimiter=delimiter))]
    score_at, label_at = (_find(name, header, source) for name in (score, label))

    scores: list[float] = []
    labels: list[str] = []
    rows: list[int] = []
    reader = csv.reader(file, delimiter=delimiter)
    for record in reader:
        row = reader.line_num + 1
        if not any(record):
            continue
        if len(record) != len(header):
            raise DataError(
                f"has {len(record)} values where the header names {len(header)} columns",
                source=source,
                row=row,
            )
        scores.append(_number(record[score_at], source, row, score))
        labels.append(record[label_at])
        rows.append(row)
    if not rows:
        raise DataError("has a header but no samples", source=source)
    samples = Samples(
        source, np.array(scores), labels_from(labels, source, label, rows, pos_label), np.array(rows), score
    )
    check_finite(samples)
    return samples


def _find(name: str, header: list[str], source: str) -> int:
    matches = header.count(name)
    if matches == 1:
        return header.index(name)
    if matches:
        raise DataError(f"has {matches} columns of that name", source=source, row=1, column=name)
    raise DataError(
        "there is no such column",
        source=source,
        row=1,
        column=name,
        hint=f"the file has: {', '.join(header)}",
    )


def _number(text: str, source: str, row: int, column: str) -> float:
    text = text.strip()
    if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return float(text)
    if not text:
        raise DataError("the score is missing", source=source, row=row, column=column)
    hint = "use a point, not a comma" if "," in text else ""
    raise DataError("the score is not a number", source=source, row=row, column=column, hint=hint)
