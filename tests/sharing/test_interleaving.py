"""Lanes dealt out and put together again, against lists of bits."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from ppaurora.sharing.interleaving import deal_lanes, interleave_lanes
from ppaurora.sharing.planes import Planes, keep_lanes, unpack_lanes, word_count
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.role import Role


@given(count=st.integers(0, 1500), ways=st.sampled_from([1, 2, 4, 8, 64]), seed=st.integers(0, 2**32))
@example(count=64, ways=2, seed=0)
@example(count=65, ways=64, seed=0)
def test_every_nth_lane_and_back(count: int, ways: int, seed: int) -> None:
    words = np.random.default_rng(seed).integers(0, 1 << 64, (2, 3, word_count(count)), dtype=np.uint64)
    planes = Planes(HOLDERS[Role.PROXY_0], keep_lanes(words, count), count)
    bits = unpack_lanes(planes.data, count)
    dealt = deal_lanes(planes, ways)
    for number, part in enumerate(dealt):
        assert part.data.shape[-1] == word_count(len(part))
        expected = bits[..., number::ways]
        assert len(part) == expected.shape[-1]
        assert (unpack_lanes(part.data, part.data.shape[-1] * 64)[..., len(part) :] == 0).all()
        assert (unpack_lanes(part.data, len(part)) == expected).all()
    again = interleave_lanes(dealt)
    assert len(again) == count
    assert (again.data == planes.data).all()
