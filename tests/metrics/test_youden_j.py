"""Youden's J on shares is the exact fraction, ties or not, and what scikit-learn's curve gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora.errors import UndefinedResultError
from ppaurora.protocols.names import ProtocolName
from tests.support.oracles import Sample

SAMPLE = st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.integers(0, 1))
OWNERS = st.lists(st.lists(SAMPLE, min_size=1, max_size=12), min_size=2, max_size=4)


def exact_youden_j(samples: list[Sample]) -> Fraction | None:
    """By its definition: the best threshold of all that the scores name, or none at all."""
    positives = [score for score, label in samples if label]
    negatives = [score for score, label in samples if not label]
    if not positives or not negatives:
        return None

    def gap(threshold: float) -> Fraction:
        found = Fraction(sum(score >= threshold for score in positives), len(positives))
        return found - Fraction(sum(score >= threshold for score in negatives), len(negatives))

    return max(Fraction(0), *(gap(score) for score, _ in samples))


def evaluated(lists: list[list[Sample]], protocol: ProtocolName) -> float:
    owners = [([label for _, label in one], [score for score, _ in one]) for one in lists]
    return float(ppaurora.evaluate(owners, metrics=["youden_j"], protocol=protocol).youden_j)


@settings(deadline=None, max_examples=25)
@given(lists=OWNERS)
def test_it_is_the_exact_fraction(lists: list[list[Sample]]) -> None:
    exact = exact_youden_j([sample for one in lists for sample in one])
    if exact is None:
        with pytest.raises(UndefinedResultError):
            evaluated(lists, "fast")
    else:
        assert evaluated(lists, "fast") == float(exact)


@pytest.mark.parametrize("protocol", ["fast", "paper"])
def test_it_is_what_the_reference_says(protocol: ProtocolName) -> None:
    random = np.random.default_rng(11)
    scores = random.integers(0, 40, 150) / 40
    labels = (random.random(150) < scores).astype(int)
    lists = [list(zip(scores[part], labels[part], strict=True)) for part in (slice(0, 90), slice(90, 150))]
    expected = ppaurora.METRICS["youden_j"]().reference(labels, scores)
    assert evaluated(lists, protocol) == pytest.approx(expected, abs=1e-12)


def test_scores_that_are_worse_than_chance_give_zero() -> None:
    assert evaluated([[(0.9, 0), (0.1, 1)], [(0.8, 0)]], "fast") == 0
