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

from benchmarks.attacks.frame import Effort, Played, Setting, always
from benchmarks.attacks.policy import (
    EXACT,
    POLICIES,
    PUBLICATION,
    Floats,
    Ints,
    Random,
    releases,
    rounded,
    to_fives,
)
from benchmarks.attacks.population import Population
from ppaurora.algorithms.curve import precision_bits

NAME = "order"
OWNERS = 3
POPULATION = Population(prevalence=0.4, prevalence_spread=0.0, separation_spread=0.0)
SMALL = 22
LARGE = (600, 6_000)
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


def play_small(random: Random, trials: int, *, samples: int) -> dict[str, Played]:
    """Exactly, the value is looked up. Studies of so few samples are not published: the attacker guesses."""
    studies = SmallStudies(samples)
    right, guessed = np.zeros((2, trials), dtype=bool)
    for trial in range(trials):
        risks, labels = _drawn(random, samples)
        fitting = studies.with_value(float(aupr(labels[np.newaxis])[0]))
        best = fitting[np.argmax(likelihoods(risks, fitting))]
        right[trial] = np.array_equal(best, labels)
        guessed[trial] = np.array_equal(risks > 0.5, labels)
    base = float(guessed.mean())
    return {
        EXACT: always(right, base),
        PUBLICATION: Played(guessed, np.zeros(trials, dtype=bool), base),
    }


def play_large(random: Random, trials: int, *, samples: int, unknown: int) -> dict[str, Played]:
    """An owner that knows all scores, and all labels but those of some people of another owner."""
    sizes, policy = [samples // OWNERS] * OWNERS, POLICIES[PUBLICATION]
    tried = orders(unknown)
    exact, shown, guessed, released = np.zeros((4, trials), dtype=bool)
    for trial in range(trials):
        risks, labels = _drawn(random, samples)
        owner = random.permutation(np.repeat(np.arange(OWNERS), sizes))
        places = np.sort(random.choice(np.flatnonzero(owner == 0), unknown, replace=False))
        variants = np.tile(labels, (len(tried), 1))
        variants[:, places] = tried
        weights = likelihoods(risks[places], tried)
        positives = np.array([[labels[owner == one].sum() for one in range(OWNERS)]])
        released[trial] = releases(policy, positives, sizes)[0]
        values, truth = aupr(variants), aupr(labels[np.newaxis])
        digits, count = policy.decimals or 0, variants.sum(axis=1)
        fits = rounded(values, digits) == rounded(truth, digits)
        fits &= to_fives(count) == to_fives(labels.sum())
        fits |= ~released[trial]
        guesses = [np.where(some, weights, -np.inf).argmax() for some in (values == truth, fits)]
        exact[trial], shown[trial], guessed[trial] = (
            np.array_equal(tried[guess], labels[places]) for guess in (*guesses, weights.argmax())
        )
    base = float(guessed.mean())
    return {EXACT: always(exact, base), PUBLICATION: Played(shown, released, base)}


def _drawn(random: Random, samples: int) -> tuple[Floats, Ints]:
    """Risks, descending, and labels of one study that has both classes."""
    while True:
        scores, labels = POPULATION.draw(random, 1, samples)
        if 0 < labels.sum() < samples:
            order = np.argsort(-scores[0])
            return scores[0][order], labels[0][order].astype(np.int64)


def settings(effort: Effort) -> Iterator[Setting]:
    one = partial(play_small, samples=SMALL)
    yield Setting(NAME, "all labels, of which none is known", SMALL, one, effort.of(500))
    for unknown, what in ((10, "ten labels, all others known"), (1, "one label, all others known")):
        for samples in LARGE:
            trials = effort.of(min(1000, 600_000 // samples))
            play = partial(play_large, samples=samples, unknown=unknown)
            yield Setting(NAME, what, samples, play, trials)
