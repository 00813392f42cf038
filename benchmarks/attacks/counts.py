"""How many positives and negatives? From published numbers and the public number of samples.

AUROC = U / PN with a whole number U (no scores are tied), a sensitivity is TP / P, a specificity TN / N: of
all P only few fit exact values. The attacker knows that P is equally likely to be anything from a fifth to
two fifths of the samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.attacks.frame import Effort, Played, Setting, always
from benchmarks.attacks.policy import (
    AUROC,
    EXACT,
    POLICIES,
    PRIVATE,
    PUBLICATION,
    Floats,
    Ints,
    Random,
    noise,
    rates,
    rounded,
    to_fives,
)
from benchmarks.attacks.population import Population
from ppaurora.policy.rules import Policy
from ppaurora.statistics.noisy import Noise

NAME = "counts"
SIZES = {200: 1000, 600: 1000, 2_000: 1000, 10_000: 500}
THRESHOLDS = (-0.5, 0.5, 1.5)  # of the marker
TABLE_SENSITIVITY = 2


def possible_positives(samples: int) -> Ints:
    return np.arange(samples // 5, 2 * samples // 5 + 1)


def fits_exactly(auroc: float, positives: Ints, samples: int, parts: int = 1) -> Floats:
    """Where AUROC = U / PN for a whole number parts·U: how likely that is by chance; elsewhere 0."""
    pairs = (parts * positives * (samples - positives)).astype(float)
    return np.where(np.rint(auroc * pairs) / pairs == auroc, 1 / pairs, 0.0)


def fits_rounded(value: float, digits: int, denominators: Ints) -> Floats:
    """Which part of all fractions k / d is rounded to this: (2v-1)·d <= 2·10^digits·k < (2v+1)·d."""
    steps = 10**digits
    v = round(value * steps)
    first, beyond = (-(-(2 * v + side) * denominators // (2 * steps)) for side in (-1, 1))
    fitting = np.minimum(beyond, denominators + 1) - np.maximum(first, 0)
    likely: Floats = fitting / (denominators + 1)
    return likely


class Study:
    """One study: its AUROC from the ranks of its positives, and how many are called at the thresholds."""

    def __init__(self, random: Random, samples: int, positives: int) -> None:
        self.samples, self.positives = samples, positives
        markers = random.normal(size=samples)
        markers[:positives] += Population.separation
        ranks = np.empty(samples)
        ranks[np.argsort(markers)] = np.arange(1, samples + 1)
        wins = ranks[:positives].sum() - positives * (positives + 1) / 2
        self.auroc = float(wins / (positives * (samples - positives)))
        self.tp = np.array([(markers[:positives] >= one).sum() for one in THRESHOLDS])
        self.tn = np.array([(markers[positives:] < one).sum() for one in THRESHOLDS])


def read_exact(study: Study, candidates: Ints, tables: bool) -> int:
    """Return the most likely of all P that fit float64 numbers."""
    likely = fits_exactly(study.auroc, candidates, study.samples)
    if tables:
        for hits, size, own in _rates(study, candidates):
            value = hits / size
            likely = likely * (np.rint(value * own) / own == value)
    return int(candidates[np.argmax(likely)])


def read_rounded(study: Study, candidates: Ints, tables: bool, policy: Policy) -> int:
    """Return the most likely of all P that fit rounded numbers and the released count, to fives."""
    digits = policy.decimals or 0
    near = candidates[to_fives(candidates) == to_fives(np.array(study.positives))]
    auroc = float(rounded(np.array(study.auroc), digits))
    likely = fits_rounded(auroc, digits, near * (study.samples - near))
    if tables:
        for hits, size, own in _rates(study, near):
            likely = likely * fits_rounded(float(rounded(np.array(hits / size), digits)), digits, own)
    return int(near[np.argmax(likely)])


def _rates(study: Study, candidates: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Return numerator and denominator of every sensitivity and specificity, and the possible ones."""
    negatives = study.samples - study.positives
    for tp, tn in zip(study.tp, study.tn, strict=True):
        yield int(tp), study.positives, candidates
        yield int(tn), negatives, study.samples - candidates


def read_private(random: Random, study: Study, tables: bool, epsilon: float) -> float:
    """Return the mean of noisy counts, each as heavy as its noise is small.

    The mechanism of AUROC tells the size of the smaller class, a table by class tells both; equal parts.
    """
    steps = AUROC.coordinates[1].steps
    rate = rates(AUROC, epsilon / (2 if tables else 1))[1]
    found = [study.positives + float(noise(random, rate, 1)[0]) / steps]
    variances = [_variance(rate) / steps**2]
    if tables:
        cells, rate = len(THRESHOLDS) + 1, epsilon / 2 / TABLE_SENSITIVITY
        found += [study.positives + float(noise(random, rate, cells).sum()) for _ in range(2)]
        variances += [cells * _variance(rate)] * 2
    return float(np.average(found, weights=1 / np.array(variances)))


def _variance(rate: float) -> float:
    return float(Noise.two_sided_geometric(np.exp(-rate)).variance)


def play(random: Random, trials: int, *, samples: int, tables: bool) -> dict[str, Played]:
    candidates = possible_positives(samples)
    right = np.zeros((3, trials), dtype=bool)
    for trial in range(trials):
        study = Study(random, samples, int(random.choice(candidates)))
        guesses = (
            read_exact(study, candidates, tables),
            read_rounded(study, candidates, tables, POLICIES[PUBLICATION]),
            round(read_private(random, study, tables, POLICIES[PRIVATE].spent)),
        )
        right[:, trial] = np.array(guesses) == study.positives
    releases = (EXACT, PUBLICATION, PRIVATE)
    return {release: always(row, 1 / len(candidates)) for release, row in zip(releases, right, strict=True)}


def settings(effort: Effort) -> Iterator[Setting]:
    for tables, what in ((False, "AUROC alone"), (True, "with rates at three thresholds")):
        for samples, trials in SIZES.items():
            label = f"{what}; about {3 * samples // 10:,} positives"
            one = partial(play, samples=samples, tables=tables)
            yield Setting(NAME, label, samples, one, effort.of(trials))
