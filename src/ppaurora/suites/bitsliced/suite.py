"""The functionalities in masked form; see `gates` for the notation. Costs are in `costs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ppaurora.session import Context
from ppaurora.sharing.planes import (
    LANES,
    Planes,
    keep_lanes,
    slice_numbers,
    unpack_lanes,
    word_count,
)
from ppaurora.sharing.shares import Holder, MaskedShare, Public, RingShare, Words
from ppaurora.sharing.spans import spans
from ppaurora.sharing.stages import PlanesShare, ResultShare
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import division, trees
from ppaurora.suites.bitsliced.gates import Gates, Steps
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.release import fresh_parts

_ONE = np.uint64(1)
_63 = np.uint64(63)
_RECIPROCAL_BITS = 62


class BitslicedSuite(Suite):
    """One party's end."""

    def __init__(self, context: Context, key_bits: int = 64) -> None:
        self.holder = Holder.of(context.role)
        self.key_bits = key_bits
        self._context = context
        self._gates = Gates(context)
        self._is_helper = self._gates.role.is_helper
        self._unit = np.uint64(self.holder.unit)

    def step(self, name: str) -> AbstractContextManager[None]:
        return self._context.step(name)

    def progress(self, step: str, done: int, total: int) -> None:
        self._context.progress(step, done, total)

    def constant(self, value: Public, length: int = 1) -> MaskedShare:
        return MaskedShare.zeros(self.holder, (length,)) + value

    def no_records(self) -> PlaneRecords:
        return PlaneRecords(Planes.zeros(self.holder, self.key_bits + 1, 0))

    def inputs(self, shares: Sequence[PlanesShare], sizes: Sequence[int]) -> list[PlaneRecords]:
        """Owners' xor-shared planes in masked form: proxy i shows s_i xor r_i to the other."""
        places = spans(word_count(size) for size in sizes)
        mask = np.empty((self.key_bits + 1, places[-1].stop), dtype=np.uint64)
        self._gates.fresh_mask(mask)
        if self._is_helper:
            data = mask[np.newaxis]
        else:
            planes: Words = np.concatenate([share.planes for share in shares], axis=1)
            data = np.stack([self._gates.swap_masked_bits(planes ^ mask), mask])
        return [
            PlaneRecords(Planes(self.holder, keep_lanes(data[..., place], size), size))
            for place, size in zip(places, sizes, strict=True)
        ]

    def mask(self, x: RingShare) -> MaskedShare:
        """From additive parts to masked form."""
        return self._remask(x.values)

    def mul(self, x: RingShare, y: RingShare) -> MaskedShare:
        (product,) = self._gates.begin_product(*_aligned(x, y))()
        return MaskedShare(self.holder, product)

    def dot(self, x: RingShare, y: RingShare) -> MaskedShare:
        (product,) = self._gates.begin_product(*_aligned(x, y), sum_last_axis=True)()
        return MaskedShare(self.holder, product)

    def compare(self, x: Planes, y: Planes) -> Planes:
        """not (y > x)."""
        return ~self._one_plane(partial(trees.greater_steps, self._gates, exact=True), y, x)

    def differ(self, x: Planes, y: Planes) -> Planes:
        return ~self._one_plane(partial(trees.equal_steps, self._gates), x, y)

    def _one_plane(self, steps: Callable[[Words, Words], Steps[Words]], x: Planes, y: Planes) -> Planes:
        if not len(x):
            return Planes.zeros(self.holder, 1, 0)
        result = np.concatenate(trees.run_in_chunks(steps, x.data, y.data), axis=-1)
        return Planes(self.holder, keep_lanes(result, len(x)), len(x))

    def exchange(self, left: PlaneRecords, right: PlaneRecords) -> tuple[PlaneRecords, PlaneRecords]:
        """One AND per bit of a record, both outputs from one product."""
        steps = partial(trees.exchange_steps, self._gates, key_bits=self.key_bits)
        results = trees.run_in_chunks(steps, left.bits.data, right.bits.data)
        count = len(left)
        high, low = (
            PlaneRecords(Planes(self.holder, keep_lanes(np.concatenate(parts, axis=-1), count), count))
            for parts in zip(*results, strict=True)
        )
        return high, low

    def to_ring(self, flags: Planes) -> MaskedShare:
        return self._remask(self._ring_part(flags))

    def count_ones(self, flags: Planes, places: Sequence[slice]) -> MaskedShare:
        """As `to_ring`, but summed up before anything is sent."""
        part = self._ring_part(flags)
        return self._remask(np.array([part[place].sum(dtype=np.uint64) for place in places]))

    def _ring_part(self, flags: Planes) -> Words:
        """From masked bits to additive parts in the ring.

        1. the helper deals <r> in the ring
        2. x = m xor r = m + (1 - 2m)<r>
        """
        bits = unpack_lanes(flags.data[:, 0], len(flags)).astype(np.uint64)
        mask = self._gates.deal_ring((len(flags),), lambda: bits[0])
        return mask if self._is_helper else self._unit * bits[0] + (_ONE - bits[0] - bits[0]) * mask

    def negative(self, x: RingShare) -> Planes:
        """The sign bit of x = m - r, one plane over all elements of x.

        With ' for the low 63 bits, MSB(x) = m_63 xor r_63 xor [r' > m'].
        """
        count = x.values[0].size
        r, m = self._mask_and_public_bits(x.values.reshape(-1, count), LANES)
        borrow = self._borrow(r[:, 1:], m[:, 1:])
        return Planes(self.holder, keep_lanes(borrow ^ r[:, :1] ^ m[:, :1], count), count)

    def _mask_and_public_bits(self, x: Words, width: int) -> tuple[Words, Words]:
        """The low bits of r, as secrets, and of m, as public values, in planes.

        The helper deals the bits of r, each a secret whose mask is the bit itself, with m = 0.
        """
        shape = (width, word_count(x.shape[1]))
        nothing = np.zeros(shape, dtype=np.uint64)
        dealt = self._gates.deal_bits(shape, lambda: slice_numbers(x[0], width))
        if self._is_helper:
            return dealt[np.newaxis], nothing[np.newaxis]
        return np.stack([nothing, dealt]), np.stack([slice_numbers(x[0], width), nothing])

    def _borrow(self, r: Words, m: Words) -> Words:
        """[r > m], as one plane. A last bit, 0 for r and 1 for m, keeps them from being equal."""
        last = Planes.zeros(self.holder, 1, r.shape[-1] * LANES)
        r, m = np.concatenate([r, last.data], axis=1), np.concatenate([m, (~last).data], axis=1)
        steps = partial(trees.greater_steps, self._gates, exact=False)
        return np.concatenate(trees.run_in_chunks(steps, r, m), axis=-1)

    def is_positive(self, x: RingShare) -> MaskedShare:
        return self.to_ring(self.negative(0 - x))

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> MaskedShare:
        return division.fixed_point(self, numerator, denominator, bits, bound)

    def rounded_quotient(
        self, numerator: RingShare, denominator: RingShare, bound: int, leading_zeros: int
    ) -> MaskedShare:
        return division.nearest_float(self, numerator, denominator, bound, leading_zeros)

    def prefix_and(self, bits: Planes) -> Planes:
        """Plane k becomes the AND of planes 0..k, in log2 rounds."""
        data = bits.data
        reach = 1
        while reach < data.shape[1]:
            (further,) = self._gates.begin_and([(data[:, reach:], data[:, :-reach])])()
            data = np.concatenate([data[:, :reach], further], axis=1)
            reach *= 2
        return Planes(self.holder, keep_lanes(data, len(bits)), len(bits))

    def select(self, which: Words, planes: Words) -> Words:
        """The xor over the first plane axis of which·planes."""
        (products,) = self._gates.begin_and([(which, planes)])()
        selected: Words = np.bitwise_xor.reduce(products, axis=1)
        return selected

    def div_public(self, x: RingShare, divisors: NDArray[np.uint64], bits: int) -> MaskedShare:
        """x times floor(2^62 / divisor), a local product y <= 2^62, without its last k = 62 - bits bits.

        They are rounded off: 2^(k-1) is added first. For y = m - r < 2^63, y >> k is
        (m >> k) - (r >> k) + 2^(64-k)·r_63·(1 - m_63) - [r mod 2^k > m mod 2^k].
        The third term undoes the wrap of the mask, the last is the borrow out of what is dropped.
        The helper deals <r >> k> and <r_63>.
        """
        k = _RECIPROCAL_BITS - bits
        y = (x * (np.uint64(1 << _RECIPROCAL_BITS) // divisors) + (1 << (k - 1))).values
        borrow = self.to_ring(
            Planes(self.holder, keep_lanes(self._borrow(*self._mask_and_public_bits(y, k)), len(x)), len(x))
        )
        drop = np.uint64(k)
        dealt = self._gates.deal_ring((2, len(x)), lambda: np.stack([y[0] >> drop, y[0] >> _63]))
        if self._is_helper:
            part = dealt[0]
        else:
            m = y[0]
            part = self._unit * (m >> drop) - dealt[0]
            part += (dealt[1] * (_ONE - (m >> _63))) << np.uint64(64 - k)
        return self._remask(part) - borrow

    def _remask(self, part: Words) -> MaskedShare:
        (masked,) = self._gates.begin_remask(part)()
        return MaskedShare(self.holder, masked)

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        """A proxy's additive part of x = m - r is m - r_1 or - r_0."""
        if self._is_helper:
            return ()
        return fresh_parts(self._context, self._unit * x.values[0] - x.values[1], recipients)


def _aligned(x: RingShare, y: RingShare) -> tuple[Words, Words]:
    """Components in front, the other axes broadcast from behind."""
    dimensions = max(len(x.shape), len(y.shape))
    return tuple(  # type: ignore[return-value]
        s.values.reshape(s.values.shape[0], *(1,) * (dimensions - len(s.shape)), *s.shape) for s in (x, y)
    )
