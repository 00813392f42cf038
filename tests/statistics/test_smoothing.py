"""Intervals of the smooth calibration curve and of the index cover, whether or not a model is calibrated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ppaurora.statistics.calibration import Bin
from ppaurora.statistics.estimates import index_estimate, smoothed_estimate
from ppaurora.statistics.smoothing import calibration_index, smoothed_residuals, smoothing_weights

BINS = [Bin(k / 20, (k + 1) / 20, with_low=k == 0, with_high=True) for k in range(20)]
BANDWIDTH, STUDIES, LEVEL = 0.1, 250, 0.9
POINTS = (2, 6, 10)


def expit(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1 / (1 + np.exp(-x))
    return found


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.6, 0.3), (1.0, 0.6)], ids=str)
def test_intervals_cover(slope: float, shift: float) -> None:
    """That of the curve covers what smoothing makes of the true one, here in a million patients."""
    random = np.random.default_rng(2)

    def drawn(size: int) -> tuple[np.ndarray, np.ndarray]:
        logits = random.normal(-1.2, 1.1, size)
        return expit(slope * logits + shift), expit(logits)

    true, predicted = drawn(1_000_000)
    truths = smoothed_residuals(true, predicted, BINS, BANDWIDTH)
    of_index = float(np.abs(true - predicted).mean())
    covered: dict[str | int, int] = {"index": 0, **dict.fromkeys(POINTS, 0)}
    for _ in range(STUDIES):
        chances, scores = drawn(800)
        labels = random.random(800) < chances
        index = calibration_index(labels, scores, BINS, BANDWIDTH)
        interval = index_estimate(index.value, index.standard_error, index.curve_error, LEVEL).interval
        assert interval is not None
        covered["index"] += interval[0] <= of_index <= interval[1]
        found = smoothed_residuals(labels, scores, BINS, BANDWIDTH)
        for point in POINTS:
            one, truth = found[point], truths[point]
            assert one is not None
            assert truth is not None
            interval = smoothed_estimate(
                one.at, one.residual, one.predicted, one.largest_error, LEVEL
            ).interval
            assert interval is not None
            covered[point] += interval[0] <= truth.at + truth.residual <= interval[1]
    chance = 3 * math.sqrt(LEVEL * (1 - LEVEL) / STUDIES)
    for name, count in covered.items():
        assert count / STUDIES >= LEVEL - chance, name
        assert name == "index" or count / STUDIES <= LEVEL + chance, name


def test_weights_fall_with_the_distance_of_middles() -> None:
    rows = smoothing_weights(BINS, BANDWIDTH)
    assert rows[5][3:8] == [0, 49152, 65536, 49152, 0]
    assert all(row == [other[place] for other in rows] for place, row in enumerate(rows))
