"""About how many positives? From several numbers of one study together, though counts are hidden.

A study whose plan hides counts is stricter than "publication". The attacker knows the population but for the
prevalence, which is anything from a tenth to a half, and learns to read on studies that it makes up. It is
right if it is off by a tenth of the positives at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.attacks.frame import Effort, Played, Setting
from benchmarks.attacks.numbers import WITH_BRIER, numbers_of
from benchmarks.attacks.policy import (
    EXACT,
    POLICIES,
    PRIVATE,
    PUBLICATION,
    Bools,
    Floats,
    Ints,
    Random,
    published,
    releases,
)
from benchmarks.attacks.population import Population
from benchmarks.attacks.reading import CountReader
from ppaurora.policy.rules import Policy

NAME = "prevalence"
SIZES = (600, 6_000)
OWNERS = 3
POPULATION = Population(prevalence=0.3)
LOWEST, HIGHEST = 0.1, 0.5


def draw(
    random: Random, trials: int, samples: int, names: Sequence[str], policy: Policy
) -> tuple[Floats, Ints, Bools]:
    """What is published, but for counts, and the number of positives behind it."""
    labels = random.random((trials, samples)) < random.uniform(LOWEST, HIGHEST, (trials, 1))
    scores = POPULATION.risk(random.normal(size=labels.shape) + POPULATION.separation * labels)
    sizes = [samples // OWNERS] * OWNERS
    by_owner = labels.reshape(trials, OWNERS, -1).sum(axis=2)
    released = releases(policy, by_owner, sizes)
    shown = published(policy, random, numbers_of(scores, labels, ~labels), names, released)
    return shown, by_owner.sum(axis=1), released


def near(guesses: Floats | float, counts: Ints) -> Bools:
    found: Bools = np.abs(guesses - counts) <= 0.1 * counts
    return found


def play(
    random: Random, trials: int, *, samples: int, names: Sequence[str], rehearsals: int
) -> dict[str, Played]:
    found = {}
    for release in (EXACT, PUBLICATION, PRIVATE):
        policy = Policy.publication(counts="hidden") if release == PUBLICATION else POLICIES[release]
        rehearsed, counts, _ = draw(random, rehearsals, samples, names, policy)
        reader = CountReader(rehearsed, counts)
        best_guess = max(range(samples), key=lambda guess: near(guess, counts).sum())
        shown, truth, released = draw(random, trials, samples, names, policy)
        base = float(near(best_guess, truth).mean())
        found[release] = Played(near(reader.guesses(shown), truth), released, base)
    return found


def settings(effort: Effort) -> Iterator[Setting]:
    for samples in SIZES:
        one = partial(play, samples=samples, names=WITH_BRIER, rehearsals=effort.of(4000, samples))
        label = "within a tenth, counts hidden; AUROC, SE, Brier"
        yield Setting(NAME, label, samples, one, effort.of(1000, samples))
