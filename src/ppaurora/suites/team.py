"""The workers of one party, as one of them sees it: what it hands to the others and gets from them.

Together they hold that party's shares, each a part of every list. All run the same algorithm; where a step
needs what another worker has, it is passed on within the party. Shares are passed on as they are: x = m - r
stays x = m - r, and the sum of shares is a share of the sum. A party of one worker passes nothing on, and
every method gives back what it was given.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ppaurora.channel.base import Buffer
from ppaurora.channel.intra_party import Alone, IntraPartyChannel
from ppaurora.channel.meter import Meter
from ppaurora.errors import PartyFailedError
from ppaurora.session import SINGLE, Context, Worker
from ppaurora.session.freed import give_back_freed_memory
from ppaurora.sharing.shares import RingShare

Array = NDArray[Any]


class Part(Protocol):
    """Secrets that are made of one array: shares of numbers, or flags one by one."""

    def to_array(self) -> Array: ...

    def like(self, array: Array) -> Self:
        """Another one of the same kind and holder."""


class Movable(Protocol):
    """A list of records that can be passed on."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice) -> Self: ...

    def to_arrays(self) -> list[Array]: ...

    def like(self, arrays: Sequence[Array], size: int) -> Self:
        """Another list of the same kind and holder."""


P = TypeVar("P", bound=Part)
M = TypeVar("M", bound=Movable)
N = TypeVar("N", bound=RingShare)

_HEADER = struct.Struct("<III")  # which exchange it is, how many messages led to it, how many arrays follow
_SHAPE = struct.Struct("<cB")  # an array's kind, and how many axes it has
_KINDS: dict[bytes, np.dtype[Any]] = {b"w": np.dtype("<u8"), b"b": np.dtype(np.uint8)}


class Team:
    """Worker `index` of `count`, and the others."""

    def __init__(
        self,
        worker: Worker = SINGLE,
        intra_party: IntraPartyChannel | None = None,
        meter: Meter | None = None,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        self.index, self.count, self.leads = worker.index, worker.count, worker.leads
        self._intra_party = Alone() if intra_party is None else intra_party
        self._meter = Meter() if meter is None else meter
        self._flush = flush
        self._exchanges = 0

    @classmethod
    def of(cls, context: Context) -> Self:
        return cls(context.worker, context.intra_party, context.meter, context.channel.finish)

    def all_to_all(self, outgoing: list[list[Array]]) -> list[list[Array]]:
        """`outgoing[k]` goes to worker k; returned is what each had for this one. Takes the arrays: the list
        is empty afterwards.

        What was sent to other parties leaves first: nobody there waits for what lies here while this worker
        waits for the other workers. The depth of messages goes along with what depends on them.
        """
        if self.count == 1:
            return [list(outgoing[0])]
        self._flush()
        sent: list[Buffer] = []
        while outgoing:
            sent.append(_packed(self._exchanges, self._meter.depth, outgoing.pop(0)))
        for worker, buffer in enumerate(sent):
            if worker != self.index:
                self._meter.passed_inside(len(buffer))
        received = [self._unpacked(*one) for one in enumerate(self._intra_party.all_to_all(sent))]
        self._exchanges += 1
        return received

    def _unpacked(self, worker: int, raw: Buffer) -> list[Array]:
        all_to_all, depth, count = _HEADER.unpack_from(raw)
        if all_to_all != self._exchanges:
            raise PartyFailedError(
                f"worker {worker} handed on its part {all_to_all} where {self._exchanges} was due"
            )
        if count:
            self._meter.received(depth)
        return _arrays(memoryview(raw)[_HEADER.size :], count)

    # Numbers

    def gather(self, part: P) -> list[P]:
        """Return at the first worker what all have, in their order; elsewhere nothing."""
        received = self.all_to_all([[part.to_array()], *[[]] * (self.count - 1)])
        return [part.like(array) for arrays in received for array in arrays]

    def total(self, part: N) -> N:
        """Return at the first worker the sum of what all have; elsewhere it is of no use."""
        first, *others = self.gather(part) or [part]
        return sum(others, first)

    def sums(self, part: N) -> tuple[N, N]:
        """Return the sum of what all earlier workers have, and the sum of what all have."""
        parts = [part.like(array) for (array,) in self.all_to_all([[part.to_array()]] * self.count)]
        return sum(parts[: self.index], part * 0), sum(parts, part * 0)

    def hand_out(self, parts: Sequence[P], kind: P) -> P:
        """Return this worker's part of what the first worker has for each."""
        outgoing = [[part.to_array()] for part in parts] if self.leads else [[]] * self.count
        return kind.like(self.all_to_all(outgoing)[0][0])

    # Records

    def all_to_all_records(self, outgoing: list[M], sizes: Sequence[int]) -> list[M]:
        """Send list k to worker k, and return what each had for this one, so many records as `sizes` says.

        Empty lists are left out.
        """
        kind = outgoing[self.index][:0]
        if self.count > 1:
            give_back_freed_memory()  # there is a moment with the list twice
        arrays: list[list[Array]] = [part.to_arrays() if len(part) else [] for part in outgoing]
        outgoing.clear()
        received = self.all_to_all(arrays)
        return [kind.like(arrays, size) for arrays, size in zip(received, sizes, strict=True) if size]


def message_bytes(shapes: Sequence[tuple[int, ...]]) -> int:
    """Return how many bytes arrays of words take on their way to another worker."""
    return _HEADER.size + sum(_SHAPE.size + 8 * len(shape) + 8 * math.prod(shape) for shape in shapes)


def _packed(all_to_all: int, depth: int, arrays: Sequence[Array]) -> bytes:
    pieces: list[Buffer] = [_HEADER.pack(all_to_all, depth, len(arrays))]
    for array in arrays:
        kind = b"b" if array.dtype == np.uint8 else b"w"
        pieces += [_SHAPE.pack(kind, array.ndim), np.array(array.shape, dtype="<u8").tobytes()]
        pieces.append(np.ascontiguousarray(array, dtype=_KINDS[kind]).reshape(-1).view(np.uint8).data)
    return b"".join(pieces)


def _arrays(raw: memoryview, count: int) -> list[Array]:
    arrays = []
    for _ in range(count):
        kind, axes = _SHAPE.unpack_from(raw)
        raw = raw[_SHAPE.size :]
        shape = tuple(np.frombuffer(raw[: 8 * axes], dtype="<u8").tolist())
        raw = raw[8 * axes :]
        dtype = _KINDS[kind]
        length = math.prod(shape) * dtype.itemsize
        arrays.append(np.frombuffer(raw[:length], dtype=dtype).reshape(shape))
        raw = raw[length:]
    return arrays
