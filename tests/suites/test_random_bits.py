"""Random bits: as likely as asked for, independent, and known to no server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.protocols import Fast, Paper
from ppaurora.sharing.planes import Planes, keep_lanes, slice_numbers
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import BitslicedSuite, conversions
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.role import Role
from ppaurora.testing import World
from ppaurora.testing.ledger import keep_ledger
from tests.support.bitsliced import EDGES, unsorted_planes, word_array, words
from tests.support.gates import every_case, run_gate
from tests.support.wide import in_the_clear

Bits = NDArray[Any]
Draw = Callable[[list[int]], Bits]

HELPER, PROXY_0, PROXY_1 = Role.HELPER, Role.PROXY_0, Role.PROXY_1


def random_bits(thresholds: list[int]) -> Callable[[Suite], Any]:
    return lambda suite: suite.random_bits(word_array(thresholds))


DRAWS: dict[str, Draw] = {
    "bitsliced": lambda thresholds: World(Fast()).run(random_bits(thresholds)).value[0],
    "cleartext": lambda thresholds: in_the_clear(random_bits(thresholds)),
}
each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def deviations(bits: Bits, chance: float) -> float:
    """Of the number of ones from what is expected, in standard deviations."""
    return float(abs(bits.sum() - len(bits) * chance) / np.sqrt(len(bits) * chance * (1 - chance)))


@each_draw
def test_bits_are_as_likely_as_their_thresholds_say(draw: Draw) -> None:
    chances = [0.5, 0.25, 0.01, 0.75, 0.999]
    bits = draw([int(chance * 2**64) for chance in chances] * 20_000).reshape(-1, len(chances))
    for column, chance in zip(bits.T, chances, strict=True):
        assert deviations(column, chance) < 7
        # The positive control: half of that chance.
        assert deviations(column, chance / 2) > 7


@each_draw
def test_what_is_as_good_as_impossible_or_certain(draw: Draw) -> None:
    bits = draw([0, 1, 2**64 - 1] * 2_000).reshape(-1, 3)
    assert bits.sum(axis=0).tolist() == [0, 0, 2_000]


@each_draw
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65])
def test_as_many_bits_as_thresholds(draw: Draw, count: int) -> None:
    assert draw([2**64 - 1] * count).tolist() == [1] * count


@each_draw
def test_bits_are_independent_of_their_neighbours_and_of_other_runs(draw: Draw) -> None:
    first, second = (draw([2**63] * 6_400).astype(int) for _ in range(2))
    for distance in (1, 2, 63, 64, 65, 3_200):
        assert deviations(first[distance:] ^ first[:-distance], 0.5) < 7
    assert deviations(first ^ second, 0.5) < 7


def test_the_papers_suite_draws_none() -> None:
    with pytest.raises(MisuseError, match="CeciliaSuite draws no secrets"):
        World(Paper()).run(random_bits([1]))


def compared(values: list[int], limits: list[int]) -> list[int]:
    """[value < limit] by three parties, for secret values of 64 bits."""

    def algorithm(suite: BitslicedSuite, lists: Any) -> Planes:
        planes = slice_numbers(word_array(limits), 64)
        below = conversions.less_than_public(suite._gates, lists[0].keys.data, planes)
        return Planes(suite.holder, keep_lanes(below, len(limits)), len(limits))

    found: list[int] = unsorted_planes(algorithm, values).value[0].tolist()
    return found


def test_all_edges_are_compared_with_all_edges() -> None:
    pairs = [(value, limit) for value in EDGES for limit in EDGES]
    found = compared([value for value, _ in pairs], [limit for _, limit in pairs])
    assert found == [int(value < limit) for value, limit in pairs]


@settings(max_examples=15, deadline=None)
@given(pairs=st.lists(st.tuples(words, words | st.none(), st.integers(-1, 1)), min_size=1, max_size=150))
def test_numbers_are_compared_with_public_ones(pairs: list[tuple[int, int | None, int]]) -> None:
    """Any two words, or neighbours, or equals."""
    values = [value for value, _, _ in pairs]
    limits = [(value + near) % 2**64 if other is None else other for value, other, near in pairs]
    assert compared(values, limits) == [int(a < b) for a, b in zip(values, limits, strict=True)]


# What each server knows of a random word, in every case that there is.


def secret_and_views(*, m: int = 1, r0: int = 1, r1: int = 1) -> dict[Role, tuple[Bits, Bits]]:
    """A bit in all cases of what it is made of: for every server what it knows, and the secret.

    A broken variant lacks m or a part of r: it is then 0.
    """
    bits = every_case(m=1, r0=1, r1=1)
    drawn = {name: bits[name] * np.uint64(kept) for name, kept in (("m", m), ("r0", r0), ("r1", r1))}

    def begin(gates: Gates) -> Callable[[], Bits]:
        secret = gates.fresh_secret(drawn["m"].shape)
        return lambda: secret

    results, seen = run_gate(begin, masks=([drawn["r0"]], [drawn["r1"]]), pads=[], common=[drawn["m"]])
    assert not seen, "it takes no message"
    assert (results[PROXY_0][0] == results[PROXY_1][0]).all()
    secret = results[PROXY_0][0] ^ results[PROXY_0][1] ^ results[PROXY_1][1]
    known = {role: sum(part << np.uint64(k) for k, part in enumerate(results[role])) for role in results}
    return {role: (known[role], secret) for role in results}


def knows_nothing(known: Bits, secret: Bits) -> bool:
    """Is the secret 1 in half of the cases, whatever is known?"""
    return all(2 * secret[known == value].sum() == (known == value).sum() for value in set(known.tolist()))


def test_no_server_knows_a_random_bit() -> None:
    assert all(knows_nothing(*view) for view in secret_and_views().values())


@pytest.mark.parametrize(
    ("missing", "knowing"), [("m", {HELPER}), ("r0", {PROXY_1}), ("r1", {PROXY_0})], ids=["m", "r0", "r1"]
)
def test_a_server_knows_a_bit_to_which_the_others_add_nothing(missing: str, knowing: set[Role]) -> None:
    """The positive control: zeros, instead of what is drawn by those that this server does not see."""
    views = secret_and_views(**{missing: 0})
    assert {role for role, view in views.items() if not knows_nothing(*view)} == knowing


def test_the_helper_draws_no_part_of_what_the_proxies_have_in_common() -> None:
    with keep_ledger() as ledger:
        World(Fast()).run(random_bits([2**63] * 100))
    keys = {entry.key for entry in ledger.entries if entry.label.endswith("bitsliced/common")}
    (key,) = keys
    assert {entry.party for entry in ledger.entries if entry.key == key} == {PROXY_0, PROXY_1}
    assert not ledger.shared()
