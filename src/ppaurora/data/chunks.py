"""Rows as a reader has them, chunk after chunk; and what is told of them all, kept or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.columns import Columns, Role
from ppaurora.data.design import Design
from ppaurora.data.labels import is_missing
from ppaurora.errors import DataError

MOST_ROWS = 1 << 30  # what the computation holds
ROWS_PER_CHUNK = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Some rows that follow one another."""

    scores: NDArray[np.float64] = field(repr=False)  # NaN where there is none
    labels: NDArray[np.int64] = field(repr=False)  # places in the reading's spellings
    lines: NDArray[np.int64] | None = field(repr=False)  # of a text file; other rows are counted from 1
    first_gap: int | None = field(repr=False)  # where the first score is that is not even NaN
    ids: Sequence[str] = field(default=(), repr=False)
    further: Mapping[Role, NDArray[Any]] = field(default_factory=dict, repr=False)  # of a design

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self, before: int) -> NDArray[np.int64]:
        """Return where in the source each is, behind so many rows."""
        if self.lines is not None:
            return self.lines
        return np.arange(before + 1, before + len(self) + 1, dtype=np.int64)


@dataclass(frozen=True)
class Reading:
    """A source whose header is read: its rows are there for the taking, once.

    `kind` is asked when all rows are read: only then is it known, for instance, how decimals are written.
    """

    source: str
    columns: tuple[str, ...]
    used: Columns
    kind: Callable[[], str] = field(repr=False)
    spellings: dict[str, int] = field(repr=False)  # of labels, by their places; grows while rows are read
    chunks: Iterator[Chunk] = field(repr=False)
    is_empty: DataError = field(repr=False)  # what to say if there are no rows
    design: Design | None = None  # if rows have more than a score and a label, or some are to be left out
    codes: Mapping[Role, dict[str, int]] = field(default_factory=dict, repr=False)  # spellings of a design's
    single_precision: set[str] = field(default_factory=set, repr=False)  # columns; grows likewise


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
    ids_compared
        In how many rows ids were compared: not in all of a source that is counted without holding its rows.
    labels_by_outcome
        In a study that names outcomes, the label values of each; `label_values` are those of the first.
    used
        In a study with a design, all columns by what they are for: "score a", "group sex"; else empty.
    single_precision
        The columns of scores that are float32, or have even fewer bits.
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
    label_values: dict[str, int] = field(repr=False)
    duplicates: int = field(repr=False)
    first_duplicate: int | None = field(repr=False)
    ids_compared: int = field(repr=False)
    labels_by_outcome: Mapping[str, dict[str, int]] = field(default_factory=dict, repr=False)
    used: Mapping[str, str] = field(default_factory=dict)
    single_precision: frozenset[str] = frozenset()


class Tally:
    """Counts what a description tells, chunk by chunk, and remembers where something was first."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._missing = np.empty(0, dtype=bool)  # by spelling, whether it is no label at all
        self._times = np.empty(0, dtype=np.int64)  # by spelling
        self._ids: set[str] | None = set() if reading.used.id is not None else None
        self._ids_compared = self._duplicates = self._incomplete = 0
        self._first_duplicate: int | None = None
        self._first_incomplete: int | None = None
        self.rows = 0
        self.first_rows: list[int] = []  # by spelling
        self.first_gap: int | None = None  # the row of the first score that is not even NaN
        self.first_not_finite: tuple[int, float] | None = None  # likewise, with what is in its place

    def add(self, chunk: Chunk) -> None:
        """Count further rows."""
        rows = chunk.rows(self.rows)
        self.rows += len(chunk)
        if self.rows > MOST_ROWS:
            raise too_many(self._reading.source, self.rows)
        if chunk.first_gap is not None and self.first_gap is None:
            self.first_gap = int(rows[chunk.first_gap])
        self._count_labels(chunk, rows)
        if self.first_not_finite is None:
            bad = np.flatnonzero(~np.isfinite(chunk.scores))
            if len(bad):
                self.first_not_finite = int(rows[bad[0]]), float(chunk.scores[bad[0]])
        incomplete = np.flatnonzero(np.isnan(chunk.scores) | self._missing[chunk.labels])
        self._incomplete += len(incomplete)
        if len(incomplete) and self._first_incomplete is None:
            self._first_incomplete = int(rows[incomplete[0]])
        if self._ids is not None:
            self._compare_ids(self._ids, chunk.ids, rows)

    def _count_labels(self, chunk: Chunk, rows: NDArray[np.int64]) -> None:
        spellings, known = self._reading.spellings, len(self.first_rows)
        if len(spellings) > known:
            new = [*islice(reversed(spellings), len(spellings) - known)][::-1]
            places, first = np.unique(chunk.labels, return_index=True)
            self.first_rows += rows[first[places >= known]].tolist()
            self._missing = np.append(self._missing, [is_missing(spelling) for spelling in new])
            self._times = np.append(self._times, np.zeros(len(new), dtype=np.int64))
        self._times += np.bincount(chunk.labels, minlength=len(spellings))

    def _compare_ids(self, seen: set[str], ids: Sequence[str], rows: NDArray[np.int64]) -> None:
        self._ids_compared += len(ids)
        for index, name in enumerate(ids):
            if name not in seen:
                seen.add(name)
            elif not is_missing(name):
                self._duplicates += 1
                if self._first_duplicate is None:
                    self._first_duplicate = int(rows[index])

    def forget_ids(self) -> None:
        """Compare ids no longer: they would fill the memory."""
        self._ids = None

    def description(self) -> Description:
        """Return what there is to tell when all rows are counted."""
        reading, used = self._reading, self._reading.used
        return Description(
            source=reading.source,
            kind=reading.kind(),
            columns=reading.columns,
            score_column=used.score,
            label_column=used.label,
            id_column=used.id,
            rows=self.rows,
            incomplete=self._incomplete,
            first_incomplete=self._first_incomplete,
            label_values={
                spelling: int(times)
                for spelling, times, none in zip(reading.spellings, self._times, self._missing, strict=True)
                if not none
            },
            duplicates=self._duplicates,
            first_duplicate=self._first_duplicate,
            ids_compared=self._ids_compared,
            single_precision=frozenset(reading.single_precision),
        )


def too_many(source: str, rows: int) -> DataError:
    return DataError(
        f"{rows:,} rows are too many; the computation holds {MOST_ROWS:,} samples",
        source=source,
        hint="is it the right table?",
    )
