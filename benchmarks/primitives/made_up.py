"""What the primitives work on: made-up secrets, in the form that a suite computes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppaurora.sharing.planes import word_count
from ppaurora.sharing.shares import BitShare, RingShare, Words
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.bitsliced.shares import PlanesShare
from ppaurora.suites.cecilia.shares import HOLDERS
from ppaurora.suites.role import Role

SEED = 2023
KEY_BITS = 64
BOUND = 1 << 40  # of denominators, as for the AUROC of a million samples


class MadeUpData:
    """A party's parts of made-up secrets. All parties draw the same numbers, so that the parts fit."""

    def __init__(self, role: Role, count: int) -> None:
        self.count = count
        self._role = role
        self._holder = HOLDERS[role]
        self._random = np.random.default_rng(SEED)

    def numbers(self, end: int = 1 << 62) -> Words:
        return self._random.integers(0, end, self.count, dtype=np.uint64)

    def shared(self, secrets: Words) -> RingShare:
        pads = self._random.integers(0, 1 << 64, secrets.shape, dtype=np.uint64)
        if self._role.is_helper:
            return RingShare.zeros(self._holder, secrets.shape)
        return RingShare(self._holder, pads if self._role is Role.PROXY_0 else secrets - pads)

    def two_numbers(self) -> tuple[RingShare, RingShare]:
        return self.shared(self.numbers()), self.shared(self.numbers())

    def fraction(self) -> tuple[RingShare, RingShare]:
        """Numerators and denominators, 0 <= n <= d."""
        denominators = self.numbers(BOUND) + np.uint64(1)
        return self.shared(denominators // (self.numbers(7) + np.uint64(1))), self.shared(denominators)

    def bits(self) -> BitShare:
        pads, secrets = self._random.integers(0, 2, (2, self.count), dtype=np.uint8)
        if self._role.is_helper:
            return BitShare.zeros(self._holder, secrets.shape)
        return BitShare(self._holder, pads if self._role is Role.PROXY_0 else secrets ^ pads)

    def records(self) -> ArrayRecords:
        return ArrayRecords(self.shared(self.numbers()), self.bits())

    def words(self) -> list[Words]:
        """A proxy's part of an owner's sums; the helper has none."""
        part = self.shared(self.numbers())
        return [] if self._role.is_helper else [part.values]

    def planes(self) -> list[Words]:
        """A proxy's part of an owner's list, of any keys and labels; the helper has none."""
        shape = (2, KEY_BITS + 1, word_count(self.count))
        pads, secrets = self._random.integers(0, 1 << 64, shape, dtype=np.uint64)
        if self._role.is_helper:
            return []
        return [pads if self._role is Role.PROXY_0 else secrets ^ pads]


Prepare = Callable[[Any, MadeUpData], tuple[Any, ...]]


def masked(share: Callable[[MadeUpData], tuple[RingShare, ...]]) -> Prepare:
    """Numbers in the form that `bitsliced` computes on."""
    return lambda suite, data: tuple(suite.mask(x) for x in share(data))


def input_shares(data: MadeUpData) -> list[PlanesShare]:
    return [PlanesShare(planes, data.count) for planes in data.planes()]


def two_lists(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    return tuple(suite.inputs(input_shares(data) + input_shares(data), [data.count] * 2))


def two_keys(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    return tuple(records.keys for records in two_lists(suite, data))


def flags(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    (records,) = suite.inputs(input_shares(data), [data.count])
    return (records.labels,)


def one_number(data: MadeUpData) -> tuple[RingShare]:
    return (data.shared(data.numbers()),)


def quotients(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    """Like the precision of the j-th record: something at most j, over a public j."""
    divisors = range(1, data.count + 1)
    numerators = np.array(divisors, dtype=np.uint64) // (data.numbers(7) + np.uint64(1))
    return suite.mask(data.shared(numerators)), divisors


def neighbouring_wires(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    """The last layer of a merge, in which wires meet that are next to each other."""
    first, second = two_lists(suite, data)
    return ([(first.wires(second), 1)],)


def every_other(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    """Flags and values at 0..2n, and where values go from and to."""
    flags = suite.flags_from_start(PlaneRecords.concat(two_lists(suite, data)).labels)
    return flags, suite.blank(1, len(flags)), slice(0, 2 * data.count, 2), slice(1, None, 2)


def wide_number(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    return (suite.widen(suite.mask(data.shared(data.numbers()))),)


def wide_fraction(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    return tuple(suite.widen(suite.mask(x)) for x in data.fraction())
