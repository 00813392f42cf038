"""What a release will tell the owners, in words, computed from the terms and the numbers of samples.

Two questions are answered: which numbers of positives remain possible for whoever sees AUROC, and whether
other numbers together give the prevalence. docs/disclosure.md has the attacks behind the words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ppaurora.agreement.terms import Terms
from ppaurora.metrics import Query
from ppaurora.metrics.facts import PublicCounts, SampleClass
from ppaurora.metrics.outputs import Form
from ppaurora.policy.rules import COUNT_STEP, EXACT, HIDDEN, ROUNDED

FLOAT64_STEP = 2.0**-53  # between two results from 0.5 to 1
_TRIALS = 200
_MOST_TRIED = 100_000  # numbers of positives; of more, some that are spread evenly stand for all
_GOLDEN, _SILVER = 5**0.5 / 2 - 0.5, 2**0.5 - 1  # multiples of which are spread evenly


@dataclass(frozen=True)
class Disclosure:
    """What owners will learn, sentence by sentence; warnings are what to think about before agreeing."""

    told: tuple[str, ...]
    warnings: tuple[str, ...]


def disclosure(terms: Terms, sizes: Sequence[int]) -> Disclosure:
    """Return what a release discloses for these numbers of samples, of which some may be guesses."""
    query = terms.query(sizes)
    told = [_precision(query), _counts(query)]
    warnings = []
    if query.policy.decimals is None:
        warnings.append(
            "numbers at full precision: someone who knows much of the data can read individual labels from "
            "them"
        )
    warnings += _between_thresholds(query)
    if terms.policy.counts == HIDDEN:
        warnings += _from_rates(query)
        ways = [_from_pairs(query), _from_others(query)]
        for way in filter(None, ways):
            (warnings if way.follows else told).append(way.sentence(query.samples))
        told += _roughly(query)
    told.append(_one_person(query))
    cells = sum(output.conditional and bool(output.at) for output in query.outputs)
    if cells:
        least = terms.policy.minimum_per_cell
        told.append(
            f"{cells} numbers in tables, each only if at least {least} samples are behind it, in total and "
            "without any one owner; a withheld number discloses that there are fewer, and it may follow from "
            "other numbers"
        )
    if terms.policy.has_floors:
        told.append(
            "if a rule on positives and negatives fails: only that a rule failed, not which one, or for "
            "which class"
        )
    return Disclosure(tuple(told), tuple(warnings))


def smallest_sizes(terms: Terms, owners: int) -> list[int]:
    """Equal numbers of samples of so many owners, as few as the policy lets out."""
    policy = terms.policy
    size = max(policy.minimum_samples_per_owner, -(-policy.minimum_samples // owners))
    return [size] * owners


def _precision(query: Query) -> str:
    if query.policy.decimals is None:
        return f"{', '.join(metric.name for metric in query.metrics)}: at the full precision of a float64"
    alike: dict[int, list[str]] = {}
    for metric in query.metrics:
        values = [output for output in metric.outputs(query) if output.form is not Form.ROOT]
        alike.setdefault(max(query.digits_of(value) or 0 for value in values), []).append(metric.name)
    said = [f"{', '.join(names)}: {_decimals(digits)}" for digits, names in alike.items()]
    if _has_standard_error(query):
        said.append("standard errors with one more than their values")
    return "; ".join(said)


def _decimals(digits: int) -> str:
    if digits == 0:
        return "whole numbers"
    return "with 1 decimal" if digits == 1 else f"with {digits} decimals"


def _has_standard_error(query: Query) -> bool:
    return any(output.form is Form.ROOT for output in query.outputs)


def _counts(query: Query) -> str:
    said = {
        HIDDEN: "the numbers of positives and negatives are not released as such",
        ROUNDED: f"the numbers of positives and negatives, to the nearest {COUNT_STEP}",
        EXACT: "the numbers of positives and negatives",
    }
    return said[query.policy.counts]


def _one_person(query: Query) -> str:
    """Return how far single people are visible in the numbers before these are rounded."""
    public = PublicCounts.of(query)
    bounds = {metric.title: metric.sensitivity_to_one_person(public) for metric in query.metrics}
    bounded = [f"{title} by {bound.each:.2g}" for title, bound in bounds.items() if bound is not None]
    others = [title for title, bound in bounds.items() if bound is None]
    if not bounded:
        return f"there is no useful bound on how far replacing one person changes {', '.join(others)}"
    said = f"replacing one person changes, before rounding, {', '.join(bounded)} at most, and a count by one"
    return f"{said}; there is no useful bound for {', '.join(others)}" if others else said


@dataclass(frozen=True)
class Candidates:
    """Numbers that together narrow down how many positives there are, and how many numbers they leave."""

    names: tuple[str, ...]
    left: float

    @property
    def follows(self) -> bool:
        """But for a number and its mirror image: AUROC does not tell positives from negatives."""
        return self.left < 2.5

    def sentence(self, samples: int) -> str:
        together = " and ".join(self.names)
        if self.follows:
            return (
                f"from {together} alone the numbers of positives and negatives mostly follow: "
                f"{self.left:,.0f} of {samples - 1:,} possible numbers of positives remain"
            )
        return (
            f"from {together} alone, {self.left:,.0f} of {samples - 1:,} possible numbers of positives remain"
        )


def _from_pairs(query: Query) -> Candidates | None:
    """Return the most telling of the numbers that are fractions of all pairs of a positive and a negative."""
    step = FLOAT64_STEP if query.policy.decimals is None else 10.0**-query.policy.decimals
    found = [
        Candidates((metric.title,), numbers_left_by_pairs(query.samples, step, metric.parts_of_a_pair))
        for metric in query.metrics
        if metric.parts_of_a_pair
    ]
    return min(found, key=lambda way: way.left, default=None)


def _between_thresholds(query: Query) -> list[str]:
    """Warn of close thresholds, as no rule of the policy is on the samples between two of them."""
    thresholds = {dict(output.at).get("threshold") for output in query.outputs} - {None}
    if len(thresholds) < 2:
        return []
    return [
        f"numbers at {len(thresholds)} thresholds: two that are close together tell about the few samples "
        "between them; someone who knows one person's score and chose thresholds around it reads the label"
    ]


def _from_rates(query: Query) -> list[str]:
    """Warn of a rare class: a rate k/P has few denominators P that fit its decimals."""
    policy, said = query.policy, []
    for metric in query.metrics:
        counted = metric.rate_of
        if counted is None:
            continue
        least = policy.minimum_positives if counted is SampleClass.POSITIVES else policy.minimum_negatives
        rates = len(metric.outputs(query))
        most = min(largest_class_told(query.samples, query.policy.decimals, rates), query.samples - 1)
        if most > least:
            said.append(
                f"from {metric.name} alone the number of {counted.value} mostly follows if it is below about "
                f"{most:,.0f}"
            )
    return said


def largest_class_told(samples: int, decimals: int | None, rates: int) -> float:
    """Up to how many members a class has no smaller number of them that fits its rates as well.

    Another denominator P fits one rate by chance with probability P·step, and m rates with (P·step)^m. The
    sum of that over all P up to some number, about number^(m + 1)·step^m / (m + 1), is 1 there.
    """
    step: float = FLOAT64_STEP if decimals is None else 10.0**-decimals
    found: float = (rates + 1) ** (1 / (rates + 1)) * step ** (-rates / (rates + 1))
    return min(found, 1 / step, float(samples))


def _roughly(query: Query) -> list[str]:
    """Return what tells the prevalence only as far as the scores' distribution is known."""
    names = [metric.name for metric in query.metrics if metric.hints_at_prevalence]
    names += ["the standard error"] if _has_standard_error(query) else []
    if not names:
        return []
    return [
        f"roughly the prevalence, to someone who knows how scores are distributed, from {', '.join(names)}"
    ]


def numbers_left_by_pairs(samples: int, step: float, parts: int) -> float:
    """Return how many numbers of positives, from 1 to samples - 1, typically fit a fraction of pairs.

    P fits if some whole number A makes A / D, with D = parts·P·(n - P), the released number: by chance with
    probability step·D; and always if D is a multiple of the reduced denominator. AUROC counts half pairs.
    """
    if samples > _MOST_TRIED:
        spread = np.linspace(1, samples - 1, _MOST_TRIED)
        fitting = np.minimum(parts * spread * (samples - spread) * step, 1.0)
        return max(float(fitting.mean()) * (samples - 1), 2.0)
    positives = np.arange(1, samples, dtype=np.int64)
    denominators = parts * positives * (samples - positives)
    by_chance = float(np.minimum(denominators * step, 1.0).sum())
    structural = []
    for trial in range(1, 1 + (_TRIALS if samples <= 10_000 else 10)):
        # Prevalences and areas that are spread evenly, from 0.05 to 0.95 and from 0.5 to 1.
        prevalence = 0.05 + 0.9 * (trial * _GOLDEN % 1)
        denominator = int(denominators[int(prevalence * (samples - 1))])
        numerator = int((0.5 + 0.5 * (trial * _SILVER % 1)) * denominator)
        reduced = denominator // int(np.gcd(numerator, denominator))
        structural.append(int(np.count_nonzero(denominators % reduced == 0)))
    return min(max(float(np.median(structural)), by_chance), samples - 1.0)


def _from_others(query: Query) -> Candidates | None:
    """Return the most telling of the ways to the prevalence that the asked-for numbers open."""
    by_name = {metric.name: metric for metric in query.metrics}
    digits = {
        output.name: query.digits_of(output) for output in query.outputs if output.form is Form.QUOTIENT
    }
    found = []
    for metric in query.metrics:
        for recovery in metric.recoveries:
            needed = (metric.name, *recovery.others)
            if by_name.keys() >= set(needed):
                steps = [FLOAT64_STEP if (d := digits[name]) is None else 10.0**-d for name in needed]
                values = [typical for name in needed if (typical := by_name[name].typical()) is not None]
                spread = _spread(recovery.solve, values, steps)
                found.append(Candidates(needed, max(query.samples * spread, 1.0)))
    return min(found, key=lambda way: way.left, default=None)


def _spread(solve: Callable[..., float], values: Sequence[float], steps: Sequence[float]) -> float:
    """Return how far apart prevalences can be that give the same rounded numbers."""
    corners = itertools.product(*((v - s / 2, v + s / 2) for v, s in zip(values, steps, strict=True)))
    solved = [solve(*corner) for corner in corners]
    return max(solved) - min(solved)
