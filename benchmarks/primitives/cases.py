"""The primitives to measure: what each works on, how it is called, and what it declares to cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppaurora.channel.meter import Cost
from ppaurora.session import Context
from ppaurora.sharing.planes import word_count
from ppaurora.sharing.shares import BitShare, Holder, RingShare, Words
from ppaurora.sharing.stages import PlanesShare
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import FIXED_POINT_BITS, Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced import costs as bitsliced
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.cecilia import CeciliaSuite
from ppaurora.suites.cecilia import costs as cecilia

SEED = 2023
KEY_BITS = 64
PRECISION_BITS = 33
LEADING_ZEROS = 40
BOUND = 1 << 40  # of denominators, as for the AUROC of a million samples

SUITES: Mapping[str, Callable[[Context], Suite]] = {
    "cecilia": CeciliaSuite,
    "bitsliced": lambda context: BitslicedSuite(context, KEY_BITS),
}

# Methods of a suite that send nothing, and methods that are calls of another one that is measured.
_ALWAYS_FREE = frozenset({"blank", "constant", "no_records", "result", "step", "progress"})
FREE: Mapping[str, frozenset[str]] = {
    "cecilia": _ALWAYS_FREE | {"inputs"},
    "bitsliced": _ALWAYS_FREE | {"flags_from_start"},
}
MADE_OF: Mapping[str, Mapping[str, str]] = {
    "cecilia": {
        "begin_mul": "mul",
        "begin_dot": "mul",
        "dot": "mul",
        "mux": "mul",
        "carry": "mul",
        "count_ones": "to_ring",
        "flags_from_start": "to_ring",
        "compare_neighbours": "compare",
        "ends_of_groups": "differ",
        "exchange_layer": "exchange",
        "is_positive": "compare",
        "div_public": "div",
        "rounded_quotients": "div",
    },
    "bitsliced": {"begin_mul": "mul", "mux": "mul", "begin_dot": "dot"},
}
# Methods that a suite refuses: `bitsliced` has no comparisons that are opened.
REFUSED: Mapping[str, frozenset[str]] = {
    "cecilia": frozenset(),
    "bitsliced": frozenset({"open_comparison", "tell_helper"}),
}


class MadeUpData:
    """A party's parts of made-up secrets. All parties draw the same numbers, so that the parts fit."""

    def __init__(self, holder: Holder, count: int) -> None:
        self.count = count
        self._holder = holder
        self._random = np.random.default_rng(SEED)

    def numbers(self, end: int = 1 << 62) -> Words:
        return self._random.integers(0, end, self.count, dtype=np.uint64)

    def shared(self, secrets: Words) -> RingShare:
        pads = self._random.integers(0, 1 << 64, secrets.shape, dtype=np.uint64)
        if self._holder is Holder.HELPER:
            return RingShare.zeros(self._holder, secrets.shape)
        return RingShare(self._holder, pads if self._holder is Holder.PROXY_0 else secrets - pads)

    def two_numbers(self) -> tuple[RingShare, RingShare]:
        return self.shared(self.numbers()), self.shared(self.numbers())

    def fraction(self) -> tuple[RingShare, RingShare]:
        """Numerators and denominators, 0 <= n <= d."""
        denominators = self.numbers(BOUND) + np.uint64(1)
        return self.shared(denominators // (self.numbers(7) + np.uint64(1))), self.shared(denominators)

    def bits(self) -> BitShare:
        pads, secrets = self._random.integers(0, 2, (2, self.count), dtype=np.uint8)
        if self._holder is Holder.HELPER:
            return BitShare.zeros(self._holder, secrets.shape)
        return BitShare(self._holder, pads if self._holder is Holder.PROXY_0 else secrets ^ pads)

    def records(self) -> ArrayRecords:
        return ArrayRecords(self.shared(self.numbers()), self.bits())

    def planes(self) -> list[Words]:
        """A proxy's part of an owner's list, of any keys and labels; the helper has none."""
        shape = (2, KEY_BITS + 1, word_count(self.count))
        pads, secrets = self._random.integers(0, 1 << 64, shape, dtype=np.uint64)
        if self._holder is Holder.HELPER:
            return []
        return [pads if self._holder is Holder.PROXY_0 else secrets ^ pads]


Prepare = Callable[[Any, MadeUpData], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One primitive. `prepare` gives what `run` takes after the suite, and is not measured.

    `declared` is the cost of so many elements; it looks its formula up when it is called.
    """

    suite: str
    name: str
    prepare: Prepare
    run: Callable[..., Any]
    declared: Callable[[int], Cost]
    detail: str = ""
    divide: int = 1  # an expensive primitive is measured on so many times fewer elements

    def elements(self, elements: int) -> int:
        return max(elements // self.divide, 1)

    def __str__(self) -> str:
        return f"{self.suite} {self.name}"


def _masked(share: Callable[[MadeUpData], tuple[RingShare, ...]]) -> Prepare:
    """Numbers in the form that `bitsliced` computes on."""
    return lambda suite, data: tuple(suite.mask(x) for x in share(data))


def _input_shares(data: MadeUpData) -> list[PlanesShare]:
    return [PlanesShare(planes, data.count) for planes in data.planes()]


def _two_lists(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    return tuple(suite.inputs(_input_shares(data) + _input_shares(data), [data.count] * 2))


def _two_keys(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    return tuple(records.keys for records in _two_lists(suite, data))


def _flags(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    (records,) = suite.inputs(_input_shares(data), [data.count])
    return (records.labels,)


def _one_number(data: MadeUpData) -> tuple[RingShare]:
    return (data.shared(data.numbers()),)


def _quotients(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    """Like the precision of the j-th record: something at most j, over a public j."""
    divisors = range(1, data.count + 1)
    numerators = np.array(divisors, dtype=np.uint64) // (data.numbers(7) + np.uint64(1))
    return suite.mask(data.shared(numerators)), divisors


def _neighbouring_wires(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    """The last layer of a merge, in which wires meet that are next to each other."""
    first, second = _two_lists(suite, data)
    return ([(first.wires(second), 1)],)


def _every_other(suite: BitslicedSuite, data: MadeUpData) -> tuple[Any, ...]:
    """Flags and values at 0..2n, and where values go from and to."""
    flags = suite.flags_from_start(PlaneRecords.concat(_two_lists(suite, data)).labels)
    return flags, suite.blank(1, len(flags)), slice(0, 2 * data.count, 2), slice(1, None, 2)


_CECILIA = [
    Case(
        "cecilia",
        "mul",
        lambda s, data: data.two_numbers(),
        lambda s, x, y: s.mul(x, y),
        lambda n: cecilia.mul((n,), (n,), (n,)),
    ),
    Case(
        "cecilia",
        "compare",
        lambda s, data: data.two_numbers(),
        lambda s, x, y: s.compare(x, y),
        lambda n: cecilia.compare(n),
        divide=4,
    ),
    Case(
        "cecilia",
        "exchange",
        lambda s, data: (data.records(), data.records()),
        lambda s, x, y: s.exchange(x, y),
        lambda n: cecilia.exchange(n),
        divide=4,
    ),
    Case(
        "cecilia",
        "differ",
        lambda s, data: data.two_numbers(),
        lambda s, x, y: s.differ(x, y),
        lambda n: cecilia.differ(n),
        divide=16,
    ),
    Case(
        "cecilia",
        "div",
        lambda s, data: data.fraction(),
        lambda s, x, y: s.div(x, y, FIXED_POINT_BITS, BOUND),
        lambda n: cecilia.div(n, FIXED_POINT_BITS),
        f"{FIXED_POINT_BITS} bits",
        divide=64,
    ),
    Case(
        "cecilia",
        "to_ring",
        lambda s, data: (data.bits(),),
        lambda s, x: s.to_ring(x),
        lambda n: cecilia.to_ring(n),
    ),
    Case(
        "cecilia",
        "open_comparison",
        lambda s, data: data.two_numbers(),
        lambda s, x, y: s.open_comparison(x, y, "bench: made-up numbers"),
        lambda n: cecilia.open_comparison(n),
        divide=4,
    ),
    Case(
        "cecilia",
        "tell_helper",
        lambda s, data: ([1] * data.count,),
        lambda s, numbers: s.tell_helper(numbers, numbers),
        lambda n: cecilia.tell_helper(n),
        divide=4,
    ),
]

_BITSLICED = [
    Case(
        "bitsliced",
        "inputs",
        lambda s, data: (_input_shares(data), data.count),
        lambda s, shares, count: s.inputs(shares, [count]),
        lambda n: bitsliced.inputs(KEY_BITS, [n]),
    ),
    Case(
        "bitsliced",
        "compare",
        _two_keys,
        lambda s, x, y: s.compare(x, y),
        lambda n: bitsliced.compare(KEY_BITS, n),
    ),
    Case(
        "bitsliced",
        "differ",
        _two_keys,
        lambda s, x, y: s.differ(x, y),
        lambda n: bitsliced.differ(KEY_BITS, n),
    ),
    Case(
        "bitsliced",
        "compare_neighbours",
        _two_keys,
        lambda s, x, _: s.compare_neighbours([x]),
        lambda n: bitsliced.compare_neighbours(KEY_BITS, [n]),
        "one list",
    ),
    Case(
        "bitsliced",
        "ends_of_groups",
        _two_keys,
        lambda s, x, _: s.ends_of_groups(x),
        lambda n: bitsliced.ends_of_groups(KEY_BITS, n),
    ),
    Case(
        "bitsliced",
        "exchange_layer",
        _neighbouring_wires,
        lambda s, layer: s.exchange_layer(layer),
        lambda n: bitsliced.exchange(KEY_BITS, word_count(n)),
        "neighbouring wires",
    ),
    Case(
        "bitsliced",
        "carry",
        _every_other,
        lambda s, flags, values, source, target: s.carry(flags, values, source, target, join=True),
        lambda n: bitsliced.carry(1, n, join=True),
        "one row, and flags",
    ),
    Case(
        "bitsliced",
        "exchange",
        _two_lists,
        lambda s, x, y: s.exchange(x, y),
        lambda n: bitsliced.exchange(KEY_BITS, word_count(n)),
    ),
    Case(
        "bitsliced",
        "count_ones",
        _flags,
        lambda s, x: s.count_ones(x, [slice(0, len(x))]),
        lambda n: bitsliced.count_ones(n, 1),
        "one sum",
    ),
    Case(
        "bitsliced",
        "to_ring",
        _flags,
        lambda s, x: s.to_ring(x),
        lambda n: bitsliced.to_ring(n),
    ),
    Case(
        "bitsliced",
        "mul",
        _masked(MadeUpData.two_numbers),
        lambda s, x, y: s.mul(x, y),
        lambda n: bitsliced.mul(n),
    ),
    Case(
        "bitsliced",
        "dot",
        _masked(MadeUpData.two_numbers),
        lambda s, x, y: s.dot(x, y),
        lambda n: bitsliced.dot(),
        "one sum",
    ),
    Case(
        "bitsliced",
        "negative",
        _masked(_one_number),
        lambda s, x: s.negative(x),
        lambda n: bitsliced.negative(n),
    ),
    Case(
        "bitsliced",
        "is_positive",
        _masked(_one_number),
        lambda s, x: s.is_positive(x),
        lambda n: bitsliced.is_positive(n),
    ),
    Case(
        "bitsliced",
        "div_public",
        _quotients,
        lambda s, x, divisors: s.div_public(x, divisors, PRECISION_BITS),
        lambda n: bitsliced.div_public(n, PRECISION_BITS),
        f"{PRECISION_BITS} bits",
    ),
    Case(
        "bitsliced",
        "div",
        _masked(MadeUpData.fraction),
        lambda s, x, y: s.div(x, y, FIXED_POINT_BITS, BOUND),
        lambda n: bitsliced.div(n, FIXED_POINT_BITS, BOUND),
        f"{FIXED_POINT_BITS} bits",
        divide=1024,
    ),
    Case(
        "bitsliced",
        "rounded_quotients",
        _masked(MadeUpData.fraction),
        lambda s, x, y: s.rounded_quotients(x, y, [1] * len(x), BOUND, LEADING_ZEROS),
        lambda n: bitsliced.rounded_quotients(n, BOUND, LEADING_ZEROS),
        "float64",
        divide=1024,
    ),
]

CASES: Mapping[tuple[str, str], Case] = {(case.suite, case.name): case for case in _CECILIA + _BITSLICED}
