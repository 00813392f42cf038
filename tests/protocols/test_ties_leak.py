"""What the helper learns in Algorithm 3 of `paper`: an attack that holds docs/leakage.md to its figures."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.randomness import Stream
from ppaurora.sharing import RingShare
from ppaurora.suites.base import Suite
from ppaurora.suites.cecilia.ties import dummies
from ppaurora.suites.role import Role
from ppaurora.testing import World

Words = NDArray[np.uint64]

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists())
SCORES = 1001
DIFFERENCES = SCORES - 1
RUNS = 100

UNIFORM = np.array([math.comb(64, weight) / 2**64 for weight in range(65)])


def weights_of(words: Words) -> NDArray[np.intp]:
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)
    weights: NDArray[np.intp] = np.unpackbits(octets, axis=1).sum(axis=1, dtype=np.intp)
    return weights


def differences(suite: Suite, keys: RingShare) -> RingShare:
    flags: RingShare = suite.differ(keys[:-1], keys[1:])
    return flags


def seen_by_the_helper(keys: Words) -> Words:
    """What it reconstructs from the proxies' two messages."""
    messages = World().run(differences, keys).messages
    first, second = (np.frombuffer(m.payload, "<u8") for m in messages if m.receiver is Role.HELPER)
    seen: Words = first ^ second
    return seen


def keys_of(numerators: NDArray[np.int64], steps: int) -> Words:
    """Scores k / steps, descending, as `paper` encodes them."""
    scores: NDArray[np.float64] = np.sort(numerators)[::-1] / steps
    return scores.view(np.uint64)


def weights_of_real_differences(steps: int, random: np.random.Generator) -> NDArray[np.float64]:
    """How often which weight occurs for neighbours k / steps: the helper tries it out by itself."""
    keys = keys_of(np.arange(steps + 1), steps)
    gaps = np.resize(keys[:-1] - keys[1:], 50_000)
    part = random.integers(0, 1 << 64, len(gaps), dtype=np.uint64)
    return np.bincount(weights_of((part - gaps) ^ part), minlength=65) / len(gaps)


def by_weights(seen: Words, real: NDArray[np.float64]) -> int:
    """Of all that is not zero, how much is real? The likeliest number, and the rest of the real are ties."""
    weights = weights_of(seen[seen != 0])
    counts = np.bincount(weights, minlength=65)
    candidates = np.arange(min(DIFFERENCES, len(weights)) + 1)[:, np.newaxis]
    shares = (candidates * real + (len(weights) - candidates) * UNIFORM) / max(len(weights), 1)
    likelihood = (counts * np.log(shares + 1e-12)).sum(axis=1)
    return DIFFERENCES - int(likelihood.argmax())


def by_counting(seen: Words) -> int:
    """Zeros, less half of the dummies."""
    return int((seen == 0).sum()) - DIFFERENCES // 2


@dataclass(frozen=True)
class Errors:
    by_weights: float
    by_counting: float


def measured(steps: int) -> Errors:
    """Root mean square errors of both estimates, over many runs."""
    random = np.random.default_rng(int.from_bytes(os.urandom(8), "big"))
    real = weights_of_real_differences(steps, random)
    errors = []
    for _ in range(RUNS):
        keys = keys_of(random.integers(0, steps + 1, SCORES), steps)
        ties = int((keys[:-1] == keys[1:]).sum())
        seen = seen_by_the_helper(keys)
        assert len(seen) == 2 * DIFFERENCES
        errors.append((by_weights(seen, real) - ties, by_counting(seen) - ties))
    weights, counting = np.sqrt((np.array(errors) ** 2.0).mean(axis=0))
    return Errors(float(weights), float(counting))


def documented() -> dict[int, tuple[str, float, float]]:
    """Per row of the table in docs/leakage.md: whether a bound, the error by weights, and by counting."""
    rows = re.findall(
        r"^\| k/([\d,]+) \| (below|about) (\d+) \| about (\d+) \|$",
        (ROOT / "docs/leakage.md").read_text(),
        flags=re.MULTILINE,
    )
    return {int(steps.replace(",", "")): (kind, float(w), float(c)) for steps, kind, w, c in rows}


def holds(measured_error: float, kind: str, figure: float) -> bool:
    """Within a factor of two, which leaves a hundred runs more than five standard deviations."""
    return measured_error < figure if kind == "below" else figure / 2 < measured_error < figure * 2


def test_the_document_gives_the_helpers_error() -> None:
    assert list(documented()) == [1024, 1000, 100]


@pytest.mark.parametrize("steps", documented())
def test_the_helper_counts_ties_as_well_as_the_document_says(steps: int) -> None:
    """Counting alone is the control: without the weights the random number of zeros does hide the ties."""
    kind, by_weights_figure, by_counting_figure = documented()[steps]
    errors = measured(steps)
    assert holds(errors.by_weights, kind, by_weights_figure), errors
    assert holds(errors.by_counting, "about", by_counting_figure), errors
    assert errors.by_weights < errors.by_counting / 10


def zero_dummies(count: int) -> int:
    key = os.urandom(32)
    first, second = (dummies(Stream(key), count, role) for role in (Role.PROXY_0, Role.PROXY_1))
    return int((first == second).sum())


def zeros_by_coins(count: int) -> int:
    return int(Stream.fresh().bits((count,)).sum())


def chi_square_from_uniform(draw: Callable[[int], int], count: int, draws: int) -> float:
    counts = np.bincount([draw(count) for _ in range(draws)], minlength=count + 1)
    assert len(counts) == count + 1
    expected = draws / (count + 1)
    return float(((counts - expected) ** 2 / expected).sum())


def test_every_number_of_zero_dummies_is_equally_likely() -> None:
    """Nine degrees of freedom: 60 is a chance of about 1 in 10^9. A coin per dummy is the control."""
    assert chi_square_from_uniform(zero_dummies, 9, 2000) < 60
    assert chi_square_from_uniform(zeros_by_coins, 9, 2000) > 600


def test_no_dummies_for_no_differences() -> None:
    assert zero_dummies(0) == 0
    assert len(dummies(Stream.fresh(), 0, Role.PROXY_0)) == 0
