"""Intercept and slope of a logistic recalibration, by sign tests: the roots, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ppaurora.algorithms import recalibration
from ppaurora.algorithms.logit_nodes import BAND, LogitNodes, lagrange_weights, logits
from ppaurora.algorithms.recalibration import Masses, find_intercept, find_slope, masses
from ppaurora.data.grid import Grid
from ppaurora.protocols import Fast
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun
from tests.support.recalibration import Counted, random_table

SCORES, INFORMATION, CHANGES = 2.0**33, 2.0**26, 2.0**22  # units of what is returned, of all samples


def on_nodes(suite: Suite, table: Counted, positives: RingShare, negatives: RingShare) -> Masses:
    return masses(suite, logits(table.grid.values, table.grid.step), positives, negatives, table.samples)


def intercept(suite: Suite, table: Counted, positives: RingShare, negatives: RingShare) -> RingShare:
    at = find_intercept(suite, on_nodes(suite, table, positives, negatives))
    return concat([at.found, at.steps, at.f, at.iaa, at.t])


def slope(suite: Suite, table: Counted, positives: RingShare, negatives: RingShare) -> RingShare:
    at = find_slope(suite, on_nodes(suite, table, positives, negatives))
    return concat([*at.found, at.steps, at.f, at.g, at.iaa, at.iab, at.ibb, *at.t])


Search = Callable[[Suite, Counted, RingShare, RingShare], RingShare]


def in_the_clear(search: Search, table: Counted) -> list[int]:
    found: list[int] = search(CleartextSuite(), table, *table.shares).values.view(np.int64).tolist()
    return found


@dataclass(frozen=True)
class Root:
    value: float
    standard_error: float


def root_of_intercept(table: Counted) -> Root | None:
    """By one more step, in floats."""
    found, steps, *numbers = in_the_clear(intercept, table)
    f, i, t = np.array(numbers) / [SCORES, INFORMATION, CHANGES]
    if found != 1:
        return None
    d = f / i
    scale = 2.0 ** table.samples.bit_length()
    return Root(steps / 1024 - 16 + f / (i + t * d / 2), 1 / np.sqrt((i + t * d) * scale))


def root_of_slope(table: Counted) -> Root | None:
    coarse, fine, steps, *numbers = in_the_clear(slope, table)
    if (coarse, fine) != (1, 1):
        return None
    scores = np.array(numbers[:2]) / SCORES
    aa, ab, bb = np.array(numbers[2:5]) / INFORMATION
    t0, t1, t2, t3 = np.array(numbers[5:]) / CHANGES
    information = np.array([[aa, ab], [ab, bb]])
    u, v = np.linalg.solve(information, scores)
    change = np.array([[t0 * u + t1 * v, t1 * u + t2 * v], [t1 * u + t2 * v, t2 * u + t3 * v]])
    step = np.linalg.solve(information + change / 2, scores)
    inverse = np.linalg.inv((information + change) * 2.0 ** table.samples.bit_length())
    return Root(steps / 1024 - 1 + step[1], np.sqrt(inverse[1, 1]))


@pytest.mark.parametrize("decimals", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_roots_are_those_of_newton(seed: int, decimals: int) -> None:
    """To a hundredth of a unit of the third decimal."""
    table = random_table(100 * decimals + seed, decimals)
    for find, with_slope in ((root_of_intercept, False), (root_of_slope, True)):
        value, error = table.fitted(with_slope=with_slope)
        assert error < 128 / np.sqrt(table.samples)
        found = find(table)
        assert found is not None
        assert found.value == pytest.approx(value, abs=1e-5)
        assert found.standard_error == pytest.approx(error, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("slope_of_data", [-0.9, 0.01, 4.8])
def test_slopes_near_the_ends(slope_of_data: float) -> None:
    grid = Grid(decimals=2)
    x = logits(grid.values, grid.step)
    counts = np.where(np.abs(x) < 2, 10_000, 0)
    positives = np.rint(counts / (1 + np.exp(-slope_of_data * x))).astype(np.int64)
    table = Counted(grid, positives, counts - positives)
    found = root_of_slope(table)
    assert found is not None
    assert found.value == pytest.approx(table.fitted(with_slope=True)[0], abs=1e-6)


def few(places: list[int], positives: list[int], negatives: list[int]) -> Counted:
    grid = Grid(decimals=2)
    counts = np.zeros((2, grid.cells), dtype=np.int64)
    counts[0, places], counts[1, places] = positives, negatives
    return Counted(grid, counts[0], counts[1])


@pytest.mark.parametrize(
    "table",
    [
        few([10, 90], [0, 50], [50, 0]),
        few([10, 90], [50, 0], [0, 50]),
        few([10, 50, 90], [0, 20, 50], [50, 20, 0]),
        few([40, 60], [1, 999], [999, 1]),
        few([10, 90], [999, 1], [1, 999]),
        few([10, 90], [50, 50], [0, 0]),
        few([10, 90], [0, 0], [50, 50]),
    ],
    ids=[
        "separated",
        "wrong way",
        "nearly separated",
        "steep",
        "wrong way and steep",
        "positives",
        "negatives",
    ],
)
def test_there_is_no_slope_without_a_root_within_reach(table: Counted) -> None:
    assert root_of_slope(table) is None


def test_there_is_no_intercept_of_one_class() -> None:
    assert root_of_intercept(few([10, 90], [50, 50], [0, 0])) is None
    assert root_of_intercept(few([10, 90], [0, 0], [50, 50])) is None
    assert root_of_intercept(few([50], [1], [1])) is not None


@pytest.mark.parametrize("samples", [1, 2**30])
def test_the_fewest_and_the_most_samples(samples: int) -> None:
    table = few([30, 50, 70], [samples // 8] * 3, [samples // 4 + 1, samples // 4, samples // 8])
    if samples == 1:
        assert root_of_slope(table) is None
        return
    for find, with_slope in ((root_of_intercept, False), (root_of_slope, True)):
        found, (value, error) = find(table), table.fitted(with_slope=with_slope)
        assert found is not None
        assert found.value == pytest.approx(value, abs=1e-6)
        assert found.standard_error == pytest.approx(error, rel=1e-4)


# Among three parties


def run(search: Search, table: Counted) -> WorldRun:
    def party(suite: BitslicedSuite, positives: RingShare, negatives: RingShare) -> RingShare:
        return search(suite, table, suite.mask(positives), suite.mask(negatives))

    return World(Fast()).run(party, *table.words)


@pytest.mark.parametrize(
    ("search", "most_bytes", "most_rounds"),
    [(intercept, 250_000, 20), (slope, 2_300_000, 54)],
    ids=["intercept", "slope"],
)
def test_parties_find_the_same_at_one_cost(search: Search, most_bytes: int, most_rounds: int) -> None:
    """Whatever the data: messages of the same lengths, in the same order, between the same."""
    tables = [random_table(seed, 3) for seed in (0, 1)] + [
        Counted(
            Grid(decimals=3), np.eye(1, 1001, 0, dtype=np.int64)[0], np.eye(1, 1001, 900, dtype=np.int64)[0]
        )
    ]
    runs = [run(search, table) for table in tables]
    for one, table in zip(runs, tables, strict=True):
        assert one.value.view(np.int64).tolist() == in_the_clear(search, table)
    shapes = [[(m.sender, m.receiver, len(m.payload)) for m in one.messages] for one in runs]
    assert all(sorted(map(str, shape)) == sorted(map(str, shapes[0])) for shape in shapes)
    masking = 2 * 2 * 8 * 101  # of the two lists, each way
    assert runs[0].cost.bytes - masking < most_bytes
    assert runs[0].cost.rounds <= most_rounds
    assert runs[0].openings == {}


# Nodes


def test_weights_of_nodes_are_exact_for_polynomials() -> None:
    position = np.linspace(0, 1, 7)
    weights = list(lagrange_weights(position))
    for power in range(6):
        moments = sum(
            weight * float(node) ** power for weight, node in zip(weights, range(-2, 4), strict=True)
        )
        assert moments == pytest.approx(position**power, abs=1e-12)


def test_masses_give_smooth_sums() -> None:
    """Over both nodes, of a function that is steep in the first and flat in the second."""
    table, bits = random_table(3, 3), 24
    x = logits(table.grid.values, table.grid.step)
    nodes = LogitNodes(x)
    band = nodes.masses(table.shares[0], bits).values.view(np.int64) / 2.0**bits
    u, v = nodes.first / 16, np.floor(nodes.first / 16) - 3 + np.arange(BAND)[:, None]

    def function(u: Any, v: Any) -> Any:
        return np.tanh(u) * np.exp(v / 20)

    found, expected = (band * function(u, v)).sum(), (table.positives * function(x, x)).sum()
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7 * table.samples)
    assert band.sum() == pytest.approx(table.positives.sum(), rel=1e-6)


def test_probabilities_at_the_ends_are_read_as_half_a_step_from_them() -> None:
    found = logits(np.array([0.0, 0.1, 0.5, 1.0]), 0.01)
    assert found == pytest.approx([np.log(0.005 / 0.995), np.log(1 / 9), 0.0, np.log(0.995 / 0.005)])


def test_rounded_polynomials_add_up() -> None:
    """Where s is flat, rounding must not tilt it."""
    for kind, total in ((recalibration._Sigmoid.VALUE, 1 << 22), (recalibration._Sigmoid.SLOPE, 0)):
        words = recalibration._lagrange_table(kind, 22).view(np.int64)
        assert (words.sum(axis=0) == total).all()


def test_rounding_is_to_the_nearest_whatever_the_sign() -> None:
    numbers = np.array([-(2**61), -5, -4, -3, -2, -1, 0, 1, 2, 3, 5, 2**61])
    share = RingShare(CLEARTEXT, numbers.view(np.uint64))
    found = recalibration._rounded(CleartextSuite(), share, 2).values.view(np.int64)
    assert found.tolist() == [int(np.floor(number / 4 + 0.5)) for number in numbers.tolist()]
