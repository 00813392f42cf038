"""What a policy lets out, from its words: exact plain values, floors and rounding, sharing no code with the
package. Values are of the pooled samples; a metric has a list of its numbers, row by row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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

AT_THRESHOLDS = ("sensitivity", "specificity", "ppv", "npv", "f1", "accuracy", "net_benefit")
TABLES = (*AT_THRESHOLDS, "reliability")
AT_RATES = ("partial_auroc", "sensitivity_at_specificity", "specificity_at_sensitivity")
# What says so much of a class, or of few samples, that more decimals would tell how many there are.
FRACTIONS_OF_FEW = (*AT_THRESHOLDS[:5], "reliability", *AT_RATES[1:])
OF_A_SMALL_SCALE = ("brier", "net_benefit", "calibration_in_the_large")


def decimals_of(policy: Policy, name: str) -> int | None:
    """One more where the scale is small; at most two of a fraction of few samples where counts are hidden."""
    if policy.digits == "exact":
        return None
    decimals = policy.digits + (name in OF_A_SMALL_SCALE)
    return min(decimals, 2 if name in FRACTIONS_OF_FEW and policy.counts == "hidden" else 6)


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


def in_steps(values: Iterable[float]) -> Fraction:
    """An owner's sum, rounded once."""
    return round(sum(map(Fraction, values), Fraction(0)) / STEP) * STEP


def each_in_steps(values: Iterable[float]) -> Fraction:
    """A sum that is taken from a table of counts: what every sample counts is rounded."""
    return sum((in_steps([value]) for value in values), Fraction(0))


InSteps = Callable[[Iterable[float]], Fraction]


# Rules on secrets: so many in all, and without any one owner.


def remain(by_owner: Sequence[int | Fraction], least: int) -> bool:
    return all(sum(by_owner) - own >= least for own in (0, *by_owner))


def passes_floors(policy: Policy, owners: Sequence[Owner]) -> bool:
    positives = [sum(1 for _, y in owner if y == 1) for owner in owners]
    negatives = [sum(1 for _, y in owner if y == 0) for owner in owners]
    return remain(positives, policy.minimum_positives) and remain(negatives, policy.minimum_negatives)


def _enough_where(policy: Policy, owners: Sequence[Owner], inside: Callable[[float], bool]) -> bool:
    """A minimum of one is no rule."""
    if policy.minimum_per_cell == 1:
        return True
    return remain([sum(1 for s, _ in owner if inside(s)) for owner in owners], policy.minimum_per_cell)


def _enough_or_none_where(policy: Policy, owners: Sequence[Owner], inside: Callable[[float], bool]) -> bool:
    counts = [sum(1 for s, _ in owner if inside(s)) for owner in owners]
    least = policy.minimum_per_cell
    return least == 1 or all(sum(counts) - own == 0 or sum(counts) - own >= least for own in counts)


def may_be_told_beside(policy: Policy, owners: Sequence[Owner], t: float, edges: Sequence[float]) -> bool:
    """Between a threshold and the edges of the bin that it is in there are enough, or none; on an edge, with
    this very score. Bins are open below."""
    if t in edges:
        return _enough_or_none_where(policy, owners, lambda score: score == t)
    below, above = (
        max((e for e in edges if e < t), default=None),
        min((e for e in edges if e > t), default=None),
    )
    return (below is None or _enough_or_none_where(policy, owners, lambda score: below < score < t)) and (
        above is None or _enough_or_none_where(policy, owners, lambda score: t <= score <= above)
    )


def may_be_told_at(
    policy: Policy, owners: Sequence[Owner], threshold: float, thresholds: Sequence[float]
) -> bool:
    """Enough are called positive and enough negative, and enough otherwise than at the threshold before."""
    before = max((one for one in thresholds if one < threshold), default=None)
    return (
        _enough_where(policy, owners, lambda score: score >= threshold)
        and _enough_where(policy, owners, lambda score: score < threshold)
        and (before is None or _enough_where(policy, owners, lambda score: before <= score < threshold))
    )


def may_be_told_of_tails(policy: Policy, owners: Sequence[Owner], name: str, rate: float) -> bool:
    """Of the tail that the number looks at, and of the rest, which is AUROC less it or beyond its point."""
    if policy.minimum_per_cell == 1:
        return True
    label = 1 if name == "specificity_at_sensitivity" else 0
    fraction = Fraction(str(rate))
    counts = [sum(1 for _, y in owner if y == label) for owner in owners]
    return all(
        remain([tail * count for count in counts], policy.minimum_per_cell)
        for tail in (fraction, 1 - fraction)
    )


# What is released, before it is rounded


def released(
    owners: Sequence[Owner],
    policy: Policy,
    asked: Mapping[str, Sequence[float]],
    summed: InSteps = in_steps,
) -> dict[str, list[Fraction | None]]:
    """All numbers of all metrics, each of which has its thresholds, edges of bins or rate."""
    thresholds = sorted({one for name, given in asked.items() if name in AT_THRESHOLDS for one in given})
    edges = asked.get("reliability", ())[1:-1]  # below the first bin and above the last there is nobody
    told = {
        one
        for one in thresholds
        if may_be_told_at(policy, owners, one, thresholds) and may_be_told_beside(policy, owners, one, edges)
    }
    found = {name: _numbers(name, owners, policy, given, told, summed) for name, given in asked.items()}
    if policy.whole_tables and policy.minimum_per_cell > 1:
        tables = [name for name in found if name in TABLES]
        if any(None in found[name] for name in tables):
            found |= {name: [None] * len(found[name]) for name in tables}
    return found


def _numbers(
    name: str,
    owners: Sequence[Owner],
    policy: Policy,
    parameters: Sequence[float],
    told: Collection[float],
    summed: InSteps,
) -> list[Fraction | None]:
    if name in AT_THRESHOLDS:
        return [_at_threshold(name, owners, one) if one in told else None for one in parameters]
    if name == "reliability":
        return _in_bins(owners, policy, parameters, summed)
    if name in AT_RATES:
        (rate,) = parameters
        is_told = may_be_told_of_tails(policy, owners, name, rate)
        return [_at_rate(name, owners, Fraction(str(rate))) if is_told else None]
    return [_of_all(name, owners, policy, summed)]


def _of_all(name: str, owners: Sequence[Owner], policy: Policy, summed: InSteps) -> Fraction | None:
    samples = [sample for owner in owners for sample in owner]
    n = len(samples)
    positives = sum(label for _, label in samples)
    if name in ("auroc", "aupr", "ap"):
        exact = {"auroc": exact_auroc, "aupr": exact_aupr, "ap": exact_average_precision}[name]
        return exact(samples)
    if name == "youden_j":
        return max(recall - false_positive_rate for false_positive_rate, recall in roc_points(samples))
    if name == "brier":
        errors = ([(score - label) ** 2 for score, label in owner] for owner in owners)
        return sum(map(summed, errors), Fraction(0)) / n
    by_owner = [summed(score for score, _ in owner) for owner in owners]
    expected = sum(by_owner, Fraction(0))
    if name == "calibration_in_the_large":
        return (positives - expected) / n
    assert name == "observed_expected"
    enough = policy.minimum_per_cell == 1 or remain(by_owner, policy.minimum_per_cell)
    return positives / expected if enough and expected * 100 > positives else None


def _in_bins(
    owners: Sequence[Owner], policy: Policy, edges: Sequence[float], summed: InSteps
) -> list[Fraction | None]:
    values: list[Fraction | None] = []
    for low, high in pairwise(edges):
        inside = [[(s, y) for s, y in owner if low < s <= high or (s == low == edges[0])] for owner in owners]
        chosen = [sample for some in inside for sample in some]
        counts = [len(some) for some in inside]
        if chosen and (policy.minimum_per_cell == 1 or remain(counts, policy.minimum_per_cell)):
            mean = sum((summed(s for s, _ in some) for some in inside), Fraction(0)) / len(chosen)
            values += [mean, Fraction(sum(y for _, y in chosen), len(chosen))]
        else:
            values += [None, None]
    return values


def _at_threshold(name: str, owners: Sequence[Owner], threshold: float) -> Fraction | None:
    samples = [sample for owner in owners for sample in owner]

    def count(label: int, *, called: bool) -> int:
        return sum(1 for s, y in samples if y == label and (s >= threshold) == called)

    tp, fn = count(1, called=True), count(1, called=False)
    fp, tn = count(0, called=True), count(0, called=False)
    if name == "net_benefit":
        odds = in_steps([threshold / (1 - threshold)])
        return (tp - fp * odds) / len(samples)
    numerator, denominator = {
        "sensitivity": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "ppv": (tp, tp + fp),
        "npv": (tn, tn + fn),
        "accuracy": (tp + tn, len(samples)),
        "f1": (2 * tp, 2 * tp + fp + fn),
    }[name]
    return Fraction(numerator, denominator) if denominator else None


def roc_points(samples: Sequence[Sample]) -> list[tuple[Fraction, Fraction]]:
    """False positive rates and recalls of all thresholds, from none called positive to all."""
    positives = sum(label for _, label in samples)
    negatives = len(samples) - positives
    points = [(Fraction(0), Fraction(0))]
    for threshold in sorted({score for score, _ in samples}, reverse=True):
        called = [label for score, label in samples if score >= threshold]
        points.append((Fraction(called.count(0), negatives), Fraction(called.count(1), positives)))
    return points


def _at_rate(name: str, owners: Sequence[Owner], rate: Fraction) -> Fraction:
    points = roc_points([sample for owner in owners for sample in owner])
    if name == "sensitivity_at_specificity":
        return max(recall for false_positive_rate, recall in points if false_positive_rate <= 1 - rate)
    if name == "specificity_at_sensitivity":
        return max(1 - false_positive_rate for false_positive_rate, recall in points if recall >= rate)
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 < rate and x1 > x0:
            end = min(x1, rate)
            area += (end - x0) * (2 * y0 + (y1 - y0) * (end - x0) / (x1 - x0)) / 2
    least = rate**2 / 2
    return (1 + (area - least) / (rate - least)) / 2


def delong_root(owners: Sequence[Owner], digits: int) -> Fraction | None:
    variance = exact_delong_variance([sample for owner in owners for sample in owner])
    return None if variance is None else root_half_away(variance, digits)
