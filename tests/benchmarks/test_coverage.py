"""The simulation of coverage: its truths, its studies against real ones, and a control that it must catch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import ppaurora
from benchmarks.coverage.command import (
    RECALIBRATED_SCENES,
    SCENES,
    Coverage,
    Scene,
    measured,
    problems,
    saved_tables,
    simulate,
)
from benchmarks.coverage.kinds import (
    EXACT,
    KINDS,
    PUBLICATION,
    Intervals,
    Rounding,
    Study,
    WithNoise,
    plans_at,
    recalibration_plan,
)
from benchmarks.coverage.population import Population
from ppaurora.metrics import Query
from ppaurora.metrics.outputs import Form, Output
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.intervals import Interval
from ppaurora.testing.private import exact_integers
from tests.support import private

LEVEL = 0.9


def drawn(size: int, plan: int = 0) -> Study:
    samples = Population(0.2).draw(np.random.default_rng(5), size)
    return Study.of(samples, 4, plans_at(0.3)[plan])


def test_true_values_are_those_of_very_many_samples() -> None:
    population = Population(0.2)
    truths = population.truths(0.3, 0.15, 0.3)
    samples = population.draw(np.random.default_rng(1), 200_000)
    found: Intervals = {}
    for metrics in (*plans_at(0.3), recalibration_plan()):
        found |= EXACT.intervals(Study.of(samples, 4, metrics), 0.9999, np.random.default_rng(1))
    assert set(truths) == set(found)
    for metric, interval in found.items():
        assert interval is not None
        assert interval[0] < truths[metric] < interval[1], metric


@pytest.mark.parametrize("kind", [EXACT, PUBLICATION], ids=lambda kind: kind.title)
@pytest.mark.parametrize("plan", [0, 1])
def test_intervals_are_those_of_a_real_study(kind: Rounding, plan: int) -> None:
    study = drawn(240, plan)
    labels, scores = (np.split(values, 4) for values in (study.samples.labels, study.samples.scores))
    report = ppaurora.evaluate(
        list(zip(labels, scores, strict=True)),
        metrics=list(study.metrics),
        policy=kind.policy,
        confidence_level=LEVEL,
    )
    simulated = kind.intervals(study, LEVEL, np.random.default_rng(1))
    for metric in study.metrics:
        found = report.metrics[metric.name]
        real: Interval | None
        if isinstance(found, Estimate):
            real = found.interval
        else:
            places = {"reliability": (1, "observed"), "smooth_calibration": (2, "observed")}
            place, name = places.get(metric.name, (0, metric.name))
            real = found[place][name].interval
        assert real is not None, metric.name
        assert simulated[metric.name] == pytest.approx(real, abs=1e-9), metric.name


@pytest.mark.parametrize("kind", [EXACT, PUBLICATION], ids=lambda kind: kind.title)
def test_intervals_of_a_recalibration_are_those_of_a_real_study(kind: Rounding) -> None:
    """On a grid, of probabilities that it has."""
    drawn = Population(0.2).draw(np.random.default_rng(6), 400)
    scores = np.clip(np.round(drawn.scores, 3), 0.001, 0.999)
    study = Study.of(replace(drawn, scores=scores), 4, recalibration_plan())
    report = ppaurora.evaluate(
        list(zip(np.split(drawn.labels, 4), np.split(scores, 4), strict=True)),
        metrics=list(study.metrics),
        policy=kind.policy,
        confidence_level=LEVEL,
        protocol="grid",
        decimals=3,
    )
    for metric, interval in kind.intervals(study, LEVEL, np.random.default_rng(1)).items():
        found = report.metrics[metric]
        assert isinstance(found, Estimate)
        assert interval == pytest.approx(found.interval, abs=1e-6), metric


@dataclass(frozen=True)
class TooNarrow(Rounding):
    """The control: standard errors are a quarter too small."""

    def released(self, query: Query, output: Output, number: float | None) -> float | None:
        right = super().released(query, output, number)
        return 0.75 * right if output.name == "standard_error" and right is not None else right


@pytest.mark.parametrize("scene", RECALIBRATED_SCENES[:4], ids=str)
def test_intervals_of_a_recalibration_cover_and_those_that_are_too_narrow_do_not(scene: Scene) -> None:
    control = TooNarrow("too narrow", Policy.exact())
    rows = list(measured(scene, simulate(scene, (PUBLICATION, control), 250, (11,))))
    chance = 3 * np.sqrt(LEVEL * (1 - LEVEL) / 250)
    for row in rows:
        assert row.studies == 250
        assert abs(row.exact - row.level) < chance
    found = problems(rows)
    assert len(found) == 4
    assert all(control.title in problem for problem in found)


def test_integers_with_noise_are_those_of_the_mechanisms() -> None:
    study = drawn(60)
    metrics = tuple(metric for metric in study.metrics if metric.mechanism() is not None)
    query = Query(metrics, study.sizes, Policy.private(), LEVEL)
    naive = [number for one in query.mechanisms for number in private.exact_integers(one, study.samples)]
    assert exact_integers(query.mechanisms, study.samples) == naive


SMALL = Scene(4, 250, 0.2)


@dataclass(frozen=True)
class TakenAsExact(Rounding):
    """The control: numbers have one decimal, but those that would be 0, and are taken as exact."""

    def released(self, query: Query, output: Output, number: float | None) -> float | None:
        if number is None or output.form is Form.COUNT:
            return number
        return round(number, 1) or number


def test_intervals_of_rounded_numbers_pass_and_those_that_ignore_rounding_do_not() -> None:
    control = TakenAsExact("taken as exact", Policy.exact())
    rows = list(measured(SMALL, simulate(SMALL, (PUBLICATION, control), 120, (7,))))
    assert {row.metric for row in rows if row.kind == PUBLICATION.title} == {
        metric.name for metrics in plans_at(0.3) for metric in metrics
    }
    found = problems(rows)
    assert found
    assert all(control.title in problem for problem in found)
    for metric in ("auroc", "brier", "specificity"):
        assert any(problem.startswith(f"{metric}, ") for problem in found)


@dataclass(frozen=True)
class NoiseIgnored(WithNoise):
    """The control: noise is there, and intervals are as wide as without it."""

    def intervals(self, study: Study, level: float, random: np.random.Generator) -> Intervals:
        noisy = super().intervals(study, level, random)
        plain = EXACT.intervals(study, level, random)
        shifted: Intervals = {}
        for metric, interval in noisy.items():
            exact = plain[metric]
            if interval is not None and exact is not None:
                shift = (sum(interval) - sum(exact)) / 2
                shifted[metric] = exact[0] + shift, exact[1] + shift
        return shifted


def test_intervals_that_include_noise_pass_and_those_that_ignore_it_do_not() -> None:
    honest = KINDS[1]
    control = NoiseIgnored("noise ignored", Policy.private(1.0))
    found = problems(measured(SMALL, simulate(SMALL, (honest, control), 60, (3,))))
    assert found
    assert all(control.title in problem for problem in found)


ROW = Coverage("auroc", "publication", 4, 250, 0.05, 0.95, 2000, 0.945, 0.95, 0.01, 1.02)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"released": 0.94}, ""),
        ({"released": 0.9, "differing": 0.045}, "covers 90.0%, the exact interval 94.5%"),
        ({"exact": 0.99, "released": 0.95, "differing": 0.04}, ""),  # it covers what it says
        ({"released": 0.999}, "covers 99.9%, and says 95%"),
        ({"released": 0.999, "wider": 1.3}, ""),  # rounding is coarser than chance
        ({"released": 0.999, "wider": 1.3, "kind": "private, epsilon 1"}, "covers 99.9%, and says 95%"),
    ],
)
def test_what_is_a_problem(changed: dict[str, float], said: str) -> None:
    assert replace(ROW, **changed).problem() == said  # type: ignore[arg-type]


def test_tables_have_a_column_for_every_kind() -> None:
    noisy = replace(ROW, metric="brier", kind="private, epsilon 1", released=0.96, wider=2.0)
    published = replace(ROW, metric="brier", released=0.97)
    rows = [vars(replace(one, level=level)) for one in (ROW, published, noisy) for level in (0.9, 0.95)]
    covered, widths = saved_tables(rows)
    assert list(covered.headings) == ["metric", "nominal", "exact", "publication", "private, epsilon 1"]
    assert list(covered.rows[1]) == ["`auroc`", "95%", "94.5 to 94.5", "95.0 to 95.0", "refused"]
    assert list(covered.rows[3]) == ["`brier`", "95%", "94.5 to 94.5", "97.0 to 97.0", "96.0 to 96.0"]
    assert list(widths.rows[1]) == ["`brier`", "1.02 to 1.02", "2.00 to 2.00"]


def test_settings_are_those_that_were_asked_for() -> None:
    assert [(scene.owners, scene.size) for scene in SCENES[::2]] == [(4, 250), (4, 1000), (8, 5000)]
    assert {scene.prevalence for scene in SCENES} == {0.05, 0.2}
