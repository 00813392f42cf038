"""The metrics from their definitions, in exact arithmetic, sharing no code with the package."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Sample = tuple[float, int]


def defined(value: Fraction | None) -> Fraction:
    """Of samples that have both classes."""
    assert value is not None, "this test needs both classes"
    return value


def exact_auroc(samples: Sequence[Sample]) -> Fraction | None:
    """The probability that a positive outranks a negative, ties counting half: all pairs, one by one."""
    positives = [score for score, label in samples if label]
    negatives = [score for score, label in samples if not label]
    if not positives or not negatives:
        return None
    half_wins = sum(int(p > n) + int(p >= n) for p in positives for n in negatives)  # NumPy adds flags to one
    return Fraction(half_wins, 2 * len(positives) * len(negatives))


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
    """DeLong's variance of AUROC: the placement of every sample among all of the other class, one by one."""
    positives = [score for score, label in samples if label]
    negatives = [score for score, label in samples if not label]
    if len(positives) < 2 or len(negatives) < 2:
        return None
    half_wins = [[(p > n) + (p >= n) for n in negatives] for p in positives]
    of_positives = [Fraction(sum(row), 2 * len(negatives)) for row in half_wins]
    of_negatives = [Fraction(sum(column), 2 * len(positives)) for column in zip(*half_wins, strict=True)]
    return sum(
        (variance(placements) / len(placements) for placements in (of_positives, of_negatives)), Fraction(0)
    )


def variance(numbers: Sequence[Fraction]) -> Fraction:
    """Of a sample."""
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - 1)
