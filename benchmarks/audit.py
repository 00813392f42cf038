"""How much a private release tells of one person: a lower bound on epsilon, by the best attack there is.

The attacker knows everything but which of two data sets was evaluated; they differ in one person. On draws of
its own it learns how large the noise of every integer is, computes how much likelier a release is with one
data set than with the other, and chooses a threshold beyond which it says that it was the first. If it is
right with probability p and wrong with probability q, epsilon is at least log(p/q). Both are taken from other
draws, at the ends of 95 % intervals by Clopper and Pearson that favour the mechanism: a bound above what the
policy says is a defect, in 19 of 20 audits at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.options import out_option
from benchmarks.saving import Results
from benchmarks.tables import Table, show
from ppaurora.algorithms.noise import two_sided_geometric
from ppaurora.cli.progress import progress_bar
from ppaurora.data import Samples
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.bins import Reliability
from ppaurora.metrics.calibration import Brier, ObservedToExpected
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.thresholds import Sensitivity
from ppaurora.policy.rules import Policy
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.testing.private import exact_integers

Numbers = NDArray[np.float64]
Release = Callable[[NDArray[np.int64], Sequence[Fraction], int], Numbers]
"""From exact integers and rates, so many draws of what an attacker sees, a row each."""

DRAWS = 10_000
EPSILONS = (1.0, 2.0, 4.0)
CONFIDENCE = 0.95
THRESHOLDS, BINS = (0.2, 0.5), (0.0, 0.25, 0.5, 1.0)
HALF = 100  # of the audited people, of each class
HEADINGS = ("release", "of", "epsilon", "at least", "right %", "at most %")
_BATCH = 2_000
_MANY = 1e3

STUDIES: Mapping[str, tuple[Metric, ...]] = {
    "AUROC": (Auroc(),),
    "thresholds": (Sensitivity(thresholds=THRESHOLDS),),
    Reliability.name: (Reliability(bins=BINS),),
    "Brier score": (Brier(),),
    "in the large": (ObservedToExpected(),),
    "all of these": (
        Auroc(),
        Sensitivity(thresholds=THRESHOLDS),
        Reliability(bins=BINS),
        Brier(),
        ObservedToExpected(),
    ),
}
REPLACED = (
    ((0.9, 1), (0.95, 0)),
    ((1.0, 0), (0.5, 1)),
    ((1.0, 0), (0.0, 1)),
    ((1.0, 0), (0.0, 0)),
)


@dataclass(frozen=True)
class Audit:
    """What was found of one release."""

    release: str
    study: str
    epsilon: float  # as the policy says
    draws: int
    at_least: float
    right: float  # guesses of which of the two it was, equally likely
    most_right: float

    @property
    def holds(self) -> bool:
        return self.at_least <= self.epsilon

    def cells(self) -> list[str]:
        numbers = (
            f"{self.epsilon:g}",
            f"{self.at_least:.2f}",
            f"{self.right * 100:.1f}",
            f"{self.most_right * 100:.1f}",
        )
        return [self.release, self.study, *numbers]


def as_built(exact: NDArray[np.int64], noise_rates: Sequence[Fraction], draws: int) -> Numbers:
    """What leaves: every integer with its noise."""
    noise = [
        two_sided_geometric(CleartextSuite(), list(noise_rates) * min(_BATCH, draws - start)).values
        for start in range(0, draws, _BATCH)
    ]
    return (exact + np.concatenate(noise).astype(np.int64).reshape(draws, -1)).astype(np.float64)


def half_of_the_noise(exact: NDArray[np.int64], noise_rates: Sequence[Fraction], draws: int) -> Numbers:
    """Draw noise of half the scale."""
    return as_built(exact, [2 * rate for rate in noise_rates], draws)


def known_to_a_proxy(exact: NDArray[np.int64], noise_rates: Sequence[Fraction], draws: int) -> Numbers:
    """The noise is drawn by one proxy, which takes it off again when it sees the result."""
    released = as_built(exact, noise_rates, draws)
    known = released - exact
    return released - known


def forgotten_metric(exact: NDArray[np.int64], noise_rates: Sequence[Fraction], draws: int) -> Numbers:
    """The first integer leaves without noise."""
    released = as_built(exact, noise_rates, draws)
    released[:, 0] = exact[0]
    return released


DEFECTS: Mapping[str, Release] = {
    "half of the noise": half_of_the_noise,
    "noise known to a proxy": known_to_a_proxy,
    "one integer forgotten": forgotten_metric,
}


def people(person: tuple[float, int]) -> Samples:
    """Return the audited people: positives that score higher than all negatives, and one more."""
    scores = [0.8] * (HALF - 1) + [0.3] * HALF + [person[0]]
    labels = [1] * (HALF - 1) + [0] * HALF + [person[1]]
    return Samples("people", np.array(scores), np.array(labels, dtype=np.uint8))


def neighbours(query: Query) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the integers of two data sets that differ in one person, as far apart as any of those tried."""
    pairs = [
        tuple(np.array(exact_integers(query.mechanisms, people(one))) for one in two) for two in REPLACED
    ]
    units = np.array([one.steps for mechanism in query.mechanisms for one in mechanism.coordinates])
    before, after = max(pairs, key=lambda two: float(np.abs((two[0] - two[1]) / units).sum()))
    return before, after


def audit(name: str, study: str, epsilon: float, draws: int, release: Release = as_built) -> Audit:
    """Attack so many draws from either data set, after as many on which the threshold was chosen."""
    policy = Policy.private(epsilon)
    query = Query(STUDIES[study], (2 * HALF,), policy)
    noise_rates = [rate for own in rates(policy, query.mechanisms) for rate in own]
    before, after = neighbours(query)

    def drawn() -> tuple[Numbers, Numbers]:
        return release(before, noise_rates, draws), release(after, noise_rates, draws)

    def evidence(released: Numbers) -> Numbers:
        """Return how much likelier each draw is with the first data set, as a logarithm."""
        return (np.abs(released - after) - np.abs(released - before)) @ weights

    practice = drawn()
    weights = _rates_seen(practice[0] - before)
    threshold = _best_threshold(*map(evidence, practice))
    first, second = map(evidence, drawn())
    hits, false = (int((found >= threshold).sum()) for found in (first, second))
    bound = math.log(at_least(hits, draws) / at_most(false, draws)) if hits else 0.0
    right = 0.5 + float(np.sign(first).mean() - np.sign(second).mean()) / 4  # of no evidence, half
    return Audit(name, study, epsilon, draws, max(bound, 0.0), right, 1 / (1 + math.exp(-epsilon)))


def _rates_seen(noise: Numbers) -> Numbers:
    """Return the rate of every integer's noise: its mean size is 1/sinh(rate). Where there is none, many."""
    sizes = np.abs(noise).mean(axis=0)
    return np.where(sizes > 0, np.arcsinh(1 / np.maximum(sizes, 1e-9)), _MANY)


def _best_threshold(of_first: Numbers, of_second: Numbers) -> float:
    """Return where the bound would be largest on these draws."""
    draws = len(of_first)
    candidates = np.unique(np.quantile(np.concatenate([of_first, of_second]), np.linspace(0.02, 0.98, 97)))
    bounds = [
        math.log(at_least(hits, draws) / at_most(int((of_second >= one).sum()), draws)) if hits else 0.0
        for one in candidates
        for hits in [int((of_first >= one).sum())]
    ]
    return float(candidates[int(np.argmax(bounds))])


def at_least(hits: int, draws: int) -> float:
    """Return the lower end of Clopper's and Pearson's interval of a probability."""
    return _bisected(lambda p: 1 - _binomial_upto(hits - 1, draws, p) < (1 - CONFIDENCE) / 2) if hits else 0.0


def at_most(hits: int, draws: int) -> float:
    """Return the upper end of the same interval."""
    return _bisected(lambda p: _binomial_upto(hits, draws, p) > (1 - CONFIDENCE) / 2) if hits < draws else 1.0


def _bisected(is_below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def _binomial_upto(hits: int, draws: int, p: float) -> float:
    k = np.arange(hits + 1)
    logs = _log_factorials(draws)
    terms = logs[draws] - logs[k] - logs[draws - k] + k * math.log(p) + (draws - k) * math.log1p(-p)
    return float(np.exp(terms).sum())


@lru_cache(maxsize=4)
def _log_factorials(draws: int) -> Numbers:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, draws + 1)))])


def table(audits: Sequence[Audit]) -> Table:
    return Table(HEADINGS, [one.cells() for one in audits], words=("release", "of"))


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    return table([Audit(**row) for row in rows])


@click.command("audit")
@click.option("--draws", default=DRAWS, show_default=True, help="Releases of either data set.")
@out_option("audit", "audit.json, which is written anew")
def audit_command(draws: int, out: Path) -> None:
    """Bound epsilon of private releases from below, by the best attack on neighbouring data sets.

    "at least" must not be above epsilon, but for defects that are there to be caught. "right" is how often
    the attacker guesses which of the two data sets it was, "at most" how often any attacker can.
    """
    wanted: list[tuple[str, str, float, Release]]
    wanted = [("as built", study, epsilon, as_built) for study in STUDIES for epsilon in EPSILONS]
    wanted += [(name, "all of these", 2.0, release) for name, release in DEFECTS.items()]
    results = Results(out / "audit.json", keep_earlier=False)
    found = []
    with progress_bar() as progress:
        for done, (name, study, epsilon, release) in enumerate(wanted):
            progress(f"{study}, {name}", done, len(wanted))
            found.append(audit(name, study, epsilon, max(draws, 100), release))
            results.add(asdict(found[-1]))
    show(table(found))
    wrong = [one for one in found if one.holds == (one.release in DEFECTS)]
    if wrong:
        raise click.ClickException(f"{wrong[0].release}, {wrong[0].study}: not as it should be")
