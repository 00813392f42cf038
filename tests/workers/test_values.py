"""A run by several workers per server lets out what a run by one does, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from ppaurora import METRICS, Policy
from ppaurora.agreement.terms import Limits, Terms
from ppaurora.algorithms import placements
from ppaurora.data import Grid, Samples
from ppaurora.errors import UndefinedResultError
from ppaurora.metrics import Metric, Query
from ppaurora.protocols import Fast
from ppaurora.statistics.estimates import Estimate
from ppaurora.suites.role import Role
from ppaurora.testing.ledger import keep_ledger
from tests.support.cases import Owner, owners, pooled
from tests.support.oracles import exact_aupr, exact_auroc, exact_average_precision, exact_delong_variance
from tests.support.runs import samples_of
from tests.support.workers import as_read, released_in_the_clear, run_of_workers

WORKERS = (1, 2, 4, 8)
PARAMETERS: dict[str, dict[str, object]] = {
    "partial_auroc": {"max_fpr": 0.2},
    "sensitivity_at_specificity": {"specificity": 0.9},
    "specificity_at_sensitivity": {"sensitivity": 0.75},
    "reliability": {"bins": [0.0, 0.25, 0.5, 1.0]},
    "histogram": {"bins": [0.0, 0.25, 0.5, 1.0]},
    "smooth_calibration": {"bins": [0.0, 0.25, 0.5, 1.0], "bandwidth": 0.5},
    "ici": {"bins": [0.0, 0.25, 0.5, 1.0], "bandwidth": 0.5},
    **{
        name: {"thresholds": [0.25, 0.5]}
        for name, kind in METRICS.items()
        if "thresholds" in kind.Parameters.__struct_fields__
    },
}
EVERY_METRIC: tuple[Metric, ...] = tuple(kind(**PARAMETERS.get(name, {})) for name, kind in METRICS.items())
OF_LISTS = tuple(metric for metric in EVERY_METRIC if not metric.needs_table)
OF_THE_CURVE = tuple(metric for metric in EVERY_METRIC if metric.needs_curve)


def named(lists: Sequence[Owner]) -> list[Samples]:
    """Of which some may have no samples."""
    return [
        samples_of(owner, f"owner {number}")
        if owner
        else Samples(f"owner {number}", np.zeros(0), np.zeros(0, dtype=np.uint8))
        for number, owner in enumerate(lists)
    ]


def asked_for(
    metrics: Sequence[Metric], lists: Sequence[Owner], policy: Policy, level: float | None
) -> Query:
    return Query(tuple(metrics), tuple(map(len, lists)), policy, level)


@settings(max_examples=30, deadline=None)
@given(
    lists=owners(min_owners=1, max_owners=6, min_size=0, max_size=90),
    workers=st.sampled_from(WORKERS[1:]),
    level=st.sampled_from([None, 0.95]),
    policy=st.sampled_from([Policy.exact(), Policy(), Policy.exact(digits=3)]),
)
@example(lists=[[(0.5, 1)], []], workers=8, level=None, policy=Policy.exact())
@example(lists=[[(0.5, 0), (0.5, 1), (0.25, 1)]], workers=4, level=0.95, policy=Policy.exact())
def test_every_metric_is_that_of_one_worker(
    lists: list[Owner], workers: int, level: float | None, policy: Policy
) -> None:
    """Whatever leaves: numbers, and flags that tell why one does not."""
    assume(any(lists))
    query = asked_for(OF_LISTS, lists, policy, level)
    by_one = released_in_the_clear(named(lists), query, 1)
    assert released_in_the_clear(named(lists), query, workers) == by_one
    event(f"{workers} workers, {'fewer samples' if sum(map(len, lists)) < workers else 'enough samples'}")


@settings(max_examples=30, deadline=None)
@given(lists=owners(min_owners=1, max_owners=5, max_size=70), workers=st.sampled_from(WORKERS))
def test_values_are_those_of_the_definitions(lists: list[Owner], workers: int) -> None:
    query = asked_for(OF_THE_CURVE, lists, Policy.exact(), 0.95)
    released = released_in_the_clear(named(lists), query, workers)
    samples = pooled(lists)
    auroc = exact_auroc(samples)
    if auroc is None:
        with pytest.raises(UndefinedResultError):
            as_read(released, query, named(lists))
        return
    metrics = as_read(released, query, named(lists)).metrics
    found = {name: cast(Estimate, metrics[name]) for name in ("auroc", "aupr", "ap")}
    expected = {"auroc": auroc, "aupr": exact_aupr(samples), "ap": exact_average_precision(samples)}
    for name, exact in expected.items():
        assert exact is not None
        assert abs(Fraction(cast(float, found[name].value)) - exact) < Fraction(1, 10**9)
    variance = exact_delong_variance(samples)
    if variance is not None:
        assert found["auroc"].standard_error == pytest.approx(float(variance) ** 0.5, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("workers", WORKERS[1:])
def test_an_owners_list_that_is_not_sorted_is_noticed_wherever_it_is(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every place, borders between workers included."""
    lists = [[(0.9 - k / 100, k % 2) for k in range(20)], [(0.4, 1), (0.3, 0)]]
    query = asked_for(OF_THE_CURVE[:1], lists, Policy.exact(), None)
    sort = np.argsort
    for place in range(19):

        def nearly_sorted(keys: np.ndarray, kind: str = "stable", place: int = place) -> np.ndarray:
            order = sort(keys, kind="stable")
            if len(order) == 20:
                order[[place, place + 1]] = order[[place + 1, place]]
            return order

        with monkeypatch.context() as careless:
            careless.setattr(np, "argsort", nearly_sorted)
            found = released_in_the_clear(named(lists), query, workers)
        assert found.words[0].tolist()[-2:] == [0, 1], "the first owner's list, not the second's"
        assert found.words[0, 0] == 0


@pytest.mark.parametrize("workers", WORKERS[1:])
def test_placements_in_two_limbs(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for more than three million samples; blocks of limbs begin anew at every worker."""
    random = np.random.default_rng(workers)
    lists = [
        [
            (float(score), int(label))
            for score, label in zip(random.integers(0, 99, n) / 99, random.integers(0, 2, n), strict=True)
        ]
        for n in (300, 210)
    ]
    query = asked_for(OF_THE_CURVE[:1], lists, Policy.exact(), 0.95)
    in_one_word = as_read(released_in_the_clear(named(lists), query, 1), query, named(lists))
    monkeypatch.setattr(placements, "MOST_IN_ONE_WORD", 100)
    monkeypatch.setattr(placements, "LOW_BITS", 4)
    for count in (1, workers):
        found = as_read(released_in_the_clear(named(lists), query, count), query, named(lists))
        assert found.metrics == in_one_word.metrics


def terms_for(*names: str, level: float | None = None, policy: Policy | None = None) -> Terms:
    chosen = tuple(metric for metric in EVERY_METRIC if not names or metric.name in names)
    limits = Limits(samples_per_owner=1 << 20)
    return Terms(
        metrics=chosen,
        confidence_level=level,
        protocol=Fast(grid=Grid(decimals=2)),
        limits=limits,
        policy=Policy.exact() if policy is None else policy,
    )


def lists_of(sizes: Sequence[int], different: int, seed: int = 7) -> list[Samples]:
    random = np.random.default_rng(seed)
    return [
        Samples(
            f"owner {number}",
            random.integers(0, different, n) / different,
            random.integers(0, 2, n).astype(np.uint8),
        )
        for number, n in enumerate(sizes)
    ]


@settings(max_examples=6, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 150), min_size=2, max_size=4),
    workers=st.sampled_from(WORKERS[1:]),
    different=st.sampled_from([1, 5, 1000]),
)
@example(sizes=[1, 2], workers=8, different=1)
@example(sizes=[600, 1, 200], workers=4, different=1000)
def test_three_servers_of_several_workers(sizes: list[int], workers: int, different: int) -> None:
    """On shares: the same result, nothing opened, and no stream opened by two workers."""
    terms, samples = terms_for("auroc", "ap", "auroc_no_ties"), lists_of(sizes, different)
    samples[0].labels[0], samples[-1].labels[-1] = 1, 0
    by_one, _ = run_of_workers(terms, samples, 1)
    with keep_ledger() as ledger:
        found, outcomes = run_of_workers(terms, samples, workers)
    assert found.metrics == by_one.metrics
    assert not any(outcome.openings for outcome in outcomes.values())
    assert not ledger.shared()
    assert {label.split("/")[0] for label in ledger.labels(Role.HELPER)} == {
        f"worker {index} of {workers}" for index in range(workers)
    }


def test_every_metric_by_three_servers_of_four_workers() -> None:
    terms, samples = terms_for(level=0.95), lists_of([300, 171], 40)
    assert run_of_workers(terms, samples, 4)[0].metrics == run_of_workers(terms, samples, 1)[0].metrics
    under_policy, samples = terms_for(policy=Policy()), lists_of([300, 171, 240], 40)
    found, by_one = (run_of_workers(under_policy, samples, workers)[0] for workers in (4, 1))
    assert found.metrics == by_one.metrics
    assert (found.suppressed, found.positives) == (by_one.suppressed, by_one.positives)
