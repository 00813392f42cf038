"""What each kind of policy costs and protects: error added to AUROC, width of its interval, and how often an
owner that knows everything else reads one person's label.

Studies are simulated in the clear; `attacks.made_up` has the owner, which may choose all of its own samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    rates,
    rounded,
)
from benchmarks.attacks.population import Population
from benchmarks.options import out_option
from benchmarks.saving import Results, Row
from benchmarks.tables import Table, show
from ppaurora.cli.progress import progress_bar
from ppaurora.metrics.roc import Auroc
from ppaurora.statistics.noisy import Noise, fraction, noisy_auroc_interval

STUDIES = (
    (5, 200, 0.30),
    (3, 1_000, 0.10),
    (4, 1_000, 0.05),
    (20, 5_000, 0.10),
)  # owners, samples, positives
EPSILONS = (4.0, 2.0, 1.0)
LEVEL = 0.95
ATTACKED, DRAWS = 100, 40  # studies, and how often noise is drawn for each
_95 = 1.959963984540054
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
    found = [
        (EXACT, np.zeros(trials), 2 * _95 * numbers[STANDARD_ERROR], 1.0),
        (
            PUBLICATION,
            *_rounded(numbers, policy.decimals or 0),
            float(knowing_all_rounded(random, attacked, scene, policy).right.mean()),
        ),
    ]
    for epsilon, kind in zip(EPSILONS, KINDS[2:], strict=True):
        read = float(knowing_all_with_noise(random, attacked, scene, epsilon, DRAWS).right.mean())
        found.append((kind, *_with_noise(random, numbers, epsilon), read))
    return [
        Measured(*study, kind, float(np.sqrt(np.mean(errors**2))), float(np.mean(widths)), read)
        for kind, errors, widths, read in found
    ]


def _drawn(random: Random, population: Population, trials: int, samples: int) -> dict[str, Floats]:
    scores, labels = population.draw(random, trials, samples)
    return numbers_of(scores, labels, ~labels)


def _rounded(numbers: Numbers, digits: int) -> tuple[Floats, Floats]:
    """Errors, and widths: the interval contains that of any numbers which are rounded to these."""
    errors = rounded(numbers[Auroc.name], digits) - numbers[Auroc.name]
    standard_error = rounded(numbers[STANDARD_ERROR], digits + 1) + 0.5 * 10.0 ** -(digits + 1)
    return errors, 2 * _95 * standard_error + 10.0**-digits


def _with_noise(random: Random, numbers: Numbers, epsilon: float) -> tuple[Floats, Floats]:
    """Errors, and widths of intervals that include the noise, from T and D = M - T."""
    integers = auroc_integers(numbers[Auroc.name], numbers[POSITIVES], numbers[NEGATIVES])
    steps, own = AUROC.coordinates[0].steps, rates(AUROC, epsilon)
    u, m = (
        (column + noise(random, rate, column.shape)) / steps
        for column, rate in zip(integers, own, strict=True)
    )
    of_u, of_m = (Noise.two_sided_geometric(math.exp(-rate)).scaled(1 / (2 * steps)) for rate in own)
    samples = int(numbers[POSITIVES][0] + numbers[NEGATIVES][0])
    pairs = list(zip((m + u) / 2, (m - u) / 2, strict=True))
    noises = (of_u + of_m, of_u + of_m)
    widths = [
        high - low for low, high in (noisy_auroc_interval(t, d, samples, noises, LEVEL) for t, d in pairs)
    ]
    values = np.array([fraction(t, d) for t, d in pairs])
    return values - numbers[Auroc.name], np.array(widths)


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
            ["", "labels read by who knows all the rest", *(percent(one.read) for one in found)],
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
