"""What a grid changes on own data, against pair counting in fractions; and which grid is proposed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.check import check_data
from ppaurora.check.grid_effect import GridEffect, propose_grid
from ppaurora.data import CountTable, Grid, Samples, ScoreCounts
from ppaurora.errors import DataError, InputError
from ppaurora.statistics.fitting_grid import decimals_of
from tests.support.oracles import exact_auroc
from tests.support.owners import samples_of

DRAWN = st.lists(
    st.tuples(st.floats(0, 1) | st.sampled_from([0.5, 0.25, 0.251, 0.249]), st.integers(0, 1)),
    min_size=2,
    max_size=30,
)


@given(DRAWN, st.integers(0, 3), st.booleans())
def test_auroc_before_and_after_are_within_the_bound(
    drawn: list[tuple[float, int]], decimals: int, lower: bool
) -> None:
    scores, labels = map(list, zip(*drawn, strict=True))
    samples, grid = samples_of(scores, labels), Grid(decimals=decimals)
    effect = GridEffect.of(samples.negate() if lower else samples, grid)
    sign = -1 if lower else 1
    read = [grid.values[np.rint(score * 10**decimals).astype(int)] for score in scores]
    before = exact_auroc([(sign * score, label) for score, label in drawn])
    after = exact_auroc([(sign * float(value), label) for value, label in zip(read, labels, strict=True)])
    assert (effect.before is None, effect.after is None) == (before is None, after is None)
    assert effect.moved == sum(abs(value - score) > 1e-12 for value, score in zip(read, scores, strict=True))
    assert effect.tied_before == sum(scores.count(score) > 1 for score in scores)
    assert effect.tied_after == sum(read.count(value) > 1 for value in read)
    if before is None or after is None:
        assert effect.bound is None
        return
    pairs = list(zip(read, labels, strict=True))
    together = sum(a == b for a, is_a in pairs for b, is_b in pairs if is_a > is_b)
    bound = Fraction(together, 2 * sum(labels) * (len(labels) - sum(labels)))
    assert (effect.before, effect.after) == (float(before), float(after))
    assert effect.bound == float(bound)
    assert abs(before - after) <= bound


def test_a_table_tells_the_bound_and_what_is_tied() -> None:
    samples, grid = samples_of([0.25, 0.251, 0.75, 0.5], [1, 0, 1, 0]), Grid(decimals=2)
    of_rows, of_table = (
        GridEffect.of(samples, grid),
        GridEffect.of(CountTable.of(samples, grid), grid, moved=1),
    )
    assert (of_table.before, of_table.tied_before) == (None, None)
    assert (of_table.after, of_table.bound, of_table.moved, of_table.tied_after) == (
        of_rows.after,
        of_rows.bound,
        of_rows.moved,
        of_rows.tied_after,
    )
    assert of_table.in_words == (
        "1 score is rounded; local AUROC moves by 1.2e-01 at most; 2 samples share a score"
    )
    assert of_rows.in_words == (
        "1 score is rounded; local AUROC 0.500000 becomes 0.625000: it can move by 1.2e-01 at most; "
        "2 samples share a score, before 0"
    )
    with pytest.raises(InputError, match="another grid"):
        GridEffect.of(CountTable.of(samples, grid), Grid())
    with pytest.raises(DataError, match="row 3, column 'y_score'"):
        GridEffect.of(samples, Grid(high=0.5))


@pytest.mark.parametrize(
    ("scores", "decimals", "grid"),
    [
        ([0.25, 0.5, 0.75], 2, Grid(decimals=2)),
        ([0.1 + 0.2, 1 / 3 * 3, 0.123], 3, Grid(decimals=3)),
        ([float(np.float32(0.7)), 0.5], None, Grid(decimals=4)),
        ([0.1234567834, 0.5], None, Grid(decimals=4)),
        ([0.12345678, 0.5], 8, Grid(decimals=4)),
        ([0.12345, 0.5], 5, Grid(decimals=5)),
        ([1.0, 15.0, 7.0], 0, Grid(low=1.0, high=15.0, decimals=0)),
        ([-3.0, 152.0], 0, Grid(low=-3.0, high=160.0, decimals=0)),
        ([-2.25, 3.75], 2, Grid(low=-2.3, high=3.8, decimals=2)),
        ([0.0, 123456.78], 2, Grid(low=0.0, high=130_000.0, decimals=0)),
        ([7.0, 7.0], 0, Grid(low=7.0, high=8.0, decimals=0)),
        ([0.0, 1e12], 0, None),
        ([1e308, -1e308], 0, None),
    ],
)
def test_a_grid_is_proposed_that_holds_all_scores(
    scores: list[float], decimals: int | None, grid: Grid | None
) -> None:
    samples = samples_of(scores, [0, 1, 1][: len(scores)])
    found = propose_grid(samples)
    if grid is None:
        assert found is None
        return
    assert found is not None
    assert (found.decimals, found.grid) == (decimals, grid)
    assert found.effect.changes_nothing == (decimals == grid.decimals)


def test_decimals_are_looked_for_up_to_a_billionth() -> None:
    assert decimals_of(np.array([0.12345678])) == 8
    assert decimals_of(np.array([0.25 + 5e-10])) == 2
    assert decimals_of(np.array([0.25 + 5e-9])) is None


def test_a_check_without_a_study_proposes_a_grid() -> None:
    found = check_data(samples_of([0.25, 0.5, 0.75, 0.5] * 10, [0, 1, 1, 0] * 10))
    assert found.grid_proposal is not None
    assert found.grid_proposal.in_words == (
        "all scores have at most 2 decimals; on a grid of 101 values (low = 0, high = 1, decimals = 2) every "
        "score is a value of the grid: it changes nothing"
    )
    told = found.to_dict()
    assert (told["grid"], told["proposed_grid"]["decimals"], told["proposed_grid"]["grid"]["cells"]) == (
        None,
        2,
        101,
    )


@given(DRAWN)
def test_counts_of_rows_and_of_a_table_on_their_decimals_are_the_same(drawn: list[tuple[float, int]]) -> None:
    scores, labels = map(list, zip(*drawn, strict=True))
    grid = Grid(decimals=3)
    samples = grid.read(samples_of(scores, labels))
    rows, table = ScoreCounts.of(samples), ScoreCounts.of(CountTable.of(samples, grid))
    for name in ("values", "positives", "negatives"):
        assert getattr(rows, name).tolist() == getattr(table, name).tolist()
    assert "array" not in repr(rows)


def test_a_check_of_a_table_is_that_of_its_rows() -> None:
    random = np.random.default_rng(4)
    grid = Grid(decimals=2)
    labels = random.integers(0, 2, 500).astype(np.uint8)
    rows = grid.read(Samples("north", random.random(500) * 0.5 + labels * 0.3, labels))
    of_rows, of_table = check_data(rows).to_dict(), check_data(CountTable.of(rows, grid)).to_dict()
    assert of_rows.pop("proposed_grid") is not None
    assert of_table.pop("proposed_grid") is None
    assert of_table == of_rows
