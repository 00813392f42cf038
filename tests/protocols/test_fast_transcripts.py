"""What travels in a run of `fast`: the same whatever the data, uniform, and nothing is opened."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.randomness import Stream
from ppaurora.suites.bitsliced import trees
from ppaurora.suites.role import Role
from tests.support.cases import Owner, fast, on_planes, transcript


def five_data_sets(sizes: tuple[int, ...]) -> list[list[Owner]]:
    random = np.random.default_rng(11)
    return [
        [[(k / n, k % 2) for k in range(n)] for n in sizes],
        [[(0.5, 1)] * n for n in sizes],
        [[(0.5, 0)] * n for n in sizes],
        [[(float(s), int(s > 0.5)) for s in random.random(n)] for n in sizes],
        [[(float(i), int(i == 0))] * n for i, n in enumerate(sizes)],
    ]


@pytest.mark.parametrize("chunks", [(2048, 1 << 14, 4), (1, 64, 3)], ids=["one chunk", "many chunks"])
def test_the_shape_of_the_conversation_does_not_depend_on_the_data(
    chunks: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in zip(("CHUNK_WORDS", "CHUNK_NUMBERS", "WINDOW"), chunks, strict=True):
        monkeypatch.setattr(trees, name, size)
    sizes = (70, 1, 130)
    first, *others = [transcript(on_planes(fast, lists)) for lists in five_data_sets(sizes)]
    assert all(other == first for other in others)
    # Positive control: another size is another conversation.
    assert transcript(on_planes(fast, five_data_sets((70, 1, 200))[0])) != first


def test_the_helper_only_sends() -> None:
    run = on_planes(fast, five_data_sets((20, 30))[3])
    assert all(message.receiver is not Role.HELPER for message in run.messages)
    assert any(message.sender is Role.HELPER for message in run.messages)
    assert all(message.receiver is Role.PROXY_1 for message in run.messages if message.sender is Role.HELPER)


def test_nothing_is_opened() -> None:
    """That openings are counted is shown where there are some: in the transcripts of `paper`."""
    for lists in five_data_sets((20, 30)):
        assert not on_planes(fast, lists).openings


def ones_per_bit(lists: list[Owner], sender: Role, receiver: Role, runs: int = 1) -> float:
    """The share of ones among all bits sent on a link."""
    bits = []
    for _ in range(runs):
        messages = on_planes(fast, lists).messages
        bits += [
            np.unpackbits(np.frombuffer(m.payload, dtype=np.uint8))
            for m in messages
            if (m.sender, m.receiver) == (sender, receiver)
        ]
    return float(np.concatenate(bits).mean())


@pytest.mark.parametrize(
    ("sender", "receiver"),
    [(Role.PROXY_0, Role.PROXY_1), (Role.PROXY_1, Role.PROXY_0), (Role.HELPER, Role.PROXY_1)],
)
def test_every_link_carries_uniform_bits_on_constant_data(sender: Role, receiver: Role) -> None:
    """More than a million bits: six standard deviations are below 0.003."""
    constant: list[Owner] = [[(0.0, 0)] * 100, [(0.0, 0)] * 120]
    assert abs(ones_per_bit(constant, sender, receiver) - 0.5) < 0.003


def test_without_randomness_the_links_would_show_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the test above."""
    monkeypatch.setattr(Stream, "fill", lambda self, out: out.fill(0))
    monkeypatch.setattr(Stream, "words", lambda self, shape: np.zeros(shape, dtype=np.uint64))
    constant: list[Owner] = [[(0.0, 0)] * 100, [(0.0, 0)] * 120]
    assert abs(ones_per_bit(constant, Role.PROXY_1, Role.PROXY_0) - 0.5) > 0.003
