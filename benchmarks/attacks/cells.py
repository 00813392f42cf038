"""Numbers about few people: at the ends of a curve, in small cells, and between the rows of tables.

A person's score is known; its label is a fair coin. Under "private" there is one table of counts by class and
cell, with noise, from which every number is made: the attacker looks at the person's cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.attacks.counts import TABLE_SENSITIVITY
from benchmarks.attacks.frame import Effort, Played, Setting, always, coin_where_unknown
from benchmarks.attacks.policy import (
    EXACT,
    POLICIES,
    PRIVATE,
    PUBLICATION,
    ROUNDED,
    Bools,
    Floats,
    Ints,
    Random,
    noise,
    rounded,
    without_any_one,
)
from benchmarks.attacks.population import Population

EXTREMES, CELLS, TABLES = "extremes", "cells", "tables"
SAMPLES = 1_000
OWNERS = 5
SIZES = (600, 6_000)
POPULATION = Population(prevalence=0.3)
HIGHEST_RISK, LOWEST_FPR = 0.99, 0.001
DIGITS = POLICIES[ROUNDED].decimals or 0
_ODDS = HIGHEST_RISK / (1 - HIGHEST_RISK)


def read_cell(random: Random, secrets: Bools, epsilon: float) -> Played:
    """From noisy counts of a cell in which all others are known: which class's has one too many?

    The person adds one to the positives or to the negatives. Either is more likely by exp(rate) for every
    unit by which the one count fits better than the other.
    """
    rate = epsilon / TABLE_SENSITIVITY
    positives, negatives = (label + noise(random, rate, len(secrets)) for label in (secrets, ~secrets))
    if_positive = np.abs(positives - 1) + np.abs(negatives)
    if_negative = np.abs(positives) + np.abs(negatives - 1)
    undecided = (if_positive == if_negative) & (random.random(len(secrets)) < 0.5)
    return always(((if_positive < if_negative) | undecided) == secrets)


def net_benefits(tops: Ints, labels: Bools, positives: Ints) -> Floats:
    """Only the person is above the threshold: TP/n - FP/n·odds."""
    return np.where(labels, 1.0, -_ODDS) / SAMPLES


def partial_areas(tops: Ints, labels: Bools, positives: Ints) -> Floats:
    """Up to a rate of less than one negative, the curve is as high as the positives above all negatives."""
    return 0.5 + (tops / positives - LOWEST_FPR / 2) / (2 - LOWEST_FPR)


def sensitivities(tops: Ints, labels: Bools, positives: Ints) -> Floats:
    """Return the positives above all negatives, of all."""
    return tops / positives


Extreme = Callable[[Ints, Bools, Ints], Floats]


def play_extreme(random: Random, trials: int, *, number: Extreme) -> dict[str, Played]:
    """The person has the highest score, and nobody else is above the threshold.

    A rule wants enough people there; or in the tail of the curve, a fraction of the negatives.
    """
    scores, labels = POPULATION.draw(random, trials, SAMPLES)
    scores[:, 0], labels[:, 0] = 2.0, random.random(trials) < 0.5
    descending = np.take_along_axis(labels, np.argsort(-scores, axis=1), axis=1)
    tops, positives = np.argmin(descending, axis=1), labels.sum(axis=1)
    secrets = labels[:, 0]
    values = number(tops, secrets, positives)
    digits = DIGITS + (1 if number is net_benefits else 0)
    found = {}
    for release, shown in ((EXACT, values), (ROUNDED, rounded(values, digits))):
        found[release] = always(_above_all_without(shown, secrets) == secrets)
    tabled = number is net_benefits
    tail = np.ones(trials) if tabled else LOWEST_FPR * (SAMPLES - positives)
    enough = tail >= POLICIES[PUBLICATION].minimum_per_cell
    found[PUBLICATION] = coin_where_unknown(random, found[ROUNDED].right, enough)
    if tabled:
        found[PRIVATE] = read_cell(random, secrets, POLICIES[PRIVATE].spent)
    return found


def _above_all_without(shown: Floats, secrets: Bools) -> Bools:
    """Guess a positive if the number is above any that a negative person gives."""
    above: Bools = shown > shown[~secrets].max()
    return above


def play_cell(random: Random, trials: int, *, size: int) -> dict[str, Played]:
    """Of a cell, all labels are known but one. It is spread over all owners evenly."""
    secrets = random.random(trials) < 0.5
    others = random.binomial(size - 1, 0.3, trials)
    cases = [rounded((others + label) / size, DIGITS) for label in (0, 1)]
    by_owner = np.bincount(np.arange(size) % OWNERS)
    enough = without_any_one(by_owner) >= POLICIES[PUBLICATION].minimum_per_cell
    return {
        EXACT: always(np.ones(trials, dtype=bool)),
        PUBLICATION: coin_where_unknown(random, cases[0] != cases[1], np.full(trials, enough)),
        PRIVATE: read_cell(random, secrets, POLICIES[PRIVATE].spent),
    }


def _sides(random: Random, trials: int, samples: int) -> tuple[Bools, Ints, Ints, Ints, Ints]:
    """The person's label, and the others that are above its score and below it, by class."""
    scores, labels = POPULATION.draw(random, trials, samples - 1)
    above = scores > POPULATION.score_above(0.8)
    counts = (labels & above, ~labels & above, labels & ~above, ~labels & ~above)
    tp, fp, fn, tn = (one.sum(axis=1) for one in counts)
    return random.random(trials) < 0.5, tp, fp, fn, tn


def play_close(random: Random, trials: int, *, samples: int, studies: int) -> dict[str, Played]:
    """Sensitivity and specificity at a threshold just below a person and at one just above, in one study or
    in two. A rule wants enough people between thresholds of one study."""
    y, tp, fp, fn, tn = _sides(random, trials, samples)
    p, n = tp + fn + y, fp + tn + ~y
    pairs = (((tp + y) / p, tp / p), (tn / n, (tn + ~y) / n))  # the first moves if y is 1, else the second
    moves = [[below != above for below, above in _as_shown(pairs, digits)] for digits in (None, DIGITS)]
    known = [np.where(y, positive, negative) for positive, negative in moves]
    between = 1 if studies == 1 else samples  # in a study of its own, a threshold has none beside it
    released = np.full(trials, between >= POLICIES[PUBLICATION].minimum_per_cell)
    epsilon = POLICIES[PRIVATE].spent
    return {
        EXACT: coin_where_unknown(random, known[0]),
        ROUNDED: coin_where_unknown(random, known[1]),
        PUBLICATION: coin_where_unknown(random, known[1], released),
        PRIVATE: read_cell(random, y, epsilon) if studies == 1 else _two_tables(random, y, epsilon),
    }


def play_bins(random: Random, trials: int, *, samples: int) -> dict[str, Played]:
    """The edge of a bin is just below a person, and a threshold just above: observed events in the bin from
    there on are (TP + y) / (called + 1), the PPV is TP / called. A plan with such cuts is refused."""
    y, tp, fp, _, _ = _sides(random, trials, samples)
    pairs = (((tp + y) / (tp + fp + 1), tp / (tp + fp)),)
    found = {}
    for release, digits in ((EXACT, None), (ROUNDED, DIGITS)):
        ((observed, ppv),) = _as_shown(pairs, digits)
        undecided = (observed == ppv) & (random.random(trials) < 0.5)
        found[release] = always(((observed > ppv) | undecided) == y)
    nothing = np.zeros(trials, dtype=bool)
    found[PUBLICATION] = coin_where_unknown(random, nothing, nothing)
    return {**found, PRIVATE: read_cell(random, y, POLICIES[PRIVATE].spent)}


def _as_shown(pairs: tuple[tuple[Floats, Floats], ...], digits: int | None) -> list[tuple[Floats, Floats]]:
    return [(a, b) if digits is None else (rounded(a, digits), rounded(b, digits)) for a, b in pairs]


def _two_tables(random: Random, secrets: Bools, epsilon: float) -> Played:
    """Noisy counts above and below the threshold, by class, of two studies: the person is once above and
    once below. Each study spends epsilon. What else is in the cells cancels out."""
    rate = epsilon / TABLE_SENSITIVITY
    sign = np.where(secrets, 1, -1)
    difference = 4 * sign + noise(random, rate, (8, len(secrets))).sum(axis=0)
    undecided = (difference == 0) & (random.random(len(secrets)) < 0.5)
    return always(((difference > 0) | undecided) == secrets)


def extreme_settings(effort: Effort) -> Iterator[Setting]:
    for label, number in (
        (f"net benefit at a threshold of {HIGHEST_RISK}", net_benefits),
        (f"partial AUROC up to a rate of {LOWEST_FPR}", partial_areas),
        (f"sensitivity at a specificity of {1 - LOWEST_FPR}", sensitivities),
    ):
        yield Setting(EXTREMES, label, SAMPLES, partial(play_extreme, number=number), effort.of(2000))


def cell_settings(effort: Effort) -> Iterator[Setting]:
    for size in (15, 2_000, 20_000):
        one = partial(play_cell, size=size)
        yield Setting(CELLS, "observed events in a bin of so many", size, one, effort.of(4000))


def table_settings(effort: Effort) -> Iterator[Setting]:
    for samples in SIZES:
        trials = effort.of(2000, samples)
        for label, one in (
            ("two thresholds, one study", partial(play_close, samples=samples, studies=1)),
            ("two thresholds, two studies", partial(play_close, samples=samples, studies=2)),
            ("a threshold and the edge of a bin, one study", partial(play_bins, samples=samples)),
        ):
            yield Setting(TABLES, label, samples, one, trials)
