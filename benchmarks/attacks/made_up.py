"""A person's label, read by a dishonest owner that submits made-up samples around the person's score.

The person belongs to another owner; its label is a fair coin, so that a guess is right half of the time. The
dishonest owner knows the person's score and the population, and nothing else of the others' data.

Exact release: one made-up negative has the very score of the person, the others have the lowest of all.
2·AUROC·PN is a whole number, and odd only if the person is positive.

Otherwise: many made-up negatives just below the person (or on both sides) give its label as much weight as
can be. The owner rehearses several such lists, and learns to read what would be published.

An owner that knows everything but the label chooses its list so that the two labels are rounded differently;
or, under noise, so that they are as far from each other as can be, and takes the more likely one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from benchmarks.attacks.counts import fits_exactly
from benchmarks.attacks.frame import Effort, Played, Setting, always
from benchmarks.attacks.numbers import AUROC_ALONE, IN_WORDS, WITH_BRIER, numbers_of
from benchmarks.attacks.policy import (
    AUROC,
    EXACT,
    POLICIES,
    PRIVATE,
    PUBLICATION,
    Bools,
    Floats,
    Ints,
    Random,
    auroc_integers,
    noise,
    published,
    rates,
    releases,
)
from benchmarks.attacks.population import Population
from benchmarks.attacks.reading import LabelReader
from ppaurora.policy.rules import Policy

NAME = "made-up"
SIZES = (400, 4_000)
FEWEST_HONEST_OWNERS = 4
ABOVE_ALL, HIGHEST, MIDDLE = "far above all others", "among the two highest", "in the middle"
_BESIDE = 1e-12  # relative; nobody else is that near


@dataclass(frozen=True)
class Scene:
    """Who is there: the others' samples, the dishonest owner's share of all, and whom it is after."""

    rest: int
    share: float
    place: str = HIGHEST
    numbers: Sequence[str] = AUROC_ALONE
    population: Population = field(default_factory=Population)

    @property
    def made_up(self) -> int:
        """At most so many."""
        return int(self.share * self.rest / (1 - self.share))

    def sizes(self, made_up: int) -> list[int]:
        """So many honest owners that none is larger than the dishonest one may be."""
        owners = max(FEWEST_HONEST_OWNERS, math.ceil(1 / self.share - 1))
        honest, more = divmod(self.rest, owners)
        return [made_up, *(honest + (owner < more) for owner in range(owners))]

    @property
    def score(self) -> float:
        """Return the person's score: how many of the others are above it is known on average only."""
        above = {ABOVE_ALL: 0.01 / self.rest, HIGHEST: 1 / self.rest, MIDDLE: 0.5}[self.place]
        return self.population.score_above(1 - above)


@dataclass(frozen=True)
class Others:
    """Studies without the made-up samples. The person is the last sample, of the last owner."""

    scores: Floats
    labels: Bools

    @property
    def secrets(self) -> Bools:
        last: Bools = self.labels[:, -1]
        return last

    def positives(self, sizes: Sequence[int]) -> Ints:
        """Return every owner's positives; the dishonest one, who comes first, has none."""
        starts = np.cumsum([0, *sizes[1:-1]])
        honest = np.add.reduceat(self.labels.astype(np.int64), starts, axis=1)
        return np.concatenate([np.zeros((len(honest), 1), dtype=np.int64), honest], axis=1)


def draw(random: Random, trials: int, scene: Scene) -> Others:
    scores, labels = scene.population.draw(random, trials, scene.rest)
    scores[:, -1] = scene.score
    labels[:, -1] = random.random(trials) < 0.5
    return Others(scores, labels)


@dataclass(frozen=True)
class Lure:
    """A list of made-up negatives: how many just below the person and how many just above."""

    below: int
    above: int


def lures(scene: Scene, lists: int) -> list[Lure]:
    """From all that the share allows to half of it, so that one comes near an edge of the rounding."""
    allowed = [int(scene.made_up * (1 - number / (2 * lists))) for number in range(lists)]
    below = [Lure(count, 0) for count in allowed]
    return below if scene.place != MIDDLE else [*below, Lure(scene.made_up // 2, scene.made_up // 2)]


def published_with(
    lure: Lure, others: Others, scene: Scene, policy: Policy, random: Random
) -> tuple[Floats, Bools]:
    """What everybody sees, a row per study, and whether there is a result at all."""
    sizes = scene.sizes(lure.below + lure.above)
    beside = scene.score * np.array([1 - _BESIDE, 1 + _BESIDE])
    shape = (len(others.scores), 2)
    numbers = numbers_of(
        np.concatenate([others.scores, np.broadcast_to(beside, shape)], axis=1),
        np.concatenate([others.labels, np.zeros(shape, dtype=bool)], axis=1),
        np.concatenate([~others.labels, np.broadcast_to([lure.below, lure.above], shape)], axis=1),
    )
    released = releases(policy, others.positives(sizes), sizes)
    return published(policy, random, numbers, scene.numbers, released), released


def play(random: Random, trials: int, *, scene: Scene, rehearsals: int, lists: int) -> dict[str, Played]:
    found = {EXACT: play_exact(random, trials, scene=scene)}
    for release in (PUBLICATION, PRIVATE):
        found[release] = _play(random, trials, scene, POLICIES[release], rehearsals, lists)
    return found


def _play(random: Random, trials: int, scene: Scene, policy: Policy, rehearsals: int, lists: int) -> Played:
    rehearsed = draw(random, rehearsals, scene)
    readers = []
    for lure in lures(scene, lists):
        seen, _ = published_with(lure, rehearsed, scene, policy, random)
        readers.append((LabelReader(seen, rehearsed.secrets), lure))
    reader, lure = max(readers, key=lambda one: one[0].rehearsed_rate)
    others = draw(random, trials, scene)
    shown, released = published_with(lure, others, scene, policy, random)
    return Played(reader.guesses(shown) == others.secrets, released)


def play_exact(random: Random, trials: int, *, scene: Scene) -> Played:
    """By whether 2·AUROC·PN is odd, for every P that fits, each as likely as it is."""
    samples = scene.rest + scene.made_up
    mean = scene.population.prevalence * scene.rest
    spread = np.hypot(scene.population.prevalence_spread * mean, np.sqrt(mean))
    candidates = np.arange(max(int(mean - 5 * spread), 2), min(int(mean + 5 * spread), scene.rest - 2))
    prior = np.exp(-(((candidates - mean) / spread) ** 2) / 2)
    right = np.zeros(trials, dtype=bool)
    for trial in range(trials):
        others = draw(random, 1, scene)
        auroc = _auroc_with_a_tie(others.scores[0], others.labels[0], scene.made_up - 1)
        weights = prior * fits_exactly(auroc, candidates, samples, parts=2)
        odd = np.rint(2 * auroc * candidates * (samples - candidates)) % 2 == 1
        right[trial] = (weights[odd].sum() > weights[~odd].sum()) == others.secrets[0]
    return always(right)


def _auroc_with_a_tie(scores: Floats, labels: Bools, lowest: int) -> float:
    """One made-up negative has the last sample's score, the others are below everybody."""
    negatives_below = np.searchsorted(np.sort(scores[~labels]), scores[labels]).sum()
    above_the_tie = (scores[labels] > scores[-1]).sum() + labels[-1] / 2
    positives, negatives = int(labels.sum()), int((~labels).sum()) + 1 + lowest
    wins = 2 * int(negatives_below) + int(2 * above_the_tie) + 2 * lowest * positives
    return wins / (2 * positives * negatives)


def play_knowing_all(random: Random, trials: int, *, scene: Scene) -> dict[str, Played]:
    """An owner that knows all of the others' data but the label."""
    return {
        EXACT: play_exact(random, trials, scene=scene),
        PUBLICATION: knowing_all_rounded(random, trials, scene, POLICIES[PUBLICATION]),
        PRIVATE: knowing_all_with_noise(random, trials, scene, POLICIES[PRIVATE].spent),
    }


def knowing_all_rounded(random: Random, trials: int, scene: Scene, policy: Policy) -> Played:
    """Looks for a number of negatives just below the person with which the labels are rounded differently."""
    counts = np.arange(policy.minimum_samples_per_owner, scene.made_up + 1)
    right, released = np.zeros((2, trials), dtype=bool)
    for trial in range(trials):
        others = draw(random, 1, scene)
        steps = [_rounded_steps(With(others, label), counts, policy) for label in (False, True)]
        telling = np.flatnonzero(steps[0] != steps[1])
        sizes = scene.sizes(int(counts[telling[0]]) if len(telling) else scene.made_up)
        released[trial] = releases(policy, others.positives(sizes), sizes)[0]
        right[trial] = (len(telling) and released[trial]) or random.random() < 0.5
    return Played(right, released)


def knowing_all_with_noise(
    random: Random, trials: int, scene: Scene, epsilon: float, draws: int = 1
) -> Played:
    """Takes the negatives, just below the person or below everybody, that put the two labels far apart.

    Noise is drawn so many times for every study.
    """
    counts = np.arange(1, scene.made_up + 1)
    rate = np.array(rates(AUROC, epsilon))[:, np.newaxis]
    right = np.zeros((trials, draws), dtype=bool)
    for trial in range(trials):
        others = draw(random, 1, scene)
        both = [
            np.concatenate([With(others, label).integers(counts, lowest) for lowest in (False, True)], axis=1)
            for label in (False, True)
        ]
        place = (rate * np.abs(both[1] - both[0])).sum(axis=0).argmax()
        cases = [one[:, [place]] for one in both]
        secret = bool(others.secrets[0])
        seen = cases[secret] + np.stack([noise(random, one, draws) for one in rate[:, 0]])
        if_negative, if_positive = ((rate * np.abs(seen - case)).sum(axis=0) for case in cases)
        undecided = (if_positive == if_negative) & (random.random(draws) < 0.5)
        right[trial] = ((if_positive < if_negative) | undecided) == secret
    return always(right.ravel())


class With:
    """The first study, its person with this label, beside some made-up negatives."""

    def __init__(self, others: Others, label: bool) -> None:
        labels = others.labels[0].copy()
        labels[-1] = label
        scores, score = others.scores[0], others.scores[0, -1]
        self.wins = int(np.searchsorted(np.sort(scores[~labels]), scores[labels]).sum())
        self.positives, self.negatives = int(labels.sum()), int((~labels).sum())
        self.not_below = int((scores[labels] >= score).sum())

    def area(self, made_up: Ints, *, lowest: bool = False) -> tuple[Ints, Ints]:
        """Pairs in order and pairs, for negatives just below the person, or below everybody."""
        won = self.wins + made_up * (self.positives if lowest else self.not_below)
        return won, self.positives * (self.negatives + made_up)

    def integers(self, made_up: Ints, lowest: bool) -> Floats:
        """What is released before noise, a row each."""
        won, pairs = self.area(made_up, lowest=lowest)
        positives = np.full(len(made_up), float(self.positives))
        return np.stack(auroc_integers(won / pairs, positives, self.negatives + made_up.astype(float)))


def _rounded_steps(study: With, made_up: Ints, policy: Policy) -> Ints:
    """Rounded AUROC in units of its last digit, for every number of made-up negatives below the person."""
    won, pairs = study.area(made_up)
    steps: Ints = (2 * won * 10 ** (policy.decimals or 0) + pairs) // (2 * pairs)
    return steps


def settings(effort: Effort) -> Iterator[Setting]:
    share = POLICIES[PUBLICATION].largest_owner_fraction
    for rest in SIZES:
        trials, rehearsals = effort.of(1000, rest), effort.of(2000, rest)
        for place, names in ((MIDDLE, WITH_BRIER), (ABOVE_ALL, AUROC_ALONE), (ABOVE_ALL, WITH_BRIER)):
            scene = Scene(rest, share, place, names)
            label = f"knows a score {place}; {IN_WORDS[names]}"
            one = partial(play, scene=scene, rehearsals=rehearsals, lists=effort.lists)
            yield Setting(NAME, label, rest, one, trials)
        knowing = partial(play_knowing_all, scene=Scene(rest, share, HIGHEST))
        yield Setting(NAME, "knows all but one label; AUROC", rest, knowing, effort.of(1000, rest))
