"""What travels in primitives on numbers: the same whatever the secrets, uniform; nothing to the helper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.randomness import Stream
from ppaurora.sharing.shares import concat
from ppaurora.suites.bitsliced import BitslicedSuite, trees
from ppaurora.suites.bitsliced.shares import HOLDERS, MaskedShare
from ppaurora.suites.role import Role
from ppaurora.testing.world import WorldRun
from tests.support.bitsliced import masked, word_array
from tests.support.cases import transcript
from tests.support.wide import wide_array

Secrets = Callable[[list[int]], NDArray[Any]]


@dataclass(frozen=True)
class Primitive:
    """Of one list of numbers; `data` are different lists of any length that it accepts."""

    run: Callable[[BitslicedSuite, Any], Any]
    secrets: Secrets
    data: tuple[Callable[[int], list[int]], ...]

    def on(self, values: list[int]) -> WorldRun:
        return masked(self.run, self.secrets(values))


def alike(number: int) -> Callable[[int], list[int]]:
    return lambda count: [number] * count


def drawn(below: int) -> Callable[[int], list[int]]:
    return lambda count: [
        int(value) % below for value in np.random.default_rng(3).integers(0, 1 << 62, count)
    ]


def as_counts(suite: BitslicedSuite, x: MaskedShare) -> list[NDArray[np.uint32]]:
    """Two owners' parts modulo 2^32."""
    if suite.holder is HOLDERS[Role.HELPER]:
        return []
    parts = int(suite.holder is HOLDERS[Role.PROXY_1]) * x.values[0] - x.values[1]
    return list(parts.astype(np.uint32).reshape(2, -1))


WORDS = (alike(0), alike(2**64 - 1), drawn(2**62))
WIDE_NUMBERS = (alike(0), alike(-1), alike(2**253), drawn(2**62))

PRIMITIVES = {
    "widen": Primitive(lambda s, x: s.widen(x), word_array, WORDS),
    "wide product": Primitive(lambda s, x: s.mul(x, x), wide_array, WIDE_NUMBERS),
    "absolute": Primitive(lambda s, x: s.absolute(x), wide_array, WIDE_NUMBERS),
    "rounded on a grid": Primitive(
        lambda s, x: s.grid_steps(x * 20 + 77, x * 0 + 154, x * 0, 600), wide_array, WIDE_NUMBERS
    ),
    "root on a grid": Primitive(
        lambda s, x: s.grid_steps(x * 40 - 77, x * -4, x * 4, 10, 2**80),
        wide_array,
        (alike(0), alike(1), drawn(2**62)),
    ),
    "wide quotients": Primitive(
        lambda s, x: s.wide_quotients(x[::10], x[::10] * 3, 2, 6),
        wide_array,
        (alike(0), alike(2**200), drawn(2**62)),
    ),
    "all positive": Primitive(
        lambda s, x: s.all_positive(x, [range(k, len(x), 7) for k in range(20)]),
        word_array,
        (alike(0), alike(1), alike(2**64 - 1), drawn(2**61)),
    ),
    "sum with squares": Primitive(
        lambda s, x: s.begin_dot_squares([(x, x), (x[:3], x[3:6])])(), word_array, WORDS
    ),
    "quotient": Primitive(
        lambda s, x: s.div(x[::10], x[::10] + 3, 12, 2**30 + 3),
        word_array,
        (alike(0), alike(2**30), drawn(2**30)),
    ),
    "many quotients": Primitive(
        lambda s, x: s.div(concat([x, x, x]), concat([x * 2, x + 3, x]), 9, 2**30 + 3),
        word_array,
        (alike(0), alike(2**29), drawn(2**29)),
    ),
    "without the last bits": Primitive(
        lambda s, x: s.shift_right(x, 15), word_array, (alike(0), alike(2**63 - 1), drawn(2**31))
    ),
    "counts": Primitive(
        lambda s, x: s.input_counts(as_counts(s, x), (2, len(x) // 2)),
        word_array,
        (alike(0), alike(2**32 - 1), drawn(2**32)),
    ),
    "random bits": Primitive(lambda s, x: s.random_bits(word_array([2**63 + 1] * len(x))), word_array, WORDS),
}
each_primitive = pytest.mark.parametrize("primitive", PRIMITIVES.values(), ids=PRIMITIVES)


@each_primitive
@pytest.mark.parametrize("chunks", [(2048, 1 << 14, 4), (1, 64, 3)], ids=["one chunk", "many chunks"])
def test_the_shape_of_the_conversation_does_not_depend_on_the_secrets(
    primitive: Primitive, chunks: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in zip(("CHUNK_WORDS", "CHUNK_NUMBERS", "WINDOW"), chunks, strict=True):
        monkeypatch.setattr(trees, name, size)
    first, *others = [transcript(primitive.on(make(70))) for make in primitive.data]
    assert all(other == first for other in others)
    # Positive control: another size is another conversation.
    assert transcript(primitive.on(primitive.data[0](140))) != first


@each_primitive
def test_the_helper_only_sends_and_only_to_proxy_1(primitive: Primitive) -> None:
    messages = primitive.on(primitive.data[-1](70)).messages
    assert {message.receiver for message in messages if message.sender is Role.HELPER} == {Role.PROXY_1}
    assert all(message.receiver is not Role.HELPER for message in messages)


LINKS = [(Role.PROXY_0, Role.PROXY_1), (Role.PROXY_1, Role.PROXY_0), (Role.HELPER, Role.PROXY_1)]


def bits_sent(primitive: Primitive) -> list[NDArray[np.uint8]]:
    """By link, on zeros, without the message that masks the input; as many runs as it takes."""
    sent: list[bytes] = [b""] * len(LINKS)
    while min(map(len, sent)) < 800:
        messages = primitive.on(primitive.data[0](50)).messages
        for number, (sender, receiver) in enumerate(LINKS):
            of_link = [m.payload for m in messages if (m.sender, m.receiver) == (sender, receiver)]
            sent[number] += b"".join(of_link if sender is Role.HELPER else of_link[1:])
    return [np.unpackbits(np.frombuffer(of_link, dtype=np.uint8)) for of_link in sent]


def looks_uniform(bits: NDArray[np.uint8]) -> bool:
    """Within six standard deviations: all bits together, those at every place of a word, and changes from one
    bit to the next.
    """
    by_place = bits.reshape(-1, 64)
    limit = 3 / np.sqrt(len(by_place))
    overall = abs(np.array([bits.mean(), (bits[1:] ^ bits[:-1]).mean()]) - 0.5)
    return bool((overall < limit / 8).all() and (abs(by_place.mean(axis=0) - 0.5) < limit).all())


@each_primitive
def test_every_link_carries_uniform_bits(primitive: Primitive) -> None:
    assert all(map(looks_uniform, bits_sent(primitive)))


@each_primitive
def test_without_randomness_the_links_would_show_the_secrets(
    primitive: Primitive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control of the test above."""
    monkeypatch.setattr(Stream, "fill", lambda self, out: out.fill(0))
    monkeypatch.setattr(Stream, "words", lambda self, shape: np.zeros(shape, dtype=np.uint64))
    assert not any(map(looks_uniform, bits_sent(primitive)))
