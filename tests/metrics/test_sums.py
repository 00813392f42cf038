"""What owners sum up, against counting one by one; on negated scores, thresholds mean the source's scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.data import Grid, Samples
from ppaurora.evaluation.evaluate import evaluate_samples
from ppaurora.evaluation.report import Report
from ppaurora.metrics import METRICS, Metric, Query, metrics_named
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    ExpectedAmongPositives,
    ExpectedEvents,
    ExpectedIn,
    FalsePositives,
    FourthPowers,
    ListCounts,
    NegativesIn,
    OwnerSum,
    PositivesIn,
    SamplesIn,
    SquaredErrors,
    SquaredProbabilities,
    TruePositives,
    sums_of,
    weights_on,
)
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Paper
from ppaurora.session import no_progress
from ppaurora.sharing import RingShare
from ppaurora.sharing.shares import Words
from ppaurora.statistics.calibration import Bin
from ppaurora.suites.cleartext import CLEARTEXT

Scored = list[tuple[float, int]]

PROBABILITIES = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 0.5 + 2**-40, 1.0, 0.1, 2**-33]), st.floats(0, 1, allow_subnormal=False)
)
ANY_SCORES = st.one_of(st.sampled_from([0.0, -0.0, 1.5, -1.5, 1e300]), st.floats(-1e9, 1e9))
LABELS = st.integers(0, 1)
SOME_PROBABILITIES = st.lists(st.tuples(PROBABILITIES, LABELS), min_size=1, max_size=30)
SOME_SCORES = st.lists(st.tuples(ANY_SCORES, LABELS), min_size=1, max_size=30)


def samples(scored: Scored) -> Samples:
    scores, labels = zip(*scored, strict=True)
    return Samples("owner", np.array(scores), np.array(labels, dtype=np.uint8))


def steps_of_sum(scores: Iterable[float]) -> int:
    """Of the float64 that is nearest to the sum; half to even."""
    nearest = float(sum(map(Fraction, scores), Fraction(0)))
    return round(Fraction(nearest) * STEPS_PER_ONE)


def count(scored: Scored, holds: Callable[[float], bool], *labels: int) -> int:
    return sum(1 for score, label in scored if holds(score) and label in (labels or (0, 1)))


def at_least(edge: float) -> Callable[[float], bool]:
    return lambda score: score >= edge


def at_most(edge: float) -> Callable[[float], bool]:
    return lambda score: score <= edge


@given(SOME_SCORES, ANY_SCORES)
def test_true_and_false_positives_reach_the_threshold(scored: Scored, threshold: float) -> None:
    for edge in (threshold, scored[0][0]):
        assert TruePositives(edge).of(samples(scored)) == count(scored, at_least(edge), 1)
        assert FalsePositives(edge).of(samples(scored)) == count(scored, at_least(edge), 0)


@given(SOME_SCORES, ANY_SCORES)
def test_on_negated_scores_a_threshold_is_one_of_the_source(scored: Scored, threshold: float) -> None:
    """There a sample is called positive if the source's score is at most the threshold."""
    read = EvaluationSpec(score_direction="lower").read(samples(scored))
    for edge in (threshold, scored[0][0]):
        assert TruePositives(edge).of(read) == count(scored, at_most(edge), 1)
        assert FalsePositives(edge).of(read) == count(scored, at_most(edge), 0)


@dataclass(frozen=True)
class Ends:
    """Which ends a bin has, and the same in one line."""

    with_low: bool
    with_high: bool

    def hold(self, low: float, high: float) -> Callable[[float], bool]:
        return lambda score: (
            low < score < high or (self.with_low and score == low) or (self.with_high and score == high)
        )


ENDS = [Ends(with_low, with_high) for with_low in (False, True) for with_high in (False, True)]


@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("negated", [False, True])
def test_bins_are_of_the_source(ends: Ends, negated: bool) -> None:
    scored: Scored = [(k / 4, k % 3 % 2) for k in range(-9, 10)]
    read = samples(scored).negate() if negated else samples(scored)
    for low, high in ((-1.0, 0.5), (0.0, 2.0), (-0.25, 0.0), (5.0, 6.0), (0.1, 0.2)):
        bin_ = Bin(low, high, ends.with_low, ends.with_high)
        inside = ends.hold(low, high)
        assert SamplesIn(bin_).of(read) == count(scored, inside)
        assert PositivesIn(bin_).of(read) == count(scored, inside, 1)
        assert NegativesIn(bin_).of(read) == count(scored, inside, 0)
        assert bin_.holds(np.array([score for score, _ in scored])).tolist() == [inside(s) for s, _ in scored]


@given(SOME_PROBABILITIES)
def test_sums_of_probabilities_are_in_whole_steps(scored: Scored) -> None:
    """Rounded once, not sample by sample."""
    own = samples(scored)
    assert ExpectedEvents().of(own) == steps_of_sum(score for score, _ in scored)
    # A square is a float before it is summed, so the sum may fall to the other side of a half.
    exact = sum(((Fraction(score) - label) ** 2 for score, label in scored), Fraction(0))
    assert abs(SquaredErrors().of(own) - exact * STEPS_PER_ONE) <= Fraction(1, 2) + Fraction(1, 1000)
    fourth = sum(((Fraction(score) - label) ** 4 for score, label in scored), Fraction(0))
    assert abs(FourthPowers().of(own) - fourth * STEPS_PER_ONE) <= Fraction(1, 2) + Fraction(1, 1000)
    squared = sum((Fraction(score) ** 2 for score, _ in scored), Fraction(0))
    assert abs(SquaredProbabilities().of(own) - squared * STEPS_PER_ONE) <= Fraction(1, 2) + Fraction(1, 1000)
    assert ExpectedAmongPositives().of(own) == steps_of_sum(score for score, label in scored if label)
    for low, high in ((0.0, 0.25), (0.25, 1.0)):
        inside = Bin(low, high, low == 0, with_high=True)
        expected = steps_of_sum(s for s, _ in scored if low < s <= high or (s == low == 0))
        assert ExpectedIn(inside).of(own) == expected


def test_the_largest_sums_are_taken() -> None:
    most = samples([(1.0, 0)] * 1000)
    for total in (
        ExpectedEvents(),
        SquaredErrors(),
        FourthPowers(),
        SquaredProbabilities(),
        ExpectedIn(Bin(0.0, 1.0, with_low=True, with_high=True)),
    ):
        assert total.of(most) == 1000 * STEPS_PER_ONE


@given(SOME_PROBABILITIES)
def test_no_sum_is_more_than_the_list_can_give(scored: Scored) -> None:
    """What servers allow at most is reached by some lists and exceeded by none."""
    own = samples(scored)
    positives = np.array([own.labels.sum()], dtype=np.uint64)
    counts = ListCounts(np.array([len(own)], dtype=np.uint64), RingShare(CLEARTEXT, positives))
    whole = Bin(0.0, 1.0, with_low=True, with_high=True)
    for total in every_sum():
        most = total.most(counts)
        allowed = most.values if isinstance(most, RingShare) else most
        assert 0 <= total.of(own) <= int(allowed[0])
    for total in (SamplesIn(whole), PositivesIn(whole), NegativesIn(whole), TruePositives(0.0)):
        most = total.most(counts)
        assert total.of(own) == int((most.values if isinstance(most, RingShare) else most)[0])


def every_metric() -> list[Metric]:
    needed = {"thresholds": [0.25, 0.5], "max_fpr": 0.1, "specificity": 0.9, "sensitivity": 0.9}
    return [
        kind(**{name: needed[name] for name in kind.Parameters.__struct_fields__ if name in needed})
        for kind in METRICS.values()
    ]


def every_sum() -> tuple[OwnerSum, ...]:
    return Query(tuple(every_metric()), (1, 1), Policy.exact(), 0.95).sums


def test_metrics_share_their_sums() -> None:
    """Nine metrics at two thresholds need four numbers, whichever of them are asked for."""
    at_thresholds = [metric for metric in every_metric() if "thresholds" in metric.settings()]
    assert len(at_thresholds) == 9
    for chosen in (at_thresholds, at_thresholds[:1], at_thresholds[2:4]):
        assert Query(tuple(chosen), (1, 1), Policy.exact()).sums == (
            TruePositives(0.25),
            FalsePositives(0.25),
            TruePositives(0.5),
            FalsePositives(0.5),
        )
    assert Query(metrics_named("auroc", "ap", "youden_j"), (1, 1), Policy.exact()).sums == ()


@pytest.mark.parametrize("protocol", [Fast(), Paper()], ids=str)
def test_shares_of_sums_add_up_and_look_like_nothing(protocol: Fast | Paper) -> None:
    own = samples([(k / 16, k % 2) for k in range(17)])
    wanted = every_sum()
    first, second = protocol.share(own, wanted)
    assert (first.sums + second.sums).tolist() == sums_of(own, wanted).tolist()
    again = protocol.share(own, wanted)[0]
    assert not (first.sums == again.sums).any()
    assert not (first.sums == sums_of(own, wanted)).any()
    raw, server = first.to_bytes(), protocol.input_servers[0]
    shape = protocol.shape(len(wanted))
    assert len(raw) == protocol.share_bytes(server, len(own), shape)
    assert protocol.read_share(raw, server, len(own), shape).sums.tolist() == first.sums.tolist()


def lower_is_positive(owners: list[Scored], *metrics: Metric) -> Report:
    return evaluate_samples(
        [EvaluationSpec(score_direction="lower").read(samples(owner)) for owner in owners],
        metrics=metrics,
        protocol="fast",
        parameters={},
        transport="memory",
        progress=no_progress,
        timeout=120,
    )


def test_a_study_of_lower_scores_is_read_in_scores_of_the_source() -> None:
    random = np.random.default_rng(8)
    owners: list[Scored] = [
        [(float(score), int(random.random() * 40 > score)) for score in random.integers(0, 40, size)]
        for size in (40, 25, 30)
    ]
    pooled = [sample for owner in owners for sample in owner]
    positives = sum(label for _, label in pooled)
    sensitivity = METRICS["sensitivity"](thresholds=[10.0, 20.0])
    histogram = METRICS["histogram"](bins=[0.0, 10.0, 39.0])
    report = lower_is_positive(owners, sensitivity, histogram, METRICS["auroc"]())
    for row, threshold in zip(report.sensitivity, (10, 20), strict=True):
        called = count(pooled, at_most(threshold), 1)
        assert row["sensitivity"].value == pytest.approx(called / positives, abs=1e-12)
    below = count(pooled, at_most(9.5), 1), count(pooled, at_most(9.5), 0)
    rest = positives - below[0], len(pooled) - positives - below[1]
    found = [(row["positives"].value, row["negatives"].value) for row in report.histogram]
    assert found == [below, rest]
    assert report.auroc > 0.5


def test_weights_of_one_sum_are_there_at_a_time() -> None:
    """Of 200 sums on a million values, all together would be more than three gigabytes."""
    asked: list[float] = []

    class Asked(TruePositives):
        def weights(self, samples: Samples) -> Words:
            asked.append(self.threshold)
            return super().weights(samples)

    grid = Grid(decimals=1)
    each = weights_on(grid, [Asked(0.5), Asked(0.9)], negated=False)
    assert asked == []
    assert next(each).tolist() == [0] * 5 + [1] * 6 + [0] * 11
    assert asked == [0.5, 0.5]
    assert next(each).tolist() == [0] * 9 + [1] * 2 + [0] * 11
