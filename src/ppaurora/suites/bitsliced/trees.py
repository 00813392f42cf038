"""Comparison, equality and exchange of records on bit planes.

Reading keys from the most significant bit, all that matters of a stretch of bits is whether both
numbers agree there (e), and if not, which bit the first number has where they first differ (v).
A single bit has e = not(a xor b) and v = a, at no cost, and three neighbouring stretches combine to

    e = e1·e2·e3          v = v1 xor e1·(v1 xor v2) xor e1·e2·(v2 xor v3)

in one round; more than three, and two, in the same way. No gate on single bits is needed, nor the e of
the least significant stretch. If the keys are equal, v is the last bit of a. Where a is public, so are the
v's of single bits, and the helper deals no products with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from ppaurora.channel.meter import Meter
from ppaurora.sharing.shares import Words
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.bitsliced.sums import Monomial, SumsOfProducts

T = TypeVar("T")
Steps = Generator[None, None, T]

CHUNK_WORDS = 2048  # of a plane: about what a core's cache holds of a record's planes
CHUNK_NUMBERS = 1 << 14  # ring values that are worked on at a time
CHUNK_INPUT_WORDS = 1 << 24  # of an owner's planes, unless one plane has more
WINDOW = 4  # chunks under way at a time
CHILDREN = 3  # of a node: more children mean fewer rounds, and more bits from the helper
CHILDREN_OF_PUBLIC = 4  # where the v's are public, so that the helper deals less
CHILDREN_OF_FEW = 4  # where there is so little to compare that only rounds count


@dataclass(frozen=True)
class Level:
    """How so many stretches are grouped: full nodes, and before them the few that are left, if any."""

    stretches: int
    children: int

    @property
    def nodes(self) -> int:
        return self.stretches // self.children

    @property
    def rest(self) -> int:
        """One goes on as it is; two or more make a node of their own."""
        return self.stretches % self.children

    @property
    def next_stretches(self) -> int:
        return self.nodes + bool(self.rest)


def _choice(children: int) -> tuple[Monomial, ...]:
    """v xor v1, of inputs e1, e2, ..., then d1, d2, ...: the sum of e1···ek·dk."""
    return tuple((*range(k), children + k - 1) for k in range(1, children))


def _node(
    equal: Words, value: Words, children: int, nodes: int, equalities: int, *, public: bool = False
) -> SumsOfProducts:
    """Nodes side by side; e is wanted of the first `equalities`. The v's may be public."""
    e = [equal[:, child::children][:, :nodes] for child in range(children)]
    v = [value[:, child::children][:, :nodes] for child in range(children)]
    d = [v[child] ^ v[child + 1] for child in range(children - 1)]
    choice = _choice(children), nodes
    equality = (tuple(range(children)),), equalities
    public_inputs = range(children, 2 * children - 1) if public else range(0)
    return SumsOfProducts([*e, *d], (choice, equality) if equalities else (choice,), public_inputs)


def greater_steps(gates: Gates, a: Words, b: Words, children: int = CHILDREN) -> Steps[Words]:
    """Compute one plane: 1 where a > b, for (component, bit, word) arrays; where a = b, the last bit of a."""
    return (yield from first_difference_steps(gates, invert(gates, a ^ b), a, children))


def greater_than_public_steps(gates: Gates, a: Words, b: Words, children: int) -> Steps[Words]:
    """Compute one plane: 1 where a > b, for (component, bit, word) arrays; both proxies know b.

    That is not (b >= a). A last stretch of v = 1 makes b count as the greater one of equal numbers.
    """
    ones = invert(gates, np.zeros_like(b[:, :1]))
    equal, value = invert(gates, a ^ b), np.concatenate([b, ones], axis=1)
    at_least = yield from first_difference_steps(gates, equal, value, children, public=True)
    return invert(gates, at_least)


def first_difference_steps(
    gates: Gates, equal: Words, value: Words, children: int, *, public: bool = False
) -> Steps[Words]:
    """v of all stretches together, from their e, of which the last is not needed, and v, perhaps public."""
    while (stretches := value.shape[1]) > 1:
        level = Level(stretches, CHILDREN_OF_PUBLIC if public else children)
        node = partial(_node, public=public)
        # The last e would tell equality of the whole.
        groups = [
            node(equal[:, level.rest :], value[:, level.rest :], level.children, level.nodes, level.nodes - 1)
        ]
        tops = slice(0, level.rest)
        if not level.nodes:
            groups = [node(equal, value, stretches, 1, 0)]
        elif level.rest > 1:
            groups.append(node(equal[:, tops], value[:, tops], level.rest, 1, 1))
        finish = gates.begin_sums(groups)
        yield
        public = False
        outputs = finish()
        firsts = value[:, level.rest :: level.children][:, : level.nodes] if level.nodes else value[:, :1]
        outputs[0][0] ^= firsts
        next_value, next_equal = [outputs[0][0]], outputs[0][1:]
        if level.nodes and level.rest == 1:
            next_value, next_equal = [value[:, tops], *next_value], [equal[:, tops], *next_equal]
        elif level.nodes and level.rest:
            outputs[1][0] ^= value[:, :1]
            next_value, next_equal = [outputs[1][0], *next_value], [outputs[1][1], *next_equal]
        value = np.concatenate(next_value, axis=1) if len(next_value) > 1 else next_value[0]
        equal = np.concatenate(next_equal, axis=1) if next_equal else equal[:, :0]
    return value


def equal_steps(gates: Gates, a: Words, b: Words) -> Steps[Words]:
    """Compute one plane: 1 where a = b."""
    return (yield from all_steps(gates, invert(gates, a ^ b), CHILDREN))


def all_steps(gates: Gates, planes: Words, children: int) -> Steps[Words]:
    """Compute one plane: 1 where all planes have 1."""
    while (stretches := planes.shape[1]) > 1:
        level = Level(stretches, children)
        parts = [(planes[:, level.rest :], children, level.nodes)] if level.nodes else []
        if level.rest > 1:
            parts.insert(0, (planes[:, : level.rest], level.rest, 1))
        finish = gates.begin_sums(
            [
                SumsOfProducts(
                    [part[:, child::width][:, :nodes] for child in range(width)],
                    (((tuple(range(width)),), nodes),),
                )
                for part, width, nodes in parts
            ]
        )
        yield
        outputs = [output for (output,) in finish()]
        if level.rest == 1:
            outputs.insert(0, planes[:, :1])
        planes = np.concatenate(outputs, axis=1) if len(outputs) > 1 else outputs[0]
    return planes


def exchange_steps(gates: Gates, unlike: Words, right: Words) -> Steps[Words]:
    """By what left and right records must change so that the larger key is left: one AND per bit moves both.

    `unlike` is left xor right, of whole records; `right` has keys only.
    """
    key_bits = right.shape[1]
    equal = invert(gates, unlike[:, :key_bits].copy())
    right_larger = yield from first_difference_steps(gates, equal, right, CHILDREN)
    finish = gates.begin_and(right_larger, unlike)
    yield
    return finish()


def invert(gates: Gates, planes: Words) -> Words:
    """NOT, in place: both proxies turn m, the mask stays."""
    if not gates.role.is_helper:
        np.invert(planes[0], out=planes[0])
    return planes


def in_chunks(words: int) -> list[slice]:
    """Cut words into stretches, so that one can compute while another waits for the peer."""
    return [slice(start, min(start + CHUNK_WORDS, words)) for start in range(0, words, CHUNK_WORDS)]


def in_chunks_of_numbers(count: int) -> list[slice]:
    """Cut ring values, or bits that become ring values, likewise; a chunk begins at a word."""
    return [slice(start, min(start + CHUNK_NUMBERS, count)) for start in range(0, count, CHUNK_NUMBERS)]


def in_chunks_of_planes(planes: int, words: int) -> list[slice]:
    """Cut whole planes of so many words likewise, so that the longest list fits into frames."""
    together = max(CHUNK_INPUT_WORDS // max(words, 1), 1)
    return [slice(start, min(start + together, planes)) for start in range(0, planes, together)]


def run_window(meter: Meter, steps: Iterable[Steps[T]]) -> list[T]:
    """Run computations that pause between begin and finish side by side; the results in order.

    A few are under way at a time: while one waits for its peer's message, the next computes and sends.
    They do not depend on each other, so the depth of messages is counted for each by itself.
    """
    start = deepest = meter.depth
    waiting = enumerate(steps)
    running: deque[tuple[int, Steps[T], int]] = deque()
    results: dict[int, T] = {}
    while True:
        while len(running) < WINDOW and (new := next(waiting, None)) is not None:
            running.append((*new, start))
        if not running:
            break
        number, generator, meter.depth = running.popleft()
        try:
            next(generator)
        except StopIteration as stop:
            results[number] = stop.value
            deepest = max(deepest, meter.depth)
        else:
            running.append((number, generator, meter.depth))
    meter.depth = deepest
    return [results[number] for number in range(len(results))]


def run_in_chunks(gates: Gates, steps: Callable[..., Steps[Words]], *operands: Words) -> Words:
    """Run the steps on every chunk of all operands; return the results side by side."""
    chunks = in_chunks(operands[0].shape[-1])
    results = run_window(gates.meter, (steps(*(one[..., chunk] for one in operands)) for chunk in chunks))
    return results[0] if len(results) == 1 else np.concatenate(results, axis=-1)
