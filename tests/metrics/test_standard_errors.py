"""Standard errors of means, net benefits and a ratio of means: what is released is what fractions give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.metrics import METRICS, Metric, Query
from ppaurora.metrics.evidence import CalledByOwner, EvaluatedPart, Evidence, Found, Inputs
from ppaurora.metrics.numbers import numbers
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    ExpectedAmongPositives,
    ExpectedEvents,
    FalsePositives,
    FourthPowers,
    OwnerSum,
    SquaredErrors,
    SquaredProbabilities,
    TruePositives,
)
from ppaurora.policy.rules import Policy
from ppaurora.sharing.shares import RingShare
from ppaurora.statistics.estimates import Estimate
from ppaurora.suites.base import Suite
from tests.support.oracles import Sample
from tests.support.releases import in_steps, root_half_away
from tests.support.wide import by_three_parties, in_the_clear

Owner = list[Sample]

RISKS = (0.25, 0.5, 0.99)
ALL: tuple[Metric, ...] = (
    METRICS["brier"](),
    METRICS["calibration_in_the_large"](),
    METRICS["observed_expected"](),
    METRICS["net_benefit"](thresholds=RISKS),
)
LEVEL = 0.95


def variance_of_mean(n: int, total: Fraction, squares: Fraction) -> Fraction:
    """Bessel's, over n; its magnitude, where rounded sums make it negative."""
    return abs(squares - total * total / n) / (n - 1) / n


def variances(owners: Sequence[Owner]) -> list[Fraction]:
    """By their definitions, from what every owner has rounded once to steps."""
    samples = [sample for owner in owners for sample in owner]
    n, positives = len(samples), sum(label for _, label in samples)

    def total(of: Callable[[float, int], float]) -> Fraction:
        return sum((in_steps(of(p, y) for p, y in owner) for owner in owners), Fraction(0))

    expected, errors = total(lambda p, _: p), total(lambda p, y: (p - y) ** 2)
    among = total(lambda p, y: p if y else 0.0)
    spread = Fraction(1, positives) - 2 * among / (positives * expected)
    found = [
        variance_of_mean(n, errors, total(lambda p, y: ((p - y) ** 2) ** 2)),
        variance_of_mean(n, positives - expected, errors),
        abs(spread + total(lambda p, _: p * p) / expected**2),
    ]
    for risk in RISKS:
        odds = in_steps([risk / (1 - risk)])
        gains = [Fraction(y) - odds * (1 - y) if p >= risk else Fraction(0) for p, y in samples]
        mean = sum(gains, Fraction(0)) / n
        found.append(sum(((gain - mean) ** 2 for gain in gains), Fraction(0)) / (n - 1) / n)
    return found


def estimates(owners: Sequence[Owner], policy: Policy, level: float | None = LEVEL) -> list[Estimate]:
    arrays = [([y for _, y in owner], [s for s, _ in owner]) for owner in owners]
    report = ppaurora.evaluate(arrays, metrics=ALL, policy=policy, confidence_level=level)
    found = []
    for metric in ALL:
        one = report.metrics[metric.name]
        found += [one] if isinstance(one, Estimate) else [row[metric.name] for row in one]
    return found


@st.composite
def studies(draw: st.DrawFn) -> list[Owner]:
    pool = draw(
        st.sampled_from([[0.25, 0.5, 0.75], [k / 64 for k in range(65)], [0.0, 1.0], [0.1, 0.3, 0.7]])
    )
    sizes = draw(st.lists(st.integers(1, 60), min_size=2, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rate = draw(st.sampled_from([0.1, 0.5]))
    owners = [[(float(random.choice(pool)), int(random.random() < rate)) for _ in range(n)] for n in sizes]
    assume({y for owner in owners for _, y in owner} == {0, 1})
    assume(sum(p for owner in owners for p, _ in owner) > 0.5)
    return owners


EXACT = Policy.exact()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(studies(), st.sampled_from([1, 3, 5, 6]))
def test_released_standard_errors_are_those_of_fractions(owners: list[Owner], digits: int) -> None:
    wanted = variances(owners)
    for found, variance in zip(estimates(owners, EXACT), wanted, strict=True):
        assert found.standard_error is not None
        assert math.isclose(found.standard_error, math.sqrt(variance), rel_tol=1e-12, abs_tol=1e-12)
    more = [2, 2, 1, *[2] * len(RISKS)]
    rounded = estimates(owners, msgspec.structs.replace(EXACT, digits=digits))
    for found, variance, extra in zip(rounded, wanted, more, strict=True):
        assert found.standard_error == float(root_half_away(variance, min(digits + extra, 6)))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(studies(), st.sampled_from([1, 3]))
def test_their_intervals_contain_the_exact_ones(owners: list[Owner], digits: int) -> None:
    rounded = msgspec.structs.replace(EXACT, digits=digits)
    for inner, outer in zip(estimates(owners, EXACT), estimates(owners, rounded), strict=True):
        assert inner.interval is not None
        assert outer.interval is not None
        assert outer.interval[0] <= inner.interval[0] + 1e-12
        assert outer.interval[1] >= inner.interval[1] - 1e-12


def test_they_are_computed_only_where_intervals_are_asked_for() -> None:
    owners: list[Owner] = [[(0.2, 0), (0.9, 1), (0.4, 1)]] * 2
    for found in estimates(owners, EXACT, None):
        assert found.value is not None
        assert found.standard_error is None
        assert found.interval is None
    assert len(Query(ALL, (1, 1), EXACT).sums) < len(Query(ALL, (1, 1), EXACT, LEVEL).sums)


def test_predictions_that_are_all_but_perfect_have_a_small_error() -> None:
    """Squares of 2^-17 are a quarter of a step: rounded sums make variances negative, and none is taken."""
    near = 2.0**-17
    owners: list[Owner] = [[(1 - near, 1)] * 5, [(1 - near, 1)] * 3 + [(0.0, 0)], [(near, 0)] * 3]
    wanted = variances(owners)
    for found, variance in zip(estimates(owners, EXACT), wanted, strict=True):
        assert found.standard_error is not None
        assert math.isclose(found.standard_error, math.sqrt(variance), rel_tol=1e-12)
    for found in estimates(owners, EXACT)[:2]:
        assert found.standard_error is not None
        assert found.standard_error < 1e-4


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_an_owners_own_values_have_the_same_intervals(metric: Metric) -> None:
    random = np.random.default_rng(3)
    scores = random.integers(1, 64, 50) / 64
    labels = (random.random(50) < scores).astype(np.uint8)
    samples = ppaurora.data.Samples("own", scores, labels)
    own = metric.on_own_data(samples, LEVEL)
    pooled = ppaurora.evaluate(
        [(labels[:20], scores[:20]), (labels[20:], scores[20:])],
        metrics=[metric],
        policy=EXACT,
        confidence_level=LEVEL,
    ).metrics[metric.name]
    pairs = (
        [(own, pooled)]
        if isinstance(own, Estimate)
        else [(one[metric.name], two[metric.name]) for one, two in zip(own, pooled, strict=True)]  # type: ignore[arg-type]
    )
    for one, two in pairs:
        assert isinstance(one, Estimate)
        assert isinstance(two, Estimate)
        assert one.method == two.method
        assert one.interval == pytest.approx(two.interval, abs=1e-9)


N = MOST_SAMPLES
LARGEST: dict[str, dict[OwnerSum, int]] = {
    "all wrong by one": {
        SquaredErrors(): N * STEPS_PER_ONE,
        FourthPowers(): N * STEPS_PER_ONE,
        ExpectedEvents(): N // 2 * STEPS_PER_ONE,
        ExpectedAmongPositives(): 0,
        SquaredProbabilities(): N // 2 * STEPS_PER_ONE,
        TruePositives(0.99): 0,
        FalsePositives(0.99): N // 2,
    },
    "half wrong": {
        SquaredErrors(): N // 2 * STEPS_PER_ONE,
        FourthPowers(): N // 2 * STEPS_PER_ONE,
        ExpectedEvents(): N * STEPS_PER_ONE,
        ExpectedAmongPositives(): N // 2 * STEPS_PER_ONE,
        SquaredProbabilities(): N * STEPS_PER_ONE,
        TruePositives(0.99): N // 2,
        FalsePositives(0.99): N // 4,
    },
    "nothing but what is expected": {
        SquaredErrors(): 1,
        FourthPowers(): 0,
        ExpectedEvents(): N // 100 * STEPS_PER_ONE,
        ExpectedAmongPositives(): N // 200 * STEPS_PER_ONE + 1,
        SquaredProbabilities(): 1,
        TruePositives(0.99): 1,
        FalsePositives(0.99): 0,
    },
}


@pytest.mark.parametrize("run", [in_the_clear, by_three_parties])
@pytest.mark.parametrize("digits", ["exact", 6])
@pytest.mark.parametrize("case", LARGEST)
def test_at_the_largest_size(case: str, digits: Any, run: Callable[..., Any]) -> None:
    """Half of 2^30 samples are positive; sums are as large, and as small, as they come."""
    metrics = (*ALL[:3], METRICS["net_benefit"](thresholds=(0.99,)))
    policy = msgspec.structs.replace(EXACT, digits=digits, counts="hidden")
    query = Query(metrics, (N // 2, N // 2), policy, LEVEL)
    sums = LARGEST[case]
    positives = N // 2
    given = np.array([positives, positives * (N - positives), *sums.values()], dtype=np.uint64)

    def stage(suite: Suite, known: RingShare) -> RingShare:
        wide = suite.widen(known)
        parts = [wide[place] for place in range(len(wide))]
        found = Found(N, known[0], known[1], {})
        by_owner = {total: known[2 + place] for place, total in enumerate(sums)}
        totals = {total: parts[2 + place] for place, total in enumerate(sums)}
        called = {0.99: CalledByOwner(known[0], known[0])}
        inputs = Inputs(None, None, None)
        evidence = Evidence(suite, query, inputs, found, N, parts[0], parts[1], totals, by_owner, called)
        ratios = tuple(ratio for metric in metrics for ratio in metric.formula([], evidence))
        return numbers(suite, [EvaluatedPart(query, inputs, found, evidence, ratios)])[0]

    columns = run(stage, given)
    e, c, s = (
        Fraction(sums[total], STEPS_PER_ONE)
        for total in (ExpectedEvents(), ExpectedAmongPositives(), SquaredProbabilities())
    )
    s2, s4 = (Fraction(sums[total], STEPS_PER_ONE) for total in (SquaredErrors(), FourthPowers()))
    odds = in_steps([0.99 / (1 - 0.99)])
    tp, fp = sums[TruePositives(0.99)], sums[FalsePositives(0.99)]
    wanted = [
        variance_of_mean(N, s2, s4),
        variance_of_mean(N, positives - e, s2),
        abs(Fraction(1, positives) - 2 * c / (positives * e) + s / e**2),
        variance_of_mean(N, tp - odds * fp, tp + odds**2 * fp),
    ]
    outputs = query.outputs
    places = [place for place, output in enumerate(outputs) if output.name == "standard_error"]
    assert len(places) == 4
    for place, variance in zip(places, wanted, strict=True):
        mantissa, exponent = int(columns[0, place]), int(columns[1, place])
        if digits == "exact":
            scale = 2 ** (outputs[place].highest_ratio - 1).bit_length()
            assert math.isclose(mantissa * scale / 2**exponent, variance, rel_tol=2**-52)
        else:
            assert Fraction(mantissa, 10**6) == root_half_away(variance, 6)
