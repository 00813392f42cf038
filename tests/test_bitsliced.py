"""The primitives of `bitsliced`: right, as cheap as declared, and the same whatever the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.curves import areas
from ppaurora.algorithms.merge import merge_all
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.algorithms.order import count_ascents
from ppaurora.randomness import Stream
from ppaurora.sharing import RingShare
from ppaurora.sharing.spans import spans
from ppaurora.suites.bitsliced import BitslicedSuite, costs, trees
from ppaurora.suites.bitsliced.division import bits_per_step
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.role import Role
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun
from tests.support.cases import Owner, on_planes, owners, xor_shared
from tests.support.oracles import exact_aupr, exact_auroc, exact_average_precision

EDGES = [0, 1, 2, 2**31, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
words = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1))
METRICS = ("auroc", "aupr", "ap")


def word_array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def masked(function: Callable[..., Any], *inputs: Any) -> WorldRun:
    """Run on masked inputs; masking costs one message each way per input, which is taken off."""

    def party(suite: BitslicedSuite, *shares: RingShare) -> Any:
        return function(suite, *(suite.mask(share) for share in shares))

    return World(BitslicedSuite).run(party, *inputs)


def cost_of(function: Callable[..., Any], *inputs: Any) -> costs.Cost:
    whole, masking = masked(function, *inputs).cost, masked(lambda suite, *shares: None, *inputs).cost
    return costs.Cost(
        whole.messages - masking.messages, whole.bytes - masking.bytes, whole.rounds - masking.rounds
    )


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=20))
def test_product_and_dot_product(pairs: list[tuple[int, int]]) -> None:
    x, y = (word_array(list(column)) for column in zip(*pairs, strict=True))
    products = [a * b % 2**64 for a, b in pairs]
    assert masked(lambda s, a, b: s.mul(a, b), x, y).value.tolist() == products
    assert masked(lambda s, a, b: s.dot(a, b), x, y).value.tolist() == [sum(products) % 2**64]


def test_linear_operations_and_public_values() -> None:
    x, y = word_array([5, 6, 7]), word_array([1, 2, 2**64 - 1])
    run = masked(
        lambda s, a, b: [3 - a, a * 5 + b, a + np.arange(3), a.cumsum(), b.sum(), s.constant(9, 2)], x, y
    )
    results = [part.tolist() for part in run.value]
    minus = [(3 - v) % 2**64 for v in (5, 6, 7)]
    assert results == [minus, [26, 32, 34], [5, 7, 9], [5, 11, 18], [2], [9, 9]]
    assert cost_of(lambda s, a, b: [3 - a, a * 5 + b, a.cumsum()], x, y) == costs.Cost()


@settings(max_examples=20, deadline=None)
@given(values=st.lists(words, min_size=1, max_size=150))
def test_sign_and_its_bit_in_the_ring(values: list[int]) -> None:
    x = word_array(values)
    assert masked(lambda s, a: s.negative(a), x).value[0].tolist() == [v >> 63 for v in values]
    assert masked(lambda s, a: s.to_ring(s.negative(a)), x).value.tolist() == [v >> 63 for v in values]


def test_is_positive() -> None:
    values = [0, 1, 2, 2**61, 2**64 - 1, 2**64 - 2**61]
    assert masked(lambda s, a: s.is_positive(a), word_array(values)).value.tolist() == [0, 1, 1, 1, 0, 0]


def unsorted_planes(algorithm: Callable[..., Any], *lists: list[int], key_bits: int = 64) -> WorldRun:
    """Like `on_planes`, for keys in any order."""
    shared = [
        xor_shared(word_array(keys), np.array([key & 1 for key in keys], dtype=bool), key_bits)
        for keys in lists
    ]

    def party(suite: BitslicedSuite) -> Any:
        role = {"proxy 0": 0, "proxy 1": 1}.get(suite.holder.value)
        shares = [] if role is None else [parts[role] for parts in shared]
        return algorithm(suite, suite.inputs(shares, [len(keys) for keys in lists]))

    return World(lambda context: BitslicedSuite(context, key_bits)).run(party)


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=130))
def test_compare_and_differ(pairs: list[tuple[int, int]]) -> None:
    pairs += [(a, a) for a, _ in pairs[:5]] + [(a, a ^ 1) for a, _ in pairs[:5]]
    x, y = (list(column) for column in zip(*pairs, strict=True))
    compared = unsorted_planes(lambda s, lists: s.compare(lists[0].keys, lists[1].keys), x, y)
    assert compared.value[0].tolist() == [int(a >= b) for a, b in pairs]
    differing = unsorted_planes(lambda s, lists: s.differ(lists[0].keys, lists[1].keys), x, y)
    assert differing.value[0].tolist() == [int(a != b) for a, b in pairs]


@pytest.mark.parametrize("key_bits", [1, 2, 3, 5, 32, 33, 63, 64])
def test_exchange_moves_labels_with_keys_at_every_width(key_bits: int) -> None:
    random = np.random.default_rng(key_bits)
    x, y = (random.integers(0, 1 << key_bits, 200, dtype=np.uint64).tolist() for _ in range(2))

    def algorithm(suite: BitslicedSuite, lists: list[PlaneRecords]) -> list[Any]:
        high, low = suite.exchange(*lists)
        return [high.bits, low.bits]

    high, low = unsorted_planes(algorithm, x, y, key_bits=key_bits).value
    for planes, pick in ((high, max), (low, min)):
        keys = [int("".join(map(str, column)), 2) for column in planes[:-1].T]
        assert keys == [pick(pair) for pair in zip(x, y, strict=True)]
        assert planes[-1].tolist() == [key & 1 for key in keys]


def test_count_ones() -> None:
    flags = [1] * 200 + [1] * 63 + [0, 0, 1] + [1] * 64 + [0] + [1] * 300
    lengths = [200, 64, 1, 1, 0, 365]

    def algorithm(suite: BitslicedSuite, lists: list[PlaneRecords]) -> Any:
        return suite.count_ones(lists[0].keys, spans(lengths))

    assert unsorted_planes(algorithm, flags, key_bits=1).value.tolist() == [200, 63, 0, 1, 0, 364]


quotients = st.integers(1, 2**40).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d)))


@settings(max_examples=8, deadline=None)
@given(
    pairs=st.lists(quotients, min_size=1, max_size=6),
    bits=st.sampled_from([1, 13, 50]),
    spare=st.integers(0, 19),
)
def test_div(pairs: list[tuple[int, int]], bits: int, spare: int) -> None:
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    bound = 2**40 << spare
    result = masked(lambda s, a, b: s.div(a, b, bits, bound), n, d)
    assert result.value.tolist() == [(a << bits) // b for a, b in pairs]


def test_div_edges() -> None:
    bound = 2**59
    n, d = word_array([0, 0, bound, 1, bound - 1]), word_array([0, 5, bound, bound, bound])
    expected = [2**31 - 1, 0, 2**30, (1 << 30) // bound, ((bound - 1) << 30) // bound]
    assert masked(lambda s, a, b: s.div(a, b, 30, bound), n, d).value.tolist() == expected


def test_a_step_never_overflows() -> None:
    for exponent in range(1, 61):
        bound = 2**exponent
        assert (2 * bound) << bits_per_step(bound) <= 2**63


def rounded(run: WorldRun) -> list[float]:
    return [math.ldexp(int(m), -int(e)) for m, e in zip(*run.value, strict=True)]


@settings(max_examples=6, deadline=None)
@given(pairs=st.lists(quotients, min_size=1, max_size=40))
def test_the_quotient_is_rounded_like_a_float64(pairs: list[tuple[int, int]]) -> None:
    pairs += [(0, 7), (7, 7), (1, 2**40), (2**40 - 1, 2**40), (1, 3), (2**39, 2**40)]
    n, d = (word_array(list(column)) for column in zip(*pairs, strict=True))
    run = masked(lambda s, a, b: s.rounded_quotient(a, b, 2**40, 41), n, d)
    assert rounded(run) == [float(Fraction(a, b)) for a, b in pairs]


def test_no_more_than_a_float64_is_released() -> None:
    """The mantissa has 53 bits, so the denominator of a large study cannot be read off the result."""
    n, d = word_array([123_456_789_012, 1]), word_array([1_000_000_007_003, 2**40])
    mantissa, exponent = masked(lambda s, a, b: s.rounded_quotient(a, b, 2**40, 41), n, d).value
    assert [int(m).bit_length() for m in mantissa] == [53, 53]
    assert exponent.tolist() == [56, 92]


def test_division_by_public_numbers_is_rounded_and_never_above_one() -> None:
    divisors = np.arange(1, 400, dtype=np.uint64)
    random = np.random.default_rng(3)
    for x in (divisors, divisors * 0, (divisors * random.random(len(divisors))).astype(np.uint64)):
        run = masked(lambda s, a: s.div_public(a, divisors, 33), x)
        exact = [Fraction(int(a) << 33, int(d)) for a, d in zip(x, divisors, strict=True)]
        assert all(abs(int(v) - e) <= Fraction(501, 1000) for v, e in zip(run.value, exact, strict=True))
        assert int(run.value.max()) <= 2**33


@pytest.mark.parametrize("count", [1, 3, 64, 65, 700])
def test_declared_costs_are_what_the_meter_sees(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "CHUNK_WORDS", 4)  # several chunks already at 700
    x = np.arange(count, dtype=np.uint64)
    keys = x.tolist()
    assert cost_of(lambda s, a: s.mul(a, a), x) == costs.mul(count)
    assert cost_of(lambda s, a: s.dot(a, a), x) == costs.dot()
    assert cost_of(lambda s, a: s.negative(a), x) == costs.negative(count)
    assert cost_of(lambda s, a: s.is_positive(a), x) == costs.is_positive(count)
    assert cost_of(lambda s, a: s.to_ring(s.negative(a)), x) == costs.negative(count) + costs.to_ring(count)
    assert cost_of(lambda s, a: s.div_public(a, x + np.uint64(1), 33), x) == costs.div_public(count, 33)
    if count < 65:
        assert cost_of(lambda s, a: s.div(a, a, 20, 2**52), x) == costs.div(count, 20, 2**52)
        assert cost_of(lambda s, a: s.rounded_quotient(a, a, 2**52, 20), x) == costs.rounded_quotient(
            count, 2**52, 20
        )
    for key_bits in (32, 64):

        def planes_cost(algorithm: Callable[..., Any], bits: int = key_bits) -> costs.Cost:
            whole = unsorted_planes(algorithm, keys, keys, key_bits=bits).cost
            inputs = unsorted_planes(lambda s, lists: None, keys, keys, key_bits=bits).cost
            return costs.Cost(
                whole.messages - inputs.messages, whole.bytes - inputs.bytes, whole.rounds - inputs.rounds
            )

        compared = planes_cost(lambda s, lists: s.compare(lists[0].keys, lists[1].keys))
        assert compared == costs.compare(key_bits, count)
        assert planes_cost(lambda s, lists: s.differ(lists[0].keys, lists[1].keys)) == costs.differ(
            key_bits, count
        )
        exchanged = planes_cost(lambda s, lists: s.exchange(*lists) and None)
        assert exchanged == costs.exchange(key_bits, -(-count // 64))


@pytest.mark.parametrize("lengths", [[1], [64, 65], [700, 3, 64], [5, 5, 5, 5, 5]])
def test_declared_costs_over_lists(lengths: list[int]) -> None:
    lists = [[1] * length for length in lengths]
    bare = unsorted_planes(lambda suite, records: None, *lists, key_bits=1).cost
    assert bare == costs.inputs(1, lengths)
    halves = [slice(0, lengths[0] // 2), slice(lengths[0] // 2, None)]
    counted = unsorted_planes(
        lambda suite, records: suite.count_ones(records[0].keys, halves), *lists, key_bits=1
    )
    assert counted.cost == bare + costs.count_ones(lengths[0], 2)
    opened = unsorted_planes(lambda suite, records: suite.open(records[0].keys, "test"), *lists, key_bits=1)
    assert opened.cost == bare + costs.open_to_servers(lengths[0])


def test_an_exchange_stays_below_its_bytes() -> None:
    """What the traffic of the whole merge rests on: 7 rounds and 69.4 bytes for a pair of records."""
    words_each = 2048
    cost = costs.exchange(64, words_each)
    assert cost.rounds == 7
    assert cost.bytes / (64 * words_each) < 69.5


def fast(suite: BitslicedSuite, lists: list[PlaneRecords]) -> RingShare:
    ascents = count_ascents(suite, lists)
    return areas(suite, merge_all(suite, lists, merge_network), METRICS, ascents)


@settings(max_examples=25, deadline=None)
@given(lists=owners(min_owners=1))
def test_areas_by_three_parties_equal_the_exact_fractions(lists: list[Owner]) -> None:
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
    assert abs(aupr - exact_aupr(samples)) < 1e-9
    assert abs(ap - exact_average_precision(samples)) < 1e-9


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


# What travels.


def transcript(run: WorldRun) -> list[tuple[Role, Role, list[int]]]:
    """Sender, receiver, and the lengths in order on that link."""
    links: dict[tuple[Role, Role], list[int]] = {}
    for message in run.messages:
        links.setdefault((message.sender, message.receiver), []).append(len(message.payload))
    return sorted((*link, lengths) for link, lengths in links.items())


def five_data_sets(sizes: tuple[int, ...]) -> list[list[Owner]]:
    random = np.random.default_rng(11)
    return [
        [[(k / n, k % 2) for k in range(n)] for n in sizes],
        [[(0.5, 1)] * n for n in sizes],
        [[(0.5, 0)] * n for n in sizes],
        [[(float(s), int(s > 0.5)) for s in random.random(n)] for n in sizes],
        [[(float(i), int(i == 0))] * n for i, n in enumerate(sizes)],
    ]


def test_the_shape_of_the_conversation_does_not_depend_on_the_data() -> None:
    sizes = (70, 1, 130)
    first, *others = [transcript(on_planes(fast, lists)) for lists in five_data_sets(sizes)]
    assert all(other == first for other in others)
    # Positive control: another size is another conversation.
    assert transcript(on_planes(fast, five_data_sets((70, 1, 200))[0])) != first


def test_the_helper_only_sends() -> None:
    run = on_planes(fast, five_data_sets((20, 30))[3])
    assert all(message.receiver is not Role.HELPER for message in run.messages)
    assert any(message.sender is Role.HELPER for message in run.messages)
    assert all(message.receiver is Role.PROXY_1 for message in run.messages if message.sender is Role.HELPER)


def test_nothing_is_opened() -> None:
    for lists in five_data_sets((20, 30)):
        assert not on_planes(fast, lists).openings


def test_openings_are_counted() -> None:
    """The positive control of the test above."""
    run = unsorted_planes(
        lambda s, lists: s.open(s.compare(lists[0].keys, lists[1].keys), "named"),
        [5, 1],
        [3, 4],
    )
    assert [opened.tolist() for opened in run.results] == [[1, 0]] * 3
    assert run.openings == {"named": 2}


def ones_per_bit(lists: list[Owner], sender: Role, receiver: Role, runs: int = 1) -> float:
    """The share of ones among all bits sent on a link."""
    bits = []
    for _ in range(runs):
        messages = on_planes(fast, lists).messages
        bits += [
            np.unpackbits(np.frombuffer(m.payload, dtype=np.uint8))
            for m in messages
            if (m.sender, m.receiver) == (sender, receiver)
        ]
    return float(np.concatenate(bits).mean())


@pytest.mark.parametrize(
    ("sender", "receiver"),
    [(Role.PROXY_0, Role.PROXY_1), (Role.PROXY_1, Role.PROXY_0), (Role.HELPER, Role.PROXY_1)],
)
def test_every_link_carries_uniform_bits_on_constant_data(sender: Role, receiver: Role) -> None:
    """More than a million bits: six standard deviations are below 0.003."""
    constant: list[Owner] = [[(0.0, 0)] * 100, [(0.0, 0)] * 120]
    assert abs(ones_per_bit(constant, sender, receiver) - 0.5) < 0.003


def test_without_randomness_the_links_would_show_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the test above."""
    monkeypatch.setattr(Stream, "fill", lambda self, out: out.fill(0))
    monkeypatch.setattr(Stream, "words", lambda self, shape: np.zeros(shape, dtype=np.uint64))
    constant: list[Owner] = [[(0.0, 0)] * 100, [(0.0, 0)] * 120]
    assert abs(ones_per_bit(constant, Role.PROXY_1, Role.PROXY_0) - 0.5) > 0.003
