"""Who is positive, in the order of the scores? From a published AUPR.

Of few samples every possible order of labels can be tried. Of many, an owner that knows everything but some
labels tries those. In both the attacker knows how likely each label is by itself, and takes the most likely
of the orders that fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.attacks.frame import EXACT, POLICY, Effort, Played, Setting
from benchmarks.attacks.policy import Floats, Ints, Policy, rounded
from benchmarks.attacks.population import Population, Random
from ppaurora.algorithms.curve import precision_bits

NAME = "order"
OWNERS = 3
POPULATION = Population(prevalence=0.4, prevalence_spread=0.0, separation_spread=0.0)
SMALL = (12, 17, 22)
LARGE = (60, 600, 6_000)
UNKNOWN = (10, 1)
_RECIPROCAL_BITS = 62


def aupr(labels: NDArray[np.generic]) -> Floats:
    """As the protocol releases it: precisions of 33 binary places, and a float64 of their exact sum.

    A row per order of labels, the highest score first; scores are not tied.
    """
    samples = labels.shape[1]
    bits = precision_bits(samples)
    reciprocals = (1 << _RECIPROCAL_BITS) // np.arange(1, samples + 1)
    dropped = _RECIPROCAL_BITS - bits
    tp = labels.astype(np.int64).cumsum(axis=1)
    precision = (tp * reciprocals + (1 << (dropped - 1))) >> dropped
    heights = precision.copy()
    heights[:, 1:] += precision[:, :-1]
    heights[:, 0] += 1 << bits
    areas = (heights * labels).sum(axis=1)
    value: Floats = areas / (tp[:, -1] * float(2 << bits))
    return value


def orders(unknown: int) -> NDArray[np.uint8]:
    """All labels that so many samples can have, a row each."""
    numbers = np.arange(1 << unknown, dtype=np.uint32)
    return np.stack([(numbers >> bit & 1).astype(np.uint8) for bit in range(unknown)], axis=1)


def likelihoods(risks: Floats, labels: NDArray[np.uint8]) -> Floats:
    """Return the likelihood of every row of labels, in logarithms."""
    whole: Floats = np.log(np.where(labels == 1, risks, 1 - risks)).sum(axis=1)
    return whole


class SmallStudies:
    """All orders of so many samples, by their AUPR."""

    def __init__(self, samples: int) -> None:
        every = orders(samples)
        count = every.sum(axis=1)
        self.orders = every[(count > 0) & (count < samples)]
        values = np.concatenate([aupr(part) for part in np.array_split(self.orders, 64)])
        self._by_value = np.argsort(values, kind="stable")
        self._sorted = values[self._by_value]

    def with_value(self, value: float) -> NDArray[np.uint8]:
        first, last = (np.searchsorted(self._sorted, value, side=side) for side in ("left", "right"))
        fitting: NDArray[np.uint8] = self.orders[self._by_value[first:last]]
        return fitting


def play_small(random: Random, trials: int, *, samples: int) -> Played:
    """The exact value. With the policy there is none to read: too few samples."""
    studies = SmallStudies(samples)
    right, guessed, left = (np.zeros(trials, dtype=int) for _ in range(3))
    for trial in range(trials):
        risks, labels = _drawn(random, samples)
        fitting = studies.with_value(float(aupr(labels[np.newaxis])[0]))
        best = fitting[np.argmax(likelihoods(risks, fitting))]
        right[trial] = np.array_equal(best, labels)
        guessed[trial] = np.array_equal(risks > 0.5, labels)
        left[trial] = len(fitting)
    return Played(right > 0, np.ones(trials, dtype=bool), float(guessed.mean()), float(np.median(left)))


def play_small_policy(random: Random, trials: int, *, samples: int) -> Played:
    """Nothing is published: the guess is the best one without."""
    pairs = [_drawn(random, samples) for _ in range(trials)]
    right = np.array([np.array_equal(risks > 0.5, labels) for risks, labels in pairs])
    return Played(right, np.zeros(trials, dtype=bool), float(right.mean()), float(2**samples - 2))


def play_large(random: Random, trials: int, *, samples: int, unknown: int, digits: int | None) -> Played:
    """An owner that knows all scores, and all labels but those of some people of another owner."""
    sizes = [samples // OWNERS] * OWNERS
    tried = orders(unknown)
    right, guessed, released, left = (np.zeros(trials, dtype=int) for _ in range(4))
    for trial in range(trials):
        risks, labels = _drawn(random, samples)
        owner = random.permutation(np.repeat(np.arange(OWNERS), sizes))
        places = np.sort(random.choice(np.flatnonzero(owner == 0), unknown, replace=False))
        variants = np.tile(labels, (len(tried), 1))
        variants[:, places] = tried
        weights = likelihoods(risks[places], tried)
        guess = best_before = tried[np.argmax(weights)]
        positives = np.array([[labels[owner == one].sum() for one in range(OWNERS)]])
        released[trial] = digits is None or Policy().releases(positives, sizes)[0]
        if released[trial]:
            values, truth = aupr(variants), aupr(labels[np.newaxis])
            if digits is not None:
                granted = max(int(Policy().granted(positives, sizes)[0]) - 1, 1)  # of an AUPR
                values, truth = rounded(values, granted), rounded(truth, granted)
            fits = values == truth
            left[trial] = fits.sum()
            guess = tried[np.argmax(np.where(fits, weights, -np.inf))]
        right[trial] = np.array_equal(guess, labels[places])
        guessed[trial] = np.array_equal(best_before, labels[places])
    return Played(right > 0, released > 0, float(guessed.mean()), float(np.median(left)))


def _drawn(random: Random, samples: int) -> tuple[Floats, Ints]:
    """Risks, descending, and labels of one study that has both classes."""
    while True:
        scores, labels = POPULATION.draw(random, 1, samples)
        if 0 < labels.sum() < samples:
            order = np.argsort(-scores[0])
            return scores[0][order], labels[0][order].astype(np.int64)


def settings(effort: Effort) -> Iterator[Setting]:
    for samples in SMALL:
        trials = effort.of(1000)
        what = "nobody's label known"
        yield Setting(NAME, what, samples, EXACT, None, partial(play_small, samples=samples), trials)
        yield Setting(NAME, what, samples, POLICY, 0, partial(play_small_policy, samples=samples), trials)
    for unknown in UNKNOWN:
        for samples in LARGE:
            digits = Policy().digits([samples // OWNERS] * OWNERS)
            trials = effort.of(min(1000, 600_000 // samples))
            for release, shown in ((EXACT, None), (POLICY, digits)):
                play = partial(play_large, samples=samples, unknown=unknown, digits=shown)
                what = "all known but ten labels" if unknown > 1 else "all known but one label"
                yield Setting(NAME, what, samples, release, shown, play, trials)
