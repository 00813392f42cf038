"""Two studies on the same data but for one person, or one owner: what does the difference tell?

Whoever sees both results may be the attacker. It knows the population, who left, and of a person the score.
The person's label is a fair coin. Of an owner, the number of its positives is asked for. Two private studies
spend twice epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.attacks.counts import fits_exactly
from benchmarks.attacks.frame import Effort, Played, Setting, always
from benchmarks.attacks.numbers import AUROC_ALONE, IN_WORDS, WITH_BRIER, numbers_of
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
from benchmarks.attacks.reading import CountReader, LabelReader
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.rules import Policy

NAME = "differencing"
SIZES = (600, 6_000)
OWNERS = 4
POPULATION = Population(prevalence=0.35)
HIGH = 0.99  # the part of all people that the person is above
Studies = tuple[Floats, Bools]


def draw(random: Random, trials: int, samples: int, score: float | None = None) -> Studies:
    """The last sample is the person, if a score is given; the last quarter is the owner that leaves."""
    scores, labels = POPULATION.draw(random, trials, samples)
    if score is not None:
        scores[:, -1] = score
        labels[:, -1] = random.random(trials) < 0.5
    return scores, labels


def sizes_of(samples: int, leaving: int) -> tuple[list[int], list[int]]:
    """Return the sizes of the owners in both studies."""
    first = [samples // OWNERS] * OWNERS
    return first, [size for size in [*first[:-1], first[-1] - leaving] if size]


def results(
    studies: Studies, names: Sequence[str], sizes: Sequence[int], policy: Policy, random: Random
) -> tuple[Floats, Bools]:
    """Return the results on the first so many samples."""
    samples = sum(sizes)
    scores, labels = studies[0][:, :samples], studies[1][:, :samples]
    starts = np.cumsum([0, *sizes[:-1]])
    positives = np.add.reduceat(labels.astype(np.int64), starts, axis=1)
    released = releases(policy, positives, sizes)
    return published(policy, random, numbers_of(scores, labels, ~labels), names, released), released


def both(
    studies: Studies, names: Sequence[str], leaving: int, policy: Policy, random: Random
) -> tuple[Floats, Bools]:
    """What is published of the first study, and by how much the second differs."""
    before, after = (
        results(studies, names, sizes, policy, random) for sizes in sizes_of(studies[0].shape[1], leaving)
    )
    return np.concatenate([before[0], after[0] - before[0]], axis=1), before[1] & after[1]


def play_person(
    random: Random, trials: int, *, samples: int, names: Sequence[str], rehearsals: int
) -> dict[str, Played]:
    """The attacker learns to read both results."""
    found = {EXACT: play_person_exact(random, trials, samples=samples)}
    score = POPULATION.score_above(HIGH)
    for release in (PUBLICATION, PRIVATE):
        policy = POLICIES[release]
        rehearsed = draw(random, rehearsals, samples, score)
        reader = LabelReader(both(rehearsed, names, 1, policy, random)[0], rehearsed[1][:, -1])
        studies = draw(random, trials, samples, score)
        shown, released = both(studies, names, 1, policy, random)
        found[release] = Played(reader.guesses(shown) == studies[1][:, -1], released)
    return found


def play_person_exact(random: Random, trials: int, *, samples: int) -> Played:
    """With the class counts of both studies, which exact AUROCs give, the label is known."""
    score = POPULATION.score_above(HIGH)
    right = np.zeros(trials, dtype=bool)
    possible = np.arange(2, samples // 2)
    for trial in range(trials):
        studies = draw(random, 1, samples, score)
        before, after = _two_aurocs(studies, 1)
        fit = fits_exactly(before, possible, samples)
        if_positive = fit @ fits_exactly(after, possible - 1, samples - 1)
        if_negative = fit @ fits_exactly(after, possible, samples - 1)
        right[trial] = (if_positive > if_negative) == studies[1][0, -1]
    return always(right)


def play_owner(
    random: Random, trials: int, *, samples: int, names: Sequence[str], rehearsals: int
) -> dict[str, Played]:
    leaving = samples // OWNERS
    found = {EXACT: play_owner_exact(random, trials, samples=samples)}
    for release in (PUBLICATION, PRIVATE):
        policy = POLICIES[release]
        rehearsed = draw(random, rehearsals, samples)
        counts = _positives_of_the_last(rehearsed, leaving)
        reader = CountReader(both(rehearsed, names, leaving, policy, random)[0], counts)
        studies = draw(random, trials, samples)
        truth = _positives_of_the_last(studies, leaving)
        shown, released = both(studies, names, leaving, policy, random)
        base = float((truth == np.bincount(counts).argmax()).mean())
        found[release] = Played(np.rint(reader.guesses(shown)) == truth, released, base)
    return found


def play_owner_exact(random: Random, trials: int, *, samples: int) -> Played:
    """The class counts of both studies, and their difference."""
    leaving = samples // OWNERS
    usual = POPULATION.prevalence * leaving
    spread = np.sqrt(usual * (1 - POPULATION.prevalence) + (POPULATION.prevalence_spread * usual) ** 2)
    right, guessed = np.zeros(trials, dtype=bool), np.zeros(trials, dtype=bool)
    for trial in range(trials):
        studies = draw(random, 1, samples)
        before, after = _two_aurocs(studies, leaving)
        first, first_likely = _fitting(before, samples)
        second, second_likely = _fitting(after, samples - leaving)
        lost = first[:, np.newaxis] - second
        prior = np.exp(-(((lost - usual) / spread) ** 2) / 2)
        truth = _positives_of_the_last(studies, leaving)[0]
        right[trial] = lost.flat[np.argmax(np.outer(first_likely, second_likely) * prior)] == truth
        guessed[trial] = truth == round(usual)
    return always(right, float(guessed.mean()))


def _fitting(auroc: float, samples: int) -> tuple[Ints, Floats]:
    """The numbers of positives that fit, of at most half of the samples, and how likely each is."""
    possible = np.arange(1, samples // 2 + 1)
    likely = fits_exactly(auroc, possible, samples)
    return possible[likely > 0], likely[likely > 0]


def _two_aurocs(studies: Studies, leaving: int) -> list[float]:
    scores, labels = studies
    whole = scores.shape[1]
    return [
        float(numbers_of(scores[:, :end], labels[:, :end], ~labels[:, :end])[Auroc.name][0])
        for end in (whole, whole - leaving)
    ]


def _positives_of_the_last(studies: Studies, samples: int) -> Ints:
    counts: Ints = studies[1][:, -samples:].sum(axis=1)
    return counts


def settings(effort: Effort) -> Iterator[Setting]:
    for samples in SIZES:
        trials, rehearsals = effort.of(1000, samples), effort.of(3000, samples)
        for names in (AUROC_ALONE, WITH_BRIER):
            person = partial(play_person, samples=samples, names=names, rehearsals=rehearsals)
            yield Setting(NAME, f"label of a person, high score; {IN_WORDS[names]}", samples, person, trials)
        owner = partial(play_owner, samples=samples, names=WITH_BRIER, rehearsals=rehearsals)
        yield Setting(NAME, "positives of an owner; AUROC, SE, Brier", samples, owner, trials)
