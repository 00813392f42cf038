"""Private studies in the clear: their integers before noise is added, by the program and by definition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from ppaurora.data import Samples
from ppaurora.metrics import METRICS, Metric, Query
from ppaurora.metrics.private.mechanism import Mechanism
from ppaurora.policy.rules import Policy
from ppaurora.testing import private

Group = tuple[int, int]  # the positives and negatives of one score
DataSet = tuple[Group, ...]  # from the lowest score on

THRESHOLDS = (0.25, 0.5)
BINS = (0.0, 0.25, 0.5, 1.0)
EVERYTHING: tuple[Metric, ...] = (
    METRICS["auroc"](),
    *(METRICS[name](thresholds=THRESHOLDS) for name in ("sensitivity", "ppv", "f1", "net_benefit")),
    METRICS["reliability"](bins=BINS),
    METRICS["histogram"](bins=BINS),
    *(METRICS[name]() for name in ("brier", "observed_expected", "calibration_in_the_large")),
)


def query_for(metrics: Sequence[Metric], samples: int, epsilon: float = 2.0, **rules: object) -> Query:
    return Query(tuple(metrics), (samples,), Policy.private(epsilon, **rules))


def mechanism_of(*metrics: Metric) -> Mechanism:
    """The one mechanism that all of them share."""
    (mechanism,) = query_for(metrics, 1).mechanisms
    return mechanism


def exact_integers(mechanism: Mechanism, samples: Samples) -> list[int]:
    """Its integers on one owner's samples, by the program, in the clear and without noise."""
    return private.exact_integers([mechanism], samples)


def moved(mechanism: Mechanism, before: Sequence[int], after: Sequence[int]) -> Fraction:
    """How far integers are apart, all together, each in its units."""
    units = [Fraction(1, one.steps) for one in mechanism.coordinates]
    apart = zip(before, after, units, strict=True)
    return sum((abs(a - b) * unit for a, b, unit in apart), Fraction(0))


def data_sets(samples: int) -> Iterator[DataSet]:
    """All orders of so many samples, with ties, and all labels."""
    if samples == 0:
        yield ()
    for first in range(1, samples + 1):
        for positives in range(first + 1):
            for rest in data_sets(samples - first):
                yield ((positives, first - positives), *rest)


def joined(others: DataSet) -> set[DataSet]:
    """The same with one more person, of any score and label."""
    found: set[DataSet] = set()
    for place, person in itertools.product(range(len(others) + 1), ((1, 0), (0, 1))):
        found.add((*others[:place], person, *others[place:]))
        if place < len(others):
            group = (others[place][0] + person[0], others[place][1] + person[1])
            found.add((*others[:place], group, *others[place + 1 :]))
    return found


def samples_in(data: DataSet) -> Samples:
    scores = [float(score) for score, group in enumerate(data) for _ in range(sum(group))]
    labels = [label for p, n in data for label in [1] * p + [0] * n]
    return Samples("people", np.array(scores), np.array(labels, dtype=np.uint8))
