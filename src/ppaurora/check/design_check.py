"""An owner's own numbers in a study with a design: by model, outcome and level, and by patient."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ppaurora.check.concerns import Concern
from ppaurora.data import Design, Grid, Samples
from ppaurora.data.design import all_pairs
from ppaurora.data.further import Further, LeftOut
from ppaurora.data.slices import Pair, Slice
from ppaurora.errors import InputError
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.rules import Policy
from ppaurora.statistics.auroc import auroc_of_counts
from ppaurora.statistics.estimates import Estimate, joined

_LOCAL_AUROC = f"local {Auroc.title}"
_CLUSTERED = "no interval: rows are not independent, or count several times"


@dataclass(frozen=True, repr=False)
class SliceCheck:
    """One model and one outcome, of all rows or of one level: how many rows, and their AUROC."""

    slice: Slice
    samples: int
    positives: int
    auroc: Estimate

    def __repr__(self) -> str:
        return f"<SliceCheck of {self.slice}>"

    @property
    def negatives(self) -> int:
        """Return the number of rows of the negative class."""
        return self.samples - self.positives


@dataclass(frozen=True, repr=False)
class DesignCheck:
    """What the design of a study makes of an owner's data. It stays with the owner; repr shows no counts.

    Attributes
    ----------
    slices
        Every model with every outcome, and then level by level.
    differences
        By pair of models, how much higher AUROC is for the first; None where it is undefined.
    patients, most_rows
        How many patients there are, and the most rows that one of them has; None if nobody told them apart.
    weight, largest_weight
        The sum of all weights, and the largest one; None without weights.
    left_out
        How many rows were left out, and why.
    counts_left_out
        Whether the study counts these.
    """

    slices: tuple[SliceCheck, ...]
    differences: tuple[tuple[Pair, float | None], ...]
    patients: int | None
    most_rows: int | None
    weight: int | None
    largest_weight: int | None
    left_out: LeftOut
    counts_left_out: bool = False

    def __repr__(self) -> str:
        return f"<DesignCheck of {len(self.slices)} slices>"

    @classmethod
    def of(cls, samples: Samples, design: Design, grid: Grid | None = None) -> DesignCheck:
        """Look at samples of which all columns are there; on a grid, at scores as they are read there."""
        further = samples.further or Further()
        slices = tuple(_slice_check(samples, one, design, grid) for one in design.slices)
        aurocs = {one.slice: one.auroc.value for one in slices}
        rows = further.rows_by_patient
        weights = further.weights
        return cls(
            slices=slices if design.names_columns else (),
            differences=tuple((pair, _difference(aurocs[pair.a], aurocs[pair.b])) for pair in design.pairs),
            patients=None if rows is None else int(np.count_nonzero(rows)),
            most_rows=None if rows is None else further.most_rows,
            weight=None if weights is None else int(weights.sum(dtype=np.uint64)),
            largest_weight=None if weights is None else int(weights.max()),
            left_out=further.left_out,
            counts_left_out=design.left_out,
        )

    @property
    def wholes(self) -> tuple[SliceCheck, ...]:
        """Every model with every outcome, over all rows."""
        return tuple(one for one in self.slices if not one.slice.is_level)

    @property
    def first(self) -> SliceCheck | None:
        """The first model with the first outcome, if the study names any columns."""
        return self.wholes[0] if self.wholes else None

    @property
    def first_name(self) -> str:
        """What the first model and the first outcome are called; empty where the study names neither."""
        return "" if self.first is None else str(self.first.slice)

    @property
    def levels(self) -> tuple[SliceCheck, ...]:
        """The slices of levels."""
        return tuple(one for one in self.slices if one.slice.is_level)

    def facts(self) -> Iterator[tuple[str, str]]:
        """Return labels and texts for the owner, line by line."""
        for one in self.wholes:
            yield ", ".join(filter(None, (_LOCAL_AUROC, str(one.slice)))), shown_auroc(one.auroc)
        for pair, difference in self.differences:
            outcome = f", {pair.a.outcome}" if pair.a.outcome else ""
            value = "undefined" if difference is None else f"{difference:+.4f}"
            yield f"{_LOCAL_AUROC}, {pair.a.model} minus {pair.b.model}{outcome}", value
        for one in self.levels:
            rows = "1 sample" if one.samples == 1 else f"{one.samples:,} samples"
            counted = f"{rows}, {one.positives:,} positive"
            yield str(one.slice), "; ".join(filter(None, (counted, _level_auroc(one))))
        if self.patients is not None:
            yield "patients", f"{self.patients:,}; at most {self.most_rows:,} rows of one"
        if self.weight is not None:
            yield "weights", f"{self.weight:,} in all, the largest {self.largest_weight:,}"
        stated = any(self.left_out.counts) or not self.counts_left_out
        yield "rows left out", self.left_out.in_words if stated else "none stated"

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora check --format json` prints."""
        return {
            "slices": [
                {
                    **asdict(one.slice),
                    "samples": one.samples,
                    "positives": one.positives,
                    Auroc.name: one.auroc.to_dict(),
                }
                for one in self.slices
            ],
            "differences": [
                {"a": pair.a.model, "b": pair.b.model, "outcome": pair.a.outcome, "difference": difference}
                for pair, difference in self.differences
            ],
            "patients": self.patients,
            "most_rows_of_a_patient": self.most_rows,
            "weight": self.weight,
            "largest_weight": self.largest_weight,
            "left_out": asdict(self.left_out),
        }


def design_concerns(
    samples: Samples, design: Design, found: DesignCheck, policy: Policy
) -> Iterator[Concern]:
    """Levels that are empty or small, and models that are one."""
    whole = design.wholes[0]
    of_levels = [one for one in found.levels if one.slice.whole == whole]
    for one in of_levels:
        if not one.samples:
            yield Concern(
                "empty-level",
                f"no sample has the level {_level(one.slice)}: is that so, or is it another column?",
                is_warning=False,
            )
    small = {
        _level(one.slice): None
        for one in found.levels
        if one.samples
        and (one.positives < policy.minimum_positives or one.negatives < policy.minimum_negatives)
    }
    if small:
        yield Concern(
            "few-in-level",
            f"of {', '.join(small)}, this data has fewer positives or negatives than the study demands of "
            "all owners together; if others have few as well, numbers of that level are withheld",
            is_warning=False,
        )
    scores = {} if samples.further is None else samples.further.scores
    for a, b in all_pairs(scores):
        if np.array_equal(scores[a], scores[b]):
            yield Concern(
                "same-models",
                f"the models {a} and {b} have the same scores in every row: is one of their "
                "columns the wrong one?",
            )


def _slice_check(samples: Samples, one: Slice, design: Design, grid: Grid | None) -> SliceCheck:
    levels = design.subgroups[one.variable].levels if one.is_level else ()
    own = samples.of(one, levels)
    model = design.models.get(one.model)
    auroc = _auroc(own, grid if grid is None or model is None or model.grid is None else model.grid)
    if design.is_clustered and auroc.value is not None:
        auroc = Estimate(auroc.value, note=_CLUSTERED)
    return SliceCheck(one, len(own), int(own.labels.sum()), auroc)


def _auroc(own: Samples, grid: Grid | None) -> Estimate:
    """Return AUROC, in which a row counts as often as it weighs."""
    if grid is not None:
        with contextlib.suppress(InputError):  # which is the refusal
            own = grid.read(own)
    weights = np.ones(len(own)) if own.further is None or own.further.weights is None else own.further.weights
    values, places = np.unique(own.scores, return_inverse=True)
    positives, negatives = (
        np.bincount(places[chosen], weights[chosen], len(values)).astype(np.int64)
        for chosen in (own.labels == bit for bit in (1, 0))
    )
    return auroc_of_counts(positives, negatives)


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _level(slice_: Slice) -> str:
    return f"{slice_.variable} = {slice_.level}"


def shown_auroc(auroc: Estimate) -> str:
    """Return an owner's own AUROC with its interval; where it has none, why."""
    if auroc.value is None:
        return auroc.note
    return joined(f"{auroc.value:.4f}", auroc.shown_interval(), auroc.note)


def _level_auroc(one: SliceCheck) -> str:
    return "" if one.auroc.value is None else f"{Auroc.title} {one.auroc.value:.4f}"
