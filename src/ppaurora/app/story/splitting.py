"""One record of the example, split into two shares by the very code that a study uses, to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.data import Samples
from ppaurora.protocols import Fast
from ppaurora.sharing.planes import unpack_lanes
from ppaurora.suites.bitsliced.shares import PlanesShare

_DIGITS_TOGETHER = 4


@dataclass(frozen=True)
class RecordBits:
    """A record, or a share of one: a number of 64 bits that orders as the score does, and the label's bit."""

    key: int
    label: int

    @property
    def digits(self) -> str:
        """The number in sixteen digits from 0 to f, in groups."""
        text = f"{self.key:016x}"
        groups = [text[start : start + _DIGITS_TOGETHER] for start in range(0, 16, _DIGITS_TOGETHER)]
        return " ".join(groups)

    def __xor__(self, other: RecordBits) -> RecordBits:
        return RecordBits(self.key ^ other.key, self.label ^ other.label)


@dataclass(frozen=True)
class SplitRecord:
    """The shares of one record, one for each proxy."""

    shares: tuple[RecordBits, ...]

    @property
    def together(self) -> RecordBits:
        whole = RecordBits(0, 0)
        for share in self.shares:
            whole ^= share
        return whole


@dataclass(frozen=True)
class ShownRecord:
    """The record that is split on the page, in the clear."""

    whose: str
    score: float
    label: int
    bits: RecordBits


def show_record(whose: str, samples: Samples, index: int) -> ShownRecord:
    one = _only(samples, index)
    key = int(_protocol().prepare(one).keys[0])
    return ShownRecord(whose, float(one.scores[0]), int(one.labels[0]), RecordBits(key, int(one.labels[0])))


def split_record(samples: Samples, index: int) -> SplitRecord:
    """Split a record with fresh randomness: another split every time."""
    protocol = _protocol()
    shares = protocol.split(protocol.prepare(_only(samples, index)))
    return SplitRecord(tuple(_bits_of(share) for share in shares if isinstance(share, PlanesShare)))


def _protocol() -> Fast:
    return Fast()


def _only(samples: Samples, index: int) -> Samples:
    return Samples(samples.source, samples.scores[index : index + 1], samples.labels[index : index + 1])


def _bits_of(share: PlanesShare) -> RecordBits:
    """Return the bits of one record's share: a plane has one bit of it."""
    *key, label = (int(bit) for bit in unpack_lanes(share.planes, 1)[:, 0])
    return RecordBits(_number(key), label)


def _number(bits: Sequence[int]) -> int:
    return int("".join(map(str, bits)), 2)
