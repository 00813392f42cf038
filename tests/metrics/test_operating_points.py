"""Partial AUROC and operating points on shares: exact fractions, and what scikit-learn says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import log2
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from ppaurora.algorithms.crossing import areas_up_to, find_crossings
from ppaurora.algorithms.curve import FP, MOST_SAMPLES, ListCurve
from ppaurora.errors import InputError, MisuseError
from ppaurora.metrics.operating_points import (
    PartialArea,
    PartialAuroc,
    below_tpr,
    standardised_partial_auroc,
    up_to_fpr,
)
from ppaurora.sharing import RingShare
from ppaurora.suites.base import Records, Suite
from tests.support.cases import Owner, on_planes
from tests.support.curves import GROUPS, SUITES, curve_of, in_groups, roc_points, run_under, sorted_samples

CLASSES = {name: groups for name, groups in GROUPS.items() if not name.startswith("no ")}
RATES = [Fraction(rate) for rate in ("0.000001", "0.05", "0.1", "0.333333", "0.5", "0.999999")]


def exact_partial(owner: Owner, max_fpr: Fraction) -> Fraction:
    """Trapezoids between the points up to max_fpr, and to the point where the curve has it; standardised."""
    negatives, positives = roc_points(owner)[-1]
    points = [(Fraction(fp, negatives), Fraction(tp, positives)) for fp, tp in roc_points(owner)]
    area = Fraction(0)
    for (x, y), (next_x, next_y) in pairwise(points):
        if x < max_fpr < next_x:
            next_y = y + (max_fpr - x) / (next_x - x) * (next_y - y)
            next_x = max_fpr
        if next_x <= max_fpr:
            area += (next_x - x) * (y + next_y) / 2
    least = max_fpr**2 / 2
    return (1 + (area - least) / (max_fpr - least)) / 2


def exact_sensitivity(owner: Owner, specificity: Fraction) -> Fraction:
    negatives, positives = roc_points(owner)[-1]
    return max(
        Fraction(tp, positives) for fp, tp in roc_points(owner) if Fraction(fp, negatives) <= 1 - specificity
    )


def exact_specificity(owner: Owner, sensitivity: Fraction) -> Fraction:
    negatives, positives = roc_points(owner)[-1]
    return max(
        1 - Fraction(fp, negatives) for fp, tp in roc_points(owner) if Fraction(tp, positives) >= sensitivity
    )


def partial_area(curve: ListCurve, max_fpr: Fraction, class_product: RingShare) -> PartialArea[RingShare]:
    limit = up_to_fpr(curve, max_fpr)
    (crossing,) = find_crossings(curve, [limit])
    (area,) = areas_up_to(curve, [crossing])
    area, tp, overhang, run, rise = PartialAuroc(max_fpr=0.5).secrets(limit, crossing, area)
    return PartialArea(area, tp, overhang, run, rise, class_product)


@dataclass(frozen=True)
class SecretRatio:
    numerator: RingShare
    denominator: RingShare


def sensitivity_at_specificity(curve: ListCurve, specificity: Fraction) -> SecretRatio:
    (crossing,) = find_crossings(curve, [up_to_fpr(curve, 1 - specificity)])
    return SecretRatio(crossing.within.tp, curve.positives)


def specificity_at_sensitivity(curve: ListCurve, sensitivity: Fraction) -> SecretRatio:
    (crossing,) = find_crossings(curve, [below_tpr(curve, sensitivity)])
    negatives = curve.size - curve.positives
    return SecretRatio(negatives - crossing.beyond.fp, negatives)


def in_integers(pairs: Sequence[tuple[int, int]]) -> list[int]:
    return [x * y for x, y in pairs]


def found_under(suite: str, owner: Owner, rate: Fraction) -> list[Fraction]:
    """Partial AUROC up to the rate, sensitivity and specificity at it; fractions are put together here."""

    def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
        curve = curve_of(party, lists[0], [FP])
        pairs = party.mul(curve.positives, curve.size - curve.positives)
        area = partial_area(curve, rate, pairs)
        sensitivity = sensitivity_at_specificity(curve, rate)
        specificity = specificity_at_sensitivity(curve, rate)
        return [
            *(area.area, area.tp, area.overhang, area.run, area.rise, area.class_product),
            *(sensitivity.numerator, sensitivity.denominator),
            *(specificity.numerator, specificity.denominator),
        ]

    scalars = [value for (value,) in run_under(suite, algorithm, owner)]
    partial = standardised_partial_auroc(PartialArea(*scalars[:6]), rate, in_integers)
    assert all(value < 2**63 for value in scalars), "a number is negative"
    return [Fraction(*partial), Fraction(*scalars[6:8]), Fraction(*scalars[8:])]


def check(suite: str, owner: Owner, rate: Fraction) -> None:
    expected = [exact_partial(owner, rate), exact_sensitivity(owner, rate), exact_specificity(owner, rate)]
    assert found_under(suite, owner, rate) == expected


def at_ends(owner: Owner) -> list[Fraction]:
    """Rates that some ends have exactly."""
    negatives, positives = roc_points(owner)[-1]
    rates = {Fraction(fp, negatives) for fp, _ in roc_points(owner)}
    rates |= {Fraction(tp, positives) for _, tp in roc_points(owner)}
    return sorted(rates - {0, 1})


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("groups", CLASSES.values(), ids=CLASSES.keys())
def test_they_are_the_exact_fractions(groups: list[tuple[int, int]], suite: str) -> None:
    owner = in_groups(groups)
    rates = RATES if suite == "cleartext" else RATES[1::2]
    for rate in (*rates, *at_ends(owner)[:: 1 + len(at_ends(owner)) // 3]):
        check(suite, owner, rate)


@settings(max_examples=60, deadline=None)
@given(
    groups=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=20).filter(
        lambda groups: all(map(sum, zip(*groups, strict=True)))
    ),
    parts=st.integers(1, 10**6 - 1),
)
def test_any_groups_and_rates(groups: list[tuple[int, int]], parts: int) -> None:
    owner = in_groups(groups)
    check("cleartext", owner, Fraction(parts, 10**6))
    for rate in at_ends(owner):
        check("cleartext", owner, rate)


def test_no_step_lies_below_the_rate() -> None:
    """The first negative is already beyond it: the curve rises, then goes on straight."""
    owner = in_groups([(3, 0), (1, 4), (2, 1)])
    check("cleartext", owner, Fraction(1, 100))
    assert exact_sensitivity(owner, Fraction(99, 100)) == Fraction(3, 6)


@pytest.mark.parametrize("suite", ["cleartext", "bitsliced"])
@pytest.mark.parametrize(("size", "different"), [(60, 7), (300, 40), (150, 5000)])
def test_they_are_what_scikit_learn_says(size: int, different: int, suite: str) -> None:
    owner = sorted_samples(size, different, size)
    scores, labels = zip(*owner, strict=True)
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    for text in ("0.01", "0.1", "0.37", "0.95"):
        rate = Fraction(text)
        partial, sensitivity, specificity = found_under(suite, owner, rate)
        assert float(partial) == pytest.approx(roc_auc_score(labels, scores, max_fpr=float(text)), rel=1e-12)
        assert float(sensitivity) == pytest.approx(tpr[fpr <= 1 - float(text) + 1e-12].max(), rel=1e-12)
        assert float(specificity) == pytest.approx(1 - fpr[tpr >= float(text) - 1e-12].min(), rel=1e-12)


@pytest.mark.parametrize("suite", SUITES)
def test_with_one_class_only_there_are_numbers_that_mean_nothing(suite: str) -> None:
    """They are not released; but the computation must go on alike."""
    for name in ("no negatives", "no positives"):

        def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
            curve = curve_of(party, lists[0], [FP])
            partial_area(curve, Fraction(1, 10), party.constant(0))
            ratio = sensitivity_at_specificity(curve, Fraction(9, 10))
            other = specificity_at_sensitivity(curve, Fraction(9, 10))
            return [ratio.denominator, other.denominator]

        positives, negatives = run_under(suite, algorithm, in_groups(GROUPS[name]))
        assert (positives == [0], negatives == [0]) == (name == "no positives", name == "no negatives")


def test_the_formula_on_shares() -> None:
    """Of few samples and a rate of few parts, so that it fits into the ring; two rounds."""
    owner, rate = in_groups([(3, 1), (0, 2), (5, 4), (1, 6), (2, 2)]), Fraction(1, 5)
    rounds = []

    def algorithm(party: Any, lists: list[Records]) -> list[RingShare]:
        def multiply(pairs: Sequence[tuple[RingShare, RingShare]]) -> list[RingShare]:
            begun = [party.begin_mul(x, y) for x, y in pairs]
            return [finish() for finish in begun]

        curve = curve_of(party, lists[0], [FP])
        pairs = party.mul(curve.positives, curve.size - curve.positives)
        area = partial_area(curve, rate, pairs)
        before = party._gates.meter.depth
        result = list(standardised_partial_auroc(area, rate, multiply))
        rounds.append(party._gates.meter.depth - before)
        return result

    (numerator,), (denominator,) = on_planes(algorithm, [owner]).value
    assert Fraction(int(numerator), int(denominator)) == exact_partial(owner, rate)
    assert max(rounds) == 2


def test_magnitudes_at_the_most_samples() -> None:
    """What the docstring says, for all P + N = n, up to the next end being the last: D = N, E = P."""
    most = 0
    for positives in (MOST_SAMPLES * k // 1000 for k in range(1, 1000)):
        negatives = MOST_SAMPLES - positives
        pairs = positives * negatives
        assert 2 * pairs <= 2**59
        for k in (1, 10**5 + 1, 500_001, 10**6 - 1):
            rate = Fraction(k, 10**6)
            parts = PartialArea(0, 0, k * negatives, negatives, positives, pairs)
            assert parts.overhang < 2**50
            numerator, denominator = standardised_partial_auroc(parts, rate, in_integers)
            assert 0 < numerator <= denominator
            assert Fraction(numerator, denominator) == Fraction(1, 2), "the diagonal"
            most = max(most, denominator)
    assert 128 < log2(most) < 129


@pytest.mark.parametrize("rate", [Fraction(-1, 10), Fraction(11, 10), Fraction(1, 10**6 + 1)])
def test_rates_out_of_range_are_refused(rate: Fraction) -> None:
    def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
        curve = ListCurve(party, lists[0].labels, None, [FP])
        with pytest.raises(MisuseError, match="a rate is"):
            up_to_fpr(curve, rate)
        with pytest.raises(MisuseError, match="below zero"):
            below_tpr(curve, Fraction(0))
        return []

    assert run_under("cleartext", algorithm, [(0.5, 1)]) == []
    with pytest.raises(MisuseError, match="no area"):
        standardised_partial_auroc(PartialArea(1, 1, 1, 1, 1, 1), Fraction(0), in_integers)


@pytest.mark.parametrize("rate", [math.nan, math.inf, -math.inf, 0, 1, -0.1, 1e-7, 0.1 + 0.2])
def test_a_rate_that_cannot_be_used_is_named(rate: float) -> None:
    with pytest.raises(InputError, match=r"partial_auroc: max_fpr: is above 0, below 1, .* six decimals"):
        PartialAuroc(max_fpr=rate)
