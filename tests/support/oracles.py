"""The metrics from their definitions, in exact arithmetic, sharing no code with the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

Sample = tuple[float, int]


def defined(value: Fraction | None) -> Fraction:
    """Return the value, which every sample list with both classes has."""
    assert value is not None, "this test needs both classes"
    return value


def exact_auroc(samples: Sequence[Sample]) -> Fraction | None:
    """The probability that a positive outranks a negative, ties counting half: all pairs of scores."""
    positives, negatives = by_class(samples)
    if not positives or not negatives:
        return None
    half_wins = sum(
        half_win(p, n) * of_p * of_n for p, of_p in positives.items() for n, of_n in negatives.items()
    )
    return Fraction(half_wins, 2 * positives.total() * negatives.total())


def by_class(samples: Sequence[Sample]) -> tuple[Counter[float], Counter[float]]:
    """Return the scores of positives and those of negatives, each with how often it is there."""
    positives, negatives = (
        Counter(score for score, label in samples if bool(label) is positive) for positive in (True, False)
    )
    return positives, negatives


def half_win(positive: float, negative: float) -> int:
    """Return 2 for a pair in order, 1 for a tie and 0 for a pair out of order."""
    return int(positive > negative) + int(positive >= negative)


def exact_aupr(samples: Sequence[Sample]) -> Fraction | None:
    """Trapezoids between the points (recall, precision) at every threshold, from (0, 1) on."""
    positives = sum(label for _, label in samples)
    if positives in (0, len(samples)):
        return None
    area = Fraction(0)
    recall, precision = Fraction(0), Fraction(1)
    for threshold in sorted({score for score, _ in samples}, reverse=True):
        chosen = [label for score, label in samples if score >= threshold]
        next_recall = Fraction(sum(chosen), positives)
        next_precision = Fraction(sum(chosen), len(chosen))
        area += (next_recall - recall) * (next_precision + precision) / 2
        recall, precision = next_recall, next_precision
    return area


def exact_average_precision(samples: Sequence[Sample]) -> Fraction | None:
    """Precision at every threshold, weighted by the recall it adds."""
    positives = sum(label for _, label in samples)
    if positives in (0, len(samples)):
        return None
    area = Fraction(0)
    recall = Fraction(0)
    for threshold in sorted({score for score, _ in samples}, reverse=True):
        chosen = [label for score, label in samples if score >= threshold]
        next_recall = Fraction(sum(chosen), positives)
        area += (next_recall - recall) * Fraction(sum(chosen), len(chosen))
        recall = next_recall
    return area


def exact_delong_variance(samples: Sequence[Sample]) -> Fraction | None:
    """DeLong's variance of AUROC: the placement of every sample among all of the other class."""
    positives, negatives = by_class(samples)
    m, n = positives.total(), negatives.total()
    if m < 2 or n < 2:
        return None
    of_positives = [
        Fraction(sum(half_win(score, other) * count for other, count in negatives.items()), 2 * n)
        for score, times in positives.items()
        for _ in range(times)
    ]
    of_negatives = [
        Fraction(sum(half_win(other, score) * count for other, count in positives.items()), 2 * m)
        for score, times in negatives.items()
        for _ in range(times)
    ]
    return sum(
        (variance(placements) / len(placements) for placements in (of_positives, of_negatives)), Fraction(0)
    )


def variance(numbers: Sequence[Fraction]) -> Fraction:
    """Return the variance of a sample."""
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - 1)
