"""What was read of one owner's data: described for people, and turned into samples when they are in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.columns import Columns
from ppaurora.data.labels import MISSING_HINT, is_missing, labels_from
from ppaurora.data.samples import Samples, check_finite


@dataclass(frozen=True)
class Description:
    """What a person looks at before anything is sent. It stays at the owner; counts are not printed.

    Attributes
    ----------
    source
        The file, or the owner whose data it is.
    kind
        Of data, in words: "text, tabs between values", "Parquet", "data frame".
    columns
        The names of all columns.
    score_column, label_column, id_column
        Those that were asked for; `id_column` only if it was.
    rows
        How many there are, complete or not.
    incomplete, first_incomplete
        How many rows lack a score or a label, and which is the first of them: the line of a text file, else
        counted from 1.
    label_values
        Labels as they are spelt, in the order in which they appear, and how many there are of each. Missing
        ones are left out.
    duplicates, first_duplicate
        How many rows have the id of a row above, and which is the first. Missing ids do not count.
    """

    source: str
    kind: str
    columns: tuple[str, ...]
    score_column: str
    label_column: str
    id_column: str | None
    rows: int
    incomplete: int = field(repr=False)
    first_incomplete: int | None = field(repr=False)
    label_values: Mapping[str, int] = field(repr=False)
    duplicates: int = field(repr=False)
    first_duplicate: int | None = field(repr=False)


@dataclass(frozen=True)
class Dataset:
    """One owner's data as it was read: `description` for people, `samples()` to compute with.

    Missing values and a third label are told by the description, and refused by `samples`.
    """

    description: Description
    _scores: NDArray[np.float64] = field(repr=False)  # NaN where there is none
    _labels: NDArray[np.int64] = field(repr=False)  # places in `_spellings`
    _spellings: tuple[object, ...] = field(repr=False)  # in the order in which they appear
    _rows: NDArray[np.int64] | None = field(repr=False)
    _first_gap: int | None = field(repr=False)  # where the first score is that is not even NaN

    def samples(self, pos_label: object | None = None) -> Samples:
        """Checked. A value that cannot be used is a `DataError`, with its row and column but not the value.

        `pos_label` is the label of the positive class, if labels are not 0/1 or true/false.
        """
        about = self.description
        bare = Samples(about.source, self._scores, np.empty(0, np.uint8), self._rows, about.score_column)
        if self._first_gap is not None:
            raise bare.bad_score(self._first_gap, "the score is missing", MISSING_HINT)
        _, first = np.unique(self._labels, return_index=True)
        rows = [bare.row_of(int(index)) for index in first]
        bits = labels_from(self._spellings, about.source, about.label_column, rows, pos_label)
        samples = Samples(about.source, self._scores, bits[self._labels], self._rows, about.score_column)
        check_finite(samples)
        return samples


class Repeats:
    """Counts ids that were there before."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.count = 0
        self.first_row: int | None = None

    def add(self, name: str, row: int) -> None:
        if name not in self._seen:
            self._seen.add(name)
        elif not is_missing(name):
            self.count += 1
            self.first_row = row if self.first_row is None else self.first_row


def dataset_of(
    source: str,
    kind: str,
    columns: Sequence[str],
    used: Columns,
    *,
    scores: NDArray[np.float64],
    first_gap: int | None,
    labels: NDArray[np.int64],
    spellings: tuple[object, ...],
    rows: NDArray[np.int64] | None,
    repeats: Repeats,
) -> Dataset:
    """Make a dataset of what a reader has gathered; `labels` are places in `spellings`."""
    counts = np.bincount(labels, minlength=len(spellings)).tolist()
    missing = np.array([is_missing(value) for value in spellings], dtype=bool)
    incomplete = np.flatnonzero(np.isnan(scores) | missing[labels])
    first_row = None
    if len(incomplete):
        first = int(incomplete[0])
        first_row = first + 1 if rows is None else int(rows[first])
    description = Description(
        source=source,
        kind=kind,
        columns=tuple(columns),
        score_column=used.score,
        label_column=used.label,
        id_column=used.id,
        rows=len(scores),
        incomplete=len(incomplete),
        first_incomplete=first_row,
        label_values={
            str(value): count
            for value, count, none in zip(spellings, counts, missing, strict=True)
            if not none
        },
        duplicates=repeats.count,
        first_duplicate=repeats.first_row,
    )
    return Dataset(description, scores, labels, spellings, rows, first_gap)
