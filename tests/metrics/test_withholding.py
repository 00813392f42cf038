"""Every rule on a secret up to its boundary: exactly as many as it asks for are enough, one less is not.

In all and without any one owner, in the clear and by three parties; what must come out is said by an oracle
that knows the rules from their words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest

import ppaurora
from ppaurora.data.samples import Samples
from ppaurora.metrics import METRICS, Metric, Query, find_metric
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.reading import ReleasedPart, ReleasedResult, read_release
from ppaurora.metrics.release import release
from ppaurora.metrics.sums import ListCounts, sums_of
from ppaurora.policy.rules import Floors, Policy
from ppaurora.sharing.shares import BitShare, RingShare
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import Records
from ppaurora.suites.cleartext import CleartextSuite
from tests.support import releases
from tests.support.oracles import Sample

Owner = list[Sample]
Asked = dict[str, tuple[float, ...]]
RATE_NAMES = {
    "partial_auroc": "max_fpr",
    "sensitivity_at_specificity": "specificity",
    "specificity_at_sensitivity": "sensitivity",
}


def metrics_for(asked: Asked) -> tuple[Metric, ...]:
    metrics: list[Metric] = []
    for name, given in asked.items():
        if name in releases.AT_THRESHOLDS:
            metrics.append(find_metric(name)(thresholds=given))
        elif name == "reliability":
            metrics.append(find_metric(name)(bins=given))
        else:
            metrics.append(find_metric(name)(**({RATE_NAMES[name]: given[0]} if given else {})))
    return tuple(metrics)


def by_three_parties(owners: Sequence[Owner], metrics: tuple[Metric, ...], policy: Policy) -> ReleasedResult:
    arrays = [([y for _, y in owner], [s for s, _ in owner]) for owner in owners]
    report = ppaurora.evaluate(arrays, metrics=metrics, policy=policy)
    query = Query(metrics, tuple(map(len, owners)), policy)
    return ReleasedResult(
        (ReleasedPart(query, dict(report.metrics), report.positives, suppressed=report.suppressed),)
    )


def in_the_clear(owners: Sequence[Owner], metrics: tuple[Metric, ...], policy: Policy) -> ReleasedResult:
    """The same formulas and rules, on a list that was merged by sorting it."""
    suite = CleartextSuite()
    query = Query(metrics, tuple(map(len, owners)), policy)

    def share(numbers: Any) -> RingShare:
        return RingShare(suite.holder, np.array(numbers, dtype=np.uint64))

    lists = [
        Samples("owner", np.array([s for s, _ in owner]), np.array([y for _, y in owner], dtype=np.uint8))
        for owner in owners
    ]
    positives = share([one.labels.sum() for one in lists])
    counts = ListCounts(np.array(query.sizes, dtype=np.uint64), positives)
    sums = share(np.array([sums_of(one, query.sums) for one in lists]).T) if query.sums else None
    merged: list[Records] = []
    if query.needs_curve:
        scores, labels = (
            np.concatenate([getattr(one, what) for one in lists]) for what in ("scores", "labels")
        )
        order = np.argsort(-scores, kind="stable")
        keys = np.unique(scores, return_inverse=True)[1][order].astype(np.uint64)
        merged = [ArrayRecords(share(keys), BitShare(suite.holder, labels[order]))]
    columns = release(suite, query, merged, Inputs(None, counts, sums))
    return read_release(columns.values, query, [])


Run = Callable[[Sequence[Owner], tuple[Metric, ...], Policy], ReleasedResult]
EVERYWHERE = pytest.mark.parametrize("run", [in_the_clear, by_three_parties])


def values_of(found: Estimate | Table) -> list[float | None]:
    if isinstance(found, Estimate):
        return [found.value]
    return [
        estimate.value
        for row in found
        for name, estimate in row.values.items()
        if name not in ("called_positive", "called_negative", "samples")
    ]


def check(run: Run, owners: Sequence[Owner], asked: Asked, policy: Policy) -> dict[str, list[bool]]:
    """Compare all numbers with the oracle's; return which of them are there."""
    released = run(owners, metrics_for(asked), policy)
    assert not released.suppressed
    expected = releases.released(owners, policy, asked)
    for name, plain in expected.items():
        digits = releases.decimals_of(policy, name)
        assert digits is not None
        rounded = [None if one is None else float(releases.half_away(one, digits)) for one in plain]
        assert values_of(released.metrics[name]) == rounded, name
    return {name: [one is not None for one in plain] for name, plain in expected.items()}


def owners_with(*groups: dict[tuple[float, int], int]) -> list[Owner]:
    """Owners that have so many samples of every score and label."""
    return [[sample for sample, count in group.items() for _ in range(count)] for group in groups]


# Floors of classes: the whole result.


@EVERYWHERE
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(
    ("counts", "enough"),
    [((5, 5, 5), True), ((5, 5, 4), False), ((4, 5, 30), False), ((10, 10, 0), True), ((0, 9, 30), False)],
)
def test_classes(run: Run, label: int, counts: tuple[int, ...], enough: bool) -> None:
    """Ten without any one owner: of five at each of three, ten are left."""
    owners = owners_with(*({(0.5, label): own, (0.25, 1 - label): 40} for own in counts))
    assert releases.passes_floors(Policy(), owners) == enough
    assert run(owners, (METRICS["auroc"](),), Policy()).suppressed == (not enough)


# Both sides of a threshold, and what is between two of them.

AT: tuple[str, ...] = releases.AT_THRESHOLDS


@EVERYWHERE
@pytest.mark.parametrize("side", ["called positive", "called negative"])
@pytest.mark.parametrize(
    ("counts", "enough"), [((5, 5, 5), True), ((5, 5, 4), False), ((4, 5, 30), False), ((0, 10, 10), True)]
)
def test_both_sides_of_a_threshold(run: Run, side: str, counts: tuple[int, ...], enough: bool) -> None:
    few, many = (0.75, 0.25) if side == "called positive" else (0.25, 0.75)
    owners = owners_with(
        *(
            {(few, k): own // 2 + (own % 2) * k for k in (0, 1)} | {(many, 0): 30, (many, 1): 20}
            for own in counts
        )
    )
    there = check(run, owners, dict.fromkeys(AT, (0.5,)), Policy())
    assert there == {name: [enough] for name in AT}


@EVERYWHERE
@pytest.mark.parametrize(("counts", "enough"), [((5, 5, 5), True), ((5, 4, 5), False), ((40, 0, 9), False)])
def test_between_two_thresholds(run: Run, counts: tuple[int, ...], enough: bool) -> None:
    """The lower one is released, whatever is between; of another metric's, too."""
    owners = owners_with(
        *({(0.5, 0): own, (0.25, 0): 20, (0.25, 1): 20, (0.75, 0): 20, (0.75, 1): 20} for own in counts)
    )
    there = check(run, owners, {"sensitivity": (0.3, 0.6), "net_benefit": (0.3, 0.6)}, Policy())
    assert there == {"sensitivity": [True, enough], "net_benefit": [True, enough]}
    there = check(run, owners, {"sensitivity": (0.3,), "accuracy": (0.6,)}, Policy())
    assert there == {"sensitivity": [True], "accuracy": [enough]}


# Bins


@EVERYWHERE
@pytest.mark.parametrize(("counts", "enough"), [((5, 5, 5), True), ((5, 5, 4), False), ((30, 4, 5), False)])
def test_bins(run: Run, counts: tuple[int, ...], enough: bool) -> None:
    owners = owners_with(*({(0.1, 0): own, (0.4, 0): 20, (0.9, 1): 20} for own in counts))
    there = check(run, owners, {"reliability": (0.0, 0.25, 0.5, 1.0)}, Policy())
    assert there == {"reliability": [enough, enough, True, True, True, True]}


# Tails


@EVERYWHERE
@pytest.mark.parametrize(
    ("name", "rate", "label"),
    [
        ("partial_auroc", 0.1, 0),
        ("partial_auroc", 0.9, 0),
        ("sensitivity_at_specificity", 0.9, 0),
        ("sensitivity_at_specificity", 0.1, 0),
        ("specificity_at_sensitivity", 0.9, 1),
        ("specificity_at_sensitivity", 0.1, 1),
    ],
)
@pytest.mark.parametrize(
    ("counts", "enough"), [((50, 50, 50), True), ((50, 49, 50), False), ((100, 50, 49), False)]
)
def test_tails(run: Run, name: str, rate: float, label: int, counts: tuple[int, ...], enough: bool) -> None:
    """A tenth of a class of which 100 are left without any one owner, or 99."""
    owners = [
        [((k * 37 % 101) / 101, label) for k in range(own)]
        + [((k * 53 % 97) / 97, 1 - label) for k in range(40)]
        for own in counts
    ]
    assert check(run, owners, {name: (rate,)}, Policy()) == {name: [enough]}


# Expected events

STEP = 2.0**-32


@EVERYWHERE
@pytest.mark.parametrize(("less", "enough"), [(0.0, True), (STEP, False)])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_expected_events(run: Run, less: float, enough: bool, place: int) -> None:
    """Five are expected at every owner, so ten without any one of them: exactly, or a step of 2^-32 less."""
    owners: list[Owner] = [[(0.25, k % 2) for k in range(20)] for _ in range(3)]
    owners[place][0] = (0.25 - less, 0)
    assert check(run, owners, {"observed_expected": ()}, Policy()) == {"observed_expected": [enough]}


@pytest.mark.parametrize("name", ["brier", "calibration_in_the_large", "auroc"])
def test_what_is_about_all_samples_is_there_however_few_are_expected(name: str) -> None:
    owners: list[Owner] = [[((k + 1) / 2**20, k % 2) for k in range(20)] for _ in range(3)]
    assert check(in_the_clear, owners, {name: (), "observed_expected": ()}, Policy()) == {
        name: [True],
        "observed_expected": [False],
    }


# How many decimals


def test_decimals_of_publication() -> None:
    """Three; four of a standard error and of what has a small scale, five of its standard error."""
    asked: Asked = dict.fromkeys(
        ("auroc", "ap", "aupr", "youden_j", "brier", "observed_expected", "calibration_in_the_large"), ()
    )
    asked |= dict.fromkeys(AT, (0.5,)) | {"reliability": (0.0, 0.5, 1.0)}
    asked |= {
        "partial_auroc": (0.5,),
        "sensitivity_at_specificity": (0.5,),
        "specificity_at_sensitivity": (0.5,),
    }
    random = np.random.default_rng(5)
    owners = [[(float(p), int(random.random() < p)) for p in random.random(50)] for _ in range(3)]
    arrays = [([y for _, y in owner], [s for s, _ in owner]) for owner in owners]
    report = ppaurora.evaluate(arrays, metrics=metrics_for(asked), policy=Policy(), confidence_level=0.95)
    small = ("brier", "net_benefit", "calibration_in_the_large")
    for name, found in report.metrics.items():
        estimates = (
            [found]
            if isinstance(found, Estimate)
            else [row.values[name] for row in found if name in row.values]
        )
        for estimate in estimates:
            assert estimate.digits == (4 if name in small else 3), name
            if estimate.standard_error is not None:
                digits = 5 if name in small else 4
                assert round(estimate.standard_error, digits) == estimate.standard_error
    positives = sum(y for owner in owners for _, y in owner)
    assert report.positives == releases.to_multiple_of_five(positives)
    table = report["ppv"]
    assert isinstance(table, Table)
    called = table.rows[0]["called_positive"].value
    assert called == releases.to_multiple_of_five(sum(1 for owner in owners for s, _ in owner if s >= 0.5))


# An owner's own floor on cells


def answers(run: Run, others: Sequence[int], policy: Policy) -> list[bool]:
    """Which numbers of a table of 100 bins there are.

    The first owner has 19 samples in every bin and the third one 20; the second one so many of its own. So
    without the third there are 20 in a bin exactly where the second has any.
    """
    edges = (*(k / 128 for k in range(100)), 1.0)
    inside = [(low + high) / 2 for low, high in pairwise(edges)]
    owners: list[Owner] = [
        [(score, k % 2) for score, count in zip(inside, counts, strict=True) for k in range(count)]
        for counts in ([19] * 100, others, [20] * 100)
    ]
    assert not policy.problem_with([len(owner) for owner in owners])
    released = run(owners, (METRICS["reliability"](bins=edges),), policy)
    return [value is not None for value in values_of(released.metrics["reliability"])]


@EVERYWHERE
def test_an_owners_floor_on_cells_is_no_oracle(run: Run) -> None:
    """Withheld one by one, 200 numbers would tell in which bins another owner has somebody: the control."""
    others = np.random.default_rng(11).integers(0, 4, 100).tolist()
    assert all(answers(run, others, Policy()))
    joined = Policy().strictest([Floors(minimum_per_cell=20), Floors(), Floors()])
    one_by_one = msgspec.structs.replace(joined, whole_tables=False)
    assert answers(run, others, one_by_one) == [count > 0 for count in others for _ in range(2)]
    assert answers(run, others, joined) == [False] * 200
    everywhere = [max(count, 1) for count in others]
    assert answers(run, everywhere, joined) == [True] * 200


@EVERYWHERE
def test_a_table_that_is_withheld_leaves_what_is_in_no_table(run: Run) -> None:
    """One threshold, or bin, with too few people is enough for all tables to be withheld."""
    owners = owners_with(*({(0.25, 0): 30, (0.75, 1): 20, (0.9375, 1): 3} for _ in range(3)))
    bins = (0.0, 0.5, 0.9, 1.0)
    asked: Asked = {"auroc": (), "ppv": (0.5, 0.9), "reliability": bins, "partial_auroc": (0.5,)}
    asked |= {"accuracy": (0.5,)}
    singly = check(run, owners, asked, Policy())
    assert singly == {
        "auroc": [True],
        "ppv": [True, False],
        "reliability": [True] * 4 + [False] * 2,
        "partial_auroc": [True],
        "accuracy": [True],
    }
    wholly = check(run, owners, asked, Policy(whole_tables=True))
    assert wholly == singly | {"ppv": [False] * 2, "reliability": [False] * 6, "accuracy": [False]}
