"""The smooth calibration curve and the integrated calibration index, against loops over samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ppaurora
from ppaurora.data import Samples
from ppaurora.metrics import METRICS, Query
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate, Table, smoothed_estimate
from ppaurora.statistics.intervals import wilson_interval

Data = tuple[NDArray[np.int_], NDArray[np.float64]]

EDGES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
BANDWIDTH = 0.3
CURVE, INDEX = (METRICS[name](bins=EDGES, bandwidth=BANDWIDTH) for name in ("smooth_calibration", "ici"))
LEVEL = 0.95


def drawn(seed: int, size: int = 600) -> Data:
    random = np.random.default_rng(seed)
    scores = np.round(random.beta(0.8, 2.5, size), 2)
    return (random.random(size) < 0.1 + 0.7 * scores).astype(int), scores


def split(data: Data, owners: int = 3) -> list[Data]:
    return [(data[0][place::owners], data[1][place::owners]) for place in range(owners)]


def samples_of(data: Data, name: str = "owner") -> Samples:
    return Samples(name, data[1], data[0].astype(np.uint8))


def middle_of(score: float) -> float:
    """Bins are open below, but the first."""
    place = next(place for place, high in enumerate(EDGES[1:]) if score <= high)
    return (EDGES[place] + EDGES[place + 1]) / 2


def weight(score: float, x: float) -> float:
    exact = max(1 - ((middle_of(score) - x) / BANDWIDTH) ** 2, 0.0)
    return round(exact * 2**16) / 2**16


MIDDLES = [(low + high) / 2 for low, high in pairwise(EDGES)]


def residual(data: Data, x: float) -> float:
    """Sample by sample."""
    pairs = list(zip(data[0].tolist(), data[1].tolist(), strict=True))
    total = sum(weight(p, x) for _, p in pairs)
    return sum(weight(p, x) * (y - p) for y, p in pairs) / total if total else math.nan


def curve_variance(data: Data, x: float) -> float:
    pairs = list(zip(data[0].tolist(), data[1].tolist(), strict=True))
    total = sum(weight(p, x) for _, p in pairs)
    return sum(weight(p, x) ** 2 * (y - p) ** 2 for y, p in pairs) / total**2 if total else 0.0


def clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def released(data: Data, policy: Policy, level: float | None = LEVEL, owners: int = 3) -> dict[str, Any]:
    people = [samples_of(one) for one in split(data, owners)]
    query = Query((CURVE, INDEX), tuple(map(len, people)), policy, level)
    return released_in_the_clear(query, people).metrics


def points(table: Table) -> list[Estimate]:
    return [row["observed"] for row in table]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [None, LEVEL])
def test_exact_values_are_those_of_loops(seed: int, level: float | None) -> None:
    data = drawn(seed)
    found = released(data, Policy.exact(), level)
    assert [row.at["probability"] for row in found["smooth_calibration"]] == pytest.approx(MIDDLES)
    for x, point in zip(MIDDLES, points(found["smooth_calibration"]), strict=True):
        assert point.value == pytest.approx(clipped(x + residual(data, x)), abs=1e-9)
        assert (point.interval is not None) == (level is not None)
    index = np.mean([abs(residual(data, middle_of(p))) for p in data[1].tolist()])
    assert found["ici"].value == pytest.approx(index, abs=1e-9)


def test_the_interval_of_a_point_is_wilsons_around_what_is_predicted() -> None:
    data = drawn(1)
    for x, point in zip(MIDDLES, points(released(data, Policy.exact())["smooth_calibration"]), strict=True):
        weights = np.array([weight(p, x) for p in data[1].tolist()])
        trials = weights.sum() ** 2 / (weights**2).sum()
        predicted = (weights**2 @ data[1]) / (weights**2).sum()
        middle = clipped(predicted + residual(data, x))
        interval = wilson_interval(middle * trials, trials, LEVEL)
        assert interval is not None
        expected = [clipped(end + x - predicted) for end in interval]
        assert point.interval == pytest.approx(expected, abs=1e-9)


def test_the_errors_of_the_index_are_those_of_loops() -> None:
    data = drawn(2)
    index = released(data, Policy.exact())["ici"]
    signs = {x: math.copysign(1.0, residual(data, x)) for x in MIDDLES}
    own = [middle_of(p) for p in data[1].tolist()]
    totals = {x: sum(weight(p, x) for p in data[1].tolist()) for x in MIDDLES}
    variance = 0.0
    for y, p in zip(data[0].tolist(), data[1].tolist(), strict=True):
        gradient = sum(own.count(x) * signs[x] * weight(p, x) / totals[x] for x in MIDDLES if totals[x])
        variance += (y - p) ** 2 * gradient**2
    error = math.sqrt(variance) / len(own)
    of_curve = math.sqrt(np.mean([curve_variance(data, x) for x in own]))
    assert index.standard_error == pytest.approx(error, abs=1e-8)
    z = 1.959963984540054
    low = index.value - z * error - math.sqrt(2 / math.pi) * of_curve
    assert index.interval == pytest.approx((max(low, 0.0), index.value + z * error), abs=1e-7)
    assert "conservative" in index.method


def none_or_enough(counts: Sequence[int], least: int) -> bool:
    return not sum(counts) or all(sum(counts) - own >= least for own in counts)


@pytest.mark.parametrize("seed", range(6))
def test_a_point_is_withheld_if_a_bin_around_it_has_few(seed: int) -> None:
    data = drawn(seed, 150)
    least = Policy().minimum_per_cell
    owners = [[middle_of(p) for p in own[1].tolist()] for own in split(data)]
    table = released(data, Policy())["smooth_calibration"]
    assert any(point.suppressed for point in points(table))
    for x, point in zip(MIDDLES, points(table), strict=True):
        around = [other for other in MIDDLES if abs(other - x) < BANDWIDTH - 1e-9]
        told = all(none_or_enough([own.count(other) for own in owners], least) for other in around)
        inside = [sum(middle in around for middle in own) for own in owners]
        told &= all(sum(inside) - own >= least for own in inside)
        assert point.suppressed is not told
        if told:
            assert point.value == pytest.approx(clipped(x + residual(data, x)), abs=0.0006)


def test_bins_without_samples_withhold_nothing() -> None:
    """Scores of a coarse grid leave bins empty between them, and points of these have none around either."""
    random = np.random.default_rng(5)
    scores = random.choice([0.15, 0.3], 300)
    data = (random.random(300) < scores).astype(int), scores
    query = METRICS["smooth_calibration"](bins=EDGES, bandwidth=0.1)
    people = [samples_of(one) for one in split(data)]
    table = released_in_the_clear(Query((query,), (100,) * 3, Policy(), LEVEL), people).metrics[query.name]
    assert isinstance(table, Table)
    told = [row.at["probability"] for row in table if not row["observed"].suppressed]
    assert told == pytest.approx([0.15, 0.275])


ALONE = 0.9  # a score in a bin around which nobody is whose bin is at most 0.5


def with_somebody_alone(label: int) -> Data:
    labels, scores = drawn(3, 900)
    few = scores <= 0.5
    return np.append(labels[few], label), np.append(scores[few], ALONE)


def test_the_interval_of_the_index_tells_no_label_of_somebody_who_is_alone_in_a_bin() -> None:
    """What it is made of would: as many as there are, it is half as large again with the one label."""
    of_zero, of_one = (with_somebody_alone(label) for label in (0, 1))
    low, high = (released(data, Policy.exact())["ici"] for data in (of_one, of_zero))
    widths = [one.value - one.interval[0] - 1.96 * one.standard_error for one in (low, high)]
    assert widths[1] > 1.3 * widths[0]
    for data in (of_zero, of_one):
        index = released(data, Policy())["ici"]
        assert index.value is not None
        largest = math.sqrt(2 / math.pi) * math.sqrt((len(EDGES) - 1) / len(data[0]))
        reach = 0.00005 + 1.959963984540054 * (index.standard_error + 0.000005)
        low = max(index.value - reach - largest - 0.000005, 0.0)
        assert index.interval == pytest.approx((low, index.value + reach), abs=1e-5)
        assert index.note == "the lower bound is that of any curve: some bins have few samples"


def test_a_bin_in_which_an_owner_is_alone_is_not_told() -> None:
    """Nor does it count as empty, though without that owner it is."""
    labels, scores = drawn(4, 900)
    few = scores <= 0.5
    people = [samples_of(one) for one in split((labels[few], scores[few]))]
    own = people[0]
    alone = np.full(15, ALONE)
    people[0] = Samples(
        own.source, np.append(own.scores, alone), np.append(own.labels, np.ones(15, np.uint8))
    )

    def told(owners: Sequence[Samples]) -> tuple[list[bool], bool]:
        query = Query((CURVE, INDEX), tuple(map(len, owners)), Policy(), LEVEL)
        found = released_in_the_clear(query, owners).metrics
        index, curve = found["ici"], found["smooth_calibration"]
        assert isinstance(index, Estimate)
        assert isinstance(curve, Table)
        return [not point.suppressed for point in points(curve)], not index.note

    around = [abs(x - MIDDLES[-1]) < BANDWIDTH - 1e-9 for x in MIDDLES]
    assert any(around)
    points_told, curve_is_told = told(people)
    assert not any(one for one, near in zip(points_told, around, strict=True) if near)
    assert not curve_is_told
    assert told([own, *people[1:]]) == ([*[True] * 5, False], True)


def test_rounded_intervals_contain_exact_ones() -> None:
    for seed in range(3):
        data = drawn(seed, 3000)
        exact, rounded = released(data, Policy.exact()), released(data, Policy(minimum_per_cell=10))
        pairs = list(
            zip(points(exact["smooth_calibration"]), points(rounded["smooth_calibration"]), strict=True)
        )
        for inner, outer in [*pairs, (exact["ici"], rounded["ici"])]:
            if outer.suppressed:
                continue
            assert inner.interval is not None
            assert outer.interval is not None
            assert outer.interval[0] <= inner.interval[0] + 1e-9
            assert outer.interval[1] >= inner.interval[1] - 1e-9
            assert outer.interval[1] - outer.interval[0] < inner.interval[1] - inner.interval[0] + 0.01


def test_servers_compute_the_same_from_lists_and_from_a_table() -> None:
    """Scores have two decimals, so that a grid of as many changes nothing."""
    data = drawn(7, 90)
    wanted = released(data, Policy.exact())
    every: list[dict[str, Any]] = [{}, {"protocol": "grid", "decimals": 2}]
    for options in every:
        report = ppaurora.evaluate(
            split(data), metrics=[CURVE, INDEX], confidence_level=LEVEL, policy=Policy.exact(), **options
        )
        assert report.ici == pytest.approx(wanted["ici"].value, abs=1e-8)
        index = report["ici"]
        assert isinstance(index, Estimate)
        assert index.interval == pytest.approx(wanted["ici"].interval, abs=1e-7)
        for one, other in zip(
            points(report.smooth_calibration), points(wanted["smooth_calibration"]), strict=True
        ):
            assert one.value == pytest.approx(other.value, abs=1e-8)
            assert one.interval == pytest.approx(other.interval, abs=1e-8)


def test_a_calibrated_model_has_the_diagonal_however_scores_are_distributed() -> None:
    """Where events are exactly as frequent as predicted, every point lies on it; a mean of labels alone does
    not, as there are more samples on one side."""
    scores = np.repeat([0.05, 0.15, 0.275], [400, 80, 40])
    labels = np.concatenate(
        [np.arange(size) < round(size * p) for size, p in ((400, 0.05), (80, 0.15), (40, 0.275))]
    )
    data = labels.astype(int), scores
    for x, point in zip(
        MIDDLES[:4], points(released(data, Policy.exact())["smooth_calibration"]), strict=False
    ):
        assert point.value == pytest.approx(x, abs=1e-9)
    assert released(data, Policy.exact())["ici"].value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bins": (0.1, 1.0)}, "from 0 to 1"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"bandwidth": 1.5}, "bandwidth"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ppaurora.InputError, match=words):
        METRICS["ici"](**parameters)


def test_the_curve_stays_between_0_and_1() -> None:
    low = smoothed_estimate(0.02, -0.05, 0.05, 0.05, LEVEL)
    assert low.value == 0.0
    assert low.interval is not None
    assert low.interval[0] == 0.0
    assert 0.0 < low.interval[1] < 0.02
