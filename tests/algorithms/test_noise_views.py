"""What each server could say about noise from what it has: nothing.

Its guesses are the words as they would be if what it lacks were zero, and the result likewise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.algorithms.noise import thresholds, two_sided_geometric
from ppaurora.channel.servers import Server
from ppaurora.protocols import Fast
from ppaurora.randomness import Stream
from ppaurora.session import Context
from ppaurora.sharing.planes import unpack_lanes
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.suites.role import Role
from ppaurora.testing import World
from tests.support.noise import fits

Integers = NDArray[np.int64]
RATES = [Fraction(1, 2**20)] * 1_000


class Guessing(CleartextSuite):
    """Draws the words that a server believes in."""

    def __init__(self, guessed: Words) -> None:
        super().__init__()
        self._guessed = guessed

    def random_bits(self, thresholds: Words) -> RingShare:
        return self._share((self._guessed < thresholds).astype(np.uint64))


def noise_and_guesses(monkeypatch: pytest.MonkeyPatch) -> tuple[Integers, dict[Role, list[Integers]]]:
    drawn: dict[Role, Words] = {}
    honest = Gates.fresh_secret

    def noted(gates: Gates, shape: tuple[int, ...]) -> Words:
        drawn[gates.role] = honest(gates, shape)
        return drawn[gates.role].copy()

    monkeypatch.setattr(Gates, "fresh_secret", noted)
    run = World(Fast()).run(lambda suite: two_sided_geometric(suite, RATES))
    found = {}
    for role, share in zip(Role, run.results, strict=True):
        bits = unpack_lanes(
            np.bitwise_xor.reduce(drawn[role], axis=0), 2 * sum(map(len, map(thresholds, RATES)))
        )
        places = np.arange(63, -1, -1, dtype=np.uint64)[:, np.newaxis]
        guessed = (bits.astype(np.uint64) << places).sum(axis=0, dtype=np.uint64)
        first, *second = share.values.astype(np.int64)  # m and a part of r, or r
        found[role] = [
            two_sided_geometric(Guessing(guessed), RATES).values.astype(np.int64),
            first - second[0] if second else -first,
        ]
    return run.value.astype(np.int64), found


def related(noise: Integers, guess: Integers) -> bool:
    """Do signs agree in more or fewer than half of the cases, or is one larger where the other is?"""
    agreement = np.mean(np.sign(noise) * np.sign(guess))
    first, second = (np.argsort(np.argsort(np.abs(values.astype(float)))) for values in (noise, guess))
    limit = 7 / math.sqrt(len(noise))
    return bool(abs(agreement) > limit or abs(np.corrcoef(first, second)[0, 1]) > limit)


def knowing(noise: Integers, guesses: dict[Role, list[Integers]]) -> set[Role]:
    return {role for role, own in guesses.items() if any(related(noise, guess) for guess in own)}


def test_no_server_knows_anything_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    noise, guesses = noise_and_guesses(monkeypatch)
    assert fits(noise, RATES[0])
    assert not knowing(noise, guesses)


@pytest.mark.parametrize(
    ("label", "others", "server"),
    [
        ("bitsliced/masks", {Role.PROXY_1, Role.HELPER}, Role.PROXY_0),
        ("bitsliced/masks", {Role.PROXY_0, Role.HELPER}, Role.PROXY_1),
        ("bitsliced/common", {Role.PROXY_0, Role.PROXY_1}, Role.HELPER),
    ],
    ids=["proxy 0", "proxy 1", "helper"],
)
def test_a_server_that_knows_the_noise_is_noticed(
    label: str, others: set[Role], server: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control: the two others draw zeros, so that this one has all that there is."""
    honest = Context.stream

    def stream(context: Context, peer: Server, name: str) -> Stream:
        opened = honest(context, peer, name)
        if name == label and {context.role, peer} == others:
            monkeypatch.setattr(opened, "fill", lambda out: out.fill(0))
            monkeypatch.setattr(opened, "words", lambda shape: np.zeros(shape, dtype=np.uint64))
        return opened

    monkeypatch.setattr(Context, "stream", stream)
    noise, guesses = noise_and_guesses(monkeypatch)
    assert (noise == guesses[server][0]).all()
    assert knowing(noise, guesses) == {server}
