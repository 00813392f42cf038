"""How scores are read that a study evaluates on a grid: to the nearest of evenly spaced decimals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ppaurora.data.samples import Samples
from ppaurora.io.models import StrictModel

MOST_CELLS = 1 << 20
MOST_DECIMALS = 9
_MOST_UNITS = 1 << 53  # of the last decimal, that every float64 tells apart
_HINT = "agree on a grid that holds all scores, with another low or high, or use 'fast' without a grid"


class Grid(StrictModel):
    """Values low, low + 10^-decimals, ..., high; scores between them are read as the nearest one.

    Attributes
    ----------
    low, high
        The lowest and the highest score; one beyond by half a step or more is refused.
    decimals
        To how many decimals scores are read, at most 9.

    Examples
    --------
    >>> import ppaurora
    >>> grid = ppaurora.Grid(low=0.0, high=40.0, decimals=1)
    >>> print(grid)
    401 values from 0 to 40, 1 decimal
    >>> grid.values[:3].tolist()
    [0.0, 0.1, 0.2]
    """

    low: Annotated[float, Meta(description="The lowest score that there is, by default 0.")] = 0.0
    high: Annotated[float, Meta(description="The highest score that there is, by default 1.")] = 1.0
    decimals: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_DECIMALS,
            description="To how many decimals scores are read, by default 4.",
            extra={"expected": f"a whole number from 0 to {MOST_DECIMALS}"},
        ),
    ] = 4

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(f"{name}: must be a finite number")
            if self._in_units(name).denominator > 1:
                raise ValueError(
                    f"{name}: must have at most as many decimals as scores: {self.decimals}; shorten it, or "
                    "take more decimals"
                )
        if self.low >= self.high:
            raise ValueError(f"high: must be above low, which is {self.low:g}")
        if max(abs(self.first), abs(self.first + self.cells)) > _MOST_UNITS:
            raise ValueError("decimals: no float64 has so many digits; take fewer decimals")
        if self.cells > MOST_CELLS:
            raise ValueError(
                f"decimals: a grid has at most {MOST_CELLS:,} values; take fewer decimals, or a low and a "
                "high that are closer"
            )

    def _in_units(self, name: str) -> Fraction:
        """Return an end in units of the last decimal, as people write it."""
        units: Fraction = Fraction(repr(float(getattr(self, name)))) * 10**self.decimals
        return units

    @property
    def first(self) -> int:
        """Return the lowest value in units of the last decimal."""
        return int(self._in_units("low"))

    @property
    def cells(self) -> int:
        """Return how many values there are."""
        return int(self._in_units("high")) - self.first + 1

    @property
    def step(self) -> float:
        """Return how far one value is from the next."""
        return 1 / float(10**self.decimals)

    @property
    def values(self) -> NDArray[np.float64]:
        """All values in increasing order, each the float64 that is nearest to the decimal."""
        units = np.arange(self.first, self.first + self.cells, dtype=np.float64)
        values: NDArray[np.float64] = units / 10**self.decimals + 0.0
        return values

    def as_samples(self, label: int, *, negated: bool) -> Samples:
        """Return a sample of a class at every value."""
        samples = Samples("grid", self.values, np.full(self.cells, label, dtype=np.uint8))
        return samples.negate() if negated else samples

    def places(self, samples: Samples) -> NDArray[np.int64]:
        """Return by which value each score is read; one outside of the range is refused."""
        places = self.nearest(samples.scores_of_source)
        outside = np.flatnonzero((places < 0) | (places >= self.cells))
        if len(outside):
            problem = f"the score is outside of the study's grid, from {self.low:g} to {self.high:g}"
            raise samples.bad_score(int(outside[0]), problem, _HINT)
        return places

    def nearest(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of the nearest value, also beyond both ends; halfway, the even one in units."""
        with np.errstate(over="ignore"):  # what is beyond float64 is beyond the end, too
            places = np.rint(scores * 10**self.decimals) - self.first
        clipped: NDArray[np.int64] = np.clip(places, -1, self.cells).astype(np.int64)
        return clipped

    def read(self, samples: Samples) -> Samples:
        """Return the same samples with scores as they are read."""
        values = self.values[self.places(samples)]
        return replace(samples, scores=0.0 - values if samples.negated else values)

    @property
    def reading(self) -> str:
        """Return to how many decimals scores are read, in words."""
        if self.decimals == 0:
            return "as whole numbers"
        return f"to {self._decimals}"

    def __str__(self) -> str:
        """Range and step, for people."""
        return f"{self.cells:,} values from {self.low:g} to {self.high:g}, {self._decimals}"

    @property
    def _decimals(self) -> str:
        return f"{self.decimals} decimal{'' if self.decimals == 1 else 's'}"
