"""What each kind of policy costs and protects: error added to AUROC, width of its interval, and how often an
owner that knows everything else reads one person's label.

Studies are simulated in the clear; `attacks.made_up` has the owner, which may choose all of its own samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

import click
import numpy as np

from benchmarks.attacks.frame import SEED, percent
from benchmarks.attacks.made_up import HIGHEST, Scene, knowing_all_rounded, knowing_all_with_noise
from benchmarks.attacks.numbers import numbers_of
from benchmarks.attacks.policy import (
    AUROC,
    EXACT,
    NEGATIVES,
    POLICIES,
    POSITIVES,
    PUBLICATION,
    STANDARD_ERROR,
    Floats,
    Numbers,
    Random,
    auroc_integers,
    noise,
    rounded,
)
from benchmarks.attacks.population import Population
from benchmarks.options import out_option
from benchmarks.saving import Results, Row
from benchmarks.tables import Table, show
from ppaurora.cli.progress import progress_bar
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.roc import Auroc
from ppaurora.statistics.estimates import Estimate, delong_estimate
from ppaurora.statistics.intervals import quantile

STUDIES = (
    (5, 200, 0.30),
    (3, 1_000, 0.10),
    (4, 1_000, 0.05),
    (20, 5_000, 0.10),
)  # owners, samples, positives
EPSILONS = (4.0, 2.0, 1.0)
LEVEL = 0.95
ATTACKED, DRAWS = 100, 40  # studies, and how often noise is drawn for each
KINDS = (EXACT, PUBLICATION, *(f"epsilon {one:g}" for one in EPSILONS))


@dataclass(frozen=True)
class Measured:
    """One study under one policy, as it is saved."""

    owners: int
    samples: int  # of each
    prevalence: float
    kind: str
    error: float  # added to AUROC, root mean square
    width: float  # of the interval of AUROC, mean
    read: float  # labels

    @property
    def study(self) -> str:
        return f"{self.owners} x {self.samples:,}, {self.prevalence:.0%} positives"


def measure(random: Random, study: tuple[int, int, float], trials: int) -> list[Measured]:
    owners, samples, prevalence = study
    population = Population(prevalence=prevalence)
    batches = np.array_split(np.arange(trials), math.ceil(trials * owners * samples / 4_000_000))
    drawn = [_drawn(random, population, len(batch), owners * samples) for batch in batches]
    numbers = {name: np.concatenate([one[name] for one in drawn]) for name in drawn[0]}
    scene = Scene((owners - 1) * samples, 1 / owners, HIGHEST, population=population)
    policy, attacked = POLICIES[PUBLICATION], min(trials, ATTACKED)
    exact = numbers[Auroc.name]
    found = [
        (EXACT, 0.0, 2 * quantile(LEVEL) * float(numbers[STANDARD_ERROR].mean()), 1.0),
        (
            PUBLICATION,
            *_error_and_width(_rounded(numbers, policy.decimals or 0), exact),
            float(knowing_all_rounded(random, attacked, scene, policy).right.mean()),
        ),
    ]
    for epsilon, kind in zip(EPSILONS, KINDS[2:], strict=True):
        read = float(knowing_all_with_noise(random, attacked, scene, epsilon, DRAWS).right.mean())
        found.append((kind, *_error_and_width(_with_noise(random, numbers, epsilon), exact), read))
    return [Measured(*study, kind, error, width, read) for kind, error, width, read in found]


def _drawn(random: Random, population: Population, trials: int, samples: int) -> dict[str, Floats]:
    scores, labels = population.draw(random, trials, samples)
    return numbers_of(scores, labels, ~labels)


def _rounded(numbers: Numbers, digits: int) -> list[Estimate]:
    """Return what an owner reads of rounded numbers."""
    aurocs, errors = rounded(numbers[Auroc.name], digits), rounded(numbers[STANDARD_ERROR], digits + 1)
    return [delong_estimate(*pair, LEVEL, digits) for pair in zip(aurocs, errors, strict=True)]


def _with_noise(random: Random, numbers: Numbers, epsilon: float) -> list[Estimate]:
    """Return what an owner reads of noisy integers."""
    integers = auroc_integers(numbers[Auroc.name], numbers[POSITIVES], numbers[NEGATIVES])
    own = AUROC.rates(Fraction(epsilon), 1)
    noisy = [
        column + noise(random, float(rate), column.shape) for column, rate in zip(integers, own, strict=True)
    ]
    samples = int(numbers[POSITIVES][0] + numbers[NEGATIVES][0])
    return [
        Auroc().read_noisy(NoisyRelease.of(samples, [AUROC], [own], pair, negated=False), LEVEL)
        for pair in zip(*noisy, strict=True)
    ]


def _error_and_width(read: Sequence[Estimate], exact: Floats) -> tuple[float, float]:
    errors = np.array([one.value for one in read]) - exact
    widths = [one.interval[1] - one.interval[0] for one in read if one.interval]
    return float(np.sqrt(np.mean(errors**2))), float(np.mean(widths))


def saved_table(rows: Sequence[Row]) -> Table:
    """Three rows per study, a column per policy."""
    measured = [Measured(**row) for row in rows]
    cells = []
    for study in dict.fromkeys(one.study for one in measured):
        by_kind = {one.kind: one for one in measured if one.study == study}
        found = [by_kind[kind] for kind in KINDS]
        cells += [
            [study, "error added to AUROC (rms)", *(f"{one.error:.4f}" for one in found)],
            ["", "width of its 95 % interval", *(f"{one.width:.3f}" for one in found)],
            ["", "labels read by an owner who knows the rest", *(percent(one.read) for one in found)],
        ]
    bounds = [f"{1 / (1 + math.exp(-epsilon)):.1%}" for epsilon in EPSILONS]
    cells.append(["any", "bound for any attacker", "none", "none", *bounds])
    return Table(["study", "", *KINDS], cells, words=("study", ""))


@click.command("policies")
@click.option("--quick", is_flag=True, help="Few trials of the smallest study.")
@out_option("policies", "policies.json, which is written anew")
def policies_command(quick: bool, out: Path) -> None:
    """What each kind of policy costs and protects: error, width of the interval, labels read."""
    results = Results(out / "policies.json", SEED, keep_earlier=False)
    chosen = STUDIES[:1] if quick else STUDIES
    with progress_bar() as progress:
        for done, study in enumerate(chosen):
            progress(f"{study[0]} x {study[1]:,}", done, len(chosen))
            trials = 40 if quick else min(1000, 40_000_000 // (study[0] * study[1]))
            for one in measure(np.random.default_rng([SEED, done]), study, trials):
                results.add(asdict(one))
    show(saved_table(results.rows()))
