"""What each primitive costs all parties together: messages, bytes, rounds. A test holds the meter to it.

Per record of 64-bit keys, without headers and padding: a comparison 46 bytes in 4 rounds, an
equality 24 bytes in 4, an exchange of two records 69.1 bytes in 5, of which 31 between the proxies; a ring
product 24 bytes in 1, a dot product of any length 24 bytes in all.

Of a table: a count of an owner 51 bytes in 5 rounds, a quotient by a secret number of up to 30 bits 2.4 kB in
44 where there are thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.meter import Cost
from ppaurora.sharing.algebra import HALF, RING, WIDE, Ring
from ppaurora.sharing.planes import word_count
from ppaurora.suites import team
from ppaurora.suites.base import GRID_BOUND, SIGNIFICAND_BITS, WIDE_BOUND
from ppaurora.suites.bitsliced import division, trees
from ppaurora.suites.bitsliced.trees import CHILDREN, CHILDREN_OF_FEW, CHILDREN_OF_PUBLIC, Level
from ppaurora.suites.bitsliced.wide import grid_digits, grid_width

WIDE_WORDS = WIDE.bits // RING.bits  # of an element


def _message(words: int, times: int, rounds: int, ring: Ring = RING) -> Cost:
    return Cost(times, times * (HEADER_BYTES + ring.wire_bytes(words)), rounds)


def gate(words: int) -> Cost:
    """An AND of so many words, or so many products: two proxies exchange, the helper deals ahead."""
    return _message(words, 2, rounds=1) + _message(words, 1, rounds=0)


def _deal(words: int, ring: Ring = RING) -> Cost:
    return _message(words, 1, rounds=0, ring=ring)


def _remask(words: int, ring: Ring = RING) -> Cost:
    return _message(words, 2, rounds=1, ring=ring)


def _together(costs: Iterable[Cost]) -> Cost:
    """Add up costs in the same rounds."""
    costs = list(costs)
    return Cost(
        sum(cost.messages for cost in costs),
        sum(cost.bytes for cost in costs),
        max((cost.rounds for cost in costs), default=0),
    )


def _by_words(words: int, cost: Callable[[int], Cost]) -> Cost:
    return _together(cost(chunk.stop - chunk.start) for chunk in trees.in_chunks(words))


def _by_numbers(count: int, cost: Callable[[int], Cost]) -> Cost:
    return _together(cost(chunk.stop - chunk.start) for chunk in trees.in_chunks_of_numbers(count))


def _choice(children: int, *, public: bool = False) -> int:
    """Products of two or more masks in the sum of e1···ek·dk: without a d, and with one that is secret."""
    return ((1 << (children - 1)) - children) + (0 if public else (1 << children) - children - 1)


def _equality(children: int) -> int:
    """Further ones in e1···e_children."""
    return (1 << (children - 1)) - 1


def _greater(bits: int, words: int, children: int = CHILDREN, *, public: bool = False) -> Cost:
    """One round per level: v of every node, e of all but the last. Those of single bits may be public."""
    cost = Cost()
    while bits > 1:
        level = Level(bits, CHILDREN_OF_PUBLIC if public else children)
        nodes, rest = level.nodes, level.rest
        dealt = nodes * _choice(level.children, public=public)
        dealt += max(nodes - 1, 0) * _equality(level.children)
        shown = nodes + max(nodes - 1, 0)
        if rest > 1:
            dealt += _choice(rest, public=public) + (_equality(rest) if nodes else 0)
            shown += 1 + bool(nodes)
        cost += _deal(dealt * words) + _remask(shown * words)
        bits, public = level.next_stretches, False
    return cost


def _mask_greater(bits: int, words: int, children: int = CHILDREN) -> Cost:
    """All these bits of a mask compared with public ones; a last stretch decides where they are equal."""
    return _deal(bits * words) + _greater(bits + 1, words, children, public=True)


def _all(bits: int, words: int, children: int = CHILDREN) -> Cost:
    """An AND of so many bits."""
    cost = Cost()
    while bits > 1:
        level = Level(bits, children)
        dealt = level.nodes * ((1 << children) - 1 - children) + ((1 << level.rest) - 1 - level.rest)
        shown = level.nodes + (level.rest > 1)
        cost += _deal(dealt * words) + _remask(shown * words)
        bits = level.next_stretches
    return cost


def inputs(key_bits: int, sizes: Sequence[int]) -> Cost:
    """The proxies exchange each list's planes under masks."""
    return _together(
        _remask((planes.stop - planes.start) * word_count(size))
        for size in sizes
        for planes in trees.in_chunks_of_planes(key_bits + 1, word_count(size))
    )


def input_words(count: int) -> Cost:
    """The proxies exchange them under masks."""
    return _remask(count)


def input_counts(owners: int, counts: int) -> Cost:
    """The proxies exchange them under masks modulo 2^32; then the borrow modulo 2^32, and the mask itself."""

    def chunk(lanes: int) -> Cost:
        borrow = _mask_greater(HALF.bits, word_count(lanes))
        return _remask(lanes, HALF) + borrow + _deal(lanes, HALF) + _remask(lanes, HALF) + _deal(lanes)

    return _together([_by_numbers(counts, chunk)] * owners)


def passed_on(key_bits: int, components: int, records: int) -> int:
    """The bytes of so many records on their way from one worker of a party to another."""
    shape = (components, key_bits + 1, word_count(records))
    return team.message_bytes([shape] if records else [])


def compare(key_bits: int, count: int) -> Cost:
    """A last bit keeps the keys from being equal."""
    return _by_words(word_count(count), lambda words: _greater(key_bits + 1, words))


def compare_neighbours(key_bits: int, sizes: Sequence[int]) -> Cost:
    return _together(compare(key_bits, max(size - 1, 0)) for size in sizes)


def differ(key_bits: int, count: int) -> Cost:
    return _by_words(word_count(count), lambda words: _all(key_bits, words))


def ends_of_groups(key_bits: int, count: int) -> Cost:
    return differ(key_bits, count)


def exchange(key_bits: int, words: int) -> Cost:
    return exchange_layer(key_bits, [chunk.stop - chunk.start for chunk in trees.in_chunks(words)])


def exchange_layer(key_bits: int, batches: Sequence[int]) -> Cost:
    """Return the cost of batches of so many words."""
    return _together(_greater(key_bits, words) + gate((key_bits + 1) * words) for words in batches)


def mul(count: int, ring: Ring = RING) -> Cost:
    return gate(count * ring.bits // RING.bits)


def dot() -> Cost:
    return gate(1)


def dot_squares(lengths: Sequence[int]) -> Cost:
    """Return the cost for pairs of such lengths: two numbers per element, from the helper alone."""
    return _together(_deal(2 * length) for length in lengths) + gate(1)


def sums_of_products(outputs: int) -> Cost:
    """So many sums, each of any number of products."""
    return gate(outputs)


def _bit_product(bits: int, products: int, shown: int) -> Cost:
    return _deal(bits) + _deal(products) + _remask(shown)


def carry(rows: int, count: int, *, join: bool) -> Cost:
    def chunk(lanes: int) -> Cost:
        product = _bit_product(lanes, rows * lanes, rows * lanes)
        return _together([product, gate(word_count(lanes))]) if join else product

    return _by_numbers(count, chunk)


def to_ring(count: int) -> Cost:
    return _by_numbers(count, lambda lanes: _deal(lanes) + _remask(lanes))


def count_ones(count: int, groups: int) -> Cost:
    return _by_numbers(count, _deal) + _remask(groups)


def negative(count: int, width: int = RING.bits) -> Cost:
    return _by_words(word_count(count), lambda words: _negative(width, words, CHILDREN_OF_FEW))


def _negative(width: int, words: int, children: int) -> Cost:
    """All bits of a mask but the first compared with public ones, and the first one dealt."""
    return _deal(width * words) + _greater(width, words, children, public=True)


def is_positive(count: int) -> Cost:
    return negative(count) + to_ring(count)


def all_positive(count: int, sizes: Sequence[int]) -> Cost:
    """Return the cost for groups of such sizes among `count` numbers."""
    if not any(sizes):
        return Cost()
    groups = word_count(len(sizes))
    together = _by_words(groups, lambda words: _all(max(sizes), words, CHILDREN_OF_FEW))
    return negative(count) + together + to_ring(len(sizes))


def random_bits(count: int) -> Cost:
    """Return the cost of comparisons with public words. What is compared with them costs nothing."""
    return _by_words(word_count(count), lambda words: _greater(RING.bits, words, CHILDREN_OF_FEW))


def div_public(count: int, bits: int) -> Cost:
    return shift_right(count, 62 - bits, CHILDREN)


def shift_right(count: int, bits: int, children: int = CHILDREN_OF_FEW) -> Cost:
    """The borrow out of the bits that are dropped, and what the mask has above them."""

    def chunk(lanes: int) -> Cost:
        words = word_count(lanes)
        return _mask_greater(bits, words, children) + _deal(lanes) + _deal(2 * lanes) + _remask(lanes)

    return _by_numbers(count, chunk)


def _quotient_bits(
    count: int, bits: int, bound: int, numbers: int, ring: Ring = RING, *, shifted: bool
) -> tuple[Cost, int]:
    """Per step: all multiples compared at once, then the digit times the divisor is subtracted, except for
    the last digit. Its bits are counted, too.
    """
    words = ring.bits // RING.bits
    cost = Cost()
    found = 0
    while True:
        step = min(division.bits_per_step(bound, ring, numbers), bits - found)
        width = ring.bits if shifted else division.gap_width(bound, step)
        cost += _negative(width, word_count(count * ((1 << step) - 1)), division.children(numbers))
        found += step
        if found == bits:
            return cost, step
        cost += _bit_product(words * count * step, words * count * step, words * count)


def div(count: int, bits: int, bound: int) -> Cost:
    def chunk(lanes: int) -> Cost:
        cost, last = _quotient_bits(lanes, bits + 1, bound, count, shifted=False)
        return cost + _deal(last * lanes) + _remask(lanes)

    return _by_numbers(count, chunk)


def rounded_quotients(
    count: int,
    bound: int,
    leading_zeros: int,
    significant_bits: int = SIGNIFICAND_BITS,
    ring: Ring = RING,
) -> Cost:
    bits = leading_zeros + significant_bits + 1
    words = word_count(count)
    cost, _ = _quotient_bits(count, bits, bound, count, ring, shifted=ring is RING)
    reach = 1
    while reach < bits:
        cost += gate((bits - reach) * words)
        reach *= 2
    cost += gate(bits * (significant_bits + 1) * words)
    return cost + _deal(count * (significant_bits + 1 + bits)) + _remask(2 * count)


def wide_quotients(
    count: int, leading_zeros: int, significant_bits: int = SIGNIFICAND_BITS, bound: int = WIDE_BOUND
) -> Cost:
    """Leading zeros are skipped, as many at once as the ring holds; then the bits behind them."""
    cost, left = Cost(), max(leading_zeros - 1, 0)
    while left:
        zeros = min(division.zeros_per_step(bound), left)
        left -= zeros
        flags = count * zeros
        cost += negative(flags, grid_width(bound << zeros))
        cost += _bit_product(WIDE_WORDS * flags, WIDE_WORDS * flags, WIDE_WORDS * count)
    return cost + rounded_quotients(count, bound, min(leading_zeros, 1), significant_bits, WIDE)


def widen(count: int) -> Cost:
    """All bits of a mask compared with public ones; then the borrow and the mask as wide numbers."""
    borrow = _by_words(word_count(count), lambda words: _mask_greater(RING.bits, words, CHILDREN_OF_FEW))
    wide = WIDE_WORDS * count
    return borrow + _deal(wide) + _deal(wide) + _remask(wide)


def absolute(count: int) -> Cost:
    wide = WIDE_WORDS * count
    flag = _deal(count) + _remask(count)
    return negative(count, WIDE.bits) + _together([flag, _bit_product(wide, wide, wide)])


def grid_steps(count: int, most: int, bound: int = GRID_BOUND) -> Cost:
    """Per digit: all its values compared at once; then reach and slope change by those that fit."""
    cost, comparisons = Cost(), 0
    for place, steps in grid_digits(most, count):
        cost += negative(count * steps, grid_width(bound))
        comparisons += count * steps
        if place > 1:
            flags = WIDE_WORDS * count * steps
            cost += _bit_product(flags, 2 * flags, 2 * WIDE_WORDS * count)
    return cost + _deal(comparisons) + _remask(count)
