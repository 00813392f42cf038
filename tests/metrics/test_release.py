"""What is released is the policy applied to the exact plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora.data import Samples
from ppaurora.metrics import find_metric
from ppaurora.metrics.facts import PublicCounts, moved_average_precision
from ppaurora.metrics.private.table import TableMechanism, beside_threshold
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.statistics.intervals import Interval, ap_logit_interval, proportion_interval
from tests.support import releases
from tests.support.oracles import Sample, exact_delong_variance

Owner = list[Sample]

THRESHOLDS = (0.25, 0.5, 0.75)
BINS = (0.0, 0.25, 0.5, 0.75, 1.0)
AT_THRESHOLDS = ("sensitivity", "specificity", "ppv", "npv", "f1", "accuracy", "net_benefit")
PLAIN = ("auroc", "aupr", "ap", "youden_j", "brier", "observed_expected", "calibration_in_the_large")


def metric(name: str) -> Any:
    kind = find_metric(name)
    if name in AT_THRESHOLDS:
        return kind(thresholds=THRESHOLDS)
    return kind(bins=BINS) if name in ("reliability", "histogram") else kind()


def parameters(name: str) -> Sequence[float]:
    return THRESHOLDS if name in AT_THRESHOLDS else BINS if name in ("reliability", "histogram") else ()


def numbers(found: Estimate | Table) -> list[float | None]:
    if isinstance(found, Estimate):
        return [found.value]
    counts = ("called_positive", "called_negative", "samples")
    return [estimate.value for row in found for name, estimate in row.values.items() if name not in counts]


@st.composite
def studies(draw: st.DrawFn) -> list[Owner]:
    """Dyadic scores, so that sums are exact and values lie on boundaries often."""
    pool = draw(st.sampled_from([[0.25, 0.5, 0.75], [k / 8 for k in range(9)], [0.5], [0.0, 1.0]]))
    largest = draw(st.sampled_from([30, 30, 1000]))
    sizes = draw(st.lists(st.integers(1, largest), min_size=2, max_size=5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rate = draw(st.sampled_from([0.1, 0.5, 0.9]))
    return [
        [(float(random.choice(pool)), int(random.random() < rate)) for _ in range(size)] for size in sizes
    ]


POLICIES = st.builds(
    Policy.exact,
    minimum_positives=st.sampled_from([0, 1, 2, 5, 10, 20]),
    minimum_negatives=st.sampled_from([0, 1, 2, 5, 10, 20]),
    minimum_per_cell=st.sampled_from([1, 2, 5, 10]),
    digits=st.sampled_from([1, 2, 3, 4, "exact"]),
    whole_tables=st.sampled_from([False, False, True]),
    counts=st.sampled_from(["hidden", "rounded", "exact"]),
)


def evaluate(
    owners: Sequence[Owner], names: Sequence[str], policy: Policy, **options: Any
) -> ppaurora.Report:
    arrays = [([y for _, y in owner], [s for s, _ in owner]) for owner in owners]
    return ppaurora.evaluate(arrays, metrics=[metric(name) for name in names], policy=policy, **options)


def check_release(owners: Sequence[Owner], names: Sequence[str], policy: Policy) -> None:
    positives = sum(y for owner in owners for _, y in owner)
    one_class = positives in (0, sum(len(owner) for owner in owners))
    if one_class and not (policy.minimum_positives or policy.minimum_negatives):
        with pytest.raises(ppaurora.UndefinedResultError):
            evaluate(owners, names, policy, confidence_level=0.95)
        return
    report = evaluate(owners, names, policy, confidence_level=0.95)
    if one_class or not releases.passes_floors(policy, owners):
        check_suppressed(report)
        return
    assert not report.suppressed
    expected_count = {
        "hidden": None,
        "rounded": releases.to_multiple_of_five(positives),
        "exact": positives,
    }
    assert report.positives == expected_count[policy.counts]
    expected = releases.released(owners, policy, {name: parameters(name) for name in names})
    for name, exact in expected.items():
        for value, plain in zip(numbers(report.metrics[name]), exact, strict=True):
            check_number(value, plain, releases.decimals_of(policy, name))
    if "auroc" in names:
        check_standard_error(report, owners, policy.decimals)


def check_number(value: float | None, plain: Fraction | None, digits: int | None) -> None:
    if plain is None:
        assert value is None
        return
    assert value is not None
    if digits is None:
        assert abs(Fraction(value) - plain) < Fraction(1, 10**9)
    else:
        assert value == float(releases.half_away(plain, digits))


def check_standard_error(report: ppaurora.Report, owners: Sequence[Owner], digits: int | None) -> None:
    estimate = report["auroc"]
    assert isinstance(estimate, Estimate)
    found = estimate.standard_error
    if digits is not None:
        expected = releases.delong_root(owners, digits + 1)
        assert found == (None if expected is None else float(expected))
        return
    variance = exact_delong_variance([sample for owner in owners for sample in owner])
    if variance is None:
        assert found is None
    else:
        assert found is not None
        assert math.isclose(found, math.sqrt(variance), rel_tol=1e-9, abs_tol=0.0)


def check_suppressed(report: ppaurora.Report) -> None:
    assert report.suppressed
    assert report.positives is None
    for found in report.metrics.values():
        estimates = (
            [found] if isinstance(found, Estimate) else [e for row in found for e in row.values.values()]
        )
        assert all(e.suppressed and e.value is None and e.interval is None for e in estimates)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    studies(),
    POLICIES,
    st.sampled_from(
        [PLAIN, ("auroc", *AT_THRESHOLDS), ("reliability", "auroc"), ("brier", "ppv"), ("ppv", "reliability")]
    ),
)
def test_what_is_released_is_the_policy_applied_to_the_exact_values(
    owners: list[Owner], policy: Policy, names: Sequence[str]
) -> None:
    check_release(owners, names, policy)


def test_a_number_that_is_undefined_withholds_no_table() -> None:
    """Nobody is called negative at the first threshold, and a minimum of one is no rule."""
    policy = Policy.exact(minimum_positives=0, minimum_negatives=0, minimum_per_cell=1, whole_tables=True)
    report = evaluate([[(0.75, 0)], [(0.5, 1)]], AT_THRESHOLDS, policy)
    npv, sensitivity = (numbers(report.metrics[name]) for name in ("npv", "sensitivity"))
    assert (npv, sensitivity) == ([None, None, 0.0], [1.0, 1.0, 0.0])
    check_release([[(0.75, 0)], [(0.5, 1)]], ("auroc", *AT_THRESHOLDS), policy)


def of_classes(*counts: tuple[int, int]) -> list[Owner]:
    """Owners with so many positives and negatives, whose scores are spread evenly."""
    owners = []
    for positives, negatives in counts:
        labels = [1] * positives + [0] * negatives
        owners.append([(place / 64, label) for place, label in enumerate(labels)])
    return owners


@pytest.mark.parametrize(("positives", "is_enough"), [(10, True), (11, False)])
@pytest.mark.parametrize(("negatives", "are_enough"), [(14, True), (15, False)])
def test_floors_hold_without_the_largest_owner_up_to_their_boundaries(
    positives: int, is_enough: bool, negatives: int, are_enough: bool
) -> None:
    """There are 16 positives and 22 negatives; without the owner that has most of each, 10 and 14."""
    policy = msgspec.structs.replace(
        Policy.exact(), minimum_positives=positives, minimum_negatives=negatives, digits=2
    )
    report = evaluate(of_classes((6, 8), (5, 7), (5, 7)), ("auroc",), policy)
    assert report.suppressed == (not (is_enough and are_enough))


MANY = [0.2] * 20 + [0.8] * 20


def with_people_at(score: float, *people: int) -> list[Owner]:
    """Owners with many samples elsewhere, and so many of each at a score."""
    return [
        [(at, place % 2) for place, at in enumerate([*MANY, *[score] * count])] for count in (*people, 0, 0)
    ]


@pytest.mark.parametrize(
    ("bins", "score"),
    [((0.0, 0.3, 0.5), 0.52), ((0.6, 0.7, 1.0), 0.58)],  # the last edge is below 0.55, or the first above
)
@pytest.mark.parametrize(
    ("people", "is_told"),
    [((0,), True), ((1,), False), ((10,), True), ((9, 9), False), ((10, 10), True)],
)
def test_few_people_between_a_threshold_and_the_end_of_a_table_stay_hidden(
    bins: tuple[float, ...], score: float, people: tuple[int, ...], is_told: bool
) -> None:
    """Inside of a bin no plan has a threshold. Of one owner's people alone, all others together have none."""
    assert _tells_ppv("histogram", 0.55, with_people_at(score, *people), bins=bins) == is_told


@pytest.mark.parametrize(("people", "is_told"), [(0, True), (1, False), (10, True)])
def test_people_on_an_edge_are_in_one_table_and_not_in_the_other(people: int, is_told: bool) -> None:
    """A threshold belongs to those above it, like the histogram's edges; those of `reliability` do not."""
    owners = with_people_at(0.5, people)
    assert _tells_ppv("reliability", 0.5, owners) == is_told
    assert _tells_ppv("histogram", 0.5, owners)


def _tells_ppv(table: str, threshold: float, owners: Sequence[Owner], **bins: Any) -> bool:
    asked = [find_metric("ppv")(thresholds=(threshold,)), find_metric(table)(**bins)]
    arrays = [([y for _, y in owner], [s for s, _ in owner]) for owner in owners]
    report = ppaurora.evaluate(arrays, metrics=asked, policy=Policy.exact(minimum_per_cell=10))
    (value,) = numbers(report.metrics["ppv"])
    return value is not None


@pytest.mark.parametrize("lower", [False, True])
def test_what_is_between_a_threshold_and_an_edge_follows_the_direction_of_scores(lower: bool) -> None:
    """Whom the threshold calls is on its upper side, or on its lower one if lower scores are positive."""
    scores = np.array([0.5, 0.5, 0.52, 0.55, 0.58, 0.6])
    samples = Samples("people", scores, np.zeros(6, dtype=np.uint8))
    samples = samples.negate() if lower else samples
    found = {}
    for table in ("reliability", "histogram"):
        mechanism = find_metric(table)().mechanism()
        assert isinstance(mechanism, TableMechanism)
        for threshold in (0.5, 0.55):
            parts = beside_threshold(threshold, mechanism.cuts)
            found[table, threshold] = [part.of(samples) for part in parts]
    assert found == {
        ("reliability", 0.5): [0 if lower else 2],
        ("histogram", 0.5): [2 if lower else 0],
        ("reliability", 0.55): [2, 2] if lower else [1, 3],
        ("histogram", 0.55): [4, 1] if lower else [3, 2],
    }


@pytest.mark.parametrize(("least", "is_told"), [(10, True), (11, False)])
@pytest.mark.parametrize("rate", [0.25, 0.75])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("partial_auroc", "max_fpr"),
        ("sensitivity_at_specificity", "specificity"),
        ("specificity_at_sensitivity", "sensitivity"),
    ],
)
def test_what_is_about_a_part_of_the_curve_needs_enough_in_it_and_in_the_rest(
    name: str, parameter: str, rate: float, least: int, is_told: bool
) -> None:
    """Without any one owner there are 40 of either class, and a quarter of them in the smaller part."""
    owners = of_classes((20, 20), (20, 20), (20, 20))
    arrays = [([y for _, y in owner], [s for s, _ in owner]) for owner in owners]
    asked = find_metric(name)(**{parameter: rate})
    report = ppaurora.evaluate(arrays, metrics=[asked], policy=Policy.exact(minimum_per_cell=least))
    assert releases.may_be_told_of_tails(report.policy, owners, name, rate) == is_told
    assert [value is not None for value in numbers(report.metrics[name])] == [is_told]


@pytest.mark.parametrize(("counts", "digits"), [("hidden", 2), ("rounded", 4), ("exact", 4)])
@pytest.mark.parametrize("name", ["sensitivity", "specificity", "f1", "ppv", "npv", "reliability"])
def test_rates_have_few_decimals_where_counts_are_hidden(name: str, counts: Any, digits: int) -> None:
    """More would tell how many samples they are of."""
    policy = msgspec.structs.replace(Policy.exact(), digits=4, counts=counts)
    found = evaluate(of_classes((30, 30), (20, 40)), (name,), policy).metrics[name]
    assert isinstance(found, Table)
    rates = [estimate for row in found for estimate in row.values.values() if estimate.digits != 0]
    assert {rate.digits for rate in rates if rate.value is not None} == {digits}
    assert all(round(rate.value, digits) == rate.value for rate in rates if rate.value is not None)


ROUNDED = msgspec.structs.replace(Policy.exact(), counts="rounded", digits=3)


@pytest.mark.parametrize(("positives", "released"), [(1, 0), (2, 0), (3, 5), (22, 20), (23, 25)])
def test_rounded_counts_may_be_nothing_or_more_than_all(positives: int, released: int) -> None:
    """Then intervals take the smallest numbers that they may stand for, one at least."""
    samples: Owner = [(k / 32, int(k < positives)) for k in range(24)]
    owners = [samples[0::2], samples[1::2]]
    report = evaluate(owners, ("ap", "sensitivity", "specificity"), ROUNDED, confidence_level=0.95)
    assert report.positives == released
    ap = report["ap"]
    assert isinstance(ap, Estimate)
    assert ap.value is not None
    assert ap.interval == ap_logit_interval(ap.value, max(released - 2, 1), 0.95, slack=0.0005)
    for name, trials in (("sensitivity", released), ("specificity", 24 - released)):
        found = report.metrics[name]
        assert isinstance(found, Table)
        for row in found:
            value = row[name].value
            assert value is not None
            assert row[name].interval == proportion_interval(value, max(trials - 2, 1), 0.95, slack=0.0005)
            assert row[name].method == "Wilson"


def intervals_of(found: Estimate | Table) -> list[Interval | None]:
    if isinstance(found, Estimate):
        return [found.interval, found.logit_interval]
    return [estimate.interval for row in found for estimate in row.values.values()]


WITH_INTERVALS = ("auroc", "ap", "sensitivity", "specificity", "ppv", "npv", "accuracy", "reliability")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(studies(), st.sampled_from([1, 2, 3, 6]), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_intervals_of_rounded_numbers_contain_the_exact_ones(
    owners: list[Owner], digits: int, level: float
) -> None:
    """By themselves, and as people read them."""
    labels = {label for owner in owners for _, label in owner}
    assume(len(labels) == 2)
    exact = evaluate(owners, WITH_INTERVALS, Policy.exact(), confidence_level=level)
    policy = msgspec.structs.replace(ROUNDED, digits=digits)
    rounded = evaluate(owners, WITH_INTERVALS, policy, confidence_level=level)
    compared = 0
    for name in WITH_INTERVALS:
        of_exact, of_rounded = intervals_of(exact.metrics[name]), intervals_of(rounded.metrics[name])
        for inner, outer in zip(of_exact, of_rounded, strict=True):
            if inner is not None and outer is not None:
                assert outer[0] <= inner[0] + 1e-12, name
                assert outer[1] >= inner[1] - 1e-12, name
                compared += 1
    assert compared >= 3 * len(THRESHOLDS)


@pytest.mark.parametrize("positives", [1, 2, 7])
@pytest.mark.parametrize("digits", [3, "exact"])
def test_observed_to_expected_is_withheld_from_a_hundred_on(positives: int, digits: int | str) -> None:
    """Step by step of the sum of probabilities, which are in steps of 2^-32, around a hundredth."""
    policy = msgspec.structs.replace(Policy.exact(), digits=digits)
    around = positives * 2**32 // 100
    for steps in range(around - 2, around + positives + 2):
        owners: list[Owner] = [[(0.0, 1)] * positives, [(steps / 2**32, 0)]]
        found = evaluate(owners, ("observed_expected",), policy)["observed_expected"]
        assert isinstance(found, Estimate)
        exact = Fraction(positives * 2**32, steps)
        if exact >= 100:
            assert found.value is None
        elif found.value is None:
            assert steps <= around + positives, "withheld though it is below"
        else:
            assert abs(Fraction(found.value) - exact) <= Fraction(1, 2000 if digits == 3 else 10**9)
    assert isinstance(found, Estimate)
    assert found.value is not None


@pytest.mark.parametrize("least", [1, 10, 1 << 20, 1 << 32, 1 << 40])
def test_one_person_between_two_thresholds_stays_hidden_whatever_an_owner_demands(least: int) -> None:
    """With a rule of one sample it shows: the control. A large one must not be squared beyond the ring."""
    labels = np.array([0, 1] * 60)
    scores = np.where(np.arange(120) % 4 < 2, 0.25, 0.75)
    one = scores.copy()
    one[1] = 0.5
    metric = find_metric("sensitivity")(thresholds=(0.45, 0.55))
    policy = Policy.exact(minimum_per_cell=least, digits=4)
    owners = [(labels, one), (labels, scores), (labels, scores)]
    report = ppaurora.evaluate(owners, metrics=[metric], policy=policy)
    table = report["sensitivity"]
    assert isinstance(table, Table)
    _, second = (row.values["sensitivity"] for row in table)
    assert (second.value is None) == (least > 1)


def test_a_huge_demand_is_no_work_for_whoever_reads_what_is_disclosed() -> None:
    demanding, usual = (PublicCounts(1 << 41, positives, 10) for positives in (1 << 40, 10_000))
    assert 0 < moved_average_precision(demanding) < moved_average_precision(usual) < 0.01
