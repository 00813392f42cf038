"""Numbers modulo 2^32 and 2^256: exact on the wire, drawn whole from a stream, cut into planes."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.randomness import Stream
from ppaurora.sharing.algebra import HALF, RING, WIDE, Ring
from ppaurora.sharing.planes import slice_numbers, unpack_lanes

EDGES = [0, 1, 2**64 - 1, 2**64, 2**255, 2**256 - 1]


def test_wide_numbers_on_the_wire() -> None:
    values = np.array(EDGES, dtype=object).reshape(2, 3)
    wire = WIDE.to_wire(values)
    assert bytes(wire) == b"".join(value.to_bytes(32, "little") for value in EDGES)
    assert len(wire) == WIDE.wire_bytes(6)
    assert WIDE.from_wire(wire, (2, 3)).tolist() == values.tolist()
    assert WIDE.from_wire(memoryview(b""), (0,)).shape == (0,)


def test_wide_numbers_are_drawn_byte_by_byte_from_the_stream() -> None:
    raw = Stream(bytes(32)).bytes(32 * 6).tobytes()
    expected = [int.from_bytes(raw[at : at + 32], "little") for at in range(0, len(raw), 32)]
    assert WIDE.draw(Stream(bytes(32)), (6,)).tolist() == expected
    out = np.empty((2, 3), dtype=object)
    WIDE.fill(Stream(bytes(32)), out)
    assert out.reshape(-1).tolist() == expected


def test_wide_arithmetic_stays_in_range() -> None:
    a, b = np.array(EDGES, dtype=object), np.array(EDGES[::-1], dtype=object)
    assert WIDE.add(a, b).tolist() == [(x + y) % 2**256 for x, y in zip(EDGES, EDGES[::-1], strict=True)]
    assert WIDE.sub(a, b).tolist() == [(x - y) % 2**256 for x, y in zip(EDGES, EDGES[::-1], strict=True)]
    assert a.tolist() == EDGES, "operands stay as they are"


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8, object])
def test_public_values_become_python_integers(dtype: type) -> None:
    """Of NumPy's own integers, products would overflow."""
    elements = WIDE.elements(np.array([1, 100], dtype=dtype))
    assert [type(value) for value in elements.tolist()] == [int, int]
    assert (elements * 2**200).tolist() == [2**200, 100 * 2**200]
    assert WIDE.elements(np.array([np.int64(-1)], dtype=object)).tolist() == [2**256 - 1]
    assert int(WIDE.elements(-1)) == 2**256 - 1


@pytest.mark.parametrize("count", [0, 1, 2, 5, 6])
def test_numbers_modulo_two_to_the_32(count: int) -> None:
    """Two of them are drawn from a word; of an odd number, half a word stays unused."""
    raw = Stream(bytes(32)).bytes(32).tobytes()
    expected = [int.from_bytes(raw[at : at + 4], "little") for at in range(0, 4 * count, 4)]
    stream = Stream(bytes(32))
    values = HALF.draw(stream, (count,))
    assert values.tolist() == expected
    assert stream.bytes(4).tobytes() == raw[(4 * count + 7) // 8 * 8 :][:4]
    out = np.empty((1, count), dtype=np.uint32)
    HALF.fill(Stream(bytes(32)), out)
    assert out.tolist() == [expected]
    wire = HALF.to_wire(values)
    assert bytes(wire) == raw[: 4 * count]
    assert len(wire) == HALF.wire_bytes(count)
    assert HALF.from_wire(wire, (count,)).tolist() == expected
    assert HALF.sub(values, HALF.add(values, values)).tolist() == [-value % 2**32 for value in expected]
    assert HALF.elements(np.array([2**33 + 7])).tolist() == [7]
    assert int(HALF.elements(-1)) == 2**32 - 1


@pytest.mark.parametrize("ring", [HALF, RING, WIDE], ids=["32", "64", "256"])
@pytest.mark.parametrize("width", [1, 9, 64, 100, 256])
def test_the_low_bits_of_numbers_as_planes(ring: Ring, width: int) -> None:
    values = [value % (1 << ring.bits) for value in [*EDGES, 5**110]] * 11
    planes = unpack_lanes(
        slice_numbers(ring.elements(np.array(values, dtype=object)), min(width, ring.bits), ring), 77
    )
    low = [int("".join(map(str, column)), 2) for column in planes.T.tolist()]
    assert low == [value % (1 << min(width, ring.bits)) for value in values]
