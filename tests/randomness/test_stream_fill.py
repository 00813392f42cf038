"""A stream masks the memory it is given, or says that it does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.randomness import Stream

KEY = bytes(range(32))
Words = NDArray[np.uint64]

VIEWS: dict[str, Callable[[Words], Words]] = {
    "every other": lambda table: table[::2],
    "backwards": lambda table: table[::-1],
    "columns": lambda table: table[:, 1:3],
    "transposed": lambda table: table.T,
    "repeated": lambda table: np.broadcast_to(table[:1], (4, table.shape[1])),
}


@pytest.mark.parametrize("view", VIEWS)
def test_an_array_that_is_not_contiguous_is_refused(view: str) -> None:
    table = np.zeros((6, 5), dtype=np.uint64)
    stream = Stream(KEY)
    with pytest.raises(MisuseError, match="contiguous"):
        stream.fill(VIEWS[view](table))
    assert not table.any()
    # Nothing of the stream was used up.
    assert stream.bytes(64).tobytes() == Stream(KEY).bytes(64).tobytes()


@pytest.mark.parametrize("view", VIEWS)
def test_a_contiguous_array_of_the_same_shape_is_filled(view: str) -> None:
    """The control of the test above."""
    out = np.array(VIEWS[view](np.zeros((6, 5), dtype=np.uint64)), order="C")
    Stream(KEY).fill(out)
    assert out.tobytes() == Stream(KEY).bytes(out.nbytes).tobytes()


def test_a_contiguous_part_is_filled_and_nothing_beside_it() -> None:
    table = np.zeros((6, 5), dtype=np.uint64)
    Stream(KEY).fill(table[2:4])
    assert table[2:4].tobytes() == Stream(KEY).bytes(80).tobytes()
    assert not table[:2].any()
    assert not table[4:].any()


def test_filling_goes_on_where_reading_stopped() -> None:
    stream = Stream(KEY)
    first = stream.bytes(24).tobytes()
    out = np.empty((3, 40_000), dtype=np.uint64)
    stream.fill(out)
    assert first + out.tobytes() == Stream(KEY).bytes(24 + out.nbytes).tobytes()


@pytest.mark.parametrize("words", [2, 9_000])
def test_reading_goes_on_where_filling_stopped(words: int) -> None:
    """Of what was read ahead, too: a byte that is read twice would be a mask that is used twice."""
    stream = Stream(KEY)
    first, out = stream.bytes(24).tobytes(), np.empty(words, dtype=np.uint64)
    stream.fill(out)
    read = first + out.tobytes() + stream.bytes(40).tobytes()
    assert read == Stream(KEY).bytes(len(read)).tobytes()
