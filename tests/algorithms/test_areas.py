"""The paper's areas against exact oracles, in the clear and by three parties."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.errors import InputError
from ppaurora.metrics import metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.testing import World
from tests.support.cases import Owner, by_three_parties, in_the_clear, owners, paper, pooled
from tests.support.oracles import defined, exact_aupr, exact_auroc, exact_average_precision

DELTAS = st.sampled_from([1, 3, 5, 11])


def check_areas(words: np.ndarray, lists: Sequence[Owner]) -> None:
    samples = pooled(lists)
    exact_area = exact_auroc(samples)
    if exact_area is None:
        assert not words.any()
        return
    assert words[:, 0].tolist() == [1, 0]
    auroc, aupr, ap = values(words)
    assert abs(auroc - exact_area) < 1e-9
    assert abs(aupr - defined(exact_aupr(samples))) < 1e-9
    assert abs(ap - defined(exact_average_precision(samples))) < 1e-9


def values(words: np.ndarray) -> list[Fraction]:
    """What the rows of mantissas and exponents stand for, after the first column."""
    return [Fraction(int(m), 2 ** int(e)) for m, e in words[:, 1:].T]


@settings(max_examples=150, deadline=None)
@given(lists=owners(min_owners=1), delta=DELTAS)
def test_areas_in_the_clear_equal_the_exact_fractions(lists: list[Owner], delta: int) -> None:
    check_areas(in_the_clear(paper(delta), lists).values, lists)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(lists=owners(), delta=DELTAS)
@example(lists=[[(0.5, 1)] * 3, [(0.5, 0)] * 2], delta=1)
@example(lists=[[(0.5, 1)], [(0.25, 1)]], delta=1)
@example(lists=[[(0.5, 0)], [(0.25, 0)]], delta=3)
def test_areas_by_three_parties_equal_the_exact_fractions(lists: list[Owner], delta: int) -> None:
    check_areas(by_three_parties(paper(delta), lists).value, lists)


@pytest.mark.parametrize("delta", [1, 3, 5, 11])
def test_three_parties_agree_with_the_clear_to_the_last_bit(delta: int) -> None:
    random = np.random.default_rng(delta)
    lists = [
        [
            (float(score), int(label))
            for score, label in zip(random.integers(0, 9, n) / 8, random.random(n) < 0.4, strict=True)
        ]
        for n in (7, 1, 23, 12)
    ]
    metrics = ("auroc", "auroc_no_ties", "aupr")
    run = by_three_parties(paper(delta, metrics), lists)
    assert run.value.tolist() == in_the_clear(paper(delta, metrics), lists).values.tolist()


def test_no_lists_and_one_list() -> None:
    assert in_the_clear(paper(1), []).values.tolist() == [[0] * 4] * 2
    assert World().run(lambda suite: paper(1)(suite, [])).value.tolist() == [[0] * 4] * 2
    one = [[(0.9, 1), (0.4, 0), (0.4, 1)]]
    check_areas(in_the_clear(paper(1), one).values, one)
    check_areas(by_three_parties(paper(1), one).value, one)


def test_without_ties_algorithm_1_gives_the_exact_area() -> None:
    random = np.random.default_rng(5)
    scores = random.permutation(60) / 64
    labels = random.random(60) < 0.3
    samples = [(float(score), int(label)) for score, label in zip(scores, labels, strict=True)]
    lists = [samples[:17], samples[17:20], samples[20:]]
    words = by_three_parties(paper(1, ("auroc_no_ties",)), lists).value
    assert words[:, 0].tolist() == [1, 0]
    assert abs(values(words)[0] - defined(exact_auroc(samples))) < 1e-9


def test_one_class_only_gives_the_same_words_whichever_class_it_is() -> None:
    positive, negative = ([[(0.5, label)] * 3, [(0.75, label)] * 2] for label in (1, 0))
    assert by_three_parties(paper(1), positive).value.tolist() == [[0] * 4] * 2
    assert by_three_parties(paper(1), negative).value.tolist() == [[0] * 4] * 2


def test_sizes_beyond_the_ring_are_refused() -> None:
    policy = Policy.exact()
    limits = Limits(samples_per_owner=MOST_SAMPLES)
    terms = Terms(metrics=metrics_named("auroc"), limits=limits, policy=policy)
    fitting: list[tuple[int, ...]] = [(10**8, 1), (2**30 - 1, 1), (2**29, 2**29), (2**29, 2**29 - 1)]
    for sizes in fitting:
        assert terms.problem_with(sizes) == ""
    for sizes in ((10**8,), (2**30,)):
        assert terms.problem_with(sizes) == "the policy asks for at least 2 owners, there are 1"
    for sizes in ((2**30 + 1,), (2**29, 2**29 + 1), (1, 2**30)):
        assert "too many" in terms.problem_with(sizes)
    assert Job(terms=terms, sizes=(2**29, 2**29))
    with pytest.raises(InputError, match="too many"):
        Job(terms=terms, sizes=(2**29, 2**29 + 1))
