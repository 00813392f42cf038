"""What the helper sees: a private compare, by hand, for numbers of our choice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ppaurora.randomness import Stream
from ppaurora.suites.cecilia import compare
from ppaurora.suites.cecilia.compare import LOW_63, Blinds
from ppaurora.suites.cecilia.residues import MODULUS, RESIDUES


def helper_view(y: np.ndarray, z: np.ndarray, blinds: Blinds) -> np.ndarray:
    """The blinded, permuted values that the helper reconstructs."""
    thresholds = compare.thresholds_of(y)
    part_0 = RESIDUES.draw(Stream.fresh(), thresholds.shape)
    part_1 = RESIDUES.sub(thresholds, part_0)
    return RESIDUES.add(compare.message(z, part_0, 0, blinds), compare.message(z, part_1, 1, blinds))


def without_blinding(blinds: Blinds) -> Blinds:
    blinds.opposite = np.zeros_like(blinds.opposite)
    return blinds


def test_private_compare_answers_the_question_asked() -> None:
    random = np.random.default_rng(1)
    y = random.integers(0, 2**63, 2000, dtype=np.uint64)
    z = random.integers(0, 2**63, 2000, dtype=np.uint64)
    z[:500] = y[:500]
    z[500:1000] = (y[500:1000] + np.uint64(1)) & LOW_63
    z[1000:1500] = (y[1000:1500] - np.uint64(1)) & LOW_63
    blinds = Blinds(Stream.fresh(), len(y))
    seen = helper_view(y, z, blinds)
    assert (compare.answer(seen) == ((y > z) ^ blinds.opposite)).all()
    assert ((seen == 0).sum(axis=0) <= 1).all()


def correlation_of_helpers_bit_with_result(blind: Callable[[Blinds], Blinds]) -> float:
    """How often the helper's bit equals [x < 0] for scores that lie close to each other."""
    random = np.random.default_rng(2)
    count = 20_000
    x = random.choice([-3, -2, -1, 1, 2, 3], count).astype(np.int64).view(np.uint64)
    a = Stream.fresh().words((count,))
    e = x - a
    seen = helper_view(a & LOW_63, ~e & LOW_63, blind(Blinds(Stream.fresh(), count)))
    negative = x >> np.uint64(63)
    return float((compare.answer(seen) == negative).mean())


def test_the_helpers_bit_is_independent_of_the_comparison() -> None:
    """Within six standard deviations of a fair coin."""
    assert abs(correlation_of_helpers_bit_with_result(lambda blinds: blinds) - 0.5) < 6 * 0.5 / 20_000**0.5


def test_without_blinding_the_helper_would_learn_the_comparison() -> None:
    """The positive control: this is the hole in the authors' published code."""
    told = correlation_of_helpers_bit_with_result(without_blinding)
    assert told < 0.01 or told > 0.99


def chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def positions_of_zero(places: np.ndarray | None) -> np.ndarray:
    """Where the helper finds its zero, for numbers that first differ at the same, telling digit."""
    count = 32_000
    y = np.full(count, 0b10 << 20, dtype=np.uint64)
    z = np.full(count, 0b01 << 20, dtype=np.uint64)
    blinds = without_blinding(Blinds(Stream.fresh(), count))
    if places is not None:
        blinds.places = places
    return np.bincount((helper_view(y, z, blinds) == 0).argmax(axis=0), minlength=32)


def test_the_position_of_the_zero_is_uniform() -> None:
    """31 degrees of freedom: 100 is a chance of about 1 in 10^9."""
    assert chi_square(positions_of_zero(None)) < 100
    # Positive control: without the permutation the position tells where the numbers first differ.
    assert chi_square(positions_of_zero(np.zeros(32_000, dtype=np.uint8))) > 10_000


def test_what_is_not_zero_is_uniform_and_so_is_each_proxys_part() -> None:
    count = 20_000
    y = np.full(count, 5, dtype=np.uint64)
    z = np.full(count, 9, dtype=np.uint64)
    blinds = without_blinding(Blinds(Stream.fresh(), count))
    seen = helper_view(y, z, blinds)
    for digit in (0, 7, 31):
        nonzero = np.bincount(seen[digit], minlength=MODULUS)
        assert nonzero[0] == 0
        assert chi_square(nonzero[1:]) < 120
    thresholds = np.zeros(compare.thresholds_shape(count), dtype=np.uint8)
    part = compare.message(z, thresholds, 0, blinds)
    assert chi_square(np.bincount(part.reshape(-1), minlength=MODULUS)) < 120
