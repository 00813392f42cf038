"""The areas: Algorithms 1, 2 and 4 of the paper and average precision, over one merged list.

Each metric is a numerator and a denominator; `areas` divides them all at once. Positions are
public: j = 1..n, and FP[j] = j - TP[j].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ppaurora.algorithms.scan import previous_flagged
from ppaurora.errors import InputError
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.suites.base import Keys, Records, Suite

PRECISION_BITS = 33
MOST_SAMPLES = (1 << 25) - 1


@dataclass(frozen=True)
class SecretFraction:
    """0 <= numerator <= denominator."""

    numerator: RingShare
    denominator: RingShare


class Curve:
    """What the metrics need of the merged list, each computed once.

    `at_ends` names what they need at the previous end of a tie group; one scan finds it all.
    """

    def __init__(self, suite: Suite, records: Records, at_ends: Sequence[str]) -> None:
        self.suite = suite
        self.size = len(records)
        self.positions = np.arange(1, self.size + 1, dtype=np.uint64)
        self.labels = suite.to_ring(records.labels)
        self.tp = self.labels.cumsum()
        self.fp = self.positions - self.tp
        self.positives = self.labels.sum()
        self.class_product = suite.mul(self.positives, self.size - self.positives)
        self._precision: RingShare | None = None
        if at_ends:
            with suite.step("ties"):
                self.ends = ends_of_tie_groups(suite, records.keys)
            self.previous = self._previous(at_ends)

    @property
    def precision(self) -> RingShare:
        """TP[j] / j with PRECISION_BITS fractional bits."""
        if self._precision is None:
            with self.suite.step("precision"):
                self._precision = self.suite.div_public(self.tp, self.positions, PRECISION_BITS)
        return self._precision

    def _previous(self, names: Sequence[str]) -> dict[str, RingShare]:
        """These quantities at the previous end of a tie group; before the first, at the curve's start."""
        at_start = {"tp": 0, "fp": 0, "precision": 1 << PRECISION_BITS}
        previous = previous_flagged(
            self.suite,
            self.ends,
            stack([getattr(self, name) for name in names]),
            stack([self.suite.constant(at_start[name]) for name in names]),
        )
        return dict(zip(names, previous.rows(), strict=True))

    def trapezoids(self, x: str, y: str) -> RingShare:
        """Twice the area under y over x: the sum over ends of (x - x_prev)·(y + y_prev)."""
        width = getattr(self, x) - self.previous[x]
        return self.suite.dot(self.suite.mul(self.ends, width), getattr(self, y) + self.previous[y])


def ends_of_tie_groups(suite: Suite, keys: Keys) -> RingShare:
    """e[j] = 1 if c[j] differs from c[j+1]; the last is always an end."""
    if len(keys) <= 1:
        return suite.constant(1, len(keys))
    return concat([suite.to_ring(suite.differ(keys[:-1], keys[1:])), suite.constant(1)])


def auroc_no_ties(curve: Curve) -> SecretFraction:
    """Algorithm 1: the sum of TP[j]·(FP[j] - FP[j-1]), over P·N."""
    return SecretFraction(curve.suite.dot(curve.tp, 1 - curve.labels), curve.class_product)


def auroc(curve: Curve) -> SecretFraction:
    """Algorithm 2: trapezoids of TP over FP, over 2·P·N."""
    return SecretFraction(curve.trapezoids("fp", "tp"), curve.class_product * 2)


def aupr(curve: Curve) -> SecretFraction:
    """Algorithm 4, with recall's numerator TP as x axis: trapezoids of precision over TP, over 2·P."""
    return SecretFraction(curve.trapezoids("tp", "precision"), curve.positives * (2 << PRECISION_BITS))


def ap(curve: Curve) -> SecretFraction:
    """Average precision: the sum over ends of precision·(TP - TP_prev), over P."""
    added = curve.suite.mul(curve.ends, curve.tp - curve.previous["tp"])
    return SecretFraction(curve.suite.dot(added, curve.precision), curve.positives * (1 << PRECISION_BITS))


@dataclass(frozen=True)
class Metric:
    fraction: Callable[[Curve], SecretFraction]
    at_ends: tuple[str, ...]  # what it needs of the previous end of a tie group


METRICS = {
    "auroc": Metric(auroc, ("tp", "fp")),
    "auroc_no_ties": Metric(auroc_no_ties, ()),
    "aupr": Metric(aupr, ("tp", "precision")),
    "ap": Metric(ap, ("tp",)),
}


def check_size(samples: int) -> None:
    """Refuse what would not fit: 2·P·2^33 must stay below 2^59, which leaves room for the division."""
    if samples > MOST_SAMPLES:
        raise InputError(f"{samples} samples are too many; {MOST_SAMPLES} fit the 64-bit arithmetic")


def denominator_bound(samples: int) -> int:
    """No metric's denominator is larger: 2·P·N <= n^2 / 2, and 2·P·2^33."""
    return max(samples * samples // 2, samples * (2 << PRECISION_BITS), 1)


def areas(
    suite: Suite, records: Records, metrics: Sequence[str], ascents: RingShare | None = None
) -> RingShare:
    """Rows (mantissa, exponent), one column per metric, after a column (1, 0).

    All is zero if the list has one class only, whichever class it is, or if the owners' lists, of
    which `ascents` counts the places out of order, were not all sorted. Given those, columns
    (flag, 0) follow, 1 for every list that was.
    """
    with suite.step("curve"):
        curve = Curve(suite, records, sorted({name for m in metrics for name in METRICS[m].at_ends}))
        fractions = [METRICS[metric].fraction(curve) for metric in metrics]
        if ascents is None:
            defined = suite.is_positive(curve.class_product)
        else:
            positive = suite.is_positive(concat([curve.class_product, ascents.sum(), ascents]))
            defined = suite.mul(positive[:1], 1 - positive[1:2])
            in_order = 1 - positive[2:]
    with suite.step("division"):
        quotients = suite.rounded_quotient(
            concat([fraction.numerator for fraction in fractions]),
            concat([fraction.denominator for fraction in fractions]),
            denominator_bound(len(records)),
            leading_zeros=2 * len(records).bit_length(),
        )
        first_column = stack([suite.constant(1), suite.constant(0)])
        released = suite.mul(defined, concat([first_column, quotients]))
        if ascents is not None:
            released = concat([released, stack([in_order, in_order * 0])])
        return released
