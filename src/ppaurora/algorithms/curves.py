"""The areas: Algorithms 1, 2 and 4 of the paper, over one merged list.

Each returns numerator and denominator; `areas` divides them all at once. Positions are public:
j = 1..n, and FP[j] = j - TP[j].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ppaurora.algorithms.scan import previous_flagged
from ppaurora.errors import InputError
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.base import Records, Suite

QUOTIENT_BITS = 50
_MOST_PRECISION_BITS = 40
_RING_BITS = 62


@dataclass(frozen=True)
class Fraction:
    """A secret quotient, 0 <= numerator <= denominator."""

    numerator: RingShare
    denominator: RingShare


class Curve:
    """What the metrics need of the merged list, each computed once."""

    def __init__(self, suite: Suite, records: Records) -> None:
        self.suite = suite
        self.positions = np.arange(1, len(records) + 1, dtype=np.uint64)
        self.labels = suite.to_ring(records.labels)
        self.tp = self.labels.cumsum()
        self.fp = self.positions - self.tp
        self.positives = self.labels.sum()
        self.class_product = suite.mul(self.positives, len(records) - self.positives)
        self._keys = records.keys
        self._ends: RingShare | None = None

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def ends(self) -> RingShare:
        """1 at the last record of every group of equal keys (Algorithm 3); only metrics with ties need it."""
        if self._ends is None:
            with self.suite.step("ties"):
                self._ends = ends_of_tie_groups(self.suite, self._keys)
        return self._ends


def ends_of_tie_groups(suite: Suite, keys: RingShare) -> RingShare:
    """e[j] = 1 if c[j] differs from c[j+1]; the last is always an end."""
    if len(keys) <= 1:
        return suite.constant(1, len(keys))
    return RingShare.concat([suite.differ(keys[:-1], keys[1:]), suite.constant(1)])


def auroc_no_ties(curve: Curve) -> Fraction:
    """Algorithm 1: the sum of TP[j]·(FP[j] - FP[j-1]), over P·N."""
    area = curve.suite.mul(curve.tp, 1 - curve.labels).sum()
    return Fraction(area, curve.class_product)


def auroc(curve: Curve) -> Fraction:
    """Algorithm 2: at every end of a tie group, the rectangle twice and the triangle, over 2·P·N."""
    zero = curve.suite.constant(0)
    area = _trapezoids(curve, curve.fp, curve.tp, RingShare.stack([zero, zero]))
    return Fraction(area, curve.class_product * 2)


def aupr(curve: Curve) -> Fraction:
    """Algorithm 4, with recall's numerator TP as the x axis: trapezoids between precisions, over 2·P.

    Precision TP[j] / j carries `precision_bits` fractional bits, and so does the denominator.
    """
    suite = curve.suite
    bits = precision_bits(len(curve))
    with suite.step("precision"):
        precision = suite.div(curve.tp, suite.constant(0, len(curve)) + curve.positions, bits)
    initial = RingShare.stack([suite.constant(0), suite.constant(1 << bits)])
    area = _trapezoids(curve, curve.tp, precision, initial)
    return Fraction(area, curve.positives * (2 << bits))


def _trapezoids(curve: Curve, x: RingShare, y: RingShare, initial: RingShare) -> RingShare:
    """Twice the area under y over x between ends of tie groups, beginning at `initial` = (x, y)."""
    suite = curve.suite
    previous = previous_flagged(suite, curve.ends, RingShare.stack([x, y]), initial)
    previous_x, previous_y = previous.row(0), previous.row(1)
    width = x - previous_x
    areas = suite.mul(width, RingShare.stack([previous_y, y - previous_y]))
    rectangles, triangles = (areas.row(0), areas.row(1))
    return suite.mul(curve.ends, rectangles * 2 + triangles).sum()


METRICS: dict[str, Callable[[Curve], Fraction]] = {
    "auroc": auroc,
    "auroc_no_ties": auroc_no_ties,
    "aupr": aupr,
}


def precision_bits(samples: int) -> int:
    """Fractional bits of a precision, such that 2·P·2^bits stays below 2^62."""
    bits = min(_MOST_PRECISION_BITS, _RING_BITS - 2 - samples.bit_length())
    if bits < 32:
        raise InputError(f"{samples} samples are too many: the areas would not fit a 64-bit word")
    return bits


def areas(suite: Suite, records: Records, metrics: Sequence[str]) -> RingShare:
    """The metrics as fixed-point numbers of QUOTIENT_BITS fractional bits, after a first entry that
    is 1, or 0 if the list has one class only; then all others are 0 too, whichever class it is."""
    precision_bits(len(records))
    with suite.step("curve"):
        curve = Curve(suite, records)
        fractions = [METRICS[metric](curve) for metric in metrics]
        both_classes = suite.compare(curve.class_product, suite.constant(1))
    with suite.step("division"):
        quotients = suite.div(
            RingShare.concat([fraction.numerator for fraction in fractions]),
            RingShare.concat([fraction.denominator for fraction in fractions]),
            QUOTIENT_BITS,
        )
        return RingShare.concat([both_classes, suite.mul(both_classes, quotients)])
