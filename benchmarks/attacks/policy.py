"""The release policies in the clear: what is published of simulated studies, by each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.private.auroc import AurocMechanism
from ppaurora.metrics.private.mechanism import Mechanism
from ppaurora.metrics.private.sums import SumsMechanism
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.rules import COUNT_STEP, HIDDEN, Policy

Random = np.random.Generator
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

EXACT, ROUNDED, PUBLICATION, PRIVATE = "exact", "without floors", "publication", "private"
POLICIES = {
    EXACT: Policy.exact(),
    ROUNDED: Policy.exact(digits=3, counts="rounded"),
    PUBLICATION: Policy.publication(),
    PRIVATE: Policy.private(),
}

STANDARD_ERROR, POSITIVES, NEGATIVES = "se", "positives", "negatives"
ERRORS, SPREAD = "squared errors", "their spread"  # x and x - x², summed up over all samples
_MORE_DIGITS = {STANDARD_ERROR: 1, Brier.name: 1}
_SUPPRESSED = -1.0  # a value that no number has

Numbers = Mapping[str, Floats]


def releases(policy: Policy, positives: Ints, sizes: Sequence[int]) -> Bools:
    """Return whether each study is published. `positives` has a row per study, a column per owner."""
    negatives = np.asarray(sizes) - positives
    return (
        (not policy.problem_with(sizes))
        & (without_any_one(positives) >= policy.minimum_positives)
        & (without_any_one(negatives) >= policy.minimum_negatives)
    )


def without_any_one(counts: Ints) -> Ints:
    """Return how many there are without the owner that has most."""
    rest: Ints = counts.sum(axis=-1) - counts.max(axis=-1)
    return rest


def published(
    policy: Policy, random: Random, numbers: Numbers, names: Sequence[str], released: Bools
) -> Floats:
    """Return what everybody sees, a row per study; where nothing is published, values that no number has."""
    if policy.is_private:
        columns = _with_noise(policy.spent, random, numbers, names)
    elif policy.decimals is None:
        columns = [numbers[name] for name in names]
    else:
        columns = [rounded(numbers[name], policy.decimals + _MORE_DIGITS.get(name, 0)) for name in names]
        if policy.counts != HIDDEN:
            columns.append(to_fives(numbers[POSITIVES]))
    shown: Floats = np.where(released[:, np.newaxis], np.stack(columns, axis=1), _SUPPRESSED)
    return shown


def _with_noise(epsilon: float, random: Random, numbers: Numbers, names: Sequence[str]) -> list[Floats]:
    """Return the integers of all mechanisms, which have equal parts of epsilon; a standard error is free."""
    used: dict[Mechanism, list[Floats]] = {}
    if Auroc.name in names:
        used[AUROC] = auroc_integers(numbers[Auroc.name], numbers[POSITIVES], numbers[NEGATIVES])
    if Brier.name in names:
        used[_BRIER] = [
            np.rint(numbers[name] * one.steps)
            for name, one in zip((ERRORS, SPREAD), _BRIER.coordinates, strict=True)
        ]
    return [
        column + noise(random, rate, column.shape)
        for mechanism, columns in used.items()
        for column, rate in zip(columns, rates(mechanism, epsilon / len(used)), strict=True)
    ]


AUROC = AurocMechanism()
_BRIER = SumsMechanism(in_the_large=False, squared_errors=True)


def rates(mechanism: Mechanism, epsilon: float) -> tuple[float, ...]:
    """Return the rates of a mechanism's noise, for people with one row each."""
    return tuple(map(float, mechanism.rates(Fraction(epsilon), 1)))


def auroc_integers(auroc: Floats, positives: Floats, negatives: Floats) -> list[Floats]:
    """Return 2·t - m and m, where t is AUROC·M in steps and m is M, the size of the smaller class."""
    steps = AUROC.coordinates[0].steps
    smaller = np.minimum(positives, negatives)
    t, m = np.rint(auroc * smaller * steps), smaller * steps
    return [2 * t - m, m]


def noise(random: Random, rate: float, shape: int | tuple[int, ...]) -> Ints:
    """Draw discrete Laplace noise: k with probability proportional to exp(-rate·|k|)."""
    beyond = -np.expm1(-rate)
    drawn: Ints = random.geometric(beyond, shape) - random.geometric(beyond, shape)
    return drawn


def rounded(values: Floats, digits: int) -> Floats:
    """Half away from zero; a product that float64 puts just below a half is one."""
    steps = 10.0**digits
    nearest: Floats = np.sign(values) * np.floor(np.abs(values) * steps + 0.5 + 1e-9) / steps
    return nearest


def to_fives(counts: Floats | Ints) -> Floats:
    nearest: Floats = np.rint(np.asarray(counts) / COUNT_STEP) * COUNT_STEP
    return nearest
