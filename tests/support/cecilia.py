"""Runs of single primitives of `cecilia`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ppaurora.sharing import BitShare, RingShare
from ppaurora.suites.arrays import ArrayRecords as Records
from ppaurora.suites.base import Suite
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun

EDGES = [0, 1, 2, 3, 2**62, 2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
words = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1))


def word_array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def run(function: Callable[..., Any], *inputs: Any) -> WorldRun:
    return World().run(function, *inputs)


def exchanged(suite: Suite, k1: RingShare, l1: BitShare, k2: RingShare, l2: BitShare) -> list[Any]:
    high, low = suite.exchange(Records(k1, l1), Records(k2, l2))
    return [high.keys, high.labels, low.keys, low.labels]
