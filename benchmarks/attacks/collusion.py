"""Two owners of three together: what do they learn of the third one's people?

They know all of their own data and the third owner's scores, and try all labels that its people can have.
Each is as likely as its risk says, but for one person's: that label is a fair coin, and they are after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.attacks.frame import Effort, Played, Setting
from benchmarks.attacks.policy import (
    AUROC,
    EXACT,
    POLICIES,
    PRIVATE,
    PUBLICATION,
    ROUNDED,
    Floats,
    Random,
    auroc_integers,
    noise,
    rates,
    releases,
    rounded,
    to_fives,
)
from benchmarks.attacks.population import Population

NAME = "collusion"
SIZE = 200  # of either of the two
POPULATION = Population(prevalence=0.3, prevalence_spread=0.0, separation_spread=0.0)


@dataclass(frozen=True)
class Cases:
    """All labels that the third owner's people can have, as the bits of a number, the lowest score first."""

    aurocs: Floats
    positives: Floats
    negatives: Floats
    chances: Floats  # in logarithms

    @classmethod
    def of(cls, scores: Floats, risks: Floats, positives: Floats, negatives: Floats) -> Cases:
        """Add one person after the other, in increasing order.

        As a positive it wins against all negatives below it, among them the third owner's so far; as a
        negative it loses to the two owners' positives above it.
        """
        wins = np.array([np.searchsorted(np.sort(negatives), positives).sum()])
        count, chances = np.array([0]), np.zeros(1)
        for place, (score, risk) in enumerate(zip(scores, risks, strict=True)):
            below, above = (negatives < score).sum(), (positives > score).sum()
            wins = np.concatenate([wins + above, wins + below + place - count])
            count = np.concatenate([count, count + 1])
            chances = np.concatenate([chances + np.log(1 - risk), chances + np.log(risk)])
        p, n = len(positives) + count, len(negatives) + len(scores) - count
        return cls(wins / (p * n), p.astype(float), n.astype(float), chances)


def play(random: Random, trials: int, *, third: int, unknown: int) -> dict[str, Played]:
    """Of the third owner's people, so many labels are unknown; the person is one of them."""
    sizes = [SIZE, SIZE, third]
    kinds = (EXACT, ROUNDED, PUBLICATION, PRIVATE)
    right, released = np.zeros((2, len(kinds), trials), dtype=bool)
    for trial in range(trials):
        (scores,), (labels,) = POPULATION.draw(random, 1, sum(sizes))
        person = sum(sizes) - 1
        labels[person] = random.random() < 0.5
        open_ = np.zeros(len(labels), dtype=bool)
        open_[-unknown:] = True
        order = np.flatnonzero(open_)[np.argsort(scores[open_])]
        risks = np.where(order == person, 0.5, scores[order])
        cases = Cases.of(scores[order], risks, scores[~open_ & labels], scores[~open_ & ~labels])
        truth = int((labels[order].astype(np.int64) << np.arange(unknown)).sum())
        place = int(np.flatnonzero(order == person)[0])
        by_owner = np.add.reduceat(labels.astype(np.int64), np.cumsum([0, *sizes[:-1]]))[np.newaxis]
        for number, kind in enumerate(kinds):
            released[number, trial] = releases(POLICIES[kind], by_owner, sizes)[0]
            fit = _fit(random, cases, truth, kind) if released[number, trial] else np.zeros(1 << unknown)
            guess = _likelier(fit + cases.chances, place, random)
            right[number, trial] = guess == labels[person]
    return {kind: Played(right[number], released[number]) for number, kind in enumerate(kinds)}


def _fit(random: Random, cases: Cases, truth: int, kind: str) -> Floats:
    """How likely what is published is in every case, in logarithms; AUROC, and counts as each kind has."""
    policy = POLICIES[kind]
    if policy.is_private:
        columns = np.stack(auroc_integers(cases.aurocs, cases.positives, cases.negatives))
        rate = np.array(rates(AUROC, policy.spent))
        seen = columns[:, truth] + np.array([noise(random, one, 1)[0] for one in rate])
        unlikely: Floats = rate @ np.abs(columns - seen[:, np.newaxis])
        return -unlikely
    shown, counts = cases.aurocs, cases.positives
    if policy.decimals is not None:
        shown, counts = rounded(shown, policy.decimals), to_fives(counts)
    return np.where((shown == shown[truth]) & (counts == counts[truth]), 0.0, -np.inf)


def _likelier(weights: Floats, place: int, random: Random) -> bool:
    """Return the person's label: the likelier one, over all that the others may have."""
    positive = (np.arange(len(weights)) >> place & 1).astype(bool)
    chances = np.exp(weights - weights.max())
    lead = chances[positive].sum() - chances[~positive].sum()
    return bool(lead > 0 or (lead == 0 and random.random() < 0.5))


def settings(effort: Effort) -> Iterator[Setting]:
    for third, unknown, what in (
        (1, 1, "the third owner has one person"),
        (20, 20, "it has 20; none of their labels known"),
        (20, 1, "it has 20; all but one of their labels known"),
    ):
        one = partial(play, third=third, unknown=unknown)
        yield Setting(NAME, what, 2 * SIZE + third, one, effort.of(1000 if unknown == 1 else 100))
