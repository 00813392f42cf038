"""What the proxies see of a gate in the ring: the same, whatever the secrets.

The last bits of sums and products follow from the last bits of what is added and multiplied. So a gate that
is run on all numbers of two bits, and looked at modulo 4, is the same gate in the ring of four elements,
where all cases can be enumerated. Modulo 2^32, 2^64 or 2^256, masks and pads are seen to shift what they
hide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ppaurora.sharing.algebra import HALF, RING, WIDE, Ring
from ppaurora.sharing.shares import Elements
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.role import Role
from tests.support.gates import Seen, Words, as_number, every_case, independent, run_gate

HELPER, PROXY_0, PROXY_1 = Role.HELPER, Role.PROXY_0, Role.PROXY_1
each_proxy = pytest.mark.parametrize("proxy", [PROXY_0, PROXY_1], ids=str)


@dataclass(frozen=True)
class RingGate:
    """Of secret bits and secret ring values to one ring value, in all cases at once."""

    bits: int
    values: int
    begin: Callable[[Gates, list[Elements], list[Elements]], Callable[[], Any]]
    expected: Callable[[list[Elements], list[Elements]], Elements]
    dealt: tuple[int, ...]  # ring elements per message of the helper
    ring: Ring = RING

    def elements(self, words: Words) -> Elements:
        return words.astype(self.ring.dtype)

    def words(self, elements: Elements) -> Words:
        """As a stream draws them."""
        return np.frombuffer(self.ring.to_wire(elements), dtype="<u8")

    def read(self, words: Words, shape: tuple[int, ...]) -> Elements:
        return self.ring.from_wire(memoryview(words.tobytes()), shape)


PRODUCT = RingGate(0, 2, lambda gates, _, x: gates.begin_product(*x), lambda _, x: x[0] * x[1], dealt=(1,))
BIT_PRODUCT = RingGate(
    1, 1, lambda gates, b, x: gates.begin_bit_product(b[0], x[0]), lambda b, x: b[0] * x[0], dealt=(1, 1)
)
SUM_OF_BIT_PRODUCTS = RingGate(
    2,
    1,
    lambda gates, b, x: gates.begin_bit_product(
        np.stack(b, axis=1), x[0][:, np.newaxis], sum_first_axis=True
    ),
    lambda b, x: b[0] * x[0] + b[1] * x[0],
    dealt=(2, 2),
)
SUM_OF_PRODUCTS = RingGate(
    0,
    3,
    lambda gates, _, x: gates.begin_sums_of_products([(x[0], x[1]), (x[2], x[0])]),
    lambda _, x: x[0] * x[1] + x[2] * x[0],
    dealt=(1,),
)


def begin_square(gates: Gates, x: Elements, y: Elements) -> Callable[[], Any]:
    """Every case is a list of one element."""
    finish = gates.begin_dot_squares([(x[..., np.newaxis], y[..., np.newaxis])])
    return lambda: [whole[..., 0] for whole in finish()]


SQUARE = RingGate(
    0, 2, lambda gates, _, x: begin_square(gates, *x), lambda _, x: x[0] * x[1] * x[1], dealt=(2, 1)
)
WIDE_PRODUCT = RingGate(
    0,
    2,
    lambda gates, _, x: gates.begin_product(*x, ring=WIDE),
    lambda _, x: WIDE.reduced(x[0] * x[1]),
    dealt=(1,),
    ring=WIDE,
)
WIDE_BIT_PRODUCT = RingGate(
    1,
    1,
    lambda gates, b, x: gates.begin_bit_product(b[0], x[0], ring=WIDE),
    lambda b, x: b[0] * x[0],
    dealt=(1, 1),
    ring=WIDE,
)
HALF_BIT_PRODUCT = RingGate(
    1,
    1,
    lambda gates, b, x: gates.begin_bit_product(b[0], x[0], ring=HALF),
    lambda b, x: b[0].astype(np.uint32) * x[0],
    dealt=(1, 1),
    ring=HALF,
)
GATES = {
    "product": PRODUCT,
    "sum of products": SUM_OF_PRODUCTS,
    "bit product": BIT_PRODUCT,
    "sum of bit products": SUM_OF_BIT_PRODUCTS,
    "product with a square": SQUARE,
    "wide product": WIDE_PRODUCT,
    "wide bit product": WIDE_BIT_PRODUCT,
    "bit product modulo 2^32": HALF_BIT_PRODUCT,
}


@dataclass(frozen=True)
class Cases:
    """Secrets, what both proxies know of them, a proxy's parts of their masks, and what hides."""

    gate: RingGate
    proxy: Role
    bits: list[Words]
    bits_m: list[Words]
    bits_own: list[Words]
    values: list[Elements]
    values_m: list[Elements]
    values_own: list[Elements]
    pads: list[Elements]
    mask: Elements = field(repr=False)  # the other proxy's part; one's own is known, and zero

    def components(self, role: Role) -> tuple[list[Words], list[Elements]]:
        sub = self.gate.ring.sub
        bit_masks = [b ^ m for b, m in zip(self.bits, self.bits_m, strict=True)]
        value_masks = [sub(m, x) for x, m in zip(self.values, self.values_m, strict=True)]
        if role is HELPER:
            return [mask[np.newaxis] for mask in bit_masks], [mask[np.newaxis] for mask in value_masks]
        bit_parts, value_parts = self.bits_own, self.values_own
        if role is not self.proxy:
            bit_parts = [r ^ own for r, own in zip(bit_masks, bit_parts, strict=True)]
            value_parts = [sub(r, own) for r, own in zip(value_masks, value_parts, strict=True)]
        return (
            [np.stack(pair) for pair in zip(self.bits_m, bit_parts, strict=True)],
            [np.stack(pair) for pair in zip(self.values_m, value_parts, strict=True)],
        )

    def run(self) -> tuple[Elements, Seen]:
        """The secret result, and what travelled."""
        gate = self.gate
        mask = gate.words(self.mask)
        none = np.zeros_like(mask)
        masks = ([none], [mask]) if self.proxy is PROXY_0 else ([mask], [none])
        pads, taken = [], 0
        for count in gate.dealt:
            pads.append(gate.words(np.stack(self.pads[taken : taken + count])))
            taken += count
        results, seen = run_gate(
            lambda gates: gate.begin(gates, *self.components(gates.role)), masks=masks, pads=pads
        )
        (first,), (second,), (helper,) = (results[role] for role in (PROXY_0, PROXY_1, HELPER))
        assert (first[0] == second[0]).all()
        assert (gate.ring.add(first[1], second[1]) == helper[0]).all()
        return gate.ring.sub(first[0], helper[0]), seen

    def shown(self) -> list[Elements]:
        """All that the proxy gets, number by number; the result is checked, too."""
        result, seen = self.run()
        assert (result == self.gate.expected(self.bits, self.values)).all()
        assert not any(receiver is HELPER for _, receiver in seen)
        assert (HELPER, PROXY_0) not in seen
        cases = len(self.mask)
        view = [self.gate.read(words, (cases,)) for words in seen[self.proxy.other_proxy, self.proxy]]
        for count, dealt in zip(self.gate.dealt, seen[HELPER, PROXY_1], strict=True):
            if self.proxy is PROXY_1:
                view += list(self.gate.read(dealt, (count, cases)))
        return view


def sees_nothing(gate: RingGate, proxy: Role, width: int, m: int, broken: str = "") -> bool:
    """In the ring of numbers of so many bits, for one value of all m's."""
    pads = sum(gate.dealt)
    sizes = {f"b{k}": 1 for k in range(gate.bits)} | {f"x{k}": width for k in range(gate.values)}
    sizes |= {f"own b{k}": 1 for k in range(gate.bits)} | {f"own x{k}": width for k in range(gate.values)}
    sizes |= {f"pad{k}": width for k in range(pads)} | {"mask": width}
    cases = every_case(**sizes)
    none = np.zeros_like(cases["mask"])
    bits_m = [none + np.uint64(m >> k & 1) for k in range(gate.bits)]
    values_m = [
        none + np.uint64(m >> (gate.bits + width * k) & ((1 << width) - 1)) for k in range(gate.values)
    ]
    hidden = [cases[f"pad{k}"] for k in range(pads)]
    mask = cases["mask"]
    if broken == "no mask":
        mask = none
    elif broken == "the same pad twice":
        hidden = [hidden[0]] * pads
    elif broken == "no pad":
        hidden[-1] = none
    view = Cases(
        gate,
        proxy,
        [cases[f"b{k}"] for k in range(gate.bits)],
        bits_m,
        [cases[f"own b{k}"] for k in range(gate.bits)],
        [gate.elements(cases[f"x{k}"]) for k in range(gate.values)],
        list(map(gate.elements, values_m)),
        [gate.elements(cases[f"own x{k}"]) for k in range(gate.values)],
        list(map(gate.elements, hidden)),
        gate.elements(mask),
    ).shown()
    number = as_number([part & ((1 << width) - 1) for part in view], width)
    secret = gate.bits + gate.values * width
    known = secret + (pads * width if proxy is PROXY_0 else 0)
    return independent(number.reshape(1 << (secret + known), -1), 1 << secret, 1 << (width * len(view)))


@each_proxy
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("product", 1),
        ("product", 2),
        ("sum of products", 1),
        ("sum of products", 2),
        ("bit product", 1),
        ("bit product", 2),
        ("bit product", 3),
        ("sum of bit products", 1),
        ("sum of bit products", 2),
        ("product with a square", 1),
        ("product with a square", 2),
        ("wide product", 1),
        ("wide product", 2),
        ("wide bit product", 1),
        ("wide bit product", 2),
        ("bit product modulo 2^32", 1),
        ("bit product modulo 2^32", 2),
    ],
)
def test_a_proxy_sees_nothing(name: str, width: int, proxy: Role) -> None:
    gate = GATES[name]
    known = gate.bits + gate.values * width
    assert all(sees_nothing(gate, proxy, width, m) for m in range(1 << known))


@each_proxy
@pytest.mark.parametrize("name", GATES)
def test_a_result_without_a_mask_is_noticed(name: str, proxy: Role) -> None:
    """The positive control: for some of what both proxies know."""
    gate = GATES[name]
    known = gate.bits + gate.values * 2
    assert not all(sees_nothing(gate, proxy, 2, m, "no mask") for m in range(1 << known))


@pytest.mark.parametrize("broken", ["the same pad twice", "no pad"])
@pytest.mark.parametrize("name", GATES)
def test_a_pad_that_is_missing_or_used_twice_is_noticed(name: str, broken: str) -> None:
    """The positive control: proxy 1 gets what is dealt."""
    gate = GATES[name]
    if sum(gate.dealt) > 1 or broken == "no pad":  # a product has but one pad
        assert not sees_nothing(gate, PROXY_1, 2, 0, broken)


@each_proxy
@pytest.mark.parametrize("name", GATES)
def test_in_the_whole_ring_a_mask_shifts_what_it_hides_and_nothing_else(name: str, proxy: Role) -> None:
    """So for every value of the secrets, what is seen is a fixed shift of masks and pads that are uniform."""
    gate = GATES[name]
    count = 3000
    random = np.random.default_rng(7)
    edges = gate.ring.elements(
        np.array([0, 1, 1 << (gate.ring.bits - 1), (1 << gate.ring.bits) - 1], dtype=object)
    )

    def elements() -> Elements:
        drawn = gate.read(
            random.integers(0, 1 << 64, count * gate.ring.bits // 64, dtype=np.uint64), (count,)
        )
        drawn = drawn.copy()
        drawn[:8] = random.choice(edges, 8)
        return drawn

    def bits() -> Words:
        return random.integers(0, 2, count, dtype=np.uint64)

    pads = sum(gate.dealt)
    b, b_m, b_own = ([bits() for _ in range(gate.bits)] for _ in range(3))
    x, x_m, x_own = ([elements() for _ in range(gate.values)] for _ in range(3))
    hidden = [elements() for _ in range(1 + pads)]

    def view(hiding: list[Elements]) -> list[Elements]:
        return Cases(gate, proxy, b, b_m, b_own, x, x_m, x_own, hiding[1:], hiding[0]).shown()

    base = view(hidden)
    for place in range(1 + pads):
        shift = elements()
        moved = view([gate.ring.add(part, shift) if k == place else part for k, part in enumerate(hidden)])
        changes = [gate.ring.sub(b, a) for a, b in zip(base, moved, strict=True)]
        if place == 0:
            assert (changes[0] == shift).all()
        # What is dealt is the product less its pad.
        for k, change in enumerate(changes[1:], start=1):
            expected = gate.ring.sub(0 * shift, shift) if k == place else 0 * shift
            assert (change == expected).all()
