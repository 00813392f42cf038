"""Private compare: the helper finds a blinded [y > z] and learns nothing else.

The helper knows a random y of 63 bits, the proxies know z and hold shares of y's digits. Both
numbers are written in base 4, most significant digit first. With F_t = [digit of y < t], shared
modulo 37 for t = 1, 2, 3 (and F_0 = 0, F_4 = 1), everything the proxies need of a digit is linear
in the shares, because z is public to them:

    [y_i < z_i] = F_z          [y_i <= z_i] = F_(z+1)
    [y_i > z_i] = 1 - F_(z+1)  [y_i != z_i] = 1 - F_(z+1) + F_z

For the question y > z, let c_i = 1 - [y_i > z_i] + sum over k before i of [y_k != z_k]: zero at the
first difference if y is larger there, and nowhere else; never above 32. For the opposite question,
y <= z, replace > by <, and by <= at the last digit, so that equality counts. A common random bit
of the proxies chooses the question for every element anew.

The helper gets rho_i·c_i for common random non-zero rho_i, in shares made fresh by common random
parts of zero, at positions permuted by i -> i xor s for a common random s in 0..31. So it sees
random non-zero values and, if the answer to the unknown question is yes, one zero at a uniformly
random position.

Source: SecureNN's private compare (Wagh, Gupta, Chandran 2018), as used by CECILIA. Deviations:
base 4 in place of base 2 and modulus 37 in place of 67, which halves what the proxies send; a
random question per element, without which the helper would learn [y > z]; fresh parts of zero,
without which the helper, who dealt the shares, could recognise them; an xor-permutation, which
hides the position of a single zero as well as any other.
"""

from __future__ import annotations

import numpy as np

from ppaurora.randomness.streams import Stream
from ppaurora.sharing.algebra import Shape
from ppaurora.sharing.shares import Bytes, Words
from ppaurora.suites.cecilia.residues import MODULUS, draw, reduce

DIGITS = 32
LOW_63 = np.uint64((1 << 63) - 1)


def thresholds_shape(count: int) -> Shape:
    return (3, DIGITS, count)


def message_shape(count: int) -> Shape:
    return (DIGITS, count)


def digits_of(numbers: Words) -> Bytes:
    """Base-4 digits, most significant first, one row per digit."""
    octets = numbers.astype(">u8").view(np.uint8).reshape(-1, 8).T
    digits = np.empty((8, 4, len(numbers)), dtype=np.uint8)
    for place, shift in enumerate((6, 4, 2, 0)):
        np.right_shift(octets, np.uint8(shift), out=digits[:, place])
    digits &= np.uint8(3)
    return digits.reshape(DIGITS, len(numbers))


def thresholds_of(y: Words) -> Bytes:
    """F_1, F_2, F_3 for every digit: what the helper deals."""
    digits = digits_of(y)
    return np.stack([digits < t for t in (1, 2, 3)]).view(np.uint8)


class Blinds:
    """The proxies' common randomness for a batch of private compares."""

    def __init__(self, stream: Stream, count: int) -> None:
        self.opposite = stream.bits((count,))
        self.factors = draw(stream, MODULUS - 1, message_shape(count)) + np.uint8(1)
        self.places = stream.bytes(count)
        self.zeros = draw(stream, MODULUS, message_shape(count))


def message(z: Words, thresholds: Bytes, unit: int, blinds: Blinds) -> Bytes:
    """Return a proxy's part of the blinded, permuted c_i; `unit` is its part of one."""
    first, second, third = thresholds
    digits = digits_of(z)
    is_0, is_1, is_2, is_3 = ((digits == value).view(np.uint8) for value in range(4))
    below = is_1 * first + is_2 * second + is_3 * third
    up_to = is_0 * first + is_1 * second + is_2 * third + is_3 * np.uint8(unit)

    unequal = (np.uint8(MODULUS + unit) - up_to) + below
    not_above = up_to
    not_below = np.uint8(MODULUS + unit) - below
    not_below[-1] = np.uint8(MODULUS + unit) - up_to[-1]
    chosen = not_above ^ ((not_above ^ not_below) & (np.uint8(0) - blinds.opposite))
    c = chosen.astype(np.uint16)
    c[1:] += np.cumsum(unequal[:-1], axis=0, dtype=np.uint16)

    blinded = reduce(c).astype(np.uint16)
    blinded *= blinds.factors
    blinded += blinds.zeros if unit == 0 else np.uint8(MODULUS) - blinds.zeros
    return _permute(reduce(blinded), blinds.places)


def _permute(rows: Bytes, places: Bytes) -> Bytes:
    """Column j's entry i is taken from i xor (places[j] mod 32)."""
    count = len(places)
    source = np.arange(DIGITS)[:, np.newaxis] ^ (places & np.uint8(DIGITS - 1)).astype(np.intp)
    source *= count
    source += np.arange(count)
    permuted: Bytes = rows.reshape(-1).take(source)
    return permuted


def answer(blinded: Bytes) -> Bytes:
    """1 where one of the blinded values is zero."""
    zeros: Bytes = (blinded == 0).any(axis=0).view(np.uint8)
    return zeros
