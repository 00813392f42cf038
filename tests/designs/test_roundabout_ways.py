"""What a publication withholds must not be had in a roundabout way: from levels, weights or sites."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import METRICS, Policy
from ppaurora.metrics import recalibration, sites, small_levels
from ppaurora.statistics.estimates import Estimate, Table

OWNERS = 3


def evaluated(owners: list[Any], decimals: int = 2, **asked: Any) -> Any:
    return ppaurora.evaluate(owners, policy=Policy(), protocol="grid", decimals=decimals, **asked)


# Numbers at a threshold, in levels


def beside_a_curve(label: int) -> Any:
    """One person's score lies between the cut of a curve and a threshold, nobody else's does."""
    random = np.random.default_rng(5)
    owners = []
    for number in range(OWNERS):
        y = (random.random(200) < 0.4).astype(int)
        p = np.round(np.clip(0.3 + 0.25 * y + random.normal(0, 0.18, 200), 0.011, 0.989), 3)
        p = np.where((p >= 0.495) & (p <= 0.51), 0.45, p)
        if number == 0:
            p[0], y[0] = 0.501, label
        owners.append((y, p, {"sex": np.where(random.random(200) < 0.5, "f", "m")}))
    curve, sensitivity = METRICS["roc_curve"](thresholds=[0.5]), METRICS["sensitivity"](thresholds=[0.503])
    return evaluated(owners, 3, metrics=["auroc", curve, sensitivity], subgroups={"sex": ["f", "m"]})


def sensitivities(report: Any) -> list[Estimate]:
    """Of all samples, and of both levels."""
    slices = [report, *report.subgroups["sex"].values()]
    return [one["sensitivity"].rows[0]["sensitivity"] for one in slices]


@pytest.mark.parametrize("label", [0, 1])
def test_levels_have_no_number_that_all_samples_together_do_not_have(label: int) -> None:
    """Both levels together would give it, and the curve's point less that is one person's label."""
    report = beside_a_curve(label)
    assert isinstance(report["roc_curve"], Table)
    assert report["roc_curve"].rows[0]["sensitivity"].value is not None
    assert [one.suppressed for one in sensitivities(report)] == [True] * 3
    assert all(level["auroc"].value is not None for level in report.subgroups["sex"].values())


def test_without_the_cuts_of_all_samples_levels_would_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_levels, "_between", lambda *_: {})
    assert [one.suppressed for one in sensitivities(beside_a_curve(1))] == [True, False, False]


# Levels of two variables, and several outcomes


def nearly_the_same_levels() -> Any:
    """Level a1 and ward w1 differ by three people. With the rare outcome, a1 has too few."""
    random = np.random.default_rng(11)
    owners = []
    for _ in range(OWNERS):
        age, ward = np.repeat(["a1", "a2", "a3"], 100), np.where(random.random(300) < 0.5, "w2", "w3")
        ward[:101] = "w1"
        p = np.round(np.clip(random.beta(2, 3, 300), 0.02, 0.98), 2)
        common, rare = (random.random(300) < p).astype(int), (random.random(300) < 0.2).astype(int)
        rare[:101] = 0
        rare[[0, 1, 2, 3, 100]] = 1
        owners.append(({"common": common, "rare": rare}, p, {"age": age, "ward": ward}))
    levels = {"age": ["a1", "a2", "a3"], "ward": ["w1", "w2", "w3"]}
    return evaluated(owners, metrics=["auroc", "calibration_in_the_large"], subgroups=levels)


def released_for(report: Any) -> dict[str, set[str]]:
    """The outcomes for which the two levels are released, by variable."""
    return {
        variable: {
            one.slice.outcome
            for one in report.subgroups[variable].slices
            if one.slice.level == level and not one.suppressed
        }
        for variable, level in (("age", "a1"), ("ward", "w1"))
    }


def test_a_level_that_one_outcome_releases_is_released() -> None:
    """Sums of predictions do not depend on the outcome: they can be subtracted across outcomes."""
    assert released_for(nearly_the_same_levels()) == {"age": {"common"}, "ward": set()}


def test_outcome_by_outcome_both_levels_would_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = small_levels._hidden
    monkeypatch.setattr(
        small_levels,
        "_hidden",
        lambda suite, parts, released: actual(
            suite,
            [part for part in parts if part.query.slice.outcome != "common"],
            [
                flag
                for part, flag in zip(parts, released, strict=True)
                if part.query.slice.outcome != "common"
            ],
        ),
    )
    assert released_for(nearly_the_same_levels())["ward"] == {"common", "rare"}


# Weights


def weighted(heavy: int, most: int, label: int = 1) -> Any:
    random = np.random.default_rng(3)
    owners = []
    for number in range(OWNERS):
        y = (random.random(100) < 0.4).astype(int)
        p = np.round(np.clip(0.3 + 0.25 * y + random.normal(0, 0.18, 100), 0.01, 0.99), 2)
        weights = np.ones(100, dtype=int)
        if number == 0:
            y[0], p[0], weights[0] = label, 0.37, heavy
        owners.append((y, p, {"times": weights}))
    return evaluated(owners, metrics=["auroc", "brier"], weight={"column": "times", "most": most})


@pytest.mark.parametrize(("heavy", "most", "withheld"), [(1000, 1000, True), (1, 1000, True), (4, 4, False)])
def test_no_row_has_more_than_a_tenth_of_the_weight_of_its_class(
    heavy: int, most: int, withheld: bool
) -> None:
    """The rule is on what a row may weigh, so that it tells nothing of what one does."""
    assert weighted(heavy, most).suppressed == withheld


def test_an_owner_does_not_carry_a_class_by_its_weights() -> None:
    """Without any one owner, the others' rows must weigh enough."""
    random = np.random.default_rng(8)
    owners = []
    for number in range(OWNERS):
        y, p = np.arange(120) % 2, np.round(random.random(120), 2)
        owners.append((y, p, {"times": np.full(120, 50 if number == 0 else 1)}))
    asked: dict[str, Any] = {"metrics": ["auroc"], "weight": {"column": "times", "most": 50}}
    assert evaluated(owners, **asked).suppressed
    heavier = [(y, p, {"times": np.full(120, 50)}) for y, p, _ in owners]
    assert not evaluated(heavier, **asked).suppressed


@pytest.mark.parametrize("most", [1, 10])
def test_a_slope_is_about_ten_rows_whatever_they_weigh(most: int) -> None:
    """Three people are far from all others; weighing ten each, they are still three."""
    random = np.random.default_rng(4)
    owners = []
    for number in range(OWNERS):
        y = (random.random(1000) < 0.3).astype(int)
        p = np.where(np.arange(1000) < 500, 0.3, 0.31)
        y[0], p[0] = number % 2, 0.9
        owners.append((y, p, {"times": np.where(np.arange(1000) == 0, most, 1)}))
    weight = {"column": "times", "most": max(most, 2)}
    report = evaluated(owners, metrics=["auroc", "calibration_slope"], weight=weight)
    assert report["auroc"].value is not None
    assert report["calibration_slope"].suppressed


# Patients


def with_patients(apart: int, rows: int) -> Any:
    """Level `young` and ward `2` differ by so many patients of every owner, with so many rows each."""
    random = np.random.default_rng(9)
    owners = []
    for _ in range(OWNERS):
        patients = np.repeat(np.arange(200), rows)
        age, ward = np.where(patients < 100, "young", "old"), np.where(patients < 100 + apart, "2", "1")
        y = (random.random(200) < 0.4).astype(int)[patients]
        p = np.round(np.clip(0.3 + 0.2 * y + random.normal(0, 0.2, len(y)), 0, 1), 2)
        owners.append((y, p, {"age": age, "ward": ward, "who": patients}))
    subgroups = {"age": ["young", "old"], "ward": ["1", "2"]}
    return evaluated(owners, metrics=["auroc"], subgroups=subgroups, patient="who")


@pytest.mark.parametrize(("apart", "rows", "withheld"), [(3, 6, True), (5, 1, False), (5, 3, False)])
def test_levels_differ_by_ten_patients_however_many_rows_these_have(
    apart: int, rows: int, withheld: bool
) -> None:
    """Without any one owner, by 6 patients with 36 rows, or by 10."""
    report = with_patients(apart, rows)
    assert not any(one.suppressed for one in report.subgroups["age"].values())
    assert [one.suppressed for one in report.subgroups["ward"].values()] == [withheld] * 2


@pytest.mark.parametrize(("above", "withheld"), [(4, True), (5, False)])
def test_a_number_at_a_threshold_is_about_ten_patients(above: int, withheld: bool) -> None:
    """So many patients of every owner are called positive, with 4 rows each; two owners' count."""
    owners = []
    for number in range(OWNERS):
        patients = np.repeat(np.arange(100), 4)
        p = np.where(patients < above, 0.9, np.where(patients % 2 == 0, 0.2, 0.3))
        owners.append((patients % 3 == number % 2, p, {"who": patients}))
    sensitivity = METRICS["sensitivity"](thresholds=[0.5])
    report = evaluated(owners, metrics=["auroc", sensitivity], patient="who")
    assert report["auroc"].value is not None
    assert report["sensitivity"].rows[0]["sensitivity"].suppressed == withheld


# Sites


def with_a_slope_of_two(far: int) -> Any:
    """At one of four owners all have nearly one score, but for so many."""
    random = np.random.default_rng(7)
    owners = []
    for number in range(4):
        p = np.round(np.clip(random.beta(2, 4, 200), 0.02, 0.98), 2)
        y = (random.random(200) < p).astype(int)
        if number == 3:
            y, p = np.repeat([1, 0], [18, 42]), np.full(60, 0.3)
            p[0], p[-1] = 0.31, 0.29
            y, p = np.append(y, np.arange(far) % 2), np.append(p, np.full(far, 0.95))
        owners.append((y, p))
    report = evaluated(owners, metrics=["auroc", "calibration_slope"], sites=True, confidence_level=0.95)
    return report.sites.calibration_slope.sites


def test_a_site_whose_slope_is_about_two_people_does_not_count() -> None:
    assert with_a_slope_of_two(2) == 3
    assert with_a_slope_of_two(10) == 4


def test_without_that_rule_it_would_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "most_apart", lambda _: 1000)
    assert with_a_slope_of_two(2) == 4


def test_a_score_of_0_or_1_is_read_as_the_grid_reads_it() -> None:
    """As in the slope over all samples, half a step from the end; the site counts."""
    random = np.random.default_rng(6)
    owners = []
    for number in range(4):
        p = np.round(np.clip(random.beta(2, 4, 200), 0.02, 0.98), 2)
        y = (random.random(200) < p).astype(int)
        p[0] = 0.0 if number == 0 else p[0]
        owners.append((y, p))
    asked: dict[str, Any] = {"metrics": ["calibration_slope"], "sites": True, "confidence_level": 0.95}
    found = evaluated(owners, **asked).sites.calibration_slope
    owners[0][1][0] = 0.005
    beside = evaluated(owners, 3, **asked).sites.calibration_slope
    assert found.sites == 4
    assert found.pooled.value == pytest.approx(beside.pooled.value, abs=1e-3)


def test_how_many_are_apart_is_counted_at_public_scores() -> None:
    assert recalibration.most_apart(np.array([0.1, 0.1, 0.5, 0.96, 0.97])) == 2
    assert recalibration.most_apart(np.full(9, 0.3)) == 0
