"""How many positives and negatives? From a published AUROC and the public number of samples.

AUROC = U / PN with a whole number U (no scores are tied). Of all P only few fit an exact value. The attacker
knows that every P from a tenth to a half of the samples is equally likely.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.attacks.frame import EXACT, POLICY, Effort, Played, Setting
from benchmarks.attacks.policy import Floats, Ints, Policy, rounded
from benchmarks.attacks.population import Population, Random

NAME = "counts"
OWNERS = 3
SIZES = {60: 2000, 200: 2000, 1_000: 2000, 10_000: 1000, 100_000: 400, 1_000_000: 60}


def possible_positives(samples: int) -> Ints:
    return np.arange(-(-samples // 10), samples // 2 + 1)


def fits_exactly(auroc: float, positives: Ints, samples: int, parts: int = 1) -> Floats:
    """Where AUROC = U / PN for a whole number parts·U: how likely that is by chance; elsewhere 0."""
    pairs = (parts * positives * (samples - positives)).astype(float)
    return np.where(np.rint(auroc * pairs) / pairs == auroc, 1 / pairs, 0.0)


def fits_rounded(auroc: float, digits: int, positives: Ints, samples: int) -> Floats:
    """Which part of all U gives an AUROC that is rounded to this: (2k-1)·PN <= 2·10^d·U < (2k+1)·PN."""
    pairs = positives * (samples - positives)
    steps = 10**digits
    k = round(auroc * steps)
    first, beyond = (-(-(2 * k + side) * pairs // (2 * steps)) for side in (-1, 1))
    fitting = np.minimum(beyond, pairs + 1) - np.maximum(first, 0)
    likely: Floats = fitting / (pairs + 1)
    return likely


def draw_auroc(random: Random, samples: int, positives: int) -> float:
    """Draw the AUROC of one study, from the ranks of its positives."""
    scores = random.normal(size=samples)
    scores[:positives] += Population.separation
    ranks = np.empty(samples)
    ranks[np.argsort(scores)] = np.arange(1, samples + 1)
    wins = ranks[:positives].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * (samples - positives)))


def play(random: Random, trials: int, *, samples: int, digits: int | None) -> Played:
    """The only P that fits, or the most likely one of those that do."""
    candidates = possible_positives(samples)
    right = np.zeros(trials, dtype=bool)
    left = np.zeros(trials)
    for trial in range(trials):
        positives = int(random.choice(candidates))
        auroc = draw_auroc(random, samples, positives)
        if digits is None:
            likely = fits_exactly(auroc, candidates, samples)
        else:
            by_owner = np.array([[positives // OWNERS] * OWNERS])
            granted = int(Policy().granted(by_owner, [samples // OWNERS] * OWNERS)[0])
            shown = float(rounded(np.array(auroc), granted))
            likely = fits_rounded(shown, granted, candidates, samples)
        right[trial] = candidates[np.argmax(likely)] == positives
        left[trial] = np.count_nonzero(likely)
    return Played(right, np.ones(trials, dtype=bool), 1 / len(candidates), float(np.median(left)))


def settings(effort: Effort) -> Iterator[Setting]:
    for samples, trials in SIZES.items():
        digits = Policy().digits([samples // OWNERS] * OWNERS)
        for release, shown in ((EXACT, None), (POLICY, digits)):
            yield Setting(
                NAME,
                "AUROC alone",
                samples,
                release,
                shown,
                partial(play, samples=samples, digits=shown),
                effort.of(trials),
            )
