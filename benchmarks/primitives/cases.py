"""The primitives to measure: what each works on, how it is called, and what it declares to cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.primitives.made_up import (
    BOUND,
    KEY_BITS,
    MadeUpData,
    Prepare,
    every_other,
    flags,
    input_shares,
    masked,
    neighbouring_wires,
    one_number,
    quotients,
    two_keys,
    two_lists,
    wide_fraction,
    wide_number,
)
from ppaurora.channel.meter import Cost
from ppaurora.session import Context
from ppaurora.sharing.planes import word_count
from ppaurora.suites.base import FIXED_POINT_BITS, Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced import costs as bitsliced
from ppaurora.suites.cecilia import CeciliaSuite
from ppaurora.suites.cecilia import costs as cecilia

PRECISION_BITS = 33
LEADING_ZEROS = 40
GRID = 10**4  # steps: four digits

SUITES: Mapping[str, Callable[[Context], Suite]] = {
    "cecilia": CeciliaSuite,
    "bitsliced": lambda context: BitslicedSuite(context, KEY_BITS),
}

# Methods of a suite that send nothing, and methods that are calls of another one that is measured.
_ALWAYS_FREE = frozenset({"blank", "constant", "no_records", "reconstruct", "result", "step", "progress"})
FREE: Mapping[str, frozenset[str]] = {
    "cecilia": _ALWAYS_FREE | {"inputs", "input_words"},
    "bitsliced": _ALWAYS_FREE | {"flags_from_start"},
}
MADE_OF: Mapping[str, Mapping[str, str]] = {
    "cecilia": {
        "begin_mul": "mul",
        "begin_dot": "mul",
        "begin_dot_squares": "mul",
        "begin_sums_of_products": "mul",
        "dot": "mul",
        "mux": "mul",
        "carry": "mul",
        "count_ones": "to_ring",
        "count_positives": "to_ring",
        "flags_from_start": "to_ring",
        "compare_neighbours": "compare",
        "ends_of_groups": "differ",
        "exchange_layer": "exchange",
        "is_positive": "compare",
        "shift_right": "compare",
        "all_positive": "compare",
        "div_public": "div",
        "rounded_quotients": "div",
    },
    "bitsliced": {
        "begin_mul": "mul",
        "mux": "mul",
        "begin_dot": "dot",
        "begin_sums_of_products": "dot",
        "count_positives": "count_ones",
        "shift_right": "div_public",
    },
}
# Methods that a suite refuses: `cecilia` has no wide integers and takes no tables, `bitsliced` has no
# comparisons that are opened.
REFUSED: Mapping[str, frozenset[str]] = {
    "cecilia": frozenset(
        {"input_counts", "widen", "absolute", "grid_steps", "wide_quotients", "random_bits"}
    ),
    "bitsliced": frozenset({"open_comparison", "tell_helper"}),
}


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
        lambda s, data: (input_shares(data), data.count),
        lambda s, shares, count: s.inputs(shares, [count]),
        lambda n: bitsliced.inputs(KEY_BITS, [n]),
    ),
    Case(
        "bitsliced",
        "input_words",
        lambda s, data: (data.words(), data.count),
        lambda s, parts, count: s.input_words(parts, (1, count)),
        lambda n: bitsliced.input_words(n),
        "one owner's",
    ),
    Case(
        "bitsliced",
        "input_counts",
        lambda s, data: ([part.astype(np.uint32) for part in data.words()], data.count),
        lambda s, parts, count: s.input_counts(parts, (1, count)),
        lambda n: bitsliced.input_counts(1, n),
        "one owner's",
    ),
    Case(
        "bitsliced",
        "compare",
        two_keys,
        lambda s, x, y: s.compare(x, y),
        lambda n: bitsliced.compare(KEY_BITS, n),
    ),
    Case(
        "bitsliced",
        "differ",
        two_keys,
        lambda s, x, y: s.differ(x, y),
        lambda n: bitsliced.differ(KEY_BITS, n),
    ),
    Case(
        "bitsliced",
        "compare_neighbours",
        two_keys,
        lambda s, x, _: s.compare_neighbours([x]),
        lambda n: bitsliced.compare_neighbours(KEY_BITS, [n]),
        "one list",
    ),
    Case(
        "bitsliced",
        "ends_of_groups",
        two_keys,
        lambda s, x, _: s.ends_of_groups(x),
        lambda n: bitsliced.ends_of_groups(KEY_BITS, n),
    ),
    Case(
        "bitsliced",
        "exchange_layer",
        neighbouring_wires,
        lambda s, layer: s.exchange_layer(layer),
        lambda n: bitsliced.exchange(KEY_BITS, word_count(n)),
        "neighbouring wires",
    ),
    Case(
        "bitsliced",
        "carry",
        every_other,
        lambda s, flags, values, source, target: s.carry(flags, values, source, target, join=True),
        lambda n: bitsliced.carry(1, n, join=True),
        "one row, and flags",
    ),
    Case(
        "bitsliced",
        "exchange",
        two_lists,
        lambda s, x, y: s.exchange(x, y),
        lambda n: bitsliced.exchange(KEY_BITS, word_count(n)),
    ),
    Case(
        "bitsliced",
        "count_ones",
        flags,
        lambda s, x: s.count_ones(x, [slice(0, len(x))]),
        lambda n: bitsliced.count_ones(n, 1),
        "one sum",
    ),
    Case(
        "bitsliced",
        "to_ring",
        flags,
        lambda s, x: s.to_ring(x),
        lambda n: bitsliced.to_ring(n),
    ),
    Case(
        "bitsliced",
        "mul",
        masked(MadeUpData.two_numbers),
        lambda s, x, y: s.mul(x, y),
        lambda n: bitsliced.mul(n),
    ),
    Case(
        "bitsliced",
        "dot",
        masked(MadeUpData.two_numbers),
        lambda s, x, y: s.dot(x, y),
        lambda n: bitsliced.dot(),
        "one sum",
    ),
    Case(
        "bitsliced",
        "begin_dot_squares",
        masked(MadeUpData.two_numbers),
        lambda s, x, y: s.begin_dot_squares([(x, y)])(),
        lambda n: bitsliced.dot_squares([n]),
        "one sum",
    ),
    Case(
        "bitsliced",
        "negative",
        masked(one_number),
        lambda s, x: s.negative(x),
        lambda n: bitsliced.negative(n),
    ),
    Case(
        "bitsliced",
        "is_positive",
        masked(one_number),
        lambda s, x: s.is_positive(x),
        lambda n: bitsliced.is_positive(n),
    ),
    Case(
        "bitsliced",
        "all_positive",
        masked(one_number),
        lambda s, x: s.all_positive(x, [range(len(x))]),
        lambda n: bitsliced.all_positive(n, [n]),
        "one group",
        divide=64,
    ),
    Case(
        "bitsliced",
        "random_bits",
        lambda s, data: (data.numbers(),),
        lambda s, thresholds: s.random_bits(thresholds),
        lambda n: bitsliced.random_bits(n),
    ),
    Case(
        "bitsliced",
        "div_public",
        quotients,
        lambda s, x, divisors: s.div_public(x, divisors, PRECISION_BITS),
        lambda n: bitsliced.div_public(n, PRECISION_BITS),
        f"{PRECISION_BITS} bits",
    ),
    Case(
        "bitsliced",
        "div",
        masked(MadeUpData.fraction),
        lambda s, x, y: s.div(x, y, FIXED_POINT_BITS, BOUND),
        lambda n: bitsliced.div(n, FIXED_POINT_BITS, BOUND),
        f"{FIXED_POINT_BITS} bits",
        divide=1024,
    ),
    Case(
        "bitsliced",
        "rounded_quotients",
        masked(MadeUpData.fraction),
        lambda s, x, y: s.rounded_quotients(x, y, [1] * len(x), BOUND, LEADING_ZEROS),
        lambda n: bitsliced.rounded_quotients(n, BOUND, LEADING_ZEROS),
        "float64",
        divide=1024,
    ),
    Case(
        "bitsliced",
        "widen",
        masked(one_number),
        lambda s, x: s.widen(x),
        lambda n: bitsliced.widen(n),
        divide=64,
    ),
    Case(
        "bitsliced",
        "absolute",
        wide_number,
        lambda s, x: s.absolute(x),
        lambda n: bitsliced.absolute(n),
        divide=64,
    ),
    Case(
        "bitsliced",
        "grid_steps",
        wide_fraction,
        lambda s, x, y: s.grid_steps(x * (2 * GRID) + y, y * 2, y * 0, GRID),
        lambda n: bitsliced.grid_steps(n, GRID),
        f"{GRID:,} steps",
        divide=8192,
    ),
    Case(
        "bitsliced",
        "wide_quotients",
        wide_fraction,
        lambda s, x, y: s.wide_quotients(x, y, LEADING_ZEROS),
        lambda n: bitsliced.wide_quotients(n, LEADING_ZEROS),
        "float64",
        divide=65536,
    ),
]

CASES: Mapping[tuple[str, str], Case] = {(case.suite, case.name): case for case in _CECILIA + _BITSLICED}
