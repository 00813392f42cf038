"""pROC's figures of a paired comparison, from three owners on shares."""

from __future__ import annotations

import math
from typing import Any

import pytest

import ppaurora
from ppaurora.statistics.differences import Difference
from tests.support.design_oracles import PlainRow, paired_delong
from tests.support.proc import asah_from_proc

GRIDS = {
    "wfns": {"grid": {"low": 1, "high": 5, "decimals": 0}},
    "s100b": {"grid": {"low": 0, "high": 2.1, "decimals": 2}},
    "ndka": {"grid": {"low": 0, "high": 420, "decimals": 2}, "spacing": "log"},
}
# Said by pROC 1.18 of its data aSAH: roc.test(..., paired = TRUE, method = "delong").
WFNS_S100B = 2.2089836, 0.0271758
S100B_NDKA = 1.3907700, 0.1642952


@pytest.fixture(scope="module")
def rows() -> list[dict[str, float]]:
    """All 113 patients."""
    asah = asah_from_proc()
    columns = {"label": asah.y_true, **asah.y_scores}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def compared(
    rows: list[dict[str, float]], a: str, b: str, protocol: Any, *, fitted: bool = False
) -> Difference:
    """Return the difference of two AUROCs, of three owners; on grids above, or on those that are found."""
    owners = [
        ([int(row["label"]) for row in own], {name: [row[name] for row in own] for name in (a, b)})
        for own in (rows[:30], rows[30:75], rows[75:])
    ]
    report = ppaurora.evaluate(
        owners,
        models=None if fitted else {name: GRIDS[name] for name in (a, b)},
        comparisons=[(a, b)],
        metrics=["auroc"],
        confidence_level=0.95,
        policy=ppaurora.Policy.exact(),
        protocol=protocol,
    )
    assert report.openings == {}
    found = report.comparison(a, b).auroc
    assert found is not None
    return found


def by_definition(rows: list[dict[str, float]], a: str, b: str) -> tuple[float, float]:
    """Return difference and standard error, pair by pair."""
    plain = [PlainRow({a: row[a], b: row[b]}, int(row["label"])) for row in rows]
    difference, variance = paired_delong(plain, a, b)
    assert variance is not None
    return float(difference), math.sqrt(variance)


@pytest.mark.parametrize("fitted", [False, True])
def test_scores_whose_values_all_have_a_cell_have_procs_test(
    rows: list[dict[str, float]], fitted: bool
) -> None:
    found = compared(rows, "wfns", "s100b", "grid", fitted=fitted)
    difference, error = by_definition(rows, "wfns", "s100b")
    assert found.z == pytest.approx(WFNS_S100B[0], abs=1e-6)
    assert found.p_value == pytest.approx(WFNS_S100B[1], abs=1e-6)
    assert (found.value, found.standard_error) == pytest.approx((difference, error), rel=1e-15)
    assert found.error_bound is None


@pytest.mark.parametrize(
    ("a", "b", "said", "protocol"),
    [
        ("wfns", "s100b", WFNS_S100B, "fast"),
        ("s100b", "ndka", S100B_NDKA, "grid"),
        ("s100b", "ndka", S100B_NDKA, "fast"),
    ],
)
def test_scores_in_coarse_cells_have_procs_test_within_the_stated_bound(
    rows: list[dict[str, float]], a: str, b: str, said: tuple[float, float], protocol: str
) -> None:
    found = compared(rows, a, b, protocol)
    difference, error = by_definition(rows, a, b)
    assert found.z is not None
    assert found.p_value is not None
    assert abs(found.z - said[0]) <= said[0] / 100
    assert abs(found.p_value - said[1]) <= said[1] / 100
    assert found.value == pytest.approx(difference, rel=1e-15)
    assert found.standard_error is not None
    assert found.error_bound is not None
    assert abs(found.standard_error - error) <= found.error_bound
