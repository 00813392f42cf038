"""AUROC of data in the clear, with DeLong's variance: in floats for an owner's own data, and exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppaurora.errors import UndefinedResultError
from ppaurora.statistics.estimates import Estimate, delong_estimate

LEVEL = 0.95  # of an interval of the owner's own data, where the study asks for none


def auroc_estimate(y_true: ArrayLike, y_score: ArrayLike, level: float = LEVEL) -> Estimate:
    """Return AUROC with DeLong's interval; without a value if there is one class only."""
    labels = np.asarray(y_true)
    values, places = np.unique(np.asarray(y_score, dtype=np.float64), return_inverse=True)
    positives, negatives = (np.bincount(places[labels == bit], minlength=len(values)) for bit in (1, 0))
    return auroc_of_counts(positives, negatives, level)


def auroc_of_counts(
    positives: NDArray[np.int64], negatives: NDArray[np.int64], level: float = LEVEL
) -> Estimate:
    """Return AUROC of so many positives and negatives at every score, ascending, as `auroc_estimate` does."""
    p, n = int(positives.sum()), int(negatives.sum())
    if min(p, n) == 0:
        return Estimate(None, note="undefined: all labels are the same")
    below = 2 * np.cumsum(negatives) - negatives  # twice those below, and those that are equal
    auroc = int(positives @ below) / (2 * p * n)
    if min(p, n) == 1:
        return delong_estimate(auroc, None, level)
    above = 2 * (p - np.cumsum(positives)) + positives
    variance = _variance(below / (2 * n), positives) / p + _variance(above / (2 * p), negatives) / n
    return delong_estimate(auroc, math.sqrt(variance), level)


def _variance(values: NDArray[np.float64], times: NDArray[np.int64]) -> float:
    """Return the variance of a sample that has each value so many times."""
    count = int(times.sum())
    mean = float(times @ values) / count
    return float(times @ (values - mean) ** 2) / (count - 1)


def newcombe_variance(auroc: Any, positives: float, negatives: float) -> Any:
    """Return the variance of AUROC that numbers of samples tell, the same if classes swap; of arrays, too.

    Hanley's and McNeil's variance (1982) takes exponential scores, and favours one class: where classes are
    unequal it is far off for others. Newcombe puts the mean size of a class, m, in the place of both:

        A·(1 - A)·(1 + (m - 1)·(1 - A)/(2 - A) + (m - 1)·A/(1 + A)) / (P·N)

    For releases that tell no more than AUROC and the classes' sizes; at a hypothetical AUROC it makes a score
    interval. R. G. Newcombe: Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2, Statistics in Medicine 25, 2006, method 5.
    """
    more = (positives + negatives) / 2 - 1
    spread = 1 + more * ((1 - auroc) / (2 - auroc) + auroc / (1 + auroc))
    return auroc * (1 - auroc) * spread / (positives * negatives)


def delong_variance(y_true: Iterable[float], y_score: Iterable[float]) -> Fraction:
    """Return the variance of AUROC by its definition, exactly: what the computation on shares must give.

    The placement of a positive is the fraction of negatives below it, that of a negative the fraction of
    positives above it; ties count half. The variance is that of the positives' mean placement plus that of
    the negatives'.

    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson: Comparing the areas under two or more correlated
    receiver operating characteristic curves, Biometrics 44, 1988.
    """
    samples = [(bool(label), score) for label, score in zip(y_true, y_score, strict=True)]
    positives = Counter(score for label, score in samples if label)
    negatives = Counter(score for label, score in samples if not label)
    p, n = positives.total(), negatives.total()
    if min(p, n) < 2:
        raise UndefinedResultError(
            "undefined: there are fewer than two positives or fewer than two negatives"
        )
    placed_positives: Counter[int] = Counter()  # by 2·n·placement: how many have it
    placed_negatives: Counter[int] = Counter()  # by 2·p·placement
    above, below = p, 0
    for score in sorted(positives.keys() | negatives.keys()):
        above -= positives[score]
        placed_positives[2 * below + negatives[score]] += positives[score]
        placed_negatives[2 * above + positives[score]] += negatives[score]
        below += negatives[score]
    of_positives = _variance_of_the_mean(placed_positives) / (2 * n) ** 2
    of_negatives = _variance_of_the_mean(placed_negatives) / (2 * p) ** 2
    return of_positives + of_negatives


def _variance_of_the_mean(sample: Counter[int]) -> Fraction:
    """(sum of x² − n·mean²) / (n·(n − 1)), of n numbers x."""
    n = sample.total()
    total = sum(x * times for x, times in sample.items())
    squares = sum(x * x * times for x, times in sample.items())
    return Fraction(n * squares - total * total, n * n * (n - 1))
