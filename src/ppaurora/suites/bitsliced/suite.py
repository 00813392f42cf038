"""The functionalities in masked form; see `gates` for the notation. Costs are in `costs`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.session import Context
from ppaurora.sharing.algebra import HALF, RING
from ppaurora.sharing.planes import (
    LANES,
    Planes,
    concat_planes,
    keep_lanes,
    slice_numbers,
    unpack_lanes,
    word_count,
)
from ppaurora.sharing.shares import (
    Bytes,
    Elements,
    HalfWords,
    LinearShare,
    Public,
    RingShare,
    WideShare,
    Words,
)
from ppaurora.sharing.spans import spans
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.base import (
    GRID_BOUND,
    SIGNIFICAND_BITS,
    WIDE_BOUND,
    N,
    Records,
    SuiteOf,
    side_by_side,
)
from ppaurora.suites.bitsliced import conversions, division, public_division, trees, wide
from ppaurora.suites.bitsliced.conversions import never_equal, ring_part
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.lanes import MaskedBits, as_slice, neighbours, packed
from ppaurora.suites.bitsliced.records import Place, PlaneRecords, PlaneWires, in_batches
from ppaurora.suites.bitsliced.shares import (
    ADDITIVE_HOLDERS,
    HOLDERS,
    MaskedShare,
    MaskedWideShare,
    PlanesShare,
    unmask_bits,
    unmask_numbers,
)
from ppaurora.suites.bitsliced.trees import Steps, run_window
from ppaurora.suites.release import fresh_parts
from ppaurora.suites.role import Role
from ppaurora.suites.team import Team


class BitslicedSuite(SuiteOf[Planes, Planes, MaskedBits]):
    """One party's end of the functionalities in masked form."""

    def __init__(self, context: Context, key_bits: int = 64) -> None:
        self.team = Team.of(context)
        self.key_bits = key_bits
        self._context = context
        self._gates = Gates(context)
        self.holder = HOLDERS[self._gates.role]
        self.additive = ADDITIVE_HOLDERS[self._gates.role]
        self._is_helper = self._gates.role.is_helper

    @staticmethod
    def reconstruct(parts: Sequence[Any]) -> NDArray[Any]:
        proxies = parts[Role.PROXY_0], parts[Role.PROXY_1]
        return unmask_bits(proxies) if isinstance(parts[0], Planes) else unmask_numbers(proxies)

    def step(self, name: str) -> AbstractContextManager[None]:
        return self._context.step(name)

    def progress(self, step: str, done: int, total: int) -> None:
        self._context.progress(step, done, total)

    def constant(self, value: Public, length: int = 1) -> MaskedShare:
        return MaskedShare.zeros(self.holder, (length,)) + value

    def blank(self, rows: int, length: int) -> MaskedShare:
        shape = (*MaskedShare.components(self.holder), rows, length)
        return MaskedShare(self.holder, np.zeros(shape, dtype=np.uint64))

    def no_records(self) -> PlaneRecords:
        return PlaneRecords(Planes.zeros(self.holder, self.key_bits + 1, 0))

    def inputs(self, shares: Sequence[PlanesShare], sizes: Sequence[int]) -> list[PlaneRecords]:
        """Owners' xor-shared planes in masked form: proxy i shows s_i xor r_i to the other."""

        lists: list[tuple[Words, int]] = []

        def steps(number: int, data: Words, planes: slice) -> Steps[None]:
            self._gates.fresh_mask(data[-1, planes])
            share = shares[number].planes[planes] if shares else None
            finish = self._gates.begin_input(share, data[:, planes])
            yield
            finish()

        def chunks() -> Iterator[Steps[None]]:
            for number, size in enumerate(sizes):
                shape = (self.key_bits + 1, word_count(size))
                data = np.empty((self._gates.components, *shape), dtype=np.uint64)
                lists.append((data, size))
                yield from (steps(number, data, planes) for planes in trees.in_chunks_of_planes(*shape))

        run_window(self._gates.meter, chunks())
        return [PlaneRecords(Planes(self.holder, keep_lanes(data, size), size)) for data, size in lists]

    def input_words(self, parts: Sequence[Words], shape: tuple[int, int]) -> MaskedShare:
        return self._remask(np.stack(parts, axis=1) if parts else np.zeros(shape[::-1], dtype=np.uint64))

    def input_counts(self, parts: Sequence[HalfWords], shape: tuple[int, int]) -> MaskedShare:
        owners, count = shape
        counts = self.blank(owners, count)

        def steps(owner: int, chunk: slice) -> Steps[None]:
            part = parts[owner][chunk] if parts else np.zeros(chunk.stop - chunk.start, dtype=np.uint32)
            finish = self._gates.begin_remask(part, ring=HALF)
            yield
            (masked,) = finish()
            counts.values[:, owner, chunk] = yield from conversions.lift_steps(self._gates, masked)

        chunks = trees.in_chunks_of_numbers(count)
        run_window(self._gates.meter, (steps(owner, chunk) for owner in range(owners) for chunk in chunks))
        return counts

    def count_positives(self, lists: Sequence[Records]) -> MaskedShare:
        labels = concat_planes([records.labels for records in lists])
        return self.count_ones(labels, spans(len(records) for records in lists))

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        """A proxy's additive part of x = m - r is m - r_1 or - r_0."""
        if self._is_helper:
            return ()
        return fresh_parts(self._context, self._gates.role.unit * x.values[0] - x.values[1], recipients)

    def mask(self, x: N) -> N:
        """Convert additive parts to masked form."""
        (masked,) = self._gates.begin_remask(x.values, ring=x.ring)()
        kind = MaskedWideShare if isinstance(x, WideShare) else MaskedShare
        return kind(self.holder, masked)

    def begin_mul(self, x: N, y: N) -> Callable[[], N]:
        finish = self._gates.begin_product(*_aligned(x, y), ring=x.ring)
        return lambda: type(x)(self.holder, finish()[0])

    def mul(self, x: N, y: N) -> N:
        return self.begin_mul(x, y)()

    def begin_dot(self, pairs: Iterable[tuple[RingShare, RingShare]]) -> Callable[[], MaskedShare]:
        finish = self._gates.begin_dot((x.values, y.values) for x, y in pairs)
        return lambda: MaskedShare(self.holder, finish()[0])

    def begin_dot_squares(self, pairs: Iterable[tuple[RingShare, RingShare]]) -> Callable[[], MaskedShare]:
        finish = self._gates.begin_dot_squares((x.values, y.values) for x, y in pairs)
        return lambda: MaskedShare(self.holder, finish()[0])

    def begin_sums_of_products(
        self, pairs: Iterable[tuple[RingShare, RingShare]]
    ) -> Callable[[], MaskedShare]:
        finish = self._gates.begin_sums_of_products(_aligned(x, y) for x, y in pairs)
        return lambda: MaskedShare(self.holder, finish()[0])

    def compare(self, x: Planes, y: Planes) -> Planes:
        """not (y > x)."""
        return ~self._one_plane(self._greater_steps, y, x)

    def _greater_steps(self, a: Words, b: Words) -> Steps[Words]:
        """A last bit, 0 for a and 1 for b, keeps them from being equal."""
        return (yield from trees.greater_steps(self._gates, *never_equal(self._gates, a, b)))

    def differ(self, x: Planes, y: Planes) -> Planes:
        return ~self._one_plane(partial(trees.equal_steps, self._gates), x, y)

    def _one_plane(self, steps: Callable[[Words, Words], Steps[Words]], x: Planes, y: Planes) -> Planes:
        if not len(x):
            return Planes.zeros(self.holder, 1, 0)
        result = trees.run_in_chunks(self._gates, steps, x.data, y.data)
        return Planes(self.holder, keep_lanes(result, len(x)), len(x))

    def compare_neighbours(self, lists: Sequence[Planes]) -> Planes:
        def steps(keys: Planes, chunk: slice) -> Steps[Words]:
            here, following = neighbours(keys, chunk)
            return (yield from self._greater_steps(following, here))

        counts = [max(len(keys) - 1, 0) for keys in lists]
        chunks = [trees.in_chunks(word_count(count)) for count in counts]
        greater = iter(
            run_window(
                self._gates.meter,
                (steps(keys, chunk) for keys, places in zip(lists, chunks, strict=True) for chunk in places),
            )
        )
        flags = []
        for count, places in zip(counts, chunks, strict=True):
            parts = [next(greater) for _ in places]
            if parts:
                data = np.concatenate(parts, axis=-1)
                flags.append(~Planes(self.holder, keep_lanes(data, count), count))
        return concat_planes(flags) if flags else Planes.zeros(self.holder, 1, 0)

    def ends_of_groups(self, keys: Planes) -> Planes:
        def steps(chunk: slice) -> Steps[Words]:
            return (yield from trees.equal_steps(self._gates, *neighbours(keys, chunk)))

        count = len(keys)
        if not count:
            return Planes.zeros(self.holder, 1, 0)
        parts = run_window(self._gates.meter, map(steps, trees.in_chunks(word_count(count))))
        data = np.concatenate(parts, axis=-1)
        # The last one has no neighbour: not equal, whatever came out.
        last = np.uint64(1 << (count - 1) % LANES)
        data[:, 0, -1] &= ~last
        return ~Planes(self.holder, keep_lanes(data, count), count)

    def exchange_layer(self, layer: Sequence[tuple[PlaneWires, int]]) -> None:
        """One AND per bit of a record, in place."""
        places = (place for wires, stride in layer for place in wires.places(stride))
        run_window(self._gates.meter, (self._exchange_steps(batch) for batch in in_batches(places)))

    def _exchange_steps(self, places: Sequence[Place]) -> Steps[None]:
        loaded = [place.load() for place in places]
        unlike, right = (
            parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
            for parts in zip(*loaded, strict=True)
        )
        del loaded
        move = yield from trees.exchange_steps(self._gates, unlike, right)
        for place, lanes in zip(places, spans(place.words for place in places), strict=True):
            place.apply(move[..., lanes])

    def exchange(self, left: PlaneRecords, right: PlaneRecords) -> tuple[PlaneRecords, PlaneRecords]:
        """Out of place, for lists that are no wires."""

        def steps(a: Words, b: Words) -> Steps[Words]:
            return (yield from trees.exchange_steps(self._gates, a ^ b, b[:, :-1]))

        move = trees.run_in_chunks(self._gates, steps, left.bits.data, right.bits.data)
        count = len(left)
        high, low = (
            PlaneRecords(Planes(self.holder, keep_lanes(side.bits.data ^ move, count), count))
            for side in (left, right)
        )
        return high, low

    def to_ring(self, flags: Planes, into: RingShare | None = None) -> RingShare:
        def steps(chunk: slice) -> Steps[Words]:
            yield from ()
            return ring_part(self._gates, flags.data[:, 0], chunk)

        return self._remask_in_chunks(steps, len(flags), into)

    def count_ones(self, flags: Planes, places: Sequence[slice]) -> MaskedShare:
        """Count as `to_ring` does, but sum up before anything is sent."""
        ends = np.array([0, *(place.stop for place in places)])
        sums = np.zeros(len(ends), dtype=np.uint64)
        running = np.uint64(0)
        for chunk in trees.in_chunks_of_numbers(len(flags)):
            upto = running + np.cumsum(ring_part(self._gates, flags.data[:, 0], chunk), dtype=np.uint64)
            here = (ends > chunk.start) & (ends <= chunk.stop)
            sums[here] = upto[ends[here] - chunk.start - 1]
            running = upto[-1]
        return self._remask(np.diff(sums))

    def negative(self, x: LinearShare) -> Planes:
        """Return the sign bit, one plane over all elements of x; for few elements."""
        return conversions.negative(self._gates, x, x.ring.bits)

    def is_positive(self, x: RingShare) -> RingShare:
        return self.to_ring(self.negative(0 - x))

    def all_positive(self, x: RingShare, groups: Sequence[Sequence[int]]) -> RingShare:
        """An AND over planes: plane k has, in the lane of every group, the flag of its k-th position."""
        if not any(groups):
            return self.constant(1, len(groups))
        positive = self.flags_from_start(self.negative(0 - x))
        planes = packed(positive.data[:, side_by_side(groups, len(x))])
        steps = partial(trees.all_steps, self._gates, children=trees.CHILDREN_OF_FEW)
        return self.to_ring(Planes(self.holder, trees.run_in_chunks(self._gates, steps, planes), len(groups)))

    def widen(self, x: RingShare) -> MaskedWideShare:
        return wide.widen(self._gates, x)

    def absolute(self, x: WideShare) -> tuple[MaskedShare, MaskedWideShare]:
        return wide.absolute(self._gates, x)

    def grid_steps(
        self, reach: WideShare, slope: WideShare, curvature: WideShare, most: int, bound: int = GRID_BOUND
    ) -> MaskedShare:
        return wide.grid_steps(self._gates, reach, slope, curvature, most, bound)

    def wide_quotients(
        self,
        numerator: WideShare,
        denominator: WideShare,
        leading_zeros: int,
        significant_bits: int = SIGNIFICAND_BITS,
        bound: int = WIDE_BOUND,
    ) -> MaskedShare:
        return division.nearest_wide_floats(
            self, self._gates, numerator, denominator, bound, leading_zeros, significant_bits
        )

    def random_bits(self, thresholds: Words) -> Planes:
        """[x < threshold], where x are numbers of 64 bits that nobody knows."""
        count = len(thresholds)
        if not count:
            return Planes.zeros(self.holder, 1, 0)
        limits = slice_numbers(thresholds, RING.bits)
        below = conversions.less_than_public(self._gates, self._gates.fresh_secret(limits.shape), limits)
        return Planes(self.holder, keep_lanes(below, count), count)

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        def steps(chunk: slice) -> Steps[Words]:
            return division.fixed_point_steps(
                self._gates, numerator[chunk], denominator[chunk], bits, bound, len(numerator)
            )

        return self._remask_in_chunks(steps, len(numerator))

    def rounded_quotients(
        self,
        numerator: RingShare,
        denominator: RingShare,
        shifts: Sequence[int],
        bound: int,
        leading_zeros: int,
    ) -> MaskedShare:
        return division.nearest_floats(
            self, self._gates, numerator, denominator, shifts, bound, leading_zeros
        )

    def prefix_and(self, bits: Planes) -> Planes:
        """Plane k becomes the AND of planes 0..k, in log2 rounds."""
        data = bits.data
        reach = 1
        while reach < data.shape[1]:
            further = self._gates.begin_and(data[:, reach:], data[:, :-reach])()
            data = np.concatenate([data[:, :reach], further], axis=1)
            reach *= 2
        return Planes(self.holder, keep_lanes(data, len(bits)), len(bits))

    def select(self, which: Words, planes: Words) -> Words:
        """Return the xor over the first plane axis of which·planes."""
        selected: Words = np.bitwise_xor.reduce(self._gates.begin_and(which, planes)(), axis=1)
        return selected

    def div_public(
        self, x: RingShare, divisors: range, bits: int, into: RingShare | None = None
    ) -> RingShare:
        return self._remask_in_chunks(
            lambda chunk: public_division.quotient_steps(self._gates, x[chunk], divisors[chunk], bits),
            len(x),
            into,
        )

    def shift_right(self, x: RingShare, bits: int) -> RingShare:
        children = trees.CHILDREN_OF_FEW
        return self._remask_in_chunks(
            lambda chunk: public_division.shift_right_steps(self._gates, x.values[:, chunk], bits, children),
            len(x),
        )

    def _remask_in_chunks(
        self, steps: Callable[[slice], Steps[Words]], count: int, into: RingShare | None = None
    ) -> RingShare:
        """Run steps that end in additive parts, for every chunk of a list; return it in masked form."""
        numbers = self.blank(1, count).row(0) if into is None else into
        out = numbers.values

        def remasked(chunk: slice) -> Steps[None]:
            finish = self._gates.begin_remask((yield from steps(chunk)))
            yield
            (out[:, chunk],) = finish()

        run_window(self._gates.meter, map(remasked, trees.in_chunks_of_numbers(count)))
        return numbers

    def _remask(self, part: Words) -> MaskedShare:
        (masked,) = self._gates.begin_remask(part)()
        return MaskedShare(self.holder, masked)

    def flags_from_start(self, flags: Planes) -> MaskedBits:
        data = np.empty((self._gates.components, len(flags) + 1), dtype=np.uint8)
        data[:, 0] = self.holder.units
        data[:, 1:] = unpack_lanes(flags.data[:, 0], len(flags))
        return MaskedBits(data)

    def carry(
        self, flags: MaskedBits, values: RingShare, source: slice, target: slice, *, join: bool
    ) -> None:
        """With f the flag at a target, its value changes by (1 - f)·(source - target)."""
        sources, targets = range(len(flags))[source], range(len(flags))[target]

        def steps(chunk: slice) -> Steps[None]:
            from_, to = as_slice(sources[chunk]), as_slice(targets[chunk])
            unflagged = self._inverted(flags.data[:, to])
            gaps = values.values[..., from_] - values.values[..., to]
            finish = self._gates.begin_bit_product(unflagged, gaps)
            if join:
                before = self._inverted(flags.data[:, from_])
                both = self._gates.begin_and(packed(unflagged[:, np.newaxis]), packed(before[:, np.newaxis]))
            yield
            values.values[..., to] += finish()[0]
            if join:
                flags.data[:, to] = self._inverted(unpack_lanes(both()[:, 0], unflagged.shape[-1]))

        run_window(self._gates.meter, map(steps, trees.in_chunks_of_numbers(len(targets))))

    def _inverted(self, bits: Bytes) -> Bytes:
        units = np.array(self.holder.units, dtype=np.uint8)
        return bits ^ units[:, np.newaxis]


def _aligned(x: LinearShare, y: LinearShare) -> tuple[Elements, Elements]:
    """Components in front, the other axes broadcast from behind."""
    x.check_kind(y)
    dimensions = max(len(x.shape), len(y.shape))
    return tuple(  # type: ignore[return-value]
        s.values.reshape(s.values.shape[0], *(1,) * (dimensions - len(s.shape)), *s.shape) for s in (x, y)
    )
