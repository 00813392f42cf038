"""About how many positives? From several rounded numbers of one study together.

The attacker knows the population but for the prevalence, which is anything from a tenth to a half, and learns
to read on studies that it makes up. It is right if it is off by a tenth of the positives at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.attacks.frame import Effort, Played, Setting
from benchmarks.attacks.numbers import TOGETHER, numbers_of
from benchmarks.attacks.policy import Bools, Floats, Ints, Policy
from benchmarks.attacks.population import Population, Random
from benchmarks.attacks.reading import CountReader, seen

NAME = "prevalence"
SIZES = (60, 600, 6_000)
OWNERS = 3
POPULATION = Population(prevalence=0.3)
LOWEST, HIGHEST = 0.1, 0.5


def draw(random: Random, trials: int, samples: int, names: Sequence[str]) -> tuple[Floats, Ints, Bools]:
    """What is published, and the number of positives behind it."""
    labels = random.random((trials, samples)) < random.uniform(LOWEST, HIGHEST, (trials, 1))
    scores = POPULATION.risk(random.normal(size=labels.shape) + POPULATION.separation * labels)
    sizes = [samples // OWNERS] * OWNERS
    by_owner = labels.reshape(trials, OWNERS, -1).sum(axis=2)
    numbers = numbers_of(scores, labels, ~labels)
    released = Policy().releases(by_owner, sizes)
    shown = Policy().published({name: numbers[name] for name in names}, sizes, by_owner)
    return seen(shown, released), by_owner.sum(axis=1), released


def near(guesses: Floats | float, counts: Ints) -> Bools:
    found: Bools = np.abs(guesses - counts) <= 0.1 * counts
    return found


def play(random: Random, trials: int, *, samples: int, names: Sequence[str], rehearsals: int) -> Played:
    rehearsed, counts, _ = draw(random, rehearsals, samples, names)
    reader = CountReader(rehearsed, counts)
    best_guess = max(range(samples), key=lambda guess: near(guess, counts).sum())
    shown, truth, released = draw(random, trials, samples, names)
    return Played(near(reader.guesses(shown), truth), released, float(near(best_guess, truth).mean()))


def settings(effort: Effort) -> Iterator[Setting]:
    for samples in SIZES:
        digits = Policy().digits([samples // OWNERS] * OWNERS)
        for what, names in TOGETHER.items():
            one = partial(play, samples=samples, names=names, rehearsals=effort.of(4000, samples))
            yield Setting(NAME, "a tenth off at most", samples, what, digits, one, effort.of(1000, samples))
