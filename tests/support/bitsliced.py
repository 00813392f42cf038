"""Runs of single primitives of `bitsliced`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ppaurora.channel.meter import Cost
from ppaurora.protocols import Fast
from ppaurora.sharing import RingShare
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun
from tests.support.cases import xor_shared

EDGES = [0, 1, 2, 2**31, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
words = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1))


def word_array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def masked(function: Callable[..., Any], *inputs: Any) -> WorldRun:
    """Run on masked inputs; masking costs one message each way per input, which is taken off."""

    def party(suite: BitslicedSuite, *shares: RingShare) -> Any:
        return function(suite, *(suite.mask(share) for share in shares))

    return World(Fast()).run(party, *inputs)


def cost_of(function: Callable[..., Any], *inputs: Any) -> Cost:
    whole, masking = masked(function, *inputs).cost, masked(lambda suite, *shares: None, *inputs).cost
    return Cost(whole.messages - masking.messages, whole.bytes - masking.bytes, whole.rounds - masking.rounds)


def unsorted_planes(algorithm: Callable[..., Any], *lists: list[int], key_bits: int = 64) -> WorldRun:
    """Like `on_planes`, for keys in any order."""
    shared = [
        xor_shared(word_array(keys), np.array([key & 1 for key in keys], dtype=bool), key_bits)
        for keys in lists
    ]

    def party(suite: BitslicedSuite) -> Any:
        role = {"proxy 0": 0, "proxy 1": 1}.get(suite.holder.title)
        shares = [] if role is None else [parts[role] for parts in shared]
        return algorithm(suite, suite.inputs(shares, [len(keys) for keys in lists]))

    return World(Fast(), suite=lambda context: BitslicedSuite(context, key_bits)).run(party)
