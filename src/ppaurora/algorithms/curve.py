"""The curve over one merged list, from which every metric takes what it needs.

Positions are public: j = 1..n, and FP[j] = j - TP[j]. The curve has a point where a tie group ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ppaurora.algorithms.scan import previous_flagged
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.suites.base import Keys, Records, Suite

PRECISION_BITS = 33
MOST_SAMPLES = (1 << 25) - 1  # 2·P·2^PRECISION_BITS stays below 2^59, which leaves room for the division


@dataclass(frozen=True)
class Quantity:
    """Something that has a value at every position of the merged list, and one where the curve starts."""

    of: Callable[[Curve], RingShare]
    at_start: int = 0


class Curve:
    """Each quantity is computed once; one scan finds those that are needed at previous ends."""

    def __init__(self, suite: Suite, records: Records, at_ends: Sequence[Quantity]) -> None:
        self.suite = suite
        self.size = len(records)
        self.positions = np.arange(1, self.size + 1, dtype=np.uint64)
        self.labels = suite.to_ring(records.labels)
        self.tp = self.labels.cumsum()
        self.fp = self.positions - self.tp
        self.positives = self.labels.sum()
        self.class_product = suite.mul(self.positives, self.size - self.positives)
        self._keys = records.keys
        self._ends: RingShare | None = None
        self._precision: RingShare | None = None
        self._previous = self._at_previous_ends(at_ends) if at_ends else {}

    @property
    def ends(self) -> RingShare:
        """1 where a tie group ends, else 0."""
        if self._ends is None:
            with self.suite.step("ties"):
                self._ends = ends_of_tie_groups(self.suite, self._keys)
        return self._ends

    @property
    def precision(self) -> RingShare:
        """TP[j] / j with PRECISION_BITS fractional bits."""
        if self._precision is None:
            with self.suite.step("precision"):
                self._precision = self.suite.div_public(self.tp, self.positions, PRECISION_BITS)
        return self._precision

    def _at_previous_ends(self, quantities: Sequence[Quantity]) -> dict[Quantity, RingShare]:
        previous = previous_flagged(
            self.suite,
            self.ends,
            stack([quantity.of(self) for quantity in quantities]),
            stack([self.suite.constant(quantity.at_start) for quantity in quantities]),
        )
        return dict(zip(quantities, previous.rows(), strict=True))

    def previous(self, quantity: Quantity) -> RingShare:
        """At the previous end of a tie group; before the first, at the curve's start."""
        return self._previous[quantity]

    def step(self, quantity: Quantity) -> RingShare:
        """How far it went since the previous end, at ends; zero elsewhere."""
        return self.suite.mul(self.ends, quantity.of(self) - self.previous(quantity))

    def trapezoids(self, x: Quantity, y: Quantity) -> RingShare:
        """Twice the area under y over x: the sum over ends of (x - x_prev)·(y + y_prev)."""
        return self.suite.dot(self.step(x), y.of(self) + self.previous(y))


TP = Quantity(lambda curve: curve.tp)
FP = Quantity(lambda curve: curve.fp)
PRECISION = Quantity(lambda curve: curve.precision, at_start=1 << PRECISION_BITS)


def ends_of_tie_groups(suite: Suite, keys: Keys) -> RingShare:
    """e[j] = 1 if c[j] differs from c[j+1]; the last is always an end."""
    if len(keys) <= 1:
        return suite.constant(1, len(keys))
    return concat([suite.to_ring(suite.differ(keys[:-1], keys[1:])), suite.constant(1)])
