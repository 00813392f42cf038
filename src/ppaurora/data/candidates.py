"""The columns of a file whose meaning nobody has named: what each may hold, and if not, why not.

Reasons name rows and never a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ppaurora.data.labels import is_missing, spelt

ROWS_LOOKED_AT = 10_000
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?\s*%?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+([.,]0*)?")
_FEW = 20  # different numbers, below which they may be scores by chance

Row = tuple[int, Sequence[str]]  # with its number in the source


@dataclass(frozen=True)
class Candidate:
    """A column, and why it does not hold scores or labels; an empty text where it may.

    The reasons rest on the first rows alone.
    """

    name: str
    not_scores: str
    not_labels: str

    @property
    def in_words(self) -> str:
        """Both, in a line."""
        scores = f"no scores: {self.not_scores}" if self.not_scores else "may be scores"
        labels = f"no labels: {self.not_labels}" if self.not_labels else "may be labels"
        return f"{scores}; {labels}"


def candidates_of(names: Sequence[str], rows: Iterator[Row]) -> tuple[Candidate, ...]:
    """Look at the first rows of all columns."""
    some = list(islice(rows, ROWS_LOOKED_AT))
    return tuple(_candidate(name, place, some) for place, name in enumerate(names) if name)


def _candidate(name: str, place: int, rows: Sequence[Row]) -> Candidate:
    there = [
        (number, text)
        for number, row in rows
        if place < len(row) and not is_missing(text := row[place].strip())
    ]
    different = {text.lower() for _, text in there}
    if not there:
        return Candidate(name, "it has no values", "it has no values")
    if len(different) == 1:
        return Candidate(name, "all values are equal", "all values are equal")
    bad = next((number for number, text in there if not _NUMBER.fullmatch(text)), None)
    not_scores = ""
    if bad is not None:
        not_scores = f"not a number at row {bad}"
    elif len(different) == 2:
        not_scores = "only two different values"
    elif len(different) == len(there) >= _FEW and all(_WHOLE.fullmatch(text) for text in different):
        not_scores = "every row has another whole number, as identifiers do"
    return Candidate(name, not_scores, "more than two different values" if len(different) > 2 else "")


def rows_of_parts(parts: Iterable[Sequence[Any]]) -> Iterator[Row]:
    """Return rows of columns as texts, from parts of all columns, each of which NumPy makes an array of."""
    texts = ([map(spelt, np.asarray(column)[:ROWS_LOOKED_AT].tolist()) for column in part] for part in parts)
    rows = (row for columns in texts for row in zip(*columns, strict=False))
    return enumerate(rows, start=1)
