"""The curve: its rows at every position and at ends of tie groups, and the areas below it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms import curve as curve_module
from ppaurora.algorithms.curve import FP, PRECISION, TP, ListCurve, precision_bits
from ppaurora.sharing import RingShare
from ppaurora.suites.base import Records, Suite
from tests.support.cases import Owner
from tests.support.curves import SUITES, run_under, sorted_samples


def ends_of(keys: Sequence[float]) -> list[int]:
    return [int(j + 1 == len(keys) or keys[j] != keys[j + 1]) for j in range(len(keys))]


@settings(max_examples=200, deadline=None)
@given(keys=st.lists(st.integers(0, 3), max_size=40))
def test_ends_of_tie_groups(keys: list[int]) -> None:
    keys = sorted(keys, reverse=True)

    def algorithm(suite: Suite, lists: list[Records]) -> list[RingShare]:
        return [suite.to_ring(suite.ends_of_groups(lists[0].keys))]

    owner = [(key / 4, 0) for key in keys]
    assert run_under("cleartext", algorithm, owner) == [ends_of(keys)]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("size", [0, 1, 2, 70])
def test_ends_of_tie_groups_by_three_parties(size: int, suite: str) -> None:
    keys = sorted(np.random.default_rng(size).integers(0, 9, size).tolist(), reverse=True)

    def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
        return [party.to_ring(party.ends_of_groups(lists[0].keys))]

    assert run_under(suite, algorithm, [(key / 8, 0) for key in keys]) == [ends_of(keys)]


def points(owner: Owner, *, at_ends: bool) -> tuple[list[int], list[int], list[Fraction]]:
    """TP, FP and precision at positions 0..n, by counting; with ties, as they were at the last end."""
    tp, fp, precision = [0], [0], [Fraction(1)]
    scores = [score for score, _ in owner]
    last = 0
    for j in range(1, len(owner) + 1):
        if not at_ends or j == len(owner) or scores[j - 1] != scores[j]:
            last = j
        found = sum(label for _, label in owner[:last])
        tp.append(found)
        fp.append(last - found)
        precision.append(Fraction(found, last) if last else Fraction(1))
    return tp, fp, precision


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("block", [1, 3, 64, 1 << 16])
@pytest.mark.parametrize(("size", "different"), [(1, 1), (2, 1), (9, 3), (70, 12), (70, 1), (66, 5000)])
def test_rows_and_areas(
    size: int, different: int, block: int, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if suite == "cecilia" and size > 9:
        block = 1 << 16  # a message for every block; the blocks are the same under all suites
    monkeypatch.setattr(curve_module, "_BLOCK", block)
    owner = sorted_samples(size, different, size + different)

    def algorithm(party: Suite, lists: list[Records]) -> list[RingShare]:
        (records,) = lists
        curve = ListCurve(party, records.labels, party.ends_of_groups(records.keys), [FP, PRECISION])
        everywhere = [curve[row].copy() for row in (TP, FP, PRECISION)]
        rectangles = curve.rectangles(FP, TP)()
        curve.keep_ends()
        at_ends = [curve[row] for row in (TP, FP, PRECISION)]
        areas = [curve.trapezoids(FP, TP), curve.trapezoids(TP, PRECISION), curve.rectangles(TP, PRECISION)]
        return [*everywhere, rectangles, *at_ends, *(area() for area in areas), curve.positives]

    found = run_under(suite, algorithm, owner)
    bits = precision_bits(size)
    exact_rows = (points(owner, at_ends=False), points(owner, at_ends=True))
    for rows, (tp, fp, precision) in zip((found[:3], found[4:7]), exact_rows, strict=True):
        assert rows[:2] == [tp, fp]
        assert all(abs(value - p * 2**bits) <= 1 for value, p in zip(rows[2], precision, strict=True))
        assert max(rows[2]) <= 2**bits
    tp, fp, _ = exact_rows[0]
    assert found[3] == [sum((fp[j] - fp[j - 1]) * tp[j] for j in range(1, size + 1))]
    (tp, fp, _), precision = exact_rows[1], found[6]
    steps = range(1, size + 1)
    assert found[7] == [sum((fp[j] - fp[j - 1]) * (tp[j] + tp[j - 1]) for j in steps)]
    assert found[8] == [sum((tp[j] - tp[j - 1]) * (precision[j] + precision[j - 1]) for j in steps)]
    assert found[9] == [sum((tp[j] - tp[j - 1]) * precision[j] for j in steps)]
    assert found[10] == [sum(label for _, label in owner)]


def test_a_quantity_is_computed_once_and_in_the_order_in_which_it_is_needed() -> None:
    def algorithm(suite: Suite, lists: list[Records]) -> list[RingShare]:
        curve = ListCurve(suite, lists[0].labels, None, [FP, FP, TP, FP])
        assert curve._rows.shape == (2, 4)
        return [curve[TP], curve[FP]]

    assert run_under("cleartext", algorithm, [(0.9, 1), (0.5, 0), (0.1, 1)]) == [[0, 1, 1, 2], [0, 0, 1, 1]]
