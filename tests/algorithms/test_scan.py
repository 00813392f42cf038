"""Ends of tie groups, and the last flagged value before each place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.curve import ends_of_tie_groups
from ppaurora.algorithms.scan import previous_flagged
from ppaurora.sharing import RingShare, stack
from ppaurora.suites.base import Records, Suite
from ppaurora.testing import World
from tests.support.cases import in_the_clear


@settings(max_examples=200, deadline=None)
@given(keys=st.lists(st.integers(0, 3), max_size=40))
def test_ends_of_tie_groups(keys: list[int]) -> None:
    keys = sorted(keys, reverse=True)
    expected = [int(j + 1 == len(keys) or keys[j] != keys[j + 1]) for j in range(len(keys))]

    def algorithm(suite: Suite, lists: Sequence[Records]) -> RingShare:
        return ends_of_tie_groups(suite, lists[0].keys)

    owner = [(key / 4, 0) for key in keys]
    assert in_the_clear(algorithm, [owner]).values.tolist() == expected


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13, 16, 31])
def test_previous_flagged_value(length: int) -> None:
    random = np.random.default_rng(length)
    flags = random.integers(0, 2, length)
    values = random.integers(0, 1000, (2, length))
    expected = np.empty((2, length), dtype=np.uint64)
    last = np.array([7, 9])
    for j in range(length):
        expected[:, j] = last
        if flags[j]:
            last = values[:, j]

    def algorithm(suite: Suite, flag_share: RingShare, value_share: RingShare) -> RingShare:
        initial = stack([suite.constant(7), suite.constant(9)])
        return previous_flagged(suite, flag_share, value_share, initial)

    assert (World().run(algorithm, flags, values).value == expected).all()
