"""Bit planes: lanes of words, sliced and joined like lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.sharing.planes import Planes, concat_planes, pack_lanes, unpack_lanes
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.role import Role


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), max_size=150), min_size=1, max_size=4), st.data())
def test_lanes_are_sliced_and_joined_like_lists(lists: list[list[int]], data: st.DataObject) -> None:
    def planes(bits: list[int]) -> Planes:
        padded = np.zeros(-(-len(bits) // 64) * 64, dtype=np.uint8)
        padded[: len(bits)] = bits
        return Planes(HOLDERS[Role.HELPER], pack_lanes(padded).reshape(1, 1, -1), len(bits))

    joined = concat_planes([planes(bits) for bits in lists])
    whole = [bit for bits in lists for bit in bits]
    assert unpack_lanes(joined.data[0, 0], len(joined)).tolist() == whole
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    part = joined[start:stop]
    assert (
        unpack_lanes(part.data[0, 0], part.data.shape[-1] * 64)[: stop - start].tolist() == whole[start:stop]
    )
    assert not unpack_lanes(part.data[0, 0], part.data.shape[-1] * 64)[stop - start :].any()
