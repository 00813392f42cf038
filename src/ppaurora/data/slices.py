"""The slices of a study: what samples, with which score and which label, metrics are about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Slice:
    """One model and one outcome, of all samples or of one level of a subgroup. Names are empty where a study
    has no names."""

    model: str = ""
    outcome: str = ""
    variable: str = ""
    level: str = ""

    @property
    def is_level(self) -> bool:
        """Return whether it is about one level of a subgroup."""
        return bool(self.variable)

    @property
    def whole(self) -> Slice:
        """Return the slice of all samples, with the same model and outcome."""
        return Slice(self.model, self.outcome)

    def __str__(self) -> str:
        """Name it for people."""
        level = f"{self.variable} = {self.level}" if self.variable else ""
        return ", ".join(filter(None, (self.model, self.outcome, level)))


WHOLE = Slice()  # of a study that names nothing


@dataclass(frozen=True)
class Pair:
    """Two models that are compared on the same samples."""

    a: Slice
    b: Slice
