"""Sums of squared placements against their definition, in one word and in two limbs, and their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms import placements
from ppaurora.algorithms.curve import FP, MOST_SAMPLES, TP, ListCurve
from ppaurora.algorithms.placements import (
    HIGH_FP,
    HIGH_TP,
    LOW_BITS,
    MOST_IN_ONE_WORD,
    Limbs,
    begin_placement_sums,
    needs,
)
from ppaurora.sharing import RingShare
from ppaurora.suites.base import Records, Suite
from ppaurora.suites.cleartext import CleartextSuite
from tests.support.cases import Owner, in_the_clear
from tests.support.curves import GROUPS, SUITES, clear_curve, curve_of, in_groups, run_under

WORD = 2**64


def by_definition(owner: Owner) -> tuple[int, int]:
    """For every negative the positives before it, for every positive the negatives, ties half; doubled."""
    sums = []
    for placed in (0, 1):
        others = [score for score, label in owner if label != placed]
        doubled = [
            sum(2 if other > score else int(other == score) for other in others)
            for score, label in owner
            if label == placed
        ]
        sums.append(sum(twice * twice for twice in doubled))
    return sums[0], sums[1]


def total(limbs: Limbs) -> int:
    """In the clear."""
    return sum(int(number.values[0]) * weight for number, weight in limbs)


def clear_sums(curve: ListCurve) -> tuple[int, int]:
    sums = begin_placement_sums(curve)()
    return total(sums.of_negatives), total(sums.of_positives)


def check(suite: str, owner: Owner, limbs: int) -> None:
    weights: list[int] = []

    def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
        sums = begin_placement_sums(curve_of(party, lists[0], needs(len(owner))))()
        both = (*sums.of_negatives, *sums.of_positives)
        weights[:] = [weight for _, weight in both]
        return [number for number, _ in both]

    numbers = [number for (number,) in run_under(suite, algorithm, owner)]
    assert len(numbers) == 2 * limbs
    products = [number * weight for number, weight in zip(numbers, weights, strict=True)]
    assert (sum(products[:limbs]), sum(products[limbs:])) == by_definition(owner)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_in_one_word(groups: list[tuple[int, int]], suite: str) -> None:
    check(suite, in_groups(groups), limbs=1)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("low_bits", [3, 5])
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_in_two_limbs(
    groups: list[tuple[int, int]], low_bits: int, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placements, "MOST_IN_ONE_WORD", 0)
    monkeypatch.setattr(placements, "LOW_BITS", low_bits)
    check(suite, in_groups(groups), limbs=3)


@settings(max_examples=60, deadline=None)
@given(
    groups=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12).filter(
        lambda groups: any(map(sum, groups))
    ),
    low_bits=st.integers(1, 9),
)
def test_any_groups_in_two_limbs(groups: list[tuple[int, int]], low_bits: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placements, "MOST_IN_ONE_WORD", 0)
        patch.setattr(placements, "LOW_BITS", low_bits)
        check("cleartext", in_groups(groups), limbs=3)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_what_is_left_for_the_low_limb(
    groups: list[tuple[int, int]], suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every position, ends or not: TP - 2^bits·high is from 0 to 2·(2^bits - 1), and so is FP."""
    monkeypatch.setattr(placements, "LOW_BITS", 4)

    def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
        curve = ListCurve(party, lists[0].labels, None, [HIGH_FP, HIGH_TP, FP])
        rows = [curve[TP] - curve[HIGH_TP] * 16, curve[FP] - curve[HIGH_FP] * 16]
        return [*rows, curve[HIGH_TP], curve[TP].copy()]

    low_tp, low_fp, high, tp = run_under(suite, algorithm, in_groups(groups))
    assert min(low_tp + low_fp) >= 0
    assert max(low_tp + low_fp) <= 2 * (2**4 - 1)
    assert high == [tp[position // 16 * 16] // 16 for position in range(len(tp))]


def test_all_sums_are_begun_before_the_first_is_finished_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So they share a round, and gates are finished in the order in which they were begun."""
    monkeypatch.setattr(placements, "MOST_IN_ONE_WORD", 0)
    happened: list[str] = []

    class Recording(CleartextSuite):
        def begin_dot_squares(self, pairs: Any) -> Callable[[], RingShare]:
            number = len(happened)
            happened.append("begun")
            finish = super().begin_dot_squares(pairs)

            def finished() -> RingShare:
                happened.append(f"finished {number}")
                return finish()

            return finished

    def algorithm(_: Suite, lists: list[Records]) -> None:
        begin_placement_sums(curve_of(Recording(), lists[0], needs(3)))()

    in_the_clear(algorithm, [[(0.9, 1), (0.5, 0), (0.1, 1)]])
    assert happened == ["begun"] * 6 + [f"finished {number}" for number in range(6)]


def test_which_rows_are_needed() -> None:
    assert needs(1) == needs(MOST_IN_ONE_WORD) == (TP, FP)
    assert needs(MOST_IN_ONE_WORD + 1) == needs(MOST_SAMPLES) == (TP, FP, HIGH_TP, HIGH_FP)


def extreme(size: int, first: bool) -> tuple[np.ndarray, int, int]:
    """All of one class before all of the other, in the proportion that makes sums of squares largest."""
    many, few = 2 * size // 3, size - 2 * size // 3
    labels = np.full(size, not first)
    labels[:many] = first
    return labels, many, few


@pytest.mark.parametrize("size", [MOST_IN_ONE_WORD, 3_500_000])
def test_sums_that_reach_their_bound(size: int) -> None:
    """In one word up to its limit, beyond it in limbs of 15 bits."""
    ends = np.ones(size, dtype=bool)
    for first in (True, False):
        labels, many, few = extreme(size, first)
        largest = 4 * many * many * few
        assert 0.999999 < largest / (16 * size**3 / 27) <= 1
        of_negatives, of_positives = clear_sums(clear_curve(labels, ends, needs(size)))
        assert (of_negatives, of_positives) == ((largest, 0) if first else (0, largest))


def test_a_giant_group_across_blocks() -> None:
    size = 3_200_001
    labels, ends = np.arange(size) % 3 == 0, np.zeros(size, dtype=bool)
    ends[[9, -1]] = True
    positives, negatives = int(labels[10:].sum()), int((~labels[10:]).sum())
    before = (int(labels[:10].sum()), int((~labels[:10]).sum()))
    expected = (
        before[1] * before[0] ** 2 + negatives * (2 * before[0] + positives) ** 2,
        before[0] * before[1] ** 2 + positives * (2 * before[1] + negatives) ** 2,
    )
    assert clear_sums(clear_curve(labels, ends, needs(size))) == expected


def test_one_word_is_too_small_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control."""
    size = MOST_IN_ONE_WORD + 1
    assert 16 * MOST_IN_ONE_WORD**3 < 27 * WORD <= 16 * size**3
    labels, many, few = extreme(size, first=True)
    monkeypatch.setattr(placements, "MOST_IN_ONE_WORD", size)
    of_negatives, _ = clear_sums(clear_curve(labels, np.ones(size, dtype=bool), needs(size)))
    assert of_negatives != 4 * many * many * few


def check_limbs_fit(size: int) -> None:
    """For so many samples, whatever the data: P positives before N negatives, and low limbs at their most."""
    low = 2 * 2 * (2**LOW_BITS - 1)
    for positives in sorted({size * k // 1000 for k in range(1001)} | {0, 1, size - 1, size}):
        negatives = size - positives
        high = 2 * (positives >> LOW_BITS)
        assert negatives * high**2 < WORD
        assert negatives * low**2 < WORD
        assert 2 * negatives * high * low < WORD


@pytest.mark.parametrize("size", [1, MOST_IN_ONE_WORD + 1, 10**8, 2**29 + 1, MOST_SAMPLES])
def test_limbs_fit_at_every_size(size: int) -> None:
    check_limbs_fit(size)


def test_beyond_the_most_samples_limbs_do_not_fit() -> None:
    """The positive control."""
    with pytest.raises(AssertionError):
        check_limbs_fit(2 * MOST_SAMPLES)
