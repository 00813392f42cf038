"""What an owner's rows have beside one score and one label, in the clear: it stays with the owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_LEFT_OUT = 1 << 22  # rows of one owner, for each reason
LEFT_OUT_REASONS = ("missing_score", "missing_label", "excluded")


@dataclass(frozen=True)
class LeftOut:
    """How many rows an owner left out before it submitted the rest, and why."""

    missing_score: int = 0
    missing_label: int = 0
    excluded: int = 0

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers, in the order of `LEFT_OUT_REASONS`."""
        return tuple(getattr(self, reason) for reason in LEFT_OUT_REASONS)

    @property
    def in_words(self) -> str:
        """The numbers with their reasons, for the owner."""
        if not any(self.counts):
            return "none"
        reasons = zip(LEFT_OUT_REASONS, self.counts, strict=True)
        return ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in reasons)


@dataclass(frozen=True)
class Further:
    """The rows of a study with a design, as far as one score and one label do not say it.

    Attributes
    ----------
    scores
        By model, every row's score, as the source has it; all models of the study.
    labels
        By outcome, every row's label, 0 or 1; all outcomes of the study.
    levels
        By variable, the place of every row's level among the levels of the study.
    patients
        Rows with equal numbers are of one patient; None if every row is a patient.
    weights
        How often every row counts, from 1 on; None if once.
    left_out
        How many rows are not among these.
    score_columns
        By model, what the source calls the column of its scores, for errors.
    """

    scores: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    labels: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict, repr=False)
    levels: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict, repr=False)
    patients: NDArray[np.int64] | None = field(default=None, repr=False)
    weights: NDArray[np.uint32] | None = field(default=None, repr=False)
    left_out: LeftOut = field(default=LeftOut(), repr=False)
    score_columns: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All columns, each with a value for every row, in a fixed order."""
        by_name = [column for some in (self.scores, self.labels, self.levels) for column in some.values()]
        return by_name + [column for column in (self.patients, self.weights) if column is not None]

    @property
    def rows_by_patient(self) -> NDArray[np.int64] | None:
        """How many rows every patient has; None if every row is a patient."""
        return None if self.patients is None else np.bincount(self.patients)

    @property
    def most_rows(self) -> int:
        """How many rows the patient with the most has."""
        rows = self.rows_by_patient
        return 1 if rows is None else int(rows.max(initial=0))

    def take(self, chosen: NDArray[Any]) -> Further:
        """Return the same of some rows."""
        return self._each(lambda column: column[chosen])

    def fixed(self) -> Further:
        """Return a copy that nobody can change."""
        copied = self._each(lambda column: column.copy())
        for column in copied.arrays:
            column.flags.writeable = False
        return copied

    def _each(self, change: Any) -> Further:
        changed: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Mapping) and one.name != "score_columns":
                changed[one.name] = {name: change(column) for name, column in value.items()}
            elif isinstance(value, np.ndarray):
                changed[one.name] = change(value)
        return replace(self, **changed)
