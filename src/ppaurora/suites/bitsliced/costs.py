"""What each primitive costs all parties together: messages, bytes, rounds. A test holds the meter to it.

Per record of 64-bit keys, without headers and padding: a comparison 45 to 48 bytes in 6 or 7 rounds,
an equality 24 bytes in 6, an exchange of two records 69.4 bytes in 7; a ring product 24 bytes in 1,
a dot product of any length 24 bytes in all.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.meter import Cost
from ppaurora.sharing.planes import word_count
from ppaurora.suites.bitsliced import division
from ppaurora.suites.bitsliced.trees import in_chunks


def _message(words: int, times: int, rounds: int) -> Cost:
    return Cost(times, times * (HEADER_BYTES + 8 * words), rounds)


def gate(words: int) -> Cost:
    """An AND of so many words, or so many products: two proxies exchange, the helper deals ahead."""
    return _message(words, 2, rounds=1) + _message(words, 1, rounds=0)


def _deal(words: int) -> Cost:
    return _message(words, 1, rounds=0)


def _remask(words: int) -> Cost:
    return _message(words, 2, rounds=1)


def _side_by_side(costs: list[Cost]) -> Cost:
    """Chunks that run in the same rounds."""
    return Cost(
        sum(cost.messages for cost in costs),
        sum(cost.bytes for cost in costs),
        max((cost.rounds for cost in costs), default=0),
    )


def _chunk_words(words: int) -> list[int]:
    return [min(chunk.stop, words) - chunk.start for chunk in in_chunks(words)]


def _greater(bits: int, words: int, *, exact: bool) -> Cost:
    """One gate per level: v for every pair, e for all pairs but the last, unless it is needed."""
    cost = Cost()
    while bits > 1:
        pairs = bits // 2
        equalities = pairs if exact or bits % 2 else pairs - 1
        cost += gate((pairs + equalities) * words)
        bits = pairs + bits % 2
    return cost + gate(words) if exact else cost


def _equal(bits: int, words: int) -> Cost:
    cost = Cost()
    while bits > 1:
        cost += gate(bits // 2 * words)
        bits = bits // 2 + bits % 2
    return cost


def inputs(key_bits: int, sizes: Sequence[int]) -> Cost:
    """The proxies exchange all lists' planes under masks."""
    return _message((key_bits + 1) * sum(word_count(size) for size in sizes), 2, rounds=1)


def compare(key_bits: int, count: int) -> Cost:
    return _side_by_side([_greater(key_bits, words, exact=True) for words in _chunk_words(word_count(count))])


def differ(key_bits: int, count: int) -> Cost:
    return _side_by_side([_equal(key_bits, words) for words in _chunk_words(word_count(count))])


def exchange(key_bits: int, words: int) -> Cost:
    return _side_by_side(
        [_greater(key_bits, w, exact=False) + gate((key_bits + 1) * w) for w in _chunk_words(words)]
    )


def mul(count: int) -> Cost:
    return gate(count)


def dot() -> Cost:
    return gate(1)


def to_ring(count: int) -> Cost:
    return _deal(count) + _remask(count)


def count_ones(count: int, groups: int) -> Cost:
    return _deal(count) + _remask(groups)


def _borrow(bits: int, words: int) -> Cost:
    """A mask compared with as many public bits, and a last bit that keeps them from being equal."""
    return _side_by_side([_greater(bits + 1, chunk, exact=False) for chunk in _chunk_words(words)])


def negative(count: int) -> Cost:
    words = word_count(count)
    return _deal(64 * words) + _borrow(63, words)


def is_positive(count: int) -> Cost:
    return negative(count) + to_ring(count)


def div_public(count: int, bits: int) -> Cost:
    dropped = 62 - bits
    words = word_count(count)
    borrow = _deal(dropped * words) + _borrow(dropped, words) + to_ring(count)
    return borrow + _deal(2 * count) + _remask(count)


def quotient_bits(count: int, bits: int, bound: int) -> Cost:
    """Per step: all multiples compared at once, their number as a digit, one product."""
    cost = Cost()
    found = 0
    while found < bits:
        step = min(division.bits_per_step(bound), bits - found)
        comparisons = count * ((1 << step) - 1)
        cost += negative(comparisons)
        found += step
        if found < bits:
            cost += to_ring(comparisons) + mul(count)
    return cost


def div(count: int, bits: int, bound: int) -> Cost:
    return quotient_bits(count, bits + 1, bound) + to_ring(count * (bits + 1))


def rounded_quotient(count: int, bound: int, leading_zeros: int) -> Cost:
    bits = leading_zeros + division.SIGNIFICAND_BITS + 1
    words = word_count(count)
    cost = quotient_bits(count, bits, bound)
    reach = 1
    while reach < bits:
        cost += gate((bits - reach) * words)
        reach *= 2
    cost += gate(bits * (division.SIGNIFICAND_BITS + 1) * words)
    return cost + to_ring(count * (division.SIGNIFICAND_BITS + 1)) + to_ring(count * bits)
