"""Estimates and tables: what people see of them, what JSON has of them, and what they may not be."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.data.grid import Grid
from ppaurora.errors import MisuseError
from ppaurora.io.models import from_builtins, from_json, to_json
from ppaurora.statistics import estimates
from ppaurora.statistics.estimates import Estimate, Row, Table
from ppaurora.statistics.intervals import Interval

SUPPRESSED = Estimate(None, suppressed=True, note="a rule on secret counts failed")
EXACT = Estimate(0.6119579945799458, 0.0564872600627, (0.50124, 0.72267), None, "DeLong", 0.95)
ROUNDED = Estimate(0.73, 0.052, (0.62808, 0.83192), (0.617, 0.819), "DeLong", 0.95, digits=2)


def test_their_former_home_says_where_they_are() -> None:
    former = importlib.import_module("ppaurora.estimates")
    with pytest.warns(DeprecationWarning, match=r"is now ppaurora\.statistics\.estimates"):
        assert former.Estimate is Estimate


def test_the_examples_run() -> None:
    found = doctest.testmod(estimates)
    assert found.attempted >= 7
    assert found.failed == 0


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(0.6119579945799458), "0.611957994580"),
        (Estimate(0.73, digits=2), "0.73"),
        (Estimate(0.7, digits=2), "0.70"),
        (Estimate(1.0, digits=4), "1.0000"),
        (Estimate(115.0, digits=0), "115"),
        (Estimate(-0.02, digits=2), "-0.02"),
        (Estimate(-0.0, digits=2), "0.00"),
        (SUPPRESSED, "suppressed"),
        (Estimate(None), "undefined"),
    ],
)
def test_people_see_the_digits_that_there_are(estimate: Estimate, shown: str) -> None:
    assert estimate.shown() == shown


@pytest.mark.parametrize(
    ("estimate", "line"),
    [
        (EXACT, "Area under the curve: 0.612, 95% CI: 0.5012-0.7227 (DeLong)"),
        (ROUNDED, "Area under the curve: 0.73, 95% CI: 0.62-0.84 (DeLong)"),
        (dataclasses.replace(ROUNDED, value=0.7), "Area under the curve: 0.70, 95% CI: 0.62-0.84 (DeLong)"),
        (dataclasses.replace(ROUNDED, digits=1), "Area under the curve: 0.7, 95% CI: 0.6-0.9 (DeLong)"),
        (
            dataclasses.replace(EXACT, digits=4),
            "Area under the curve: 0.6120, 95% CI: 0.5012-0.7227 (DeLong)",
        ),
        (dataclasses.replace(EXACT, digits=7), "Area under the curve: 0.612, 95% CI: 0.5012-0.7227 (DeLong)"),
        (Estimate(0.5), "Area under the curve: 0.5"),
        (SUPPRESSED, "Area under the curve: suppressed"),
        (Estimate(None), "Area under the curve: undefined"),
    ],
)
def test_a_line_as_proc_prints_it(estimate: Estimate, line: str) -> None:
    assert estimate.line("Area under the curve") == line


@pytest.mark.parametrize(
    ("level", "shown"),
    [(0.95, "95%"), (0.999, "99.9%"), (0.9973, "99.73%"), (0.07, "7%"), (1 / 3, "33.33333%")],
)
def test_a_confidence_level_in_percent(level: float, shown: str) -> None:
    estimate = dataclasses.replace(EXACT, confidence_level=level)
    assert estimate.shown_interval() == f"{shown} CI: 0.5012-0.7227 (DeLong)"


def test_an_interval_without_a_method_or_a_level() -> None:
    assert Estimate(0.5, interval=(0.25, 0.75)).shown_interval() == "CI: 0.25-0.75"
    assert Estimate(0.5).shown_interval() == ""


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        ((-0.1037, -0.0575), "-0.1037 to -0.0575"),
        ((-0.012, 0.0575), "-0.0120 to 0.0575"),
        ((-0.0, 0.0575), "0.0000-0.0575"),
    ],
)
def test_no_bound_of_an_interval_loses_its_sign_to_a_hyphen(interval: Interval, shown: str) -> None:
    estimate = Estimate(0.0, interval=interval, digits=4)
    assert estimate.shown_span() == shown
    assert estimate.line("Net benefit") == f"Net benefit: 0.0000, CI: {shown}"


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
def test_a_rounded_estimate_is_never_shown_with_more_decimals_than_it_has(
    value: float, bound: float, digits: int
) -> None:
    interval = (min(value, bound), max(value, bound))
    estimate = Estimate(round(value, digits), interval=interval, method="DeLong", digits=digits)
    numbers = re.findall(r"\d[\d.]*(?:e-\d+)?", estimate.line("AUROC"))
    assert len(numbers) == 3
    for number in (estimate.shown(), *numbers):
        assert -int(Decimal(number).as_tuple().exponent) <= digits


def test_as_json_has_it() -> None:
    assert ROUNDED.to_dict() == {
        "value": 0.73,
        "standard_error": 0.052,
        "interval": [0.62808, 0.83192],
        "logit_interval": [0.617, 0.819],
        "method": "DeLong",
        "confidence_level": 0.95,
        "digits": 2,
        "suppressed": False,
        "note": "",
        "grid_bound": None,
    }


@pytest.mark.parametrize("estimate", [EXACT, ROUNDED, SUPPRESSED, Estimate(None), Estimate(3.0, digits=0)])
def test_it_comes_back_from_json(estimate: Estimate) -> None:
    plain = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    assert plain == estimate.to_dict() == json.loads(to_json(estimate))
    assert from_builtins(Estimate, plain) == from_json(Estimate, to_json(estimate)) == estimate


def test_a_suppressed_estimate_has_nothing_but_a_note() -> None:
    plain = SUPPRESSED.to_dict()
    assert plain.pop("suppressed") is True
    assert plain.pop("note") == "a rule on secret counts failed"
    assert plain.pop("method") == ""
    assert set(plain.values()) == {None}


@pytest.mark.parametrize(
    "fields",
    [
        {"value": 0.0},
        {"value": math.nan},
        {"standard_error": 0.0},
        {"interval": (0.0, 0.0)},
        {"logit_interval": (0.1, 0.2)},
        {"method": "DeLong"},
        {"confidence_level": 0.95},
        {"digits": 2},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_suppressed_estimate_cannot_be_made_with_anything_else(fields: dict[str, Any]) -> None:
    with pytest.raises(MisuseError):
        Estimate(**{"value": None, "suppressed": True} | fields)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_there_is_no_estimate_that_is_no_number(number: float) -> None:
    for fields in (
        {"value": number},
        {"value": 0.5, "standard_error": number},
        {"value": 0.5, "interval": (0.1, number)},
        {"value": 0.5, "logit_interval": (number, 0.9)},
    ):
        with pytest.raises(MisuseError, match="finite"):
            Estimate(**fields)


def test_without_a_value_there_is_no_interval() -> None:
    with pytest.raises(MisuseError, match="without a value"):
        Estimate(None, interval=(0.1, 0.2))


TABLE = Table(
    (
        Row({"threshold": 0.3}, {"sensitivity": Estimate(0.9, digits=2), "ppv": Estimate(0.41, digits=2)}),
        Row({"threshold": 0.6}, {"sensitivity": Estimate(0.75, digits=2), "ppv": SUPPRESSED}),
    )
)


def test_a_table_by_number_and_name() -> None:
    assert len(TABLE) == 2
    assert TABLE[0]["sensitivity"].value == 0.9
    assert TABLE[-1]["ppv"].suppressed
    assert [row.at["threshold"] for row in TABLE] == [0.3, 0.6]
    with pytest.raises(IndexError):
        TABLE[2]
    with pytest.raises(KeyError, match="specificity"):
        TABLE[0]["specificity"]


def test_a_table_as_json_has_it() -> None:
    plain = json.loads(json.dumps(TABLE.to_dict(), allow_nan=False))
    assert plain == TABLE.to_dict() == json.loads(to_json(TABLE))
    assert plain["rows"][1]["at"] == {"threshold": 0.6}
    assert plain["rows"][1]["values"]["ppv"] == SUPPRESSED.to_dict()
    assert from_builtins(Table, plain) == TABLE


def test_nothing_of_it_can_be_changed() -> None:
    for thing, field in ((EXACT, "value"), (TABLE, "rows"), (TABLE[0], "values")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field, None)


@pytest.mark.parametrize(
    ("decimals", "bound", "says"),
    [
        (4, 0.00004901, "reading scores to 4 decimals changed it by at most 0.00005"),
        (4, 0.000049, "reading scores to 4 decimals changed it by at most 0.000049"),
        (1, 0.0412, "reading scores to 1 decimal changed it by at most 0.042"),
        (0, 0.25, "reading scores as whole numbers changed it by at most 0.25"),
        (2, 0.0999, "reading scores to 2 decimals changed it by at most 0.1"),
        (2, 0.0, "reading scores to 2 decimals did not change it"),
    ],
)
def test_what_reading_scores_on_a_grid_changed_is_said_and_never_too_small(
    decimals: int, bound: float, says: str
) -> None:
    found = EXACT.read_on(Grid(decimals=decimals, high=2.0), bound)
    assert (found.grid_bound, found.note) == (bound, says)
    assert dataclasses.replace(found, grid_bound=None, note="") == EXACT
    if bound:
        assert float(says.rpartition(" ")[2]) >= bound
    noted = dataclasses.replace(EXACT, note="few samples").read_on(Grid(decimals=decimals), bound)
    assert noted.note.startswith("few samples; reading scores ")
