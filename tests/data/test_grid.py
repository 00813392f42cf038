"""How scores are read on a grid, and what an owner counts on it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.data import Samples
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import MOST_CELLS, Grid
from ppaurora.errors import DataError, InputError
from tests.support.bad_input import PLANTED


def samples(scores: list[float], labels: list[int] | None = None, *, negated: bool = False) -> Samples:
    labels = [number % 2 for number in range(len(scores))] if labels is None else labels
    read = Samples("north", np.array(scores), np.array(labels, dtype=np.uint8), score_column="risk")
    return read.negate() if negated else read


GRIDS = [
    Grid(),
    Grid(decimals=0),
    Grid(low=-3.5, high=-1.25, decimals=2),
    Grid(low=0.0, high=100.0, decimals=0),
    Grid(low=1e-9, high=1e-5, decimals=9),
    Grid(low=-0.3, high=0.3, decimals=1),
]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_values_are_the_decimals_that_people_write(grid: Grid) -> None:
    values = grid.values.tolist()
    assert values == [float(Fraction(grid.first + k, 10**grid.decimals)) for k in range(grid.cells)]
    assert values[0] == grid.low
    assert values[-1] == grid.high
    assert (np.diff(grid.values) > 0).all()
    assert not np.signbit(grid.values[grid.values == 0]).any()
    assert grid.nearest(grid.values).tolist() == list(range(grid.cells))


@given(
    score=st.floats(-3.5, -1.25),
    other=st.floats(-3.5, -1.25),
)
def test_a_score_is_read_as_the_nearest_value_and_order_is_kept(score: float, other: float) -> None:
    grid = Grid(low=-3.5, high=-1.25, decimals=2)
    places = grid.places(samples([score, other]))
    apart = abs(Fraction(grid.first + int(places[0]), 100) - Fraction(score))
    assert apart <= Fraction(1, 200) + Fraction(1, 10**12), "up to what a float64 rounds of score times 100"
    if score <= other:
        assert places[0] <= places[1]


def test_lower_scores_are_read_as_their_source_has_them() -> None:
    """Before they are negated, so that halfway scores are read alike."""
    grid = Grid(low=0.0, high=10.0, decimals=0)
    scores = [0.5, 1.5, 2.5, 7.0]
    upright, negated = (grid.read(samples(scores, negated=negated)) for negated in (False, True))
    assert upright.scores.tolist() == [0.0, 2.0, 2.0, 7.0]
    assert negated.scores.tolist() == [0.0, -2.0, -2.0, -7.0]
    one, other = (CountTable.of(samples(scores, negated=negated), grid) for negated in (False, True))
    assert (one.positives == other.positives).all()
    assert (one.negatives == other.negatives).all()
    assert (one.negated, other.negated) == (False, True)


@pytest.mark.parametrize("outside", [-0.1, 1.1, 1e308, -1e308, float(PLANTED) + 2])
def test_a_score_outside_is_refused_with_its_place_and_not_quoted(outside: float) -> None:
    with pytest.raises(DataError) as caught:
        Grid(decimals=1).places(samples([0.5, outside]))
    assert str(caught.value).startswith(
        "north, row 2, column 'risk': the score is outside of the study's grid"
    )
    assert repr(outside) not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"low": 1.0, "high": 1.0}, "high: must be above low"),
        ({"low": float("nan")}, "low: must be a finite number"),
        ({"high": float("inf")}, "high: must be a finite number"),
        ({"low": 0.25, "decimals": 1}, "low: must have at most as many decimals"),
        ({"decimals": 7}, "a grid has at most"),
        ({"low": 0.0, "high": float(MOST_CELLS), "decimals": 0}, "a grid has at most"),
        ({"low": 1e16, "high": 1e16 + 1000, "decimals": 0}, "no float64 has so many digits"),
        ({"low": 1e7, "high": 1e7 + 1e-6, "decimals": 9}, "no float64 has so many digits"),
        ({"low": -1e16 - 1000, "high": -1e16, "decimals": 0}, "no float64 has so many digits"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(settings: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Grid(**settings)  # type: ignore[arg-type]


def test_the_largest_grid_is_taken() -> None:
    assert Grid(low=0.0, high=float(MOST_CELLS - 1), decimals=0).cells == MOST_CELLS


def test_a_table_counts_every_sample_once() -> None:
    grid = Grid(decimals=1)
    table = CountTable.of(samples([0.0, 0.04, 0.06, 1.0, 0.96, 0.5], [1, 0, 1, 1, 0, 0]), grid)
    assert table.positives.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert table.negatives.tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert len(table) == 6


@pytest.mark.parametrize(
    "counts",
    [np.zeros(10, dtype=np.uint32), np.zeros(11, dtype=np.int64), np.zeros((1, 11), dtype=np.uint32)],
)
def test_counts_of_another_shape_are_refused(counts: np.ndarray) -> None:
    right = np.zeros(11, dtype=np.uint32)
    for pair in ((counts, right), (right, counts)):
        with pytest.raises(InputError, match="a table has 11 counts of each class"):
            CountTable("north", Grid(decimals=1), *pair)
