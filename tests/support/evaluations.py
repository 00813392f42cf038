"""Owners for `ppaurora.evaluate`, and what its reports must say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from ppaurora import METRICS, Report
from ppaurora.metrics.names import MetricName
from tests.support.oracles import Sample, defined, exact_aupr, exact_auroc, exact_average_precision

TOLERANCE = 1e-9
ALL_METRICS: tuple[MetricName, ...] = ("auroc", "auroc_no_ties", "aupr", "ap")
METRIC_NAMES = ", ".join(METRICS)
GOOD = ([0, 1], [0.25, 0.75])
LARGEST = float(np.finfo(np.float64).max)
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)

Owner = tuple[Sequence[int], Sequence[float]]

each_protocol = pytest.mark.parametrize("protocol", ["fast", "paper"])


def pooled(owners: Sequence[Owner]) -> list[Sample]:
    return [
        (float(score), int(label))
        for labels, scores in owners
        for label, score in zip(labels, scores, strict=True)
    ]


def bounds_without_ties(samples: Sequence[Sample]) -> tuple[Fraction, Fraction]:
    """AUROC if every tie were resolved against the model, and in its favour."""
    positives = [score for score, label in samples if label]
    negatives = [score for score, label in samples if not label]
    worst = sum(p > n for p in positives for n in negatives)
    best = sum(p >= n for p in positives for n in negatives)
    pairs = len(positives) * len(negatives)
    return Fraction(worst, pairs), Fraction(best, pairs)


def check_values(report: Report, owners: Sequence[Owner]) -> None:
    """All metrics that the report has."""
    samples = pooled(owners)
    assert report.metrics
    if "auroc" in report.metrics:
        auroc = defined(exact_auroc(samples))
        if report.protocol == "fast":
            assert report.auroc == float(auroc), "not the nearest float64"
        assert abs(report.auroc - auroc) < TOLERANCE
    if "auroc_no_ties" in report.metrics:
        worst, best = bounds_without_ties(samples)
        assert float(worst) - TOLERANCE <= report.auroc_no_ties <= float(best) + TOLERANCE
        if report.protocol == "fast" and worst == best:
            assert report.auroc_no_ties == float(worst), "not the nearest float64"
    if "aupr" in report.metrics:
        assert abs(report.aupr - defined(exact_aupr(samples))) < TOLERANCE
    if "ap" in report.metrics:
        assert abs(report.ap - defined(exact_average_precision(samples))) < TOLERANCE


def random_owners(seed: int, sizes: Sequence[int], different_scores: int) -> list[Owner]:
    """Both classes, wherever they are."""
    random = np.random.default_rng(seed)
    owners = []
    for size in sizes:
        labels = random.integers(0, 2, size).tolist()
        owners.append((labels, (random.integers(0, different_scores, size) / different_scores).tolist()))
    owners[0][0][0], owners[-1][0][-1] = 1, 0
    return owners
