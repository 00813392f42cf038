"""What a metric says of itself in values: how it is drawn, what it discloses, how far one person moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ppaurora.metrics.query import Query


class Figure(Enum):
    """The charts that are about one metric; any number with an interval is also drawn among the intervals."""

    ROC_CURVE = "the area that the caption of the ROC curve names"
    PRECISION_RECALL_CURVE = "the area that the caption of the precision-recall curve names"
    ROC_POINTS = "sensitivity against 1 - specificity, at thresholds"
    PRECISION_RECALL_POINTS = "precision against recall, at thresholds"
    RELIABILITY_DIAGRAM = "observed against predicted probabilities"
    CALIBRATION_CURVE = "a smooth curve of observed against predicted probabilities"
    DECISION_CURVE = "net benefit against the risk threshold"
    SCORES_BY_CLASS = "histograms of the scores of both classes"


class SampleClass(Enum):
    """The samples of one class."""

    POSITIVES = "positives"
    NEGATIVES = "negatives"


@dataclass(frozen=True)
class PublicCounts:
    """What is known in public of the samples: how many there are, and floors that any release has met."""

    samples: int
    positives: int = 1  # at least
    negatives: int = 1
    per_cell: int = 1  # behind every number of a table

    @classmethod
    def of(cls, query: Query) -> PublicCounts:
        """Return those of a query: its policy has floors, and no result is defined without both classes."""
        policy = query.policy
        return cls(
            query.samples,
            max(policy.minimum_positives, 1),
            max(policy.minimum_negatives, 1),
            max(policy.minimum_per_cell, 1),
        )


def moved_by_rates(public: PublicCounts, of_positives: float = 1.0, of_negatives: float = 1.0) -> float:
    """Bound what moves by at most `of_positives` / P with one positive, `of_negatives` / N with one negative.

    A person that stays in its class moves it by one of these. One that changes its class leaves P positives
    and joins N negatives: `of_positives` / P + `of_negatives` / (N + 1), where P - 1 and N are at least the
    floors. That is convex in P, so it is largest at an end; the other direction is the same, read backwards.
    """
    n, p, q = public.samples, public.positives, public.negatives
    stays = max(of_positives / p, of_negatives / q)
    if p + q >= n:  # nobody can change the class
        return stays
    return max(
        stays,
        of_positives / (p + 1) + of_negatives / (n - p),
        of_positives / (n - q) + of_negatives / (q + 1),
    )


def moved_average_precision(public: PublicCounts) -> float:
    """Bound average precision, the mean over positives of T/(T + F), which counts samples at or above each.

    With P positives, the k-th highest has T >= k. So a negative more or less above it moves its precision by
    at most 1/(k + 1), another positive by at most 1/(4·k + 1), and both in one direction by at most
    1/(k + 1). Replacing

        a negative by a negative    (1/2 + ... + 1/(P + 1)) / P
        a positive by a positive    (1 + 1/5 + ... + 1/(4·(P - 1) + 1)) / P
        one by the other            1/(P + 1) + (1/2 + ... + 1/(P + 1)) / P, for P the fewer positives

    All fall with growing P; the first is below the third. Compare K. Boyd, E. Lantz, D. Page: Differential
    privacy for classifier evaluation, AISec 2015.
    """
    p = public.positives
    among_positives = _sum_of_reciprocals(4, p) / p
    other_class = 1 / (p + 1) + (_sum_of_reciprocals(1, p + 1) - 1) / p
    return max(among_positives, other_class)


def _sum_of_reciprocals(step: int, count: int) -> float:
    """Bound 1 + 1/(1 + step) + 1/(1 + 2·step) + ...: the first terms exactly, others by their integral."""
    first = min(count, 1000)
    rest = math.log((step * (count - 1) + 1) / (step * (first - 1) + 1)) / step
    return math.fsum(1 / (step * k + 1) for k in range(first)) + rest
