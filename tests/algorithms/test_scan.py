"""The last flagged value up to every position, under every suite, against the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.algorithms.scan import last_flagged
from ppaurora.protocols import Fast
from ppaurora.sharing import BitShare, RingShare, stack
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import BitslicedSuite, trees
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.suites.role import Role
from ppaurora.testing import World
from tests.support.bitsliced import word_array
from tests.support.cases import xor_shared

Values = NDArray[np.uint64]
Scan = Callable[[list[int], Values], Values]


def by_definition(flags: list[int], values: Values) -> Values:
    """A first flag is set at position 0; `flags` are those from position 1 on."""
    expected = values.copy()
    for position, flag in enumerate(flags, start=1):
        if not flag:
            expected[:, position] = expected[:, position - 1]
    return expected


def rows_of(suite: Suite, values: Values) -> RingShare:
    """To be written to."""
    return stack([suite.constant(row, values.shape[1]) for row in values])


def in_the_clear(flags: list[int], values: Values) -> Values:
    suite = CleartextSuite()
    rows = rows_of(suite, values)
    share = BitShare(CLEARTEXT, np.array(flags, dtype=np.uint8))
    last_flagged(suite, suite.flags_from_start(share), rows)
    return rows.values


def on_arrays(flags: list[int], values: Values) -> Values:
    def algorithm(suite: Suite, share: BitShare) -> RingShare:
        rows = rows_of(suite, values)
        last_flagged(suite, suite.flags_from_start(share), rows)
        return rows

    return World().run(algorithm, np.array(flags, dtype=bool)).value


def on_planes(flags: list[int], values: Values) -> Values:
    shared = xor_shared(word_array(flags), np.array(flags, dtype=bool), 1)

    def algorithm(suite: BitslicedSuite) -> Any:
        proxies = {HOLDERS[Role.PROXY_0]: 0, HOLDERS[Role.PROXY_1]: 1}
        shares = [shared[proxies[suite.holder]]] if suite.holder in proxies else []
        (records,) = suite.inputs(shares, [len(flags)])
        rows = rows_of(suite, values)
        last_flagged(suite, suite.flags_from_start(records.labels), rows)
        return rows

    return World(Fast(), suite=lambda context: BitslicedSuite(context, 1)).run(algorithm).value


SUITES: dict[str, Scan] = {"cleartext": in_the_clear, "cecilia": on_arrays, "bitsliced": on_planes}


def some_flags(length: int, seed: int) -> list[list[int]]:
    """None, all, one at every third, and random ones."""
    random = np.random.default_rng(seed)
    return [
        [0] * length,
        [1] * length,
        [int(position % 3 == 0) for position in range(length)],
        random.integers(0, 2, length).tolist(),
        (random.random(length) < 0.05).astype(int).tolist(),
    ]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 100])
def test_the_last_flagged_value(length: int, suite: str) -> None:
    random = np.random.default_rng(length)
    values = random.integers(0, 1 << 64, (2, length + 1), dtype=np.uint64)
    for flags in some_flags(length, length):
        assert (SUITES[suite](flags, values) == by_definition(flags, values)).all()


@pytest.mark.parametrize("length", range(140))
def test_every_length_in_the_clear(length: int) -> None:
    values = np.arange(1, length + 2, dtype=np.uint64)[np.newaxis]
    for flags in some_flags(length, 1000 + length):
        assert (in_the_clear(flags, values) == by_definition(flags, values)).all()


@pytest.mark.parametrize(("numbers", "window"), [(64, 1), (128, 3), (192, 2)])
def test_chunks_do_not_matter(numbers: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "CHUNK_NUMBERS", numbers)
    monkeypatch.setattr(trees, "WINDOW", window)
    random = np.random.default_rng(numbers)
    values = random.integers(0, 1 << 64, (3, 1001), dtype=np.uint64)
    for flags in some_flags(1000, numbers):
        assert (on_planes(flags, values) == by_definition(flags, values)).all()


@settings(max_examples=100, deadline=None)
@given(flags=st.lists(st.integers(0, 1), max_size=300), rows=st.integers(1, 3))
def test_any_flags(flags: list[int], rows: int) -> None:
    random = np.random.default_rng(len(flags))
    values = random.integers(0, 1 << 64, (rows, len(flags) + 1), dtype=np.uint64)
    assert (in_the_clear(flags, values) == by_definition(flags, values)).all()


def test_a_scan_takes_as_many_rounds_as_there_are_levels() -> None:
    """2·log2(n) - 1 calls of carry for n a power of two, and fewer than 2n positions in all."""
    carried: list[int] = []

    class Counting(CleartextSuite):
        def carry(self, flags: Any, values: Any, source: slice, target: slice, *, join: bool) -> None:
            positions = range(len(flags))
            sources, targets = positions[source], positions[target]
            assert len(sources) == len(targets) > 0
            assert not set(sources) & set(targets), "a source changes while it is read"
            assert all(a < b for a, b in zip(sources, targets, strict=True))
            carried.append(len(targets))
            super().carry(flags, values, source, target, join=join)

    for length in (2, 3, 8, 100, 1024):
        carried.clear()
        suite = Counting()
        flags = suite.flags_from_start(BitShare(CLEARTEXT, np.zeros(length - 1, dtype=np.uint8)))
        last_flagged(suite, flags, suite.blank(1, length))
        levels = length.bit_length() - 1
        assert len(carried) <= 2 * levels
        assert sum(carried) < 2 * length


def test_a_scan_without_its_way_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control."""
    carry = CleartextSuite.carry

    def only_up(suite: CleartextSuite, *arguments: Any, join: bool) -> None:
        if join:
            carry(suite, *arguments, join=join)

    monkeypatch.setattr(CleartextSuite, "carry", only_up)
    with pytest.raises(AssertionError):
        test_every_length_in_the_clear(7)
