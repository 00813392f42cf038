"""The same computation by three parties and in the clear, on numbers of either ring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.sharing import RingShare, WideShare
from ppaurora.sharing.algebra import WIDE
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.testing.world import WorldRun
from tests.support.bitsliced import masked

MODULUS = 1 << 256

numbers = st.one_of(
    st.sampled_from([0, 1, 2**64 - 1, 2**64, 2**253, 2**255 - 1]), st.integers(0, 255).map(lambda k: 1 << k)
).flatmap(lambda size: st.integers(-size, size)) | st.sampled_from([0, 1, -1, 2**253, -(2**253)])


def wide_array(values: Sequence[int]) -> NDArray[Any]:
    return WIDE.elements(np.array(values, dtype=object))


def signed(values: Sequence[int]) -> list[int]:
    return [value - MODULUS if value >= MODULUS // 2 else value for value in values]


def in_the_clear(algorithm: Callable[..., Any], *inputs: NDArray[Any]) -> Any:
    shares = [(WideShare if array.dtype == WIDE.dtype else RingShare)(CLEARTEXT, array) for array in inputs]
    return _opened(algorithm(CleartextSuite(), *shares))


def _opened(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(map(_opened, result))
    return result.values


def by_three_parties(algorithm: Callable[..., Any], *inputs: NDArray[Any]) -> Any:
    run: WorldRun = masked(algorithm, *inputs)
    return run.value


def both_ways(algorithm: Callable[..., Any], *inputs: NDArray[Any]) -> Any:
    """What comes out, which is the same; as lists."""
    found, expected = (_listed(run(algorithm, *inputs)) for run in (by_three_parties, in_the_clear))
    assert found == expected
    return found


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple | list) else value.tolist()
