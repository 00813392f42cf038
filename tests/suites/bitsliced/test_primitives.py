"""The primitives of `bitsliced` compute what they say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.channel.frames import MAX_PAYLOAD_BYTES
from ppaurora.channel.meter import Cost
from ppaurora.protocols import Fast
from ppaurora.sharing import stack
from ppaurora.sharing.planes import word_count
from ppaurora.sharing.spans import spans
from ppaurora.suites.bitsliced import BitslicedSuite, costs, trees
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.bitsliced.shares import HOLDERS, MaskedShare
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.suites.role import Role
from ppaurora.testing import World
from tests.support.bitsliced import cost_of, masked, unsorted_planes, word_array, words
from tests.support.cases import xor_shared


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
    assert cost_of(lambda s, a, b: [3 - a, a * 5 + b, a.cumsum()], x, y) == Cost()


@settings(max_examples=20, deadline=None)
@given(values=st.lists(words, min_size=1, max_size=150))
def test_sign_and_its_bit_in_the_ring(values: list[int]) -> None:
    x = word_array(values)
    assert masked(lambda s, a: s.negative(a), x).value[0].tolist() == [v >> 63 for v in values]
    assert masked(lambda s, a: s.to_ring(s.negative(a)), x).value.tolist() == [v >> 63 for v in values]


def test_is_positive() -> None:
    values = [0, 1, 2, 2**61, 2**64 - 1, 2**64 - 2**61]
    assert masked(lambda s, a: s.is_positive(a), word_array(values)).value.tolist() == [0, 1, 1, 1, 0, 0]


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

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> list[Any]:
        high, low = suite.exchange(*lists)
        return [high.bits, low.bits]

    high, low = unsorted_planes(algorithm, x, y, key_bits=key_bits).value
    for planes, pick in ((high, max), (low, min)):
        keys = [int("".join(map(str, column)), 2) for column in planes[:-1].T]
        assert keys == [pick(pair) for pair in zip(x, y, strict=True)]
        assert planes[-1].tolist() == [key & 1 for key in keys]


@pytest.mark.usefixtures("chunks")
def test_random_bits_are_in_their_places() -> None:
    """Some as good as certain, some impossible; the others are left open."""
    kinds = np.random.default_rng(6).integers(0, 3, 700)
    thresholds = word_array([0, 2**63, 2**64 - 1])[kinds]
    bits = World(Fast()).run(lambda s: s.random_bits(thresholds)).value[0]
    assert (2 * bits[kinds != 1] == kinds[kinds != 1]).all()
    assert set(bits[kinds == 1].tolist()) == {0, 1}


@pytest.mark.usefixtures("chunks")
def test_count_ones() -> None:
    flags = [1] * 200 + [1] * 63 + [0, 0, 1] + [1] * 64 + [0] + [1] * 300
    lengths = [0, 200, 64, 1, 1, 0, 365, 0]

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> Any:
        return suite.count_ones(lists[0].keys, spans(lengths))

    counted = unsorted_planes(algorithm, flags, key_bits=1).value.tolist()
    assert counted == [0, 200, 63, 0, 1, 0, 364, 0]
    assert unsorted_planes(
        lambda suite, lists: suite.count_ones(lists[0].keys, spans([0, 0])), [], key_bits=1
    ).value.tolist() == [0, 0]


@pytest.mark.usefixtures("chunks")
def test_compare_neighbours_list_by_list() -> None:
    random = np.random.default_rng(5)
    sizes = [130, 0, 1, 2, 64, 65, 300]
    lists = [random.integers(0, 4, size).tolist() for size in sizes]
    run = unsorted_planes(
        lambda s, records: s.compare_neighbours([one.keys for one in records]), *lists, key_bits=5
    )
    expected = [int(a >= b) for keys in lists for a, b in pairwise(keys)]
    assert run.value[0].tolist() == expected
    nothing = unsorted_planes(
        lambda s, records: s.compare_neighbours([one.keys for one in records]), [], [3], key_bits=5
    )
    assert nothing.value.shape == (1, 0)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 128, 129, 450])
def test_ends_of_groups(size: int) -> None:
    """The last one is an end, whatever its key is: also if it equals the zeros behind it."""
    random = np.random.default_rng(size)
    for keys in (sorted(random.integers(0, 9, size).tolist(), reverse=True), [0] * size):
        run = unsorted_planes(lambda s, records: s.ends_of_groups(records[0].keys), keys, key_bits=5)
        expected = [int(j + 1 == size or keys[j] != keys[j + 1]) for j in range(size)]
        assert run.value[0].tolist() == expected


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("join", [True, False])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        (slice(0, 1), slice(1, 2)),
        (slice(0, 350), slice(350, 700)),
        (slice(1, 699, 4), slice(3, None, 4)),
        (slice(0, 700, 2), slice(1, None, 2)),
    ],
)
def test_values_are_carried_to_where_there_is_no_flag(source: slice, target: slice, join: bool) -> None:
    random = np.random.default_rng(source.stop)
    flags = random.integers(0, 2, 700).tolist()
    values = random.integers(0, 1 << 64, (2, 701), dtype=np.uint64)

    def algorithm(suite: BitslicedSuite) -> list[Any]:
        (records,) = suite.inputs(
            [] if suite.holder is HOLDERS[Role.HELPER] else [shared[suite.holder is HOLDERS[Role.PROXY_1]]],
            [700],
        )
        positions = suite.flags_from_start(records.labels)
        rows = suite.constant(values[0], 701), suite.constant(values[1], 701)
        carried = stack(rows)
        suite.carry(positions, carried, source, target, join=join)
        return [carried, MaskedShare(suite.holder, positions.data.astype(np.uint64))]

    shared = xor_shared(word_array(flags), np.array(flags, dtype=bool), 1)
    run = World(Fast(), suite=lambda context: BitslicedSuite(context, 1)).run(algorithm)
    carried = run.value[0]
    (m, first), (_, second) = (run.results[role][1].values for role in (Role.PROXY_0, Role.PROXY_1))
    expected_flags = np.array([1, *flags])
    expected = values.copy()
    without = expected_flags[target] == 0
    expected[:, target] = np.where(without, values[:, source], values[:, target])
    if join:
        expected_flags[target] |= expected_flags[source]
    assert (carried == expected).all()
    assert ((m ^ first ^ second) == expected_flags).all()


@pytest.mark.usefixtures("chunks")
def test_flags_are_written_to_a_part_of_a_row() -> None:
    flags = np.random.default_rng(1).integers(0, 2, 400).tolist()

    def algorithm(suite: BitslicedSuite, lists: Sequence[PlaneRecords]) -> Any:
        rows = suite.blank(2, 403)
        written = suite.to_ring(lists[0].keys, into=rows.row(1)[2:402])
        assert np.shares_memory(written.values, rows.values)
        return rows

    value = unsorted_planes(algorithm, flags, key_bits=1).value
    assert value.tolist() == [[0] * 403, [0, 0, *flags, 0]]


@pytest.mark.parametrize("lengths", [[1], [5, 0, 7], [0], []])
def test_a_dot_product_over_pairs(lengths: list[int]) -> None:
    x = np.random.default_rng(3).integers(0, 1 << 64, 40, dtype=np.uint64)
    y = x[::-1].copy()

    def pairs(a: Any, b: Any) -> list[tuple[Any, Any]]:
        return [(a[place], b[place]) for place in spans(lengths)]

    run = masked(lambda s, a, b: s.begin_dot(pairs(a, b))(), x, y)
    total = sum(int(a) * int(b) for a, b in zip(x[: sum(lengths)], y[: sum(lengths)], strict=True))
    assert run.value.tolist() == [total % 2**64]


@pytest.mark.parametrize("pairs", [1, 2, 9])
def test_sums_of_products_element_by_element(pairs: int) -> None:
    """One operand has fewer elements and is used for many."""
    random = np.random.default_rng(pairs)
    x = random.integers(0, 1 << 64, (3, 1, pairs), dtype=np.uint64)
    y = random.integers(0, 1 << 64, (2, 5 * pairs), dtype=np.uint64)
    run = masked(lambda s, a, b: s.begin_sums_of_products((a[k], b[k::pairs]) for k in range(pairs))(), x, y)
    assert (run.value == sum(x[..., k : k + 1] * y[:, k::pairs] for k in range(pairs))).all()


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("bits", [1, 2, 15, 40, 62])
def test_a_number_without_its_last_bits(bits: int) -> None:
    random = np.random.default_rng(bits)
    edges = [k << bits for k in range(4) if k << bits < 2**63] + [0, 1, 2**62, 2**63 - 1]
    near = {min(max(edge + off, 0), 2**63 - 1) for edge in edges for off in (-1, 0, 1)}
    values = [*sorted(near), *random.integers(0, 2**63, 300).tolist()]
    run = masked(lambda s, a: s.shift_right(a, bits), word_array(values))
    assert run.value.tolist() == [value >> bits for value in values]


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("shape", [(1, 1), (3, 130), (2, 700)])
def test_counts_are_numbers_below_two_to_the_32(shape: tuple[int, int]) -> None:
    """Also where both parts wrap around, and where the first part is the number itself."""
    random = np.random.default_rng(sum(shape))
    counts = random.integers(0, 1 << 32, shape, dtype=np.uint64)
    counts.reshape(-1)[:5] = [0, 1, 2**31, 2**32 - 2, 2**32 - 1][: counts.size]
    first = random.integers(0, 1 << 32, shape, dtype=np.uint32)
    first.reshape(-1)[:20:3] = counts.astype(np.uint32).reshape(-1)[:20:3]
    parts = {HOLDERS[Role.PROXY_0]: first, HOLDERS[Role.PROXY_1]: counts.astype(np.uint32) - first}

    def algorithm(suite: BitslicedSuite) -> list[Any]:
        own = [] if suite.holder is HOLDERS[Role.HELPER] else list(parts[suite.holder])
        rows = suite.input_counts(own, shape)
        return [rows, rows.sum(), sum(rows.rows(), suite.constant(0, shape[1])).cumsum()]

    rows, by_owner, running = World(Fast()).run(algorithm).value
    assert (rows == counts).all()
    assert (by_owner[:, 0] == counts.sum(axis=1)).all()
    assert (running == counts.sum(axis=0).cumsum()).all()
    clear = CleartextSuite().input_counts(list(counts.astype(np.uint32)), shape)
    assert (clear.values == counts).all()


@pytest.mark.parametrize("words", [1, 7, 20, 1 << 24])
def test_lists_of_any_length_are_input_plane_by_plane_if_need_be(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "CHUNK_INPUT_WORDS", words)
    random = np.random.default_rng(words)
    lists = [random.integers(0, 1 << 64, size, dtype=np.uint64).tolist() for size in (130, 0, 1, 300)]
    run = unsorted_planes(lambda suite, records: [one.bits for one in records], *lists)
    assert run.cost == costs.inputs(64, [len(keys) for keys in lists])
    for keys, planes in zip(lists, run.value, strict=True):
        assert [int("".join(map(str, column)), 2) for column in planes[:-1].T] == keys
        assert planes[-1].tolist() == [key & 1 for key in keys]


def test_the_longest_list_fits_into_frames() -> None:
    words = word_count(MOST_SAMPLES)
    chunks = trees.in_chunks_of_planes(65, words)
    assert [place for chunk in chunks for place in range(65)[chunk]] == list(range(65))
    assert max(chunk.stop - chunk.start for chunk in chunks) * words * 8 <= MAX_PAYLOAD_BYTES
    assert trees.in_chunks_of_planes(65, word_count(10**6)) == [slice(0, 65)], (
        "one frame for all but long lists"
    )
    # Positive control: all planes together do not fit.
    assert 65 * words * 8 > MAX_PAYLOAD_BYTES
