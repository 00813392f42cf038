"""Scores by class: every sample is in its bin, whatever the scores are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.data import Samples, ScoreCounts
from ppaurora.statistics.histogram import histogram, span

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324
SCORES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1),
    st.integers(-10, 10).map(float),
    st.sampled_from([0.0, -0.0, SMALLEST, -SMALLEST, 1.0, np.nextafter(1.0, 2.0), LARGEST, -LARGEST]),
)


def samples_of(scores: list[float], labels: list[int]) -> Samples:
    return Samples("scores.csv", np.array(scores), np.array(labels, dtype=np.uint8))


@given(st.lists(st.tuples(SCORES, st.integers(0, 1)), min_size=1))
def test_every_sample_is_in_its_bin(drawn: list[tuple[float, int]]) -> None:
    """Counted one by one."""
    bins = histogram(ScoreCounts.of(samples_of(*map(list, zip(*drawn, strict=True)))))
    for number, one in enumerate(bins):
        inside = [
            label
            for score, label in drawn
            if one.low <= score and (score < one.high or (number == len(bins) - 1 and score <= one.high))
        ]
        assert (one.positives, one.negatives) == (sum(inside), len(inside) - sum(inside))
    assert sum(one.positives + one.negatives for one in bins) == len(drawn)
    assert [one.high for one in bins[:-1]] == [one.low for one in bins[1:]]
    assert 1 <= len(bins) <= 32


@given(st.lists(SCORES, min_size=1))
def test_the_span_holds_all_scores_and_names_none(scores: list[float]) -> None:
    """Two digits, rounded outwards; the largest float itself cannot be."""
    low, high = span(ScoreCounts.of(samples_of(scores, [0] * len(scores))))
    assert low <= min(scores)
    assert max(scores) <= high
    for bound in (low, high):
        assert abs(bound) == LARGEST or bound == float(f"{bound:.1e}")


@pytest.mark.parametrize(
    ("scores", "edges"),
    [
        ([0.02, 0.97], [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ([0.0, 6.0], [0, 1, 2, 3, 4, 5, 6]),
        ([12.0, 87.4], [10, 20, 30, 40, 50, 60, 70, 80, 90]),
        ([-3.2, 2.9], [-4, -3, -2, -1, 0, 1, 2, 3]),
        ([0.5, 0.5], [0.5, 0.5]),
        ([2024.1, 2024.9], [2024 + tenths / 10 for tenths in range(10)]),
    ],
)
def test_edges_are_round(scores: list[float], edges: list[float]) -> None:
    bins = histogram(ScoreCounts.of(samples_of(scores, [0, 1])))
    assert [one.low for one in bins] + [bins[-1].high] == edges


def test_a_bin_prints_no_counts() -> None:
    (one,) = histogram(ScoreCounts.of(samples_of([0.5] * 31, [1] * 31)))
    assert repr(one) == "<ScoreBin 0.5 to 0.5>"
    assert one.positives == 31
