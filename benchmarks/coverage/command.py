"""`python -m benchmarks coverage`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import click
import numpy as np

from benchmarks.coverage.kinds import EXACT, KINDS, PUBLICATION, Kind, Study, plans_at, recalibration_plan
from benchmarks.coverage.population import Population
from benchmarks.options import out_option
from benchmarks.plain import WrongResultError
from benchmarks.saving import Results, Row
from benchmarks.tables import Table, show
from ppaurora.cli.progress import progress_bar
from ppaurora.metrics import Metric
from ppaurora.metrics.smooth_calibration import IntegratedCalibrationIndex
from ppaurora.statistics.intervals import Interval, quantile

SEED = 2026
STUDIES = 2000
LEVELS = (0.9, 0.95)
_LARGEST_DEFICIT = 0.005  # of coverage, below what the exact interval covers, or says it does
_LARGEST_EXCESS = 0.04  # above what it says
_CHANCE = 3.0  # standard errors of a simulated coverage
_COARSE = 0.2  # standard errors: where half a unit is more, rounding makes intervals wide whoever makes them
_CONSERVATIVE = (IntegratedCalibrationIndex.name,)  # whose intervals may cover more than they say
_PART = 50  # studies that are simulated at once
_PROCESSES = 2


@dataclass(frozen=True)
class Scene:
    """So many owners of so many samples each, and what is true in all patients."""

    owners: int
    size: int
    prevalence: float
    slope: float = Population.slope
    intercept: float = Population.intercept
    recalibrated: bool = False  # whether it is the recalibration that is looked at

    @property
    def population(self) -> Population:
        """Return the patients, whom a process makes once."""
        return population_of(self.prevalence, self.slope, self.intercept)

    @property
    def plans(self) -> tuple[tuple[Metric, ...], ...]:
        return (recalibration_plan(),) if self.recalibrated else plans_at(self.threshold)

    @property
    def threshold(self) -> float:
        """Return one at which both sides have enough samples."""
        return 0.1 if self.prevalence < 0.1 else 0.3


SCENES = tuple(
    Scene(owners, size, prevalence)
    for owners, size in ((4, 250), (4, 1000), (8, 5000))
    for prevalence in (0.05, 0.2)
)
RECALIBRATED_SCENES = tuple(
    replace(scene, slope=slope, intercept=intercept, recalibrated=True)
    for scene in (*SCENES[:2], *SCENES[-2:])
    for slope, intercept in ((1.0, 0.0), (0.8, -0.3))
)


@dataclass(frozen=True)
class Coverage:
    """How often one number's intervals cover its true value, in the same studies."""

    metric: str
    kind: str
    owners: int
    size: int
    prevalence: float
    level: float
    studies: int  # in which both intervals are there
    exact: float  # coverage of the interval that exact numbers give
    released: float  # ... of the one that an owner makes of what is released
    differing: float  # the fraction of studies in which one covers and the other does not
    wider: float  # the mean width of released ones over that of exact ones
    slope: float = Population.slope  # of true logits, by predicted ones
    intercept: float = Population.intercept

    @property
    def is_coarse(self) -> bool:
        """Return whether rounding adds more than a fifth of a standard error on either side."""
        return "private" not in self.kind and self.wider > 1 + _COARSE / quantile(self.level)

    def problem(self) -> str:
        """Return what is wrong with it, beyond chance; empty if nothing is.

        What rounding makes wide contains the exact interval all the same, and is not too wide for it.
        """
        least = min(self.exact, self.level) - _LARGEST_DEFICIT
        chance = _CHANCE * math.sqrt(self.differing / self.studies)
        if self.released < least - chance:
            return f"covers {self.released:.1%}, the exact interval {self.exact:.1%}"
        reached = max(self.released * (1 - self.released), 1 / self.studies)
        most = self.level + _LARGEST_EXCESS + _CHANCE * math.sqrt(reached / self.studies)
        if self.released > most and not self.is_coarse and self.metric not in _CONSERVATIVE:
            return f"covers {self.released:.1%}, and says {self.level:.0%}"
        return ""


@dataclass
class Tally:
    """What is counted over studies."""

    studies: int = 0
    exact: int = 0
    released: int = 0
    differing: int = 0
    exact_width: float = 0.0
    released_width: float = 0.0

    def count(self, truth: float, exact: Interval, released: Interval) -> None:
        covered = [low <= truth <= high for low, high in (exact, released)]
        self.studies += 1
        self.exact += covered[0]
        self.released += covered[1]
        self.differing += covered[0] != covered[1]
        self.exact_width += exact[1] - exact[0]
        self.released_width += released[1] - released[0]

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


Key = tuple[str, str, float]  # kind, metric, level
Tallies = dict[Key, Tally]


@lru_cache
def population_of(prevalence: float, slope: float, intercept: float) -> Population:
    """Return a population, which a process makes once."""
    return Population(prevalence, slope, intercept)


@lru_cache
def truths_of(scene: Scene) -> dict[str, float]:
    """Return the true values of every metric in a setting."""
    threshold = scene.threshold
    return scene.population.truths(threshold, threshold / 2, threshold)


def simulate(scene: Scene, kinds: Sequence[Kind], studies: int, seed: Sequence[int]) -> Tallies:
    """Draw studies, and count in which of them intervals cover the truth."""
    random = np.random.default_rng(seed)
    truths = truths_of(scene)
    tallies: Tallies = defaultdict(Tally)
    for _ in range(studies):
        samples = scene.population.draw(random, scene.owners * scene.size)
        for study in (Study.of(samples, scene.owners, metrics) for metrics in scene.plans):
            for level in LEVELS:
                exact = EXACT.intervals(study, level, random)
                for kind in kinds:
                    for metric, interval in kind.intervals(study, level, random).items():
                        plain = exact[metric]
                        if plain is not None and interval is not None:
                            tallies[kind.title, metric, level].count(truths[metric], plain, interval)
    return dict(tallies)


def measured(scene: Scene, tallies: Tallies) -> Iterator[Coverage]:
    """Return the coverage of every number with an interval."""
    for (kind, metric, level), tally in tallies.items():
        n = tally.studies
        yield Coverage(
            metric,
            kind,
            scene.owners,
            scene.size,
            scene.prevalence,
            level,
            n,
            tally.exact / n,
            tally.released / n,
            tally.differing / n,
            tally.released_width / tally.exact_width,
            scene.slope,
            scene.intercept,
        )


def problems(rows: Iterable[Coverage]) -> list[str]:
    """Return what does not hold, in sentences."""
    return [
        f"{row.metric}, {row.kind}, {row.owners} x {row.size:,} at {row.prevalence:.0%}, slope {row.slope:g}:"
        f" an interval of {row.level:.0%} {problem}"
        for row in rows
        if (problem := row.problem())
    ]


def saved_tables(rows: Sequence[Row]) -> tuple[Table, Table]:
    """Return the lowest and highest coverage in all settings, and how much wider released intervals are."""
    found = [Coverage(**row) for row in rows]
    metrics, kinds = dict.fromkeys(one.metric for one in found), dict.fromkeys(one.kind for one in found)
    covered, widths = [], []
    for metric in metrics:
        own = [one for one in found if one.metric == metric]
        for level in LEVELS:
            at_level = [one for one in own if one.level == level]
            by_kind = [[100 * one.released for one in at_level if one.kind == kind] for kind in kinds]
            exact = [100 * one.exact for one in at_level if one.kind == PUBLICATION.title]
            covered.append((f"`{metric}`", f"{level:.0%}", *(_span(some, 1) for some in (exact, *by_kind))))
        wider = [[one.wider for one in own if one.kind == kind] for kind in kinds]
        widths.append((f"`{metric}`", *(_span(some, 2) for some in wider)))
    return (
        Table(("metric", "nominal", EXACT.title, *kinds), covered, words=("metric",)),
        Table(("metric", *kinds), widths, words=("metric",)),
    )


def _span(numbers: Sequence[float], digits: int) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}" if numbers else "refused"


@click.command("coverage")
@click.option("--quick", is_flag=True, help="Half a minute: the smallest studies, and few of them.")
@click.option(
    "--studies", type=click.IntRange(min=100), default=STUDIES, show_default=True, help="In every row."
)
@out_option("coverage", "coverage.json, which is written anew")
def coverage_command(quick: bool, studies: int, out: Path) -> None:
    """How often intervals cover the true value: of exact numbers, rounded ones, and with noise.

    All kinds have the same simulated studies, of 4 x 250, 4 x 1,000 and 8 x 5,000 samples with 5 and 20 %
    positives; a logistic recalibration has the first and the last, once with calibrated and once with
    miscalibrated probabilities. The first table has the lowest and the highest coverage in per cent, the
    second one by what intervals are wider than those of exact numbers. Fails if an interval covers less than
    that of exact numbers by more than half a point, or more than it says by over four, beyond chance.
    """
    scenes = (*SCENES, *RECALIBRATED_SCENES)
    if quick:
        scenes, studies = (SCENES[0], RECALIBRATED_SCENES[0]), 100
    results = Results(out / "coverage.json", SEED, keep_earlier=False)
    rows: list[Coverage] = []
    with progress_bar() as progress, ProcessPoolExecutor(_PROCESSES) as pool:
        for done, scene in enumerate(scenes):
            progress(f"{scene.owners} x {scene.size:,}", done, len(scenes))
            runs = [
                pool.submit(simulate, scene, KINDS, min(_PART, studies - part), (SEED, done, part))
                for part in range(0, studies, _PART)
            ]
            tallies: Tallies = defaultdict(Tally)
            for run in runs:
                for key, tally in run.result().items():
                    tallies[key].add(tally)
            for row in measured(scene, tallies):
                rows.append(row)
                results.add(asdict(row))
    show(*saved_tables(results.rows()))
    found = problems(rows)
    if found:
        raise WrongResultError("; ".join(found))
