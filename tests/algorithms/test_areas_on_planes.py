"""The algorithms of `fast`, under `bitsliced`, against exact oracles."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms import curve
from ppaurora.algorithms.order import count_ascents
from ppaurora.suites.bitsliced import trees
from tests.support.bitsliced import unsorted_planes
from tests.support.cases import Owner, fast, on_planes, owners
from tests.support.oracles import defined, exact_aupr, exact_auroc, exact_average_precision


def check(lists: list[Owner]) -> None:
    """AUROC to the last bit, the others within 1e-9."""
    result = on_planes(fast, lists).value
    samples = [sample for owner in lists for sample in owner]
    exact = exact_auroc(samples)
    released, flags = result[:, :4], result[:, 4:]
    assert flags.tolist() == [[1] * len(lists), [0] * len(lists)]
    if exact is None:
        assert not released.any()
        return
    assert released[:, 0].tolist() == [1, 0]
    auroc, aupr, ap = (math.ldexp(int(m), -int(e)) for m, e in released[:, 1:].T)
    assert auroc == float(exact)
    assert abs(aupr - defined(exact_aupr(samples))) < 1e-9
    assert abs(ap - defined(exact_average_precision(samples))) < 1e-9


@settings(max_examples=25, deadline=None)
@given(lists=owners(min_owners=1))
def test_areas_by_three_parties_equal_the_exact_fractions(lists: list[Owner]) -> None:
    check(lists)


@settings(max_examples=8, deadline=None)
@given(lists=owners(min_owners=2, max_size=200), words=st.integers(1, 3), window=st.integers(1, 5))
def test_areas_in_many_chunks_equal_the_exact_fractions(lists: list[Owner], words: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "CHUNK_WORDS", words)
        patch.setattr(trees, "CHUNK_NUMBERS", 64 * words)
        patch.setattr(trees, "WINDOW", window)
        patch.setattr(curve, "_BLOCK", 50 * words)
        check(lists)


def test_an_unsorted_list_is_noticed_wherever_it_is() -> None:
    good = sorted(range(100), reverse=True)
    for place in (0, 62, 63, 64, 98):
        bad = good.copy()
        bad[place], bad[place + 1] = bad[place + 1], bad[place]
        run = unsorted_planes(count_ascents, good, bad, [5], good[:2], key_bits=32)
        assert run.value.tolist() == [0, 1, 0, 0]


def test_an_unsorted_list_leaves_nothing_but_its_flag() -> None:
    good, bad = [9, 8, 8, 3, 1], [7, 4, 5, 2, 0]
    result = unsorted_planes(fast, good, bad, key_bits=32).value
    assert not result[:, :4].any()
    assert result[:, 4:].tolist() == [[1, 0], [0, 0]]
    # Positive control: in order, there is a result.
    assert unsorted_planes(fast, good, sorted(bad, reverse=True), key_bits=32).value[:, :4].all(axis=0).any()
