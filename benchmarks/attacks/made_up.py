"""A person's label, read by a dishonest owner that submits made-up samples around the person's score.

The person belongs to another owner; its label is a fair coin, so that a guess is right half of the time. The
dishonest owner knows the person's score and the population, and nothing else of the others' data.

Exact release: one made-up negative has the very score of the person, the others have the lowest of all.
2·AUROC·PN is a whole number, and odd only if the person is positive.

Rounded release: many made-up negatives just below the person (or on both sides) give its label as much
weight as can be. The owner rehearses several such lists, and learns to read what would be published.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from benchmarks.attacks.counts import fits_exactly
from benchmarks.attacks.frame import EXACT, POLICY, Effort, Played, Setting
from benchmarks.attacks.numbers import TOGETHER, numbers_of
from benchmarks.attacks.policy import Bools, Floats, Ints, Policy
from benchmarks.attacks.population import Population, Random
from benchmarks.attacks.reading import LabelReader, seen
from ppaurora.metrics.roc import Auroc

NAME = "made-up"
SIZES = (60, 400, 4_000)
FEWEST_HONEST_OWNERS = 4
ABOVE_ALL, HIGHEST, HIGH, MIDDLE = PLACES = ("above all", "highest", "high", "middle")
PLACES_IN_WORDS = {
    ABOVE_ALL: "far above all others",
    HIGHEST: "among the two highest",
    HIGH: "in the highest twentieth",
    MIDDLE: "in the middle",
}
_BESIDE = 1e-12  # relative; nobody else is that near


@dataclass(frozen=True)
class Scene:
    """Who is there: the others' samples, the dishonest owner's share of all, and whom it is after."""

    rest: int
    share: float
    place: str = HIGHEST
    numbers: Sequence[str] = (Auroc.name,)
    population: Population = field(default_factory=Population)
    policy: Policy = field(default_factory=Policy)
    digits_only: bool = False  # no other rule is applied

    @property
    def made_up(self) -> int:
        """At most so many."""
        return int(self.share * self.rest / (1 - self.share))

    def sizes(self, made_up: int) -> list[int]:
        """So many honest owners that none is larger than the dishonest one may be."""
        owners = max(FEWEST_HONEST_OWNERS, math.ceil(1 / self.share - 1))
        honest, more = divmod(self.rest, owners)
        return [made_up, *(honest + (owner < more) for owner in range(owners))]

    def released(self, others: Others, sizes: Sequence[int]) -> Bools:
        if self.digits_only:
            return np.full(len(others.labels), self.policy.digits(sizes) > 0)
        return self.policy.releases(others.positives(sizes), sizes)

    @property
    def score(self) -> float:
        """Return the person's score: how many of the others are above it is known on average only."""
        above = {ABOVE_ALL: 0.01 / self.rest, HIGHEST: 1 / self.rest, HIGH: 0.05, MIDDLE: 0.5}[self.place]
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
    return below if scene.place in PLACES[:2] else [*below, Lure(scene.made_up // 2, scene.made_up // 2)]


def published_with(lure: Lure, others: Others, scene: Scene) -> tuple[Floats, Bools]:
    """What everybody sees, a row per study, and whether there is a result at all."""
    sizes = scene.sizes(lure.below + lure.above)
    beside = scene.score * np.array([1 - _BESIDE, 1 + _BESIDE])
    shape = (len(others.scores), 2)
    numbers = numbers_of(
        np.concatenate([others.scores, np.broadcast_to(beside, shape)], axis=1),
        np.concatenate([others.labels, np.zeros(shape, dtype=bool)], axis=1),
        np.concatenate([~others.labels, np.broadcast_to([lure.below, lure.above], shape)], axis=1),
    )
    released = scene.released(others, sizes)
    chosen = {name: numbers[name] for name in scene.numbers}
    shown = scene.policy.published(chosen, sizes, others.positives(sizes))
    return seen(shown, released), released


def play(random: Random, trials: int, *, scene: Scene, rehearsals: int, lists: int) -> Played:
    rehearsed = draw(random, rehearsals, scene)
    readers = [
        (LabelReader(published_with(lure, rehearsed, scene)[0], rehearsed.secrets), lure)
        for lure in lures(scene, lists)
    ]
    reader, lure = max(readers, key=lambda one: one[0].rehearsed_rate)
    others = draw(random, trials, scene)
    shown, released = published_with(lure, others, scene)
    return Played(reader.guesses(shown) == others.secrets, released, 0.5)


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
    return Played(right, np.ones(trials, dtype=bool), 0.5)


def _auroc_with_a_tie(scores: Floats, labels: Bools, lowest: int) -> float:
    """One made-up negative has the last sample's score, the others are below everybody."""
    negatives_below = np.searchsorted(np.sort(scores[~labels]), scores[labels]).sum()
    above_the_tie = (scores[labels] > scores[-1]).sum() + labels[-1] / 2
    positives, negatives = int(labels.sum()), int((~labels).sum()) + 1 + lowest
    wins = 2 * int(negatives_below) + int(2 * above_the_tie) + 2 * lowest * positives
    return wins / (2 * positives * negatives)


def play_knowing_all(random: Random, trials: int, *, scene: Scene) -> Played:
    """An owner that knows all of the others' data but the label: it looks for a number of made-up negatives
    just below the person with which the two labels are rounded to different values."""
    counts = np.arange(1, scene.made_up + 1)
    usable = np.array([scene.policy.digits(scene.sizes(int(count))) for count in counts])
    right = np.zeros(trials, dtype=bool)
    released = np.zeros(trials, dtype=bool)
    for trial in range(trials):
        others = draw(random, 1, scene)
        largest = scene.sizes(scene.made_up)
        granted = np.minimum(usable, scene.policy.granted(others.positives(largest), largest)[0])
        steps = [rounded_steps(replace_label(others, label), counts, 10**granted) for label in (False, True)]
        telling = np.flatnonzero(steps[0] != steps[1])
        sizes = scene.sizes(int(counts[telling[0]]) if len(telling) else scene.made_up)
        released[trial] = scene.released(others, sizes)[0]
        knows = len(telling) and released[trial]
        right[trial] = knows or random.random() < 0.5
    return Played(right, released, 0.5)


def replace_label(others: Others, label: bool) -> Others:
    labels = others.labels.copy()
    labels[:, -1] = label
    return replace(others, labels=labels)


def rounded_steps(others: Others, made_up: Ints, steps: Ints) -> Ints:
    """Rounded AUROC in steps of the grid, for every number of made-up negatives just below the person."""
    scores, labels = others.scores[0], others.labels[0]
    wins = int(np.searchsorted(np.sort(scores[~labels]), scores[labels]).sum())
    not_below = int((scores[labels] >= scores[-1]).sum())
    pairs = int(labels.sum()) * (int((~labels).sum()) + made_up)
    rounded: Ints = (2 * (wins + made_up * not_below) * steps + pairs) // (2 * pairs)
    return rounded


def settings(effort: Effort) -> Iterator[Setting]:
    for rest in SIZES:
        trials, rehearsals = effort.of(1000, rest), effort.of(2000, rest)
        for what, names in TOGETHER.items():
            for place in PLACES if len(names) == 1 else PLACES[:2]:
                scene = Scene(rest, Policy().largest_share, place, names)
                label = f"knows a score {PLACES_IN_WORDS[place]}; {what}"
                shown = partial(play, scene=scene, rehearsals=rehearsals, lists=effort.lists)
                yield Setting(NAME, label, rest, EXACT, None, partial(play_exact, scene=scene), trials)
                yield Setting(NAME, label, rest, POLICY, _digits(scene), shown, trials)
        for place in PLACES[1::2]:
            scene = Scene(rest, Policy().largest_share, place)
            label = f"knows all but the label, score {PLACES_IN_WORDS[place]}; AUROC"
            knowing = partial(play_knowing_all, scene=scene)
            yield Setting(NAME, label, rest, EXACT, None, partial(play_exact, scene=scene), trials)
            yield Setting(NAME, label, rest, POLICY, _digits(scene), knowing, effort.of(500, rest))


def _digits(scene: Scene) -> int:
    return scene.policy.digits(scene.sizes(scene.made_up))
