"""What reading scores on a grid changes on an owner's own data, and which grid would fit them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ppaurora.data import CountTable, Grid, Samples, ScoreCounts
from ppaurora.data.dataset import MOVED_BY
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.statistics.auroc import auroc_of_counts
from ppaurora.statistics.fitting_grid import decimals_of, fitting_grid
from ppaurora.statistics.histogram import span


@dataclass(frozen=True)
class GridEffect:
    """A grid's effect on one owner's data. It stays with the owner; counts are not printed.

    Attributes
    ----------
    grid
        How scores are read.
    before, after
        AUROC of the scores as they are, and as they are read; without a value for a single class. `before`
        is not known of data whose rows were counted and not kept.
    bound
        How far the two can be apart: half of the pairs of a positive and a negative that are read as the same
        value, of all pairs. For: only these pairs may have had another order, or none, and each counts as one
        half now. None for a single class.
    moved
        How many scores are read as a number that is more than 1e-12 away; None if that is not known.
    tied_before, tied_after
        How many samples share their score with another one; `tied_before` is not known of counted data.
    """

    grid: Grid
    before: float | None
    after: float | None
    bound: float | None
    moved: int | None = field(repr=False)
    tied_before: int | None = field(repr=False)
    tied_after: int = field(repr=False)

    @classmethod
    def of(cls, data: Samples | CountTable, grid: Grid, moved: int | None = None) -> GridEffect:
        """Compare; of a table there is nothing to compare with. A score outside of the grid is refused."""
        before = tied_before = None
        if isinstance(data, CountTable):
            if data.grid != grid:
                raise InputError(f"{data.source}: the table is on another grid: {data.grid}")
            counts = ScoreCounts.of(data)
        else:
            raw, counts = ScoreCounts.of(data), ScoreCounts.of(CountTable.of(data, grid))
            before, tied_before = auroc_of_counts(*raw.ascending).value, raw.tied
            moved = int(np.count_nonzero(np.abs(grid.read(data).scores - data.scores) > MOVED_BY))
        positives, negatives = counts.by_class
        pairs = positives * negatives
        return cls(
            grid=grid,
            before=before,
            after=auroc_of_counts(*counts.ascending).value,
            bound=counts.pairs_in_one / (2 * pairs) if pairs else None,
            moved=moved,
            tied_before=tied_before,
            tied_after=counts.tied,
        )

    @property
    def changes_nothing(self) -> bool:
        """Whether every score is a value of the grid, and so AUROC stays."""
        return self.moved == 0 and self.before in (None, self.after)

    @property
    def in_words(self) -> str:
        """What the grid does to this data, in a sentence or two."""
        if self.changes_nothing:
            return "every score is a value of the grid: it changes nothing"
        said = []
        if self.moved is not None:
            said.append("1 score is rounded" if self.moved == 1 else f"{self.moved:,} scores are rounded")
        if self.bound is not None:
            most = f"by {_shown(self.bound)} at most"
            moves = f"local AUROC moves {most}"
            if self.before is not None and self.after is not None:
                moves = f"local AUROC {self.before:.6f} becomes {self.after:.6f}: it can move {most}"
            said.append(moves)
        ties = f"{self.tied_after:,} samples share a score"
        said.append(ties if self.tied_before is None else f"{ties}, before {self.tied_before:,}")
        return "; ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora check --format json` prints."""
        return {
            "grid": {**to_builtins(self.grid), "cells": self.grid.cells},
            "auroc_before": self.before,
            "auroc_after": self.after,
            "bound": self.bound,
            "moved": self.moved,
            "tied_before": self.tied_before,
            "tied_after": self.tied_after,
        }


@dataclass(frozen=True)
class GridProposal:
    """A grid that would fit an owner's scores, for a plan or for `evaluate`.

    Attributes
    ----------
    decimals
        How many all scores have, up to 1e-9; None if they have more than eight.
    effect
        What the proposed grid would change.
    """

    decimals: int | None
    effect: GridEffect

    @property
    def grid(self) -> Grid:
        """Return the proposed grid."""
        return self.effect.grid

    @property
    def in_words(self) -> str:
        """How scores are written, and the grid to take."""
        written = "scores have many decimals"
        if self.decimals is not None:
            written = f"all scores have at most {self.decimals} decimals"
        if self.decimals == 0:
            written = "all scores are whole numbers"
        grid = self.grid
        taken = f"low = {grid.low:g}, high = {grid.high:g}, decimals = {grid.decimals}"
        return f"{written}; on a grid of {grid.cells:,} values ({taken}) {self.effect.in_words}"

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora check --format json` prints."""
        return {"decimals": self.decimals, **self.effect.to_dict()}


def propose_grid(samples: Samples) -> GridProposal | None:
    """Propose a grid between round numbers: with as many decimals as scores have, if it stays small."""
    decimals = decimals_of(samples.scores)
    grid = fitting_grid(*span(ScoreCounts.of(samples)), decimals)
    return None if grid is None else GridProposal(decimals, GridEffect.of(samples, grid))


def _shown(bound: float) -> str:
    return "0" if bound == 0 else f"{bound:.1e}"
