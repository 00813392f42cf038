"""Statistics on clear data are what their definitions say, sample by sample and in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ppaurora.statistics.areas import (
    area_under_precision_recall,
    average_precision,
    partial_auroc,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    youden_j,
)
from ppaurora.statistics.calibration import (
    Bin,
    brier_score,
    calibration_in_the_large,
    class_counts,
    observed_to_expected,
    reliability,
)
from ppaurora.statistics.confusion import confusion
from tests.support.oracles import Sample, defined, exact_aupr, exact_average_precision

SAMPLES = st.lists(st.tuples(st.integers(0, 8).map(lambda n: n / 8), st.integers(0, 1)), min_size=2)
RATES = st.integers(1, 19).map(lambda n: Fraction(n, 20))


def columns(samples: list[Sample]) -> tuple[list[int], list[float]]:
    return [label for _, label in samples], [score for score, _ in samples]


def rates(samples: list[Sample]) -> list[tuple[Fraction, Fraction]]:
    """False and true positive rate at every threshold, from none called positive to all."""
    positives = sum(label for _, label in samples)
    assume(0 < positives < len(samples))
    found = [(Fraction(0), Fraction(0))]
    for threshold in sorted({score for score, _ in samples}, reverse=True):
        called = [label for score, label in samples if score >= threshold]
        fp = len(called) - sum(called)
        found.append((Fraction(fp, len(samples) - positives), Fraction(sum(called), positives)))
    return found


@given(SAMPLES)
def test_areas_under_precision(samples: list[Sample]) -> None:
    rates(samples)
    found = average_precision(*columns(samples)), area_under_precision_recall(*columns(samples))
    expected = exact_average_precision(samples), exact_aupr(samples)
    assert found == pytest.approx(tuple(float(defined(one)) for one in expected), abs=1e-12)


@given(SAMPLES)
def test_the_largest_distance_from_the_diagonal(samples: list[Sample]) -> None:
    expected = max(tpr - fpr for fpr, tpr in rates(samples))
    assert youden_j(*columns(samples)) == pytest.approx(float(expected), abs=1e-12)


@given(SAMPLES, RATES)
def test_points_of_the_curve(samples: list[Sample], rate: Fraction) -> None:
    """Compared in whole numbers: a rate that is reached exactly counts."""
    points = rates(samples)
    highest = max(tpr for fpr, tpr in points if fpr <= 1 - rate)
    assert sensitivity_at_specificity(*columns(samples), rate) == pytest.approx(float(highest), abs=1e-12)
    highest = max(1 - fpr for fpr, tpr in points if tpr >= rate)
    assert specificity_at_sensitivity(*columns(samples), rate) == pytest.approx(float(highest), abs=1e-12)


@given(SAMPLES, RATES)
def test_the_partial_area(samples: list[Sample], rate: Fraction) -> None:
    points, area = rates(samples), Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 < rate and x1 > x0:
            end = min(x1, rate)
            y = y0 + (y1 - y0) * (end - x0) / (x1 - x0)
            area += (end - x0) * (y0 + y) / 2
    lowest = rate * rate / 2
    expected = (1 + (area - lowest) / (rate - lowest)) / 2
    assert partial_auroc(*columns(samples), float(rate)) == pytest.approx(float(expected), abs=1e-12)


@given(SAMPLES)
def test_calibration(samples: list[Sample]) -> None:
    labels, scores = columns(samples)
    exact = [(Fraction(score), label) for score, label in samples]
    squares = sum(((score - label) ** 2 for score, label in exact), Fraction(0))
    assert brier_score(labels, scores) == pytest.approx(float(squares / len(samples)), abs=1e-12)
    expected = sum((score for score, _ in exact), Fraction(0))
    gap = (sum(labels) - expected) / len(samples)
    assert calibration_in_the_large(labels, scores) == pytest.approx(float(gap), abs=1e-12)
    ratio = observed_to_expected(labels, scores)
    assert ratio == (pytest.approx(float(sum(labels) / expected)) if expected else None)


@given(SAMPLES)
def test_bins_and_thresholds(samples: list[Sample]) -> None:
    labels, scores = columns(samples)
    bins = [Bin(0, 0.25, with_low=True, with_high=True), Bin(0.25, 1, with_low=False, with_high=True)]
    inside = [[one for one in samples if one[0] <= 0.25], [one for one in samples if one[0] > 0.25]]
    counts = [(sum(label for _, label in some), sum(1 - label for _, label in some)) for some in inside]
    assert class_counts(labels, scores, bins) == counts
    for found, some, (positives, _) in zip(reliability(labels, scores, bins), inside, counts, strict=True):
        means = (np.mean([score for score, _ in some]), positives / len(some)) if some else None
        assert found == (means and pytest.approx(means))
    at = confusion(labels, np.array(scores) >= 0.5)
    calls = [(score >= 0.5, label) for score, label in samples]
    expected = [calls.count(one) for one in ((True, 1), (True, 0), (False, 1), (False, 0))]
    assert [at.tp, at.fp, at.fn, at.tn] == expected
