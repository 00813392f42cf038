"""Logarithm and exponential, bit for bit the same on every machine.

Servers multiply shares by public numbers, and all of them must have the same ones: where two differ in a last
bit, what they compute is random. NumPy's own functions differ between processors. These are made of sums,
products, quotients and powers of two, which IEEE 754 rounds everywhere alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LN_2 = float.fromhex("0x1.62e42fefa39efp-1")
_LOG_TERMS = 11  # z² is below 0.03
_EXP_TERMS = 14  # |r| is below 0.35


def log(x: Floats) -> Floats:
    """Return the natural logarithm of positive numbers, within four units of its last place.

    With x = 2^e·m and m from sqrt(1/2) to sqrt(2), it is e·log(2) + log(m); log(m) is the series
    2·(z + z³/3 + z⁵/5 + ...) of z = (m - 1)/(m + 1).
    """
    mantissa, exponent = np.frexp(x)  # from 1/2 to 1
    is_low = mantissa * mantissa < 0.5
    m = np.where(is_low, 2 * mantissa, mantissa)
    z = (m - 1) / (m + 1)
    series = np.zeros_like(z)
    for term in reversed(range(_LOG_TERMS)):
        series = series * (z * z) + 1 / (2 * term + 1)
    return np.asarray((exponent - is_low) * _LN_2 + 2 * z * series)


def exp(x: Floats) -> Floats:
    """Return the exponential of numbers from -700 to 0, within 1e-15.

    With x = k·log(2) + r and k the nearest whole number, it is 2^k times the series 1 + r + r²/2! + ...
    """
    k = np.rint(x / _LN_2)
    r = x - k * _LN_2
    series = np.ones_like(r)
    for term in reversed(range(1, _EXP_TERMS)):
        series = 1 + series * r / term
    return np.asarray(np.ldexp(series, k.astype(np.int64)))
