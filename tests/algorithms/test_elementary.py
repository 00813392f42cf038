"""The logarithm and exponential by which servers find the same public numbers, whatever their processors."""

from __future__ import annotations

import hashlib
from decimal import Context, Decimal

import numpy as np

from ppaurora.algorithms.elementary import exp, log
from ppaurora.algorithms.logit_nodes import lagrange_weights, logits
from ppaurora.data.grid import Grid

PRECISE = Context(prec=40)


def test_logarithms_are_those_of_decimals() -> None:
    x = np.concatenate([np.arange(1, 2001) / 791.3, [1.0, 1e-300, 1e300, 1 - 2**-53, 1 + 2**-52]])
    for number, found in zip(x.tolist(), log(x).tolist(), strict=True):
        true = PRECISE.ln(Decimal(number))
        assert abs(Decimal(found) - true) <= 4 * Decimal(float(np.spacing(abs(float(true)))))


def test_exponentials_are_those_of_decimals() -> None:
    x = -np.concatenate([np.linspace(0, 160, 2001), [700.0]])
    for number, found in zip(x.tolist(), exp(x).tolist(), strict=True):
        assert abs(Decimal(found) - PRECISE.exp(Decimal(number))) <= Decimal("1e-15")


def test_numbers_are_the_same_on_every_machine_bit_for_bit() -> None:
    """NumPy's own logarithm gives other bits with AVX-512 than without."""
    grid = Grid()
    x = logits(grid.values, grid.step)
    rest = x * 16 - np.floor(x * 16)
    numbers = np.concatenate([x, exp(-np.abs(x)), *lagrange_weights(rest)])
    digest = hashlib.sha256(numbers.astype("<f8").tobytes()).hexdigest()
    assert digest == "f802dd80d82daacdde1af95fa3b8923d72f50d1cdc0508b38f7aaf485022e6bd"
