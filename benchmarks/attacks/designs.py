"""Studies with several models, subgroups and sites: what do differences, levels and heterogeneity tell?

Everything but the sites is released by the package's own computation, on plain numbers.

1. *Differences*: the attacker knows all rows but one label; the result has two models, with and without their
   difference.
2. *Levels*: it knows a level of a subgroup but for one label, and nothing of the others. Or it subtracts
   numbers of people that differ by one person, or by a small level, whose numbers of people it knows.
3. *Sites*: an owner is after another owner's AUROC. It knows its own, and how many samples each has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import Any

import numpy as np

from benchmarks.attacks.frame import Effort, Played, Setting, coin_where_unknown
from benchmarks.attacks.numbers import numbers_of
from benchmarks.attacks.policy import (
    EXACT,
    POLICIES,
    POSITIVES,
    PRIVATE,
    PUBLICATION,
    ROUNDED,
    STANDARD_ERROR,
    Bools,
    Floats,
    Ints,
    Random,
    noise,
    rounded,
)
from benchmarks.attacks.population import Population
from ppaurora.agreement.terms import Job, Terms
from ppaurora.data.design import Model, Subgroup
from ppaurora.data.further import Further
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.metrics import metrics_named
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.metrics.private.sums import Moment
from ppaurora.metrics.reading import ReleasedPart
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.rules import Policy
from ppaurora.protocols.grid import GridProtocol
from ppaurora.statistics.estimates import Estimate

DIFFERENCES, LEVELS, SITES = "differences", "levels", "sites"
OWNERS = 4
SIZES = (600, 6_000)
POPULATION = Population(prevalence=0.35)
DECIMALS = 3  # to which scores are read
_MOST_EXACT = 30  # trials with numbers at full precision, which are all alike


@dataclass(frozen=True)
class People:
    """All rows; the last person's label is a fair coin that the attacker is after."""

    scores: Mapping[str, Floats]  # by model
    labels: Bools
    levels: Mapping[str, Ints]  # by variable, 0 or 1

    @property
    def label(self) -> bool:
        return bool(self.labels[-1])

    def with_label(self, label: bool) -> People:
        return replace(self, labels=np.append(self.labels[:-1], label))

    def owners(self) -> list[Samples]:
        """Return the rows of every owner, who have equally many, one by one."""
        found = []
        for number in range(OWNERS):
            own = slice(number, None, OWNERS)
            labels = self.labels[own].astype(np.uint8)
            scores = {model: values[own] for model, values in self.scores.items()}
            levels = {variable: places[own].astype(np.uint8) for variable, places in self.levels.items()}
            further = Further(scores, {"": labels}, levels)
            found.append(Samples(f"owner {number}", next(iter(scores.values())), labels, further=further))
        return found


def terms_for(people: People, policy: Policy, *, metrics: Sequence[str], compared: bool) -> Terms:
    models = tuple(people.scores)
    return Terms(
        metrics=metrics_named(*metrics),
        confidence_level=0.95,
        protocol=GridProtocol(decimals=DECIMALS),
        policy=policy,
        models={name: Model() for name in models},
        comparisons=((models[0], models[1]),) if compared else (),
        subgroups={name: Subgroup(levels=("0", "1")) for name in people.levels},
    )


Chosen = Callable[[ReleasedPart], bool]


@dataclass(frozen=True)
class Told:
    """The numbers of some parts; of a private study integers before noise, with the rates of their noise."""

    parts: list[ReleasedPart]

    @property
    def values(self) -> list[float | None]:
        return [value for part in self.parts for value in part.values]

    @property
    def is_published(self) -> bool:
        return any(value is not None for value in self.values)

    @property
    def rates(self) -> Floats:
        return np.array([float(rate) for part in self.parts for own in part.query.rates for rate in own])


def told_of(people: People, policy: Policy, chosen: Chosen, **asked: Any) -> Told:
    owners = people.owners()
    terms = terms_for(people, policy, **asked)
    job = Job(terms=terms, sizes=tuple(map(len, owners)))
    return Told([part for part in released_in_the_clear(job.query, owners).parts if chosen(part)])


def everything(part: ReleasedPart) -> bool:
    return True


def in_level(variable: str, level: str) -> Chosen:
    return lambda part: part.slice == Slice("a", "", variable, level)


# Somebody who knows all that a number is about but for one label


def play_known(
    random: Random,
    trials: int,
    *,
    draw: Callable[[Random], People],
    chosen: Chosen = everything,
    kinds: Sequence[str] = (EXACT, PUBLICATION, PRIVATE),
    **asked: Any,
) -> dict[str, Played]:
    """The attacker computes what would be released with either label, and compares."""
    found = {}
    for kind in kinds:
        policy, count = POLICIES[kind], min(trials, _MOST_EXACT) if kind == EXACT else trials
        right, released = np.zeros((2, count), dtype=bool)
        for trial in range(count):
            people = draw(random)
            told = [told_of(people.with_label(one), policy, chosen, **asked) for one in (False, True)]
            released[trial] = told[people.label].is_published
            right[trial] = _tells(random, told, people.label, policy)
        known = coin_where_unknown(random, right, released)
        found[kind] = Played(right, released) if policy.is_private else known
    return found


def _tells(random: Random, told: Sequence[Told], label: bool, policy: Policy) -> bool:
    """Whether both results differ; with noise, whether the likelier one is right."""
    if not policy.is_private:
        return told[0].values != told[1].values
    integers = np.array([one.values for one in told], dtype=np.float64)
    rates = told[0].rates
    seen = integers[int(label)] + np.array([noise(random, rate, 1)[0] for rate in rates])
    unlikely = (rates * np.abs(integers - seen)).sum(axis=1)
    if unlikely[0] == unlikely[1]:
        return bool(random.random() < 0.5)
    return bool(unlikely[1] < unlikely[0]) == label


def draw_two_models(random: Random, samples: int) -> People:
    """Model b is model a with some error."""
    (scores,), (labels,) = POPULATION.draw(random, 1, samples)
    noisy = np.clip(scores + random.normal(0, 0.1, samples), 0, 1)
    labels[-1] = random.random() < 0.5
    return People({"a": scores.round(DECIMALS), "b": noisy.round(DECIMALS)}, labels, {})


def draw_one_moved(random: Random, samples: int) -> People:
    """Model b differs from model a by one person's score alone."""
    people = draw_two_models(random, samples)
    scores = people.scores["a"].copy()
    scores[-1] = 1 - scores[-1]
    return replace(people, scores={"a": people.scores["a"], "b": scores})


def draw_level(random: Random, samples: int, size: int) -> People:
    """The last people, half of them positive, are a level of a variable."""
    people = draw_two_models(random, samples)
    labels = people.labels.copy()
    labels[-size:-1] = random.permutation(np.arange(size - 1) % 2 == 0)
    level = (np.arange(samples) >= samples - size).astype(np.int64)
    return replace(people, scores={"a": people.scores["a"]}, labels=labels, levels={"ward": level})


def play_moved(random: Random, trials: int, *, draw: Callable[[Random], People]) -> dict[str, Played]:
    """Who knows nothing but both scores of the person subtracts the two models' Brier scores."""
    found = {}
    for kind in (EXACT, PUBLICATION, PRIVATE):
        policy, count = POLICIES[kind], min(trials, _MOST_EXACT) if kind == EXACT else trials
        right, released = np.zeros((2, count), dtype=bool)
        for trial in range(count):
            people = draw(random)
            told = told_of(people, policy, everything, metrics=(Brier.name,), compared=False)
            a, b = (_errors(random, told, people, Slice(model)) for model in ("a", "b"))
            if a is None or b is None:
                continue
            released[trial] = True
            scores = np.array([people.scores[model][-1] for model in ("a", "b")])
            apart = [abs(a - b - float(np.subtract(*(scores - label) ** 2))) for label in (0, 1)]
            right[trial] = bool(apart[1] < apart[0]) == people.label
        found[kind] = Played(right, released)
    return found


def possible_positives(a: float, b: float, difference: float | None, samples: int, digits: int) -> list[int]:
    """Return numbers of positives for which whole numbers of pairs give both rounded AUROCs.

    With the rounded difference, one that some of these pairs also give. Ten of each class are there.
    """
    half = Fraction(1, 2 * 10**digits)
    found = []
    for positives in range(10, samples - 9):
        parts = 2 * positives * (samples - positives)
        first, second = (_whole(Fraction(str(one)), half, parts) for one in (a, b))
        if not first or not second:
            continue
        if difference is None:
            found.append(positives)
            continue
        apart = _whole(Fraction(str(difference)), half, parts)
        reach = range(first[0] - second[-1], first[-1] - second[0] + 1)
        if apart and apart[0] < reach.stop and reach.start < apart.stop:
            found.append(positives)
    return found


def _whole(value: Fraction, half: Fraction, parts: int) -> range:
    """Return the whole numbers of parts that lie within half a step of a value."""
    return range(ceil((value - half) * parts), floor((value + half) * parts) + 1)


# Somebody who subtracts numbers about people that differ by few


def play_subtracted(
    random: Random,
    trials: int,
    *,
    draw: Callable[[Random], People],
    larger: Slice,
    smaller: Slice,
    kinds: Sequence[str] = (EXACT, ROUNDED, PUBLICATION, PRIVATE),
) -> dict[str, Played]:
    """Brier scores times numbers of people are sums of squared errors; their difference is of the few.

    The attacker knows how many people there are, the few's scores and their labels but for one.
    """
    found = {}
    for kind in kinds:
        policy, count = POLICIES[kind], min(trials, _MOST_EXACT) if kind == EXACT else trials
        right, released = np.zeros((2, count), dtype=bool)
        for trial in range(count):
            people = draw(random)
            told = told_of(people, policy, everything, metrics=(Brier.name,), compared=False)
            sums = [_errors(random, told, people, one) for one in (larger, smaller)]
            few = _in(people, larger) & ~_in(people, smaller)
            if sums[0] is not None and sums[1] is not None:
                released[trial] = True
                apart = [
                    abs(sums[0] - sums[1] - _sum_of_errors(people.with_label(one), few))
                    for one in (False, True)
                ]
                right[trial] = bool(apart[1] < apart[0]) == people.label
        coin = random.random(count) < 0.5
        found[kind] = Played(np.where(released, right, coin), released)
    return found


def _in(people: People, slice_: Slice) -> Bools:
    if not slice_.is_level:
        return np.ones(len(people.labels), dtype=bool)
    inside: Bools = people.levels[slice_.variable] == int(slice_.level)
    return inside


def _sum_of_errors(people: People, chosen: Bools) -> float:
    return float(((people.scores["a"] - people.labels)[chosen] ** 2).sum())


def _errors(random: Random, told: Told, people: People, slice_: Slice) -> float | None:
    """Return the sum of squared errors of a slice as a reader has it; None if it is withheld."""
    (part,) = (one for one in told.parts if one.slice == slice_)
    if part.noisy is None:
        brier = part.metrics[Brier.name]
        if not isinstance(brier, Estimate) or brier.value is None:
            return None
        return brier.value * float(_in(people, slice_).sum())
    coordinates = [one for mechanism in part.query.mechanisms for one in mechanism.coordinates]
    rates = [rate for own in part.query.rates for rate in own]
    place = [one.name for one in coordinates].index(Moment.ERROR.value)
    integer = (part.values[place] or 0.0) + noise(random, float(rates[place]), 1)[0]
    return float(integer / coordinates[place].steps)


def draw_two_variables(random: Random, samples: int) -> People:
    """A quarter of all are a level of one variable; they and the last person are a level of another."""
    people = draw_two_models(random, samples)
    first = (np.arange(samples) < samples // 4).astype(np.int64)
    second = first.copy()
    second[-1] = 1
    return replace(people, scores={"a": people.scores["a"]}, levels={"clinic": first, "ward": second})


# An owner that is after another one's AUROC


@dataclass(frozen=True)
class Sites:
    """Own values of owners on the logit scale and their variances: a row per study, a column per owner."""

    effects: Floats
    variances: Floats

    def pooled(self) -> Floats:
        """Return mu, its standard error, tau and I², by DerSimonian-Laird and Hartung-Knapp."""
        k = self.effects.shape[1]
        w = 1 / self.variances
        total = w.sum(axis=1)
        fixed = (w * self.effects).sum(axis=1) / total
        q = (w * (self.effects - fixed[:, np.newaxis]) ** 2).sum(axis=1)
        tau2 = np.maximum(0, (q - (k - 1)) / (total - (w**2).sum(axis=1) / total))
        i2 = np.where(q > 0, np.maximum(0, (q - (k - 1)) / np.maximum(q, 1e-300)), 0)
        v = 1 / (self.variances + tau2[:, np.newaxis])
        mu = (v * self.effects).sum(axis=1) / v.sum(axis=1)
        spread = (v * (self.effects - mu[:, np.newaxis]) ** 2).sum(axis=1)
        error = np.sqrt(spread / ((k - 1) * v.sum(axis=1)))
        return np.stack([mu, error, np.sqrt(tau2), i2], axis=1)


_DIGITS = (3, 4, 4, 3)  # of mu, its standard error, tau and I²
NEAR = 0.01  # an AUROC that is guessed so closely counts as learnt
_NEAREST = 60  # studies that the attacker made up, whose numbers are nearest


def draw_sites(random: Random, studies: int, sizes: Sequence[int]) -> tuple[Sites, Ints]:
    """Also return how many positives each owner has."""
    effects, variances, positives = [], [], []
    for size in sizes:
        scores, labels = POPULATION.draw(random, studies, size)
        own = numbers_of(scores, labels, ~labels)
        auroc, error = own[Auroc.name], own[STANDARD_ERROR]
        slope = auroc * (1 - auroc)
        effects.append(np.log(auroc / (1 - auroc)))
        variances.append((error / slope) ** 2)
        positives.append(own[POSITIVES])
    return (
        Sites(np.stack(effects, axis=1), np.stack(variances, axis=1)),
        np.stack(positives, axis=1).astype(np.int64),
    )


def play_sites(random: Random, trials: int, *, owners: int, size: int, rehearsals: int) -> dict[str, Played]:
    """The first owner is after the highest AUROC of the others.

    It makes others up, with itself as it is, takes those studies whose numbers are nearest, and draws a
    straight line through them. A guess without a result is what the highest is in general.
    """
    sizes = [size] * owners
    made_up, _ = draw_sites(random, rehearsals, sizes)
    sites, positives = draw_sites(random, trials, sizes)
    enough: Bools = np.all(positives >= POLICIES[PUBLICATION].minimum_positives, axis=1)
    truth, usual = (_auroc(one.effects[:, 1:].max(axis=1)) for one in (sites, made_up))
    base = float((np.abs(usual.mean() - truth) < NEAR).mean())
    found = {}
    for kind in (EXACT, PUBLICATION):
        shown = sites.pooled()
        if kind == PUBLICATION:
            shown = np.stack([rounded(one, digits) for one, digits in zip(shown.T, _DIGITS, strict=True)], 1)
        guesses = np.zeros(trials)
        for trial in range(trials):
            effects, variances = made_up.effects.copy(), made_up.variances.copy()
            effects[:, 0], variances[:, 0] = sites.effects[trial, 0], sites.variances[trial, 0]
            numbers = Sites(effects, variances).pooled() - shown[trial]
            nearest = np.argsort(((numbers / numbers.std(axis=0)) ** 2).sum(axis=1))[:_NEAREST]
            line = np.column_stack([np.ones(_NEAREST), numbers[nearest]])
            guesses[trial] = np.linalg.lstsq(line, usual[nearest], rcond=None)[0][0]
        released = enough if kind == PUBLICATION else np.ones(trials, dtype=bool)
        found[kind] = Played(np.abs(guesses - truth) < NEAR, released, base)
    return found


def _auroc(effects: Floats | Any) -> Floats:
    auroc: Floats = 1 / (1 + np.exp(-effects))
    return auroc


def settings_of_differences(effort: Effort) -> Iterator[Setting]:
    for samples in SIZES:
        trials = effort.of(300, samples // 3)
        draw = partial(draw_two_models, samples=samples)
        for compared, what in (
            (False, "AUROC and SE of two models"),
            (True, "and their difference, with its SE"),
        ):
            one = partial(play_known, draw=draw, metrics=(Auroc.name,), compared=compared)
            yield Setting(DIFFERENCES, f"all but one label known; {what}", samples, one, trials)
        moved = partial(draw_one_moved, samples=samples)
        one = partial(play_moved, draw=moved)
        yield Setting(DIFFERENCES, "models that differ by one person's score; Brier", samples, one, trials)


def settings_of_levels(effort: Effort) -> Iterator[Setting]:
    samples, trials = 600, effort.of(150)
    for size in (12, 25, 40, 200):
        one = partial(
            play_known,
            draw=partial(draw_level, samples=samples, size=size),
            chosen=in_level("ward", "1"),
            kinds=(EXACT, ROUNDED, PUBLICATION, PRIVATE),
            metrics=(Auroc.name, Brier.name),
            compared=False,
        )
        yield Setting(LEVELS, f"a level of {size}, all but one label known", samples, one, trials)
    one = partial(
        play_subtracted,
        draw=partial(draw_level, samples=samples, size=12),
        larger=Slice("a"),
        smaller=Slice("a", "", "ward", "0"),
    )
    yield Setting(LEVELS, "all people less a level, which leaves 12", samples, one, trials)
    one = partial(
        play_subtracted,
        draw=partial(draw_two_variables, samples=samples),
        larger=Slice("a", "", "ward", "1"),
        smaller=Slice("a", "", "clinic", "1"),
    )
    yield Setting(LEVELS, "levels of two variables that differ by one person", samples, one, trials)


def settings_of_sites(effort: Effort) -> Iterator[Setting]:
    size = 200  # of every owner
    for owners in (3, 4, 6, 12):
        one = partial(play_sites, owners=owners, size=size, rehearsals=effort.of(20_000))
        yield Setting(
            SITES,
            f"{owners} owners; the highest AUROC of the others, to 0.01",
            200 * owners,
            one,
            effort.of(300),
        )
