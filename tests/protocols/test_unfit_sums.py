"""Owners' sums that their lists cannot give are noticed, and the owner is named, whoever changed them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.data.grid import Grid
from ppaurora.errors import UnsortedListError
from ppaurora.metrics import METRICS
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    ExpectedAmongPositives,
    ExpectedEvents,
    ExpectedIn,
    FalsePositives,
    FourthPowers,
    NegativesIn,
    OwnerSum,
    PositivesIn,
    SamplesIn,
    SquaredErrors,
    SquaredErrorsIn,
    SquaredProbabilities,
    TruePositives,
    sums_of,
)
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.sharing.stages import OwnerShare
from ppaurora.statistics.calibration import Bin
from ppaurora.statistics.estimates import Estimate
from tests.support.cases import Owner
from tests.support.runs import Submission, combined, samples_of, watched_run, whole_result

METRICS_OF_SUMS = (
    METRICS["brier"](),
    METRICS["observed_expected"](),
    METRICS["ppv"](thresholds=[0.5]),
    METRICS["reliability"](bins=[0.0, 0.5, 1.0]),
    METRICS["ici"](bins=[0.0, 0.5, 1.0], bandwidth=0.75),
    METRICS["histogram"](bins=[0.0, 0.5, 1.0]),
)
NONE = msgspec.structs.replace(Policy.exact(), digits=2, counts="rounded")
WITHOUT_CURVE = Terms(metrics=METRICS_OF_SUMS, policy=NONE, confidence_level=0.95)
WITH_CURVE = Terms(metrics=(METRICS["auroc"](), METRICS["ppv"](thresholds=[0.5])), policy=NONE)
WITH_FLOORS = Terms(
    metrics=METRICS_OF_SUMS, policy=msgspec.structs.replace(NONE, minimum_positives=2, minimum_negatives=2)
)
EXACT = Terms(metrics=METRICS_OF_SUMS, policy=Policy.exact(), confidence_level=0.95)

OWNERS: list[Owner] = [
    [(k / 16, k % 2) for k in range(12)],
    [(1 - k / 8, int(k in (1, 2, 3))) for k in range(8)],
    [(k / 32, int(k > 11)) for k in range(20)],
]
SIZES = [len(owner) for owner in OWNERS]

UPPER = Bin(0.5, 1.0, with_low=False, with_high=True)  # of the reliability table
FROM_HALF = Bin(0.5, 1.0, with_low=True, with_high=True)  # of the histogram

# The least and the most that each sum of the second owner can be. It has 8 samples, of which 3 are positive.
# 4 are in the upper bin, the 3 positives among them, and 3.25 are expected there.
RANGES: dict[OwnerSum, tuple[int, int]] = {
    TruePositives(0.5): (0, 3),
    FalsePositives(0.5): (0, 5),
    PositivesIn(FROM_HALF): (0, 3),
    NegativesIn(FROM_HALF): (0, 2),  # with the 3 of the other bin, all that the list has
    SamplesIn(UPPER): (4, 4),  # with the 4 of the other bin, likewise
    PositivesIn(UPPER): (0, 3),
    ExpectedIn(UPPER): (0, 4 * STEPS_PER_ONE),
    SquaredErrorsIn(UPPER): (0, 4 * STEPS_PER_ONE),
    ExpectedEvents(): (13690208256, 8 * STEPS_PER_ONE),  # at least the sum of squared probabilities, 3.1875
    ExpectedAmongPositives(): (0, 3 * STEPS_PER_ONE),
    SquaredProbabilities(): (0, 9 * STEPS_PER_ONE // 2),  # the sum of probabilities
    SquaredErrors(): (4768923648, 8 * STEPS_PER_ONE),  # at least the sum of fourth powers, 1.1103515625
    FourthPowers(): (0, 7247757312),  # the sum of squared errors, 1.6875
}
each_sum = pytest.mark.parametrize("total", RANGES, ids=lambda total: type(total).__name__)


def submissions(terms: Terms) -> list[Submission]:
    return [terms.share(samples_of(owner)) for owner in OWNERS]


def with_sum(terms: Terms, culprit: int, total: OwnerSum, value: int) -> list[Submission]:
    """As if that owner had summed up so; all else is honest. Shares of it are fresh."""
    shared = submissions(terms)
    sums = sums_of(samples_of(OWNERS[culprit]), terms.sums)
    sums[terms.sums.index(total)] = value % 2**64
    pad = np.random.default_rng().integers(0, 2**64, sums.shape, dtype=np.uint64)
    lists = [share.samples for share in shared[culprit]]
    shared[culprit] = OwnerShare(lists[0], pad), OwnerShare(lists[1], sums - pad)
    return shared


def with_share_changed(terms: Terms, server: int, total: OwnerSum, change: int) -> Submission:
    """Return the second owner's, as if a server had added so much to its part of the sum."""
    changed = list(submissions(terms)[1])
    added = np.zeros(len(terms.sums), dtype=np.uint64)
    added[terms.sums.index(total)] = change % 2**64
    changed[server] = OwnerShare(changed[server].samples, changed[server].sums + added)
    return tuple(changed)


def among_honest(terms: Terms, second: Sequence[Submission]) -> list[Submission]:
    """Return all of these, in the second owner's place, between the honest first one and third one."""
    first, _, third = submissions(terms)
    return [first, *second, third]


def sizes_of(submitted: Sequence[Submission]) -> list[int]:
    return [SIZES[0], *[SIZES[1]] * (len(submitted) - 2), SIZES[2]]


def check_taken(terms: Terms, submitted: list[Submission]) -> None:
    assert not combined(terms, watched_run(terms, submitted), sizes_of(submitted)).suppressed


def check_named(terms: Terms, submitted: list[Submission], culprits: Collection[int]) -> None:
    """The first of them is named to the owners; all are told apart from the others."""
    run = watched_run(terms, submitted)
    with pytest.raises(UnsortedListError) as caught:
        combined(terms, run, sizes_of(submitted))
    says = "the list that was sent is not sorted, or its sums do not fit it; there is no result"
    assert str(caught.value) == f"owner {min(culprits) + 1}: {says}"
    words = whole_result(terms, run)
    owners = len(submitted)
    flags = [int(number not in culprits) for number in range(owners)]
    assert words[0, -owners:].tolist() == flags, "one is not noticed, or others are blamed, too"
    assert not words[:, :-owners].any(), "more than the owners' flags leaves"
    assert not words[1].any()


def test_every_kind_of_sum_is_tried() -> None:
    assert {type(total) for total in RANGES} == {type(total) for total in every_sum()}
    assert set(RANGES) <= set(WITHOUT_CURVE.sums)


def every_sum() -> Iterator[OwnerSum]:
    needed: dict[str, Any] = {"thresholds": [0.5], "max_fpr": 0.1, "specificity": 0.9, "sensitivity": 0.9}
    for kind in METRICS.values():
        fields = kind.Parameters.__struct_fields__
        metric = kind(**{field: needed[field] for field in fields if field in needed})
        protocol = Fast(grid=Grid(decimals=2)) if metric.needs_table else Fast()
        yield from Terms(
            metrics=(metric,), policy=Policy.exact(), confidence_level=0.95, protocol=protocol
        ).sums


@each_sum
def test_a_sum_that_the_list_cannot_give_is_noticed_and_its_owner_named(total: OwnerSum) -> None:
    """One too many, one too few, and far out on all sides of the ring."""
    least, most = RANGES[total]
    far = [2**62, 2**63 - 1, 2**63, 2**63 + 1, -(2**62), most - 2**63, most + 1 - 2**63, most + 2**63]
    wrong = [with_sum(WITHOUT_CURVE, 1, total, value)[1] for value in (most + 1, least - 1, -1, *far)]
    check_named(WITHOUT_CURVE, among_honest(WITHOUT_CURVE, wrong), range(1, 1 + len(wrong)))


@each_sum
def test_the_least_and_the_most_are_taken(total: OwnerSum) -> None:
    """The positive control: it is these numbers that are refused, not any that are made up."""
    right = [with_sum(WITHOUT_CURVE, 1, total, value)[1] for value in RANGES[total]]
    check_taken(WITHOUT_CURVE, among_honest(WITHOUT_CURVE, right))


@pytest.mark.parametrize("server", [0, 1])
@pytest.mark.parametrize("total", [TruePositives(0.5), SamplesIn(UPPER), ExpectedEvents()])
def test_a_server_that_adds_to_its_share_is_noticed_as_if_it_were_the_owner(
    total: OwnerSum, server: int
) -> None:
    (true,) = sums_of(samples_of(OWNERS[1]), [total]).tolist()
    least, most = RANGES[total]
    wrong, right = (
        [with_share_changed(WITHOUT_CURVE, server, total, change) for change in changes]
        for changes in ((most + 1 - true, least - 1 - true, 2**63, 2**62), (most - true, least - true))
    )
    check_named(WITHOUT_CURVE, among_honest(WITHOUT_CURVE, wrong), range(1, 1 + len(wrong)))
    check_taken(WITHOUT_CURVE, among_honest(WITHOUT_CURVE, right))


def test_a_bin_has_no_more_positives_than_samples() -> None:
    """Of the first owner's 6 positives, though its upper bin has 3 samples; nor than the other bins leave."""
    upper = [sample for sample in OWNERS[0] if sample[0] > 0.5]
    assert len(upper) == 3
    for terms in (WITHOUT_CURVE, EXACT):
        for too_many in (4, 3):
            check_named(terms, with_sum(terms, 0, PositivesIn(UPPER), too_many), [0])
        check_taken(terms, with_sum(terms, 0, PositivesIn(UPPER), 2))


@pytest.mark.parametrize("terms", [WITH_CURVE, WITH_FLOORS, EXACT], ids=["curve", "floors", "exact"])
def test_each_owner_is_named_whatever_else_is_computed(terms: Terms) -> None:
    """With floors, too, an owner is named: what does not fit is no suppressed result."""
    for culprit, owner in enumerate(OWNERS):
        too_many = sum(label for _, label in owner) + 1
        for value in (too_many, -1):
            check_named(terms, with_sum(terms, culprit, TruePositives(0.5), value), [culprit])
    check_taken(terms, submissions(terms))


def test_two_owners_that_lie_in_opposite_directions_are_both_noticed() -> None:
    """Though their total is right."""
    total = TruePositives(0.5)
    true = [int(total.of(samples_of(owner))) for owner in OWNERS]
    lie = true[2] + 1
    assert true[0] + lie > sum(label for _, label in OWNERS[0])
    one = with_sum(WITHOUT_CURVE, 0, total, true[0] + lie)
    other = with_sum(WITHOUT_CURVE, 2, total, true[2] - lie)
    run = watched_run(WITHOUT_CURVE, [one[0], one[1], other[2]])
    with pytest.raises(UnsortedListError, match="owner 1"):
        combined(WITHOUT_CURVE, run, SIZES)
    assert whole_result(WITHOUT_CURVE, run)[0, -3:].tolist() == [0, 1, 0]


def test_honest_sums_are_released() -> None:
    released = combined(WITHOUT_CURVE, watched_run(WITHOUT_CURVE, submissions(WITHOUT_CURVE)), SIZES)
    brier = released.metrics["brier"]
    assert isinstance(brier, Estimate)
    pooled = [sample for owner in OWNERS for sample in owner]
    exact = sum((score - label) ** 2 for score, label in pooled) / len(pooled)
    assert brier.value == pytest.approx(exact, abs=0.005)
