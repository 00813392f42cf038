"""The primitives of `cecilia`: right, as cheap as declared, and blind where they must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.errors import PeerMisbehavedError
from ppaurora.randomness import Stream
from ppaurora.sharing import BitShare, RingShare
from ppaurora.suites.arrays import ArrayRecords as Records
from ppaurora.suites.base import Suite
from ppaurora.suites.cecilia import CeciliaSuite, compare, costs
from ppaurora.suites.cecilia.compare import LOW_63, Blinds
from ppaurora.suites.cecilia.residues import MODULUS, RESIDUES, draw, pack, unpack
from ppaurora.suites.role import Role
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun

EDGES = [0, 1, 2, 3, 2**62, 2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
words = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1))


def word_array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def run(function: Callable[..., Any], *inputs: Any) -> WorldRun:
    return World().run(function, *inputs)


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=20))
def test_mul(pairs: list[tuple[int, int]]) -> None:
    x, y = (word_array(list(column)) for column in zip(*pairs, strict=True))
    expected = [a * b % 2**64 for a, b in pairs]
    assert run(lambda s, a, b: s.mul(a, b), x, y).value.tolist() == expected


def test_mul_broadcasts() -> None:
    bits, rows = word_array([0, 1, 1]), np.arange(6, dtype=np.uint64).reshape(2, 3)
    result = run(lambda s, a, b: s.mul(a, b), bits, rows)
    assert result.value.tolist() == (bits * rows).tolist()
    assert result.cost == costs.mul((3,), (2, 3), (2, 3))


def test_mux_selects_the_second_on_one() -> None:
    x, y, b = word_array([10, 20, 2**64 - 1]), word_array([30, 40, 0]), word_array([0, 1, 1])
    assert run(lambda s, *v: s.mux(*v), x, y, b).value.tolist() == [10, 40, 0]


@settings(max_examples=25, deadline=None)
@given(values=st.lists(words, min_size=1, max_size=30))
def test_msb_and_modulus_conversion(values: list[int]) -> None:
    x = word_array(values)
    assert run(lambda s, a: s.msb(a), x).value.tolist() == [v >> 63 for v in values]
    assert run(lambda s, a: s.modulus_conversion(a), x).value.tolist() == [v % 2**63 for v in values]


def test_msb_of_many_values_near_the_edges() -> None:
    x = word_array([(edge + offset) % 2**64 for edge in EDGES for offset in range(-20, 20)])
    assert (run(lambda s, a: s.msb(a), x).value == x >> np.uint64(63)).all()


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), min_size=1, max_size=20))
def test_compare(pairs: list[tuple[int, int]]) -> None:
    pairs += [(a, a) for a, _ in pairs] + [(a + 1, a) for a, _ in pairs] + [(a, a + 1) for a, _ in pairs]
    x, y = (word_array(list(column)) for column in zip(*pairs, strict=True))
    assert run(lambda s, a, b: s.compare(a, b), x, y).value.tolist() == [int(a >= b) for a, b in pairs]


def exchanged(suite: Suite, k1: RingShare, l1: BitShare, k2: RingShare, l2: BitShare) -> list[Any]:
    high, low = suite.exchange(Records(k1, l1), Records(k2, l2))
    return [high.keys, high.labels, low.keys, low.labels]


def test_exchange_moves_labels_with_keys_and_leaves_ties_alone() -> None:
    k1, k2 = word_array([5, 2, 3, 3, 2**62]), word_array([4, 7, 3, 3, 0])
    l1, l2 = np.array([1, 1, 1, 0, 0], bool), np.array([0, 0, 0, 1, 1], bool)
    result = run(exchanged, k1, l1, k2, l2)
    assert [part.tolist() for part in result.value] == [
        [5, 7, 3, 3, 2**62], [1, 0, 1, 0, 0], [4, 2, 3, 3, 0], [0, 1, 0, 1, 1],
    ]  # fmt: skip
    assert result.cost == costs.exchange(5)


@settings(max_examples=8, deadline=None)
@given(
    pairs=st.lists(
        st.integers(1, 2**62 - 1).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d))),
        min_size=1,
        max_size=8,
    ),
    bits=st.sampled_from([1, 20, 50]),
)
def test_div(pairs: list[tuple[int, int]], bits: int) -> None:
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    result = run(lambda s, a, b: s.div(a, b, bits, 2**62 - 1), n, d)
    assert result.value.tolist() == [(a << bits) // b for a, b in pairs]
    assert result.cost == costs.div(len(pairs), bits)


def test_div_edges() -> None:
    n, d = word_array([0, 0, 2**62 - 1, 1, 2**61]), word_array([0, 5, 2**62 - 1, 2**62 - 1, 2**62 - 1])
    expected = [2**31 - 1, 0, 2**30, (1 << 30) // (2**62 - 1), (2**61 << 30) // (2**62 - 1)]
    assert run(lambda s, a, b: s.div(a, b, 30, 2**62 - 1), n, d).value.tolist() == expected


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.tuples(words, st.integers(0, 2)), min_size=1, max_size=30))
def test_differ(values: list[tuple[int, int]]) -> None:
    x = word_array([v for v, _ in values])
    y = word_array([(v + gap) % 2**64 for v, gap in values])
    result = run(lambda s, a, b: s.differ(a, b), x, y)
    assert result.value.tolist() == [int(gap > 0) for _, gap in values]
    assert result.cost == costs.differ(len(values))


def test_to_ring() -> None:
    bits = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1], bool)
    result = run(lambda s, b: s.to_ring(b), bits)
    assert result.value.tolist() == bits.astype(int).tolist()
    assert result.cost == costs.to_ring(10)


@pytest.mark.parametrize("count", [1, 2, 3, 12, 13, 100])
def test_declared_costs_are_what_the_meter_sees(count: int) -> None:
    x = np.arange(count, dtype=np.uint64)
    bits = np.ones(count, bool)
    assert run(lambda s, a: s.mul(a, a), x).cost == costs.mul((count,), (count,), (count,))
    assert run(lambda s, a: s.msb(a), x).cost == costs.compare(count)
    assert run(lambda s, a: s.modulus_conversion(a), x).cost == costs.compare(count)
    assert run(lambda s, a: s.compare(a, a), x).cost == costs.compare(count)
    assert run(exchanged, x, bits, x, bits).cost == costs.exchange(count)
    assert run(lambda s, a: s.div(a, a, 4, 1 << 20), x).cost == costs.div(count, 4)
    assert run(lambda s, a: s.open_comparison(a, a, "test"), x).cost == costs.open_comparison(count)
    assert run(lambda s: s.tell_helper([7] * count, [7] * count)).cost == costs.tell_helper(count)


def test_an_exchange_stays_below_its_bytes() -> None:
    """What the traffic of the whole merge rests on: 3 rounds and 139.1 bytes for a pair of records."""
    cost = costs.exchange(100_000)
    assert cost.rounds == 3
    assert cost.bytes / 100_000 < 139.1


def test_an_opening_is_counted_and_known_to_the_proxies_alone() -> None:
    x, y = word_array([3, 4, 5]), word_array([4, 4, 4])
    result = run(lambda s, a, b: s.open_comparison(a, b, "a name"), x, y)
    assert [opened.tolist() for opened in result.results] == [[False, True, True]] * 2 + [[False] * 3]
    assert [context.openings for context in result.contexts] == [{"a name": 3}, {"a name": 3}, {}]


def test_residues_are_packed_exactly() -> None:
    for count in (0, 1, 11, 12, 13, 1000):
        residues = draw(Stream.fresh(), MODULUS, (count,))
        assert unpack(pack(residues), MODULUS, count).tolist() == residues.tolist()
        assert len(RESIDUES.to_wire(residues)) == RESIDUES.wire_bytes(count)
    everything = np.arange(MODULUS, dtype=np.uint8)
    for shift in range(MODULUS):
        other = np.roll(everything, shift)
        assert (RESIDUES.add(everything, other) == (everything.astype(int) + other) % MODULUS).all()
        assert (RESIDUES.sub(everything, other) == (everything.astype(int) - other) % MODULUS).all()


# What the helper sees. A private compare, by hand, for numbers of our choice.


def helper_view(y: np.ndarray, z: np.ndarray, blinds: Blinds) -> np.ndarray:
    """The blinded, permuted values that the helper reconstructs."""
    thresholds = compare.thresholds_of(y)
    part_0 = RESIDUES.draw(Stream.fresh(), thresholds.shape)
    part_1 = RESIDUES.sub(thresholds, part_0)
    return RESIDUES.add(compare.message(z, part_0, 0, blinds), compare.message(z, part_1, 1, blinds))


def without_blinding(blinds: Blinds) -> Blinds:
    blinds.opposite = np.zeros_like(blinds.opposite)
    return blinds


def test_private_compare_answers_the_question_asked() -> None:
    random = np.random.default_rng(1)
    y = random.integers(0, 2**63, 2000, dtype=np.uint64)
    z = random.integers(0, 2**63, 2000, dtype=np.uint64)
    z[:500] = y[:500]
    z[500:1000] = (y[500:1000] + np.uint64(1)) & LOW_63
    z[1000:1500] = (y[1000:1500] - np.uint64(1)) & LOW_63
    blinds = Blinds(Stream.fresh(), len(y))
    seen = helper_view(y, z, blinds)
    assert (compare.answer(seen) == ((y > z) ^ blinds.opposite)).all()
    assert ((seen == 0).sum(axis=0) <= 1).all()


def correlation_of_helpers_bit_with_result(blind: Callable[[Blinds], Blinds]) -> float:
    """How often the helper's bit equals [x < 0] for scores that lie close to each other."""
    random = np.random.default_rng(2)
    count = 20_000
    x = random.choice([-3, -2, -1, 1, 2, 3], count).astype(np.int64).view(np.uint64)
    a = Stream.fresh().words((count,))
    e = x - a
    seen = helper_view(a & LOW_63, ~e & LOW_63, blind(Blinds(Stream.fresh(), count)))
    negative = x >> np.uint64(63)
    return float((compare.answer(seen) == negative).mean())


def test_the_helpers_bit_is_independent_of_the_comparison() -> None:
    """Within six standard deviations of a fair coin."""
    assert abs(correlation_of_helpers_bit_with_result(lambda blinds: blinds) - 0.5) < 6 * 0.5 / 20_000**0.5


def test_without_blinding_the_helper_would_learn_the_comparison() -> None:
    """The positive control: this is the hole in the authors' published code."""
    told = correlation_of_helpers_bit_with_result(without_blinding)
    assert told < 0.01 or told > 0.99


def chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def positions_of_zero(places: np.ndarray | None) -> np.ndarray:
    """Where the helper finds its zero, for numbers that first differ at the same, telling digit."""
    count = 32_000
    y = np.full(count, 0b10 << 20, dtype=np.uint64)
    z = np.full(count, 0b01 << 20, dtype=np.uint64)
    blinds = without_blinding(Blinds(Stream.fresh(), count))
    if places is not None:
        blinds.places = places
    return np.bincount((helper_view(y, z, blinds) == 0).argmax(axis=0), minlength=32)


def test_the_position_of_the_zero_is_uniform() -> None:
    """31 degrees of freedom: 100 is a chance of about 1 in 10^9."""
    assert chi_square(positions_of_zero(None)) < 100
    # Positive control: without the permutation the position tells where the numbers first differ.
    assert chi_square(positions_of_zero(np.zeros(32_000, dtype=np.uint8))) > 10_000


def test_what_is_not_zero_is_uniform_and_so_is_each_proxys_part() -> None:
    count = 20_000
    y = np.full(count, 5, dtype=np.uint64)
    z = np.full(count, 9, dtype=np.uint64)
    blinds = without_blinding(Blinds(Stream.fresh(), count))
    seen = helper_view(y, z, blinds)
    for digit in (0, 7, 31):
        nonzero = np.bincount(seen[digit], minlength=MODULUS)
        assert nonzero[0] == 0
        assert chi_square(nonzero[1:]) < 120
    thresholds = np.zeros(compare.thresholds_shape(count), dtype=np.uint8)
    part = compare.message(z, thresholds, 0, blinds)
    assert chi_square(np.bincount(part.reshape(-1), minlength=MODULUS)) < 120


# What travels. Every message of a primitive, on inputs that are as different as can be.


def transcript(value: int) -> list[tuple[Role, Role, int]]:
    x = np.full(50, value, dtype=np.uint64)
    bits = np.full(50, value & 1, dtype=bool)

    def everything(suite: CeciliaSuite, a: RingShare, b: BitShare) -> None:
        suite.mul(a, a)
        suite.msb(a)
        suite.div(a, a, 3, 2**62 - 1)
        suite.differ(a, a)
        suite.to_ring(b)
        suite.exchange(Records(a, b), Records(a, b))

    messages = run(everything, x, bits).messages
    by_link: dict[tuple[Role, Role], list[int]] = {}
    for message in messages:
        by_link.setdefault((message.sender, message.receiver), []).append(len(message.payload))
    return sorted(by_link.items())


def test_the_shape_of_the_conversation_does_not_depend_on_the_data() -> None:
    assert transcript(0) == transcript(1) == transcript(2**61 - 1)


def test_results_are_freshly_shared() -> None:
    """The same product twice, from the same parts, has different parts; only the sum is equal."""

    def twice(suite: CeciliaSuite, a: RingShare) -> list[RingShare]:
        return [suite.mul(a, a), suite.mul(a, a)]

    result = run(twice, np.arange(20, dtype=np.uint64))
    first, second = result.results[Role.PROXY_0]
    assert (first.values != second.values).all()
    assert (result.value[0] == result.value[1]).all()


def test_a_changed_message_changes_the_result_or_is_refused_but_never_hangs() -> None:
    """Correctness holds for honest servers only; a short message is noticed at once."""

    def shorten(sender: Role, receiver: Role, frame: bytes) -> bytes:
        return frame[:-8] if len(frame) > 500 else frame

    with pytest.raises(PeerMisbehavedError, match=r"length|bytes"):
        World(tamper=shorten, timeout=5).run(lambda s, a: s.mul(a, a), np.arange(100, dtype=np.uint64))
