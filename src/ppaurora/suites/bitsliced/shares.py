"""The share types of masked sharing between two proxies and a helper.

A secret is x = m - r in a ring, or x = m xor r bit by bit. Both proxies know m and hold parts of r, and the
helper knows r: a proxy has the components (m, part of r), the helper has (r). So the helper computes on masks
what the proxies compute on values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppaurora.sharing.algebra import RING
from ppaurora.sharing.planes import Planes, take_lanes, unpack_lanes, word_count
from ppaurora.sharing.shares import Bytes, Elements, Holder, RingShare, SeveralComponents, WideShare, Words
from ppaurora.sharing.stages import check_length
from ppaurora.suites.role import Role

HOLDERS: Mapping[Role, Holder] = {
    role: Holder(role.title, (0,) if role.is_helper else (1, 0)) for role in Role
}
"""Holders of secrets in masked form."""

ADDITIVE_HOLDERS: Mapping[Role, Holder] = {role: Holder(role.title, (role.unit,)) for role in Role}
"""Holders of parts that are not masked yet; the secret is their sum."""


class MaskedShare(SeveralComponents, RingShare):
    """Numbers x = m - r modulo 2^64."""

    __slots__ = ()


class MaskedWideShare(SeveralComponents, WideShare):
    """Numbers x = m - r modulo 2^256."""

    __slots__ = ()


def unmask_numbers(proxies: Sequence[MaskedShare | MaskedWideShare]) -> Elements:
    """Return the secrets behind both proxies' parts, which nobody has together in a computation."""
    first, second = proxies
    return first.ring.reduced(first.values[0] - first.values[1] - second.values[1])


def unmask_bits(proxies: Sequence[Planes]) -> Bytes:
    """Return the bits behind both proxies' parts, one to a byte."""
    first, second = proxies
    return unpack_lanes(first.data[0] ^ first.data[1] ^ second.data[1], len(first))


@dataclass(frozen=True)
class PlanesShare:
    """Parts modulo 2 of bit planes: the keys', most significant first, then the labels'."""

    planes: Words = field(repr=False)
    size: int

    def __len__(self) -> int:
        return self.size

    def part(self, samples: range) -> PlanesShare:
        return PlanesShare(take_lanes(self.planes, samples.start, len(samples)), len(samples))

    def to_bytes(self) -> bytes:
        return bytes(RING.to_wire(self.planes))

    @classmethod
    def from_bytes(cls, raw: bytes | memoryview, size: int, key_bits: int) -> PlanesShare:
        check_length(raw, cls.wire_bytes(size, key_bits), size)
        return cls(RING.from_wire(memoryview(raw), (key_bits + 1, word_count(size))), size)

    @staticmethod
    def wire_bytes(size: int, key_bits: int) -> int:
        return RING.wire_bytes((key_bits + 1) * word_count(size))
