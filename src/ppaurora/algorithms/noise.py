"""Noise that is drawn inside and that nobody knows: two-sided geometric, or discrete Laplace, on shares.

A number that is released with noise is x + G1 - G2, where G1 and G2 are independent geometric variables with
ratio q = exp(-rate): P(G = g) = (1 - q)·q^g for g = 0, 1, 2, ... Their difference is k with probability

    P(k) = (1 - q)/(1 + q) · q^|k|        P(k) <= exp(rate·|k - l|)·P(l)

So if one person moves whole numbers by at most s, all together, and each gets noise of its own with rate
epsilon/s, then no set of outcomes is more than exp(epsilon) times likelier with one person than with another.

**Bits.** For g = sum of b_j·2^j, q^g is the product over j of q^(b_j·2^j), and 1 - q is the product over all
j of 1/(1 + q^(2^j)), because (1 - q)(1 + q)(1 + q^2)···(1 + q^(2^j)) = 1 - q^(2^(j+1)) tends to 1. So

    P(G = g) = product over j of q^(b_j·2^j) / (1 + q^(2^j))

which says that bits are independent, and that bit j is 1 with probability q^(2^j)/(1 + q^(2^j)). A bit is a
comparison of a random word with a public threshold (`Suite.random_bits`), all bits of all numbers at once.

**Who knows it.** Nobody, as long as servers follow the protocol and do not collude. Where secrets are masked,
a random word is m xor r: a proxy knows m and its own part of r, the helper knows r. What each lacks is
pseudorandom under a key that it does not have, so to it the word is uniform; and gates show a server nothing
but uniform values, so what is computed from the word stays unknown to it, too. Owners get the sum of a number
and its noise, and neither by itself.

**How exact it is.** Probabilities are rounded to multiples of 2^-64, and bits whose probability becomes 0 are
left out. With t what `total_variation` says that this changes at most, D the drawn distribution, I the ideal
one, and ' for another person's data,

    D(S) <= I(S) + t <= exp(epsilon)·I'(S) + t <= exp(epsilon)·(D'(S) + t) + t

so what is drawn is (epsilon, delta)-private with delta = (1 + exp(epsilon))·t. Nothing of it is computed in
floating point, so all servers find the same thresholds, and no rounding tells anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ppaurora.errors import MisuseError
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite

MOST_BITS = 60  # of a geometric variable, so that noise and what it is added to fit into a word
_ONE = 1 << 64  # the threshold of what is certain
_PRECISE = Context(prec=80)


def two_sided_geometric(suite: Suite, rates: Sequence[Fraction]) -> RingShare:
    """Return independent secret integers; the i-th is k with probability proportional to exp(-rates[i]·|k|).

    Modulo 2^64, and less than 2^60 in size. 4 rounds in `bitsliced`, for any number of them, and about 90
    bytes a bit: noise of rate 2^-s has twice s + 6 bits.
    """
    variables = [thresholds(rate) for rate in rates]
    bits = [threshold for one in variables for threshold in one + one]
    ones = suite.to_ring(suite.random_bits(np.array(bits, dtype=np.uint64)))
    weights = [sign << j for one in variables for sign in (1, -1) for j in range(len(one))]
    weighted = ones * np.array(weights, dtype=np.int64)
    sums = [weighted[place].sum() for place in spans(2 * len(one) for one in variables)]
    return concat([suite.constant(0, 0), *sums])


@lru_cache(maxsize=1024)
def thresholds(rate: Fraction) -> tuple[int, ...]:
    """Return, for every bit of a geometric variable, how likely it is to be 1, in units of 2^-64.

    Rounded to the nearest from 1/(1 + exp(rate·2^j)), computed with 80 digits. They fall, and end with the
    last that is not 0.
    """
    if rate <= 0:
        raise MisuseError(f"the rate of noise must be above 0, not {rate}")
    found: list[int] = []
    while threshold := _threshold(rate * (1 << len(found))):
        found.append(threshold)
        if len(found) > MOST_BITS:
            raise MisuseError(f"noise of rate {float(rate)} would not fit into {MOST_BITS} bits")
    return tuple(found)


def _threshold(exponent: Fraction) -> int:
    """Return 2^64/(1 + exp(exponent)), to the nearest integer."""
    if exponent > 64:  # exp(-64) < 2^-92
        return 0
    x = _PRECISE.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return round(_PRECISE.divide(Decimal(_ONE), _PRECISE.add(1, _PRECISE.exp(x))))


def total_variation(rates: Sequence[Fraction]) -> Fraction:
    """Return a bound on the distance between what is drawn for these rates and the ideal distribution.

    Independent bits differ in distribution by at most the sum of what each one's probability is off, and
    whatever is computed from them differs by no more. A bit is off by half a unit of 2^-64 and the error of
    80 digits: less than a unit. Of those that are left out, the first is 1 with probability 2^-65 and that
    error at most, each further one with at most twice the square of the one before: together less than a
    unit. A number has two geometric variables.
    """
    return sum((Fraction(2 * (len(thresholds(rate)) + 1), _ONE) for rate in rates), Fraction(0))
