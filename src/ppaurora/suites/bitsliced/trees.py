"""Comparison, equality and exchange of records on bit planes.

Reading keys from the most significant bit, all that matters of a stretch of bits is whether both
numbers agree there (e), and if not, which bit the first number has where they first differ (v).
A single bit has e = not(a xor b) and v = a, at no cost, and two neighbouring stretches combine to

    e = e_high·e_low          v = v_high xor e_high·(v_high xor v_low)

So a comparison of K-bit keys, K a power of two, takes 2(K - 1) - log2 K ANDs in log2 K rounds: no gate
on single bits, and e of the least significant stretch is never needed. If the keys are equal, v is
the last bit of a.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ppaurora.sharing.shares import Words
from ppaurora.suites.bitsliced.gates import Gates, Steps, T, run_together

CHUNK_WORDS = 2048


def greater_steps(gates: Gates, a: Words, b: Words, *, exact: bool) -> Steps[Words]:
    """One plane: 1 where a > b, for (component, bit, word) arrays. If not `exact`, anything where a = b."""
    equal = invert(gates, a ^ b)
    value = a
    while value.shape[1] > 1:
        bits = value.shape[1]
        pairs = bits // 2
        e_high, e_low = equal[:, 0 : 2 * pairs : 2], equal[:, 1 : 2 * pairs : 2]
        v_high, v_low = value[:, 0 : 2 * pairs : 2], value[:, 1 : 2 * pairs : 2]
        # The e of the last stretch only tells equality of the whole.
        wanted = pairs if exact or bits % 2 else pairs - 1
        operands = [(e_high, v_high ^ v_low)]
        if wanted:
            operands.append((e_high[:, :wanted], e_low[:, :wanted]))
        finish = gates.begin_and(operands)
        yield
        chosen, *both_equal = finish()
        chosen ^= v_high
        rest = slice(2 * pairs, bits)
        value = np.concatenate([chosen, value[:, rest]], axis=1)
        next_equal = both_equal[0] if both_equal else equal[:, :0]
        if bits % 2:
            next_equal = np.concatenate([next_equal, equal[:, rest]], axis=1)
        equal = next_equal
    if not exact:
        return value
    finish = gates.begin_and([(invert(gates, equal), value)])
    yield
    return finish()[0]


def equal_steps(gates: Gates, a: Words, b: Words) -> Steps[Words]:
    """One plane: 1 where a = b. A tree of K - 1 ANDs."""
    equal = invert(gates, a ^ b)
    while equal.shape[1] > 1:
        pairs = equal.shape[1] // 2
        finish = gates.begin_and([(equal[:, 0 : 2 * pairs : 2], equal[:, 1 : 2 * pairs : 2])])
        yield
        (both,) = finish()
        equal = np.concatenate([both, equal[:, 2 * pairs :]], axis=1) if equal.shape[1] % 2 else both
    return equal


def exchange_steps(gates: Gates, left: Words, right: Words, key_bits: int) -> Steps[tuple[Words, Words]]:
    """Records with the larger key to the left: one AND per bit moves both."""
    unlike = left ^ right
    right_larger = yield from greater_steps(gates, right[:, :key_bits], left[:, :key_bits], exact=False)
    finish = gates.begin_and([(right_larger, unlike)])
    yield
    (move,) = finish()
    return left ^ move, right ^ move


def invert(gates: Gates, planes: Words) -> Words:
    """NOT, in place: both proxies turn m, the mask stays."""
    if not gates.role.is_helper:
        np.invert(planes[0], out=planes[0])
    return planes


def in_chunks(words: int) -> list[slice]:
    """Stretches of words, so that one can compute while another waits for the peer."""
    return [slice(start, start + CHUNK_WORDS) for start in range(0, words, CHUNK_WORDS)]


def run_in_chunks(steps: Callable[[Words, Words], Steps[T]], a: Words, b: Words) -> list[T]:
    """The steps on every chunk of both operands, side by side; the results in order."""
    return run_together([steps(a[..., chunk], b[..., chunk]) for chunk in in_chunks(a.shape[-1])])
