"""What a policy lets out, from its words: exact plain values, floors and rounding, sharing no code with the
package. Values are of the pooled samples; a metric has a list of (name, value) for each of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isqrt

from ppaurora.policy.rules import Policy
from tests.support.oracles import (
    Sample,
    exact_aupr,
    exact_auroc,
    exact_average_precision,
    exact_delong_variance,
)

Owner = Sequence[Sample]
STEP = Fraction(1, 2**32)


def digits_for(policy: Policy, sizes: Sequence[int]) -> int | None:
    """As the policy says it in words."""
    if policy.digits == "exact":
        return None
    if policy.digits != "auto":
        return int(policy.digits)
    others = sum(sizes) - max(sizes)
    return max((d for d in range(1, policy.most_digits + 1) if 4 * 10**d <= others), default=0)


def granted_digits(policy: Policy, owners: Sequence[Owner]) -> int | None:
    """With `auto`, from the second decimal on there are 4·10^d of each class without any one owner."""
    most = digits_for(policy, [len(owner) for owner in owners])
    if policy.digits != "auto" or not most:
        return most
    counts = [[sum(1 for _, y in owner if y == label) for owner in owners] for label in (0, 1)]
    least = min(sum(by_owner) - count for by_owner in counts for count in by_owner)
    return max(d for d in range(1, most + 1) if d == 1 or 4 * 10**d <= least)


def half_away(value: Fraction, digits: int) -> Fraction:
    """Rounded half away from zero."""
    scaled = abs(value) * 10**digits
    whole = int(scaled + Fraction(1, 2))
    return Fraction(whole if value >= 0 else -whole, 10**digits)


def root_half_away(square: Fraction, digits: int) -> Fraction:
    """The square root, rounded: the largest k with (2k - 1)² / (4·100^digits) at most the square."""
    target = 4 * square * 100**digits  # (2k - 1)² <= target
    root = isqrt(target.numerator // target.denominator)
    return Fraction((root + 1) // 2, 10**digits)


def to_multiple_of_five(count: int) -> int:
    return 5 * ((2 * count + 5) // 10)


def passes_floors(policy: Policy, owners: Sequence[Owner]) -> bool:
    """In all and without any one owner."""
    for label, least in ((1, policy.minimum_positives), (0, policy.minimum_negatives)):
        counts = [sum(1 for _, one in owner if one == label) for owner in owners]
        if any(sum(counts) - count < least for count in (0, *counts)):
            return False
    return True


def enough_in_cell(policy: Policy, by_owner: Sequence[int]) -> bool:
    least = policy.minimum_per_cell
    if least == 1:
        return sum(by_owner) >= 1
    return all(sum(by_owner) - count >= least for count in (0, *by_owner))


def in_steps(values: Iterable[float]) -> Fraction:
    """An owner's sum, rounded once."""
    return round(sum(map(Fraction, values), Fraction(0)) / STEP) * STEP


def _proportion(policy: Policy, events: Sequence[int], trials: Sequence[int]) -> Fraction | None:
    return Fraction(sum(events), sum(trials)) if enough_in_cell(policy, trials) else None


def plain_values(
    name: str, owners: Sequence[Owner], policy: Policy, parameters: Sequence[float] = ()
) -> list[Fraction | None]:
    """All numbers of a metric before rounding, in the order of its rows."""
    samples = [sample for owner in owners for sample in owner]
    n = len(samples)
    positives = sum(label for _, label in samples)
    if name in ("auroc", "aupr", "ap"):
        exact = {"auroc": exact_auroc, "aupr": exact_aupr, "ap": exact_average_precision}[name]
        return [exact(samples)]
    if name == "youden_j":
        gaps = [
            Fraction(sum(1 for s, y in samples if y and s >= t), positives)
            - Fraction(sum(1 for s, y in samples if not y and s >= t), n - positives)
            for t in {score for score, _ in samples}
        ]
        return [max(Fraction(0), *gaps)]
    expected = sum((in_steps(score for score, _ in owner) for owner in owners), Fraction(0))
    if name == "brier":
        errors = ([(score - label) ** 2 for score, label in owner] for owner in owners)
        return [sum(map(in_steps, errors), Fraction(0)) / n]
    if name == "observed_expected":
        return [positives / expected if expected * 100 > positives else None]
    if name == "calibration_in_the_large":
        return [(positives - expected) / n]
    if name == "reliability":
        values: list[Fraction | None] = []
        for low, high in pairwise(parameters):
            inside = [
                [(s, y) for s, y in owner if low < s <= high or (s == low == parameters[0])]
                for owner in owners
            ]
            chosen = [sample for some in inside for sample in some]
            if enough_in_cell(policy, [len(some) for some in inside]):
                mean = sum((in_steps(s for s, _ in some) for some in inside), Fraction(0)) / len(chosen)
                values += [mean, Fraction(sum(y for _, y in chosen), len(chosen))]
            else:
                values += [None, None]
        return values
    close = [False, *(not enough_between(policy, owners, pair) for pair in pairwise(parameters))]
    return [
        None if too_close else _at_threshold(name, owners, policy, threshold)
        for threshold, too_close in zip(parameters, close, strict=True)
    ]


def enough_between(policy: Policy, owners: Sequence[Owner], thresholds: tuple[float, float]) -> bool:
    """A row is withheld if too few samples lie between its threshold and the one before."""
    low, high = thresholds
    return policy.minimum_per_cell == 1 or enough_in_cell(
        policy, [sum(1 for s, _ in owner if low <= s < high) for owner in owners]
    )


def _at_threshold(name: str, owners: Sequence[Owner], policy: Policy, threshold: float) -> Fraction | None:
    def count(label: int, *, called: bool) -> list[int]:
        return [sum(1 for s, y in owner if y == label and (s >= threshold) == called) for owner in owners]

    tp, fn = count(1, called=True), count(1, called=False)
    fp, tn = count(0, called=True), count(0, called=False)
    n = sum(map(sum, (tp, fn, fp, tn)))
    pairs = {
        "sensitivity": (sum(tp), sum(tp) + sum(fn)),
        "specificity": (sum(tn), sum(tn) + sum(fp)),
        "accuracy": (sum(tp) + sum(tn), n),
        "f1": (2 * sum(tp), 2 * sum(tp) + sum(fp) + sum(fn)),
    }
    if name in pairs:
        return Fraction(*pairs[name])
    if name == "ppv":
        return _proportion(policy, tp, [a + b for a, b in zip(tp, fp, strict=True)])
    if name == "npv":
        return _proportion(policy, tn, [a + b for a, b in zip(tn, fn, strict=True)])
    assert name == "net_benefit"
    odds = in_steps([threshold / (1 - threshold)])
    return Fraction(sum(tp), n) - Fraction(sum(fp), n) * odds


def delong_root(owners: Sequence[Owner], digits: int) -> Fraction | None:
    variance = exact_delong_variance([sample for owner in owners for sample in owner])
    return None if variance is None else root_half_away(variance, digits)
