"""Noise has the distribution that it should have, up to a distance that is bounded."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ppaurora.algorithms import noise
from ppaurora.algorithms.noise import thresholds, total_variation, two_sided_geometric
from ppaurora.errors import MisuseError
from ppaurora.protocols import Fast, Paper
from ppaurora.statistics.noisy import Noise
from ppaurora.suites.bitsliced import costs
from ppaurora.suites.cleartext import CleartextSuite
from ppaurora.testing import World
from tests.support.bitsliced import cost_of, word_array
from tests.support.cases import transcript
from tests.support.noise import Draw, by_parties, fits, in_the_clear

SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(96), Fraction(2**20), Fraction(2**33)]
each_scale = pytest.mark.parametrize("scale", SCALES, ids=str)
each_way = pytest.mark.parametrize(
    ("draw", "count"), [(in_the_clear, 20_000), (by_parties, 1_000)], ids=["in the clear", "by parties"]
)


def exp_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """exp(x) for 0 <= x, from its series: (exp(x/2^h))^(2^h), with bounds that are rounded outwards."""
    halvings = max(0, math.ceil(x).bit_length() + 4)
    small = x / 2**halvings
    low, term = Fraction(0), Fraction(1)
    for k in range(1, 40):
        low += term
        term = term * small / k
    high = low + 2 * term
    for _ in range(halvings):
        low, high = _cut(low * low), _cut(high * high) + Fraction(1, 2**400)
    return low, high


def _cut(x: Fraction) -> Fraction:
    return Fraction(math.floor(x * 2**400), 2**400)


def chance_between(rate: Fraction, place: int) -> tuple[Fraction, Fraction]:
    """Bounds on the probability of a bit of a geometric variable."""
    low, high = exp_between(rate * 2**place)
    return 1 / (1 + high), 1 / (1 + low)


@each_scale
def test_thresholds_are_rounded_to_the_nearest(scale: Fraction) -> None:
    found = thresholds(1 / scale)
    assert min(found) > 0
    assert max(found) < 2**63
    for place, threshold in enumerate((*found, 0)):
        low, high = chance_between(1 / scale, place)
        assert high - low < Fraction(1, 2**120)
        assert threshold == round(low * 2**64) == round(high * 2**64)


def drawn_distribution(rate: Fraction) -> dict[int, Fraction]:
    """What is drawn: the probability of every number that is possible, from those of all bits."""
    mass, whole = np.array([1], dtype=object), 1
    for threshold in thresholds(rate):
        mass = np.concatenate([mass * (2**64 - threshold), mass * threshold])
        whole *= 2**64
    above = [Fraction(int((mass[k:] * mass[: len(mass) - k]).sum()), whole**2) for k in range(len(mass))]
    return {k: above[abs(k)] for k in range(1 - len(mass), len(mass))}


@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1), Fraction(2, 3)], ids=str)
def test_the_distance_to_the_ideal_is_bounded(rate: Fraction) -> None:
    """By adding it up in fractions."""
    drawn = drawn_distribution(rate)
    assert sum(drawn.values()) == 1
    q = 1 / exp_between(rate)[0]
    reach = max(drawn)
    ideal = {k: (1 - q) / (1 + q) * q ** abs(k) for k in drawn}
    beyond = 2 * q ** (reach + 1) / (1 + q)
    distance = (sum(abs(drawn[k] - ideal[k]) for k in drawn) + beyond) / 2
    bound = total_variation([rate])
    assert bound / 100 < distance < bound < Fraction(1, 2**58)
    assert total_variation([rate, rate, 2 * rate]) == 2 * bound + total_variation([2 * rate])


def beyond(factor: Fraction, shift: int, drawn: dict[int, Fraction]) -> Fraction:
    """By how much any set of outcomes is likelier than so many times what it is of a number further on."""
    gaps = (mass - factor * drawn.get(k - shift, Fraction(0)) for k, mass in drawn.items())
    return sum((gap for gap in gaps if gap > 0), Fraction(0))


@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(2, 3)], ids=str)
def test_what_is_drawn_is_private_up_to_a_delta(rate: Fraction, shift: int) -> None:
    drawn = drawn_distribution(rate)
    low, high = exp_between(rate * shift)
    assert 0 < beyond(low, shift, drawn) <= (1 + high) * total_variation([rate]) < Fraction(1, 2**40)
    # The positive control: with a smaller epsilon it is not.
    assert beyond(exp_between(rate * shift * Fraction(9, 10))[1], shift, drawn) > Fraction(1, 1000)


def test_a_thousand_numbers_are_as_private_as_documents_say() -> None:
    distance = total_variation([Fraction(1, 2**33)] * 1_000)
    assert distance < Fraction(1, 2**47)
    assert (1 + exp_between(Fraction(4))[1]) * distance < Fraction(1, 2**41)


@each_way
@each_scale
def test_draws_have_the_distribution(scale: Fraction, draw: Draw, count: int) -> None:
    values = draw([1 / scale] * count)
    assert len(values) == count
    assert fits(values, 1 / scale)
    # Independent of their neighbours: signs agree half of the time, where there are signs.
    signs = np.sign(values)
    both = signs[1:] * signs[:-1]
    assert abs(both.sum()) < 7 * math.sqrt(max(np.abs(both).sum(), 1))


@each_way
@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(96), Fraction(2**33)], ids=str)
def test_half_of_the_noise_is_noticed(scale: Fraction, factor: Fraction, draw: Draw, count: int) -> None:
    """The positive control, and twice as much."""
    assert not fits(draw([1 / (scale * factor)] * count), 1 / scale)


def test_noise_of_another_shape_is_noticed() -> None:
    """The positive control: a scale that is a sixth off, one side only, shifted, without one of the bits."""
    rate = Fraction(1, 96)
    values = in_the_clear([rate] * 20_000)
    assert fits(values, rate)
    assert not fits(values, rate * Fraction(7, 6))
    assert not fits(np.abs(values), rate)
    assert not fits(values + 10, rate)
    assert not fits(values & ~32, rate)


def test_numbers_of_different_rates_are_drawn_together() -> None:
    rates = [Fraction(1, 3), Fraction(60), Fraction(2, 2**20), Fraction(2)] * 1_000
    values = by_parties(rates).reshape(-1, 4)
    for column, rate in zip(values.T, rates[:4], strict=True):
        assert (column == 0).all() if rate == 60 else fits(column, rate)
    spread = np.corrcoef(values[:, 0], values[:, 2])[0, 1]
    assert abs(spread) < 7 / math.sqrt(1_000)


@each_scale
def test_draws_have_the_variance_that_owners_know(scale: Fraction) -> None:
    values = in_the_clear([1 / scale] * 20_000).astype(float)
    expected = Noise.two_sided_geometric(math.exp(-1 / scale)).variance
    # The fourth moment is six squares of the variance, and the variance once.
    deviation = math.sqrt((5 * expected**2 + expected) / len(values))
    assert abs(np.mean(values**2) - expected) < 8 * deviation
    assert abs(np.mean(values)) < 8 * math.sqrt(expected / len(values))


def test_two_runs_do_not_repeat_noise() -> None:
    rates = [Fraction(1, 2**33)] * 200
    for draw in (in_the_clear, by_parties):
        values = np.concatenate([draw(rates), draw(rates)])
        assert len(set(values.tolist())) == len(values)


@pytest.mark.parametrize(
    "rates", [[], [Fraction(1, 96)], [Fraction(1, 3), Fraction(70), Fraction(1, 2**33)] * 9]
)
def test_declared_rounds_and_bytes(rates: list[Fraction]) -> None:
    bits = sum(2 * len(thresholds(rate)) for rate in rates)
    cost = cost_of(lambda s, a: two_sided_geometric(s, rates) and None, word_array([0]))
    assert cost == costs.random_bits(bits) + costs.to_ring(bits)
    assert cost.rounds == (4 if rates else 0)


def test_messages_are_the_same_whatever_is_drawn() -> None:
    def conversation(rate: Fraction) -> object:
        return transcript(World(Fast()).run(lambda suite: two_sided_geometric(suite, [rate] * 50)))

    first = conversation(Fraction(1, 96))
    assert conversation(Fraction(1, 96)) == first
    assert conversation(Fraction(1, 97)) == first
    # The positive control: more bits are another conversation.
    assert conversation(Fraction(1, 2**20)) != first


def test_a_rate_that_makes_no_sense_is_refused() -> None:
    for rate in (Fraction(0), Fraction(-1, 3)):
        with pytest.raises(MisuseError, match="must be above 0"):
            thresholds(rate)
    assert len(thresholds(Fraction(1, 2**54))) == noise.MOST_BITS
    with pytest.raises(MisuseError, match="would not fit"):
        thresholds(Fraction(1, 2**55))


def test_no_numbers_and_numbers_without_noise() -> None:
    assert two_sided_geometric(CleartextSuite(), [Fraction(100)] * 3).values.tolist() == [0, 0, 0]
    assert by_parties([Fraction(100)] * 3).tolist() == [0, 0, 0]


def test_the_papers_suite_draws_none() -> None:
    with pytest.raises(MisuseError, match="CeciliaSuite draws no secrets"):
        World(Paper()).run(lambda suite: two_sided_geometric(suite, [Fraction(1)]))
