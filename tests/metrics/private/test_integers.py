"""A mechanism's integers are what the definition gives, in exact fractions and sample by sample."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.metrics import METRICS
from ppaurora.metrics.private.auroc import AurocMechanism
from ppaurora.metrics.private.sums import SumsMechanism
from tests.support.private import (
    BINS,
    THRESHOLDS,
    data_sets,
    exact_integers,
    mechanism_of,
    samples_in,
)


def twice_the_pairs_in_order(samples: Samples) -> int:
    """Ties count one; by looking at all pairs."""
    positives, negatives = (samples.scores[samples.labels == label] for label in (1, 0))
    return sum((p > n) + (p >= n) for p in positives.tolist() for n in negatives.tolist())


def won_and_fewer(samples: Samples) -> list[int]:
    """T in steps of 1/64, rounded half up; 2·t - 64·M and 64·M."""
    positives = int(samples.labels.sum())
    fewer, larger = sorted((positives, len(samples) - positives))
    won = Fraction(twice_the_pairs_in_order(samples), 2 * larger)
    t = math.floor(64 * won + Fraction(1, 2))
    return [2 * t - 64 * fewer, 64 * fewer]


def test_auroc() -> None:
    for size in range(1, 7):
        for data in data_sets(size):
            samples = samples_in(data)
            assert exact_integers(AurocMechanism(), samples) == won_and_fewer(samples)


def test_one_class_only_is_nothing_special() -> None:
    for label in (0, 1):
        samples = Samples("people", np.array([0.1, 0.2, 0.3]), np.full(3, label, dtype=np.uint8))
        assert exact_integers(AurocMechanism(), samples) == [0, 0]


ON_EDGES = [0.0, 0.1, 0.25, 0.25, 0.3, 0.5, 0.5, 0.7, 1.0, 1.0]
LABELS = [0, 1, 1, 0, 0, 1, 0, 1, 1, 0]


def edge_samples(*, negated: bool = False) -> Samples:
    samples = Samples("people", np.array(ON_EDGES), np.array(LABELS, dtype=np.uint8))
    return samples.negate() if negated else samples


@pytest.mark.parametrize("negated", [False, True])
def test_a_table_of_all_cells(negated: bool) -> None:
    """At 0.25 there are the histogram's edge, the threshold, and the other bins' edge, in this order."""
    metrics = (
        METRICS["sensitivity"](thresholds=THRESHOLDS),
        METRICS["reliability"](bins=BINS),
        METRICS["histogram"](bins=BINS),
    )
    mechanism = mechanism_of(*metrics)
    at = {True: operator.gt, False: operator.ge}[negated]
    beyond: list[tuple[Callable[[float, float], bool], float]] = [
        (operator.ge, 0.0),
        (operator.ge, 0.25),
        (at, 0.25),
        (operator.gt, 0.25),
        (operator.ge, 0.5),
        (at, 0.5),
        (operator.gt, 0.5),
        (operator.gt, 1.0),
    ]
    cells = [sum(lies(score, value) for lies, value in beyond) for score in ON_EDGES]
    counts = [
        sum(cell == number and own == label for cell, own in zip(cells, LABELS, strict=True))
        for label in (1, 0)
        for number in range(len(beyond) + 1)
    ]
    offsets = []
    for low, high in ((0.0, 0.25), (0.25, 0.5), (0.5, 1.0)):
        inside = [s for s in ON_EDGES if low < s <= high or s == low == 0]
        middle, width = Fraction(low + high) / 2, Fraction(high - low)
        quarter = [(Fraction(s) - middle) / width / 4 * 2**32 for s in inside]
        offsets.append(sum(map(round, quarter)))
    assert exact_integers(mechanism, edge_samples(negated=negated)) == [*counts, *offsets]


def test_sums() -> None:
    """Each sample's is rounded to a step, and the sum is exact."""
    found = exact_integers(SumsMechanism(in_the_large=True, squared_errors=True), edge_samples())
    errors = [(Fraction(p) - y) ** 2 for p, y in zip(ON_EDGES, LABELS, strict=True)]
    expected = [
        sum(LABELS),
        sum(round(Fraction(p) * 2**32) for p in ON_EDGES),
        sum(round(x * 2**32) for x in errors),
        sum(round((x - x * x) * 2**32) for x in errors),
    ]
    assert found == expected
    halves = exact_integers(SumsMechanism(in_the_large=True), edge_samples())
    assert halves == [*expected[:2], sum(round(x * 2**31) for x in errors)]
    assert exact_integers(SumsMechanism(squared_errors=True), edge_samples()) == expected[2:]
