"""What was read of one owner's data: described for people, and turned into samples when they are in order.

Rows are kept, or, on a grid and above a number of them, counted: then memory does not depend on how many
there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.chunks import Chunk, Description, Reading, Tally
from ppaurora.data.count_table import CountTable
from ppaurora.data.design import Design
from ppaurora.data.grid import Grid
from ppaurora.data.labels import MISSING_HINT, labels_from
from ppaurora.data.raw_rows import Coded, RawRows
from ppaurora.data.samples import Samples, not_finite
from ppaurora.errors import DataError

ROWS_KEPT = 1 << 20  # of a source that is read on a grid; with more of them, none is kept
_MOST_SPELLINGS = 16  # of labels that are counted, each at every value of the grid
MOVED_BY = 1e-12  # from which distance on a score is another one as it is read


@dataclass(frozen=True)
class Noted:
    """What a reader remembers to judge labels and scores by, once the positive label is known."""

    spellings: tuple[str, ...] = field(repr=False)
    first_rows: tuple[int, ...] = field(repr=False)  # of each spelling
    first_gap: int | None = field(repr=False)  # the row of the first score that is not even NaN
    first_not_finite: tuple[int, float] | None = field(repr=False)

    def bits(self, about: Description, pos_label: object | None) -> NDArray[np.uint8]:
        """Return what each spelling stands for; raise if a score is missing or no number, or a label bad."""
        if self.first_gap is not None:
            raise self._bad_score(about, self.first_gap, "the score is missing", MISSING_HINT)
        bits = labels_from(self.spellings, about.source, about.label_column, self.first_rows, pos_label)
        if self.first_not_finite is not None:
            row, score = self.first_not_finite
            raise self._bad_score(about, row, *not_finite(score))
        return bits

    def _bad_score(self, about: Description, row: int, problem: str, hint: str) -> DataError:
        return DataError(problem, source=about.source, row=row, column=about.score_column, hint=hint)


@dataclass(frozen=True)
class Dataset:
    """One owner's data as it was read: `description` for people, `samples()` to compute with.

    Missing values and a third label are told by the description, and refused by `samples`.
    """

    description: Description
    _noted: Noted = field(repr=False)
    _scores: NDArray[np.float64] = field(repr=False)
    _labels: NDArray[np.int64] = field(repr=False)  # places in the spellings
    _rows: NDArray[np.int64] | None = field(repr=False)
    _raw: RawRows | None = field(default=None, repr=False)  # all columns, of a design

    def samples(self, pos_label: object | None = None) -> Samples:
        """Checked. A value that cannot be used is a `DataError`, with its row and column but not the value.

        `pos_label` is the label of the positive class, if labels are not 0/1 or true/false.
        """
        if self._raw is not None:
            return self._raw.samples(pos_label)
        about = self.description
        bits = self._noted.bits(about, pos_label)
        return Samples(
            about.source,
            self._scores,
            bits[self._labels],
            self._rows,
            about.score_column,
            single_precision=about.single_precision,
        )


@dataclass(frozen=True)
class CountedDataset:
    """One owner's data of which no row was kept: counts of every label at every value of a grid.

    Attributes
    ----------
    description
        As of a `Dataset`.
    grid
        How scores were read; one outside of its range was refused.
    moved
        How many scores are not, but for 1e-12, the values that they were read as.
    """

    description: Description
    grid: Grid
    moved: int = field(repr=False)
    _noted: Noted = field(repr=False)
    _counts: Sequence[NDArray[np.uint32]] = field(repr=False)  # by spelling

    def samples(self, pos_label: object | None = None) -> CountTable:
        """Return the table, checked as the samples of a `Dataset` are."""
        about = self.description
        bits = self._noted.bits(about, pos_label)
        of_class = [np.zeros(self.grid.cells, dtype=np.uint32) for _ in (0, 1)]
        for bit, counts in zip(bits, self._counts, strict=True):
            of_class[bit] += counts
        return CountTable(about.source, self.grid, of_class[1], of_class[0])


class _Counting:
    """Adds chunks up."""

    def __init__(self, reading: Reading, grid: Grid) -> None:
        self._reading = reading
        self._values = grid.values
        self.grid = grid
        self.moved = 0
        self.counts: list[NDArray[np.uint32]] = []

    def add(self, chunk: Chunk, before: int) -> None:
        """Count rows that come behind so many others; those without a score count nowhere."""
        source, used, spellings = self._reading.source, self._reading.used, self._reading.spellings
        if len(spellings) > _MOST_SPELLINGS:
            row = int(chunk.rows(before)[np.argmax(chunk.labels >= _MOST_SPELLINGS)])
            raise DataError(
                f"there are more than {_MOST_SPELLINGS} different labels",
                source=source,
                row=row,
                column=used.label,
                hint="is it the right column? There are two classes",
            )
        new = range(len(self.counts), len(spellings))
        self.counts += [np.zeros(self.grid.cells, dtype=np.uint32) for _ in new]
        there = np.isfinite(chunk.scores)
        scores, labels = chunk.scores[there], chunk.labels[there]
        bare = Samples(source, scores, np.empty(0, np.uint8), chunk.rows(before)[there], used.score)
        places = self.grid.places(bare)
        self.moved += int(np.count_nonzero(np.abs(self._values[places] - scores) > MOVED_BY))
        for place in np.unique(labels).tolist():
            found, times = np.unique(places[labels == place], return_counts=True)
            self.counts[place][found] += times.astype(np.uint32)


def gather(reading: Reading, grid: Grid | None) -> Dataset | CountedDataset:
    """Read all rows. With a grid, more than `ROWS_KEPT` of them are counted, and none is kept.

    Then no more ids are compared either, which would take more memory than all else.
    """
    tally, kept, counting = Tally(reading), list[Chunk](), None
    for chunk in reading.chunks:
        before = tally.rows
        if counting is None and grid is not None and before + len(chunk) > ROWS_KEPT:
            tally.forget_ids()
            counting, passed = _Counting(reading, grid), 0
            for one in kept:
                counting.add(one, passed)
                passed += len(one)
            kept.clear()
        tally.add(chunk)
        if counting is None:
            kept.append(chunk)
        else:
            counting.add(chunk, before)
    if not tally.rows:
        raise reading.is_empty
    about = tally.description()
    noted = Noted(tuple(reading.spellings), tuple(tally.first_rows), tally.first_gap, tally.first_not_finite)
    if counting is not None:
        return CountedDataset(about, counting.grid, counting.moved, noted, counting.counts)
    if reading.design is not None:
        return _designed(reading, reading.design, kept, about, noted)
    lines = [chunk.lines for chunk in kept if chunk.lines is not None]
    return Dataset(
        about,
        noted,
        _joined([chunk.scores for chunk in kept]),
        _joined([chunk.labels for chunk in kept]),
        _joined(lines) if lines else None,
    )


def _designed(
    reading: Reading, design: Design, kept: list[Chunk], about: Description, noted: Noted
) -> Dataset:
    """Join all columns; of rows that lack something, the description tells about all scores and labels."""
    used, (score, label) = reading.used, reading.used.first
    starts = np.cumsum([0, *map(len, kept)])
    rows = _joined([chunk.rows(int(before)) for before, chunk in zip(starts[:-1], kept, strict=True)])
    columns = {role: _joined([chunk.further[role] for chunk in kept]) for role in used.further}
    columns |= {score: _joined([chunk.scores for chunk in kept])}
    columns |= {label: _joined([chunk.labels for chunk in kept])}
    codes = {**reading.codes, label: reading.spellings}
    raw = RawRows(
        source=reading.source,
        used=used,
        design=design,
        rows=rows,
        scores={role.name: columns[role] for role in used.named if role.option == "score"},
        coded={role: Coded(columns[role], tuple(spellings)) for role, spellings in codes.items()},
        single_precision=about.single_precision,
    )
    incomplete = np.flatnonzero(raw.lacks_score | raw.lacks_label)
    about = replace(
        about,
        incomplete=len(incomplete),
        first_incomplete=int(rows[incomplete[0]]) if len(incomplete) else None,
        labels_by_outcome={role.name: raw.coded[role].times for role in raw.coded if role.option == "label"}
        if design.outcomes
        else {},
        used={str(role): name for role, name in used.named.items()} if design.names_columns else {},
    )
    return Dataset(about, noted, columns[score], columns[label], None, raw)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
