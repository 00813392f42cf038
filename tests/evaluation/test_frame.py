"""A report as a data frame: one row for each number, whatever kind of metric it is of."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ppaurora
from ppaurora import Report
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Metric
from ppaurora.metrics.names import MetricName
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Estimate
from tests.support.designed_reports import THRESHOLDS, designed

SENSITIVITY = METRICS["sensitivity"](thresholds=[0.2, 0.5])
RELIABILITY = METRICS["reliability"](bins=[0.0, 0.25, 0.5, 1.0])


def evaluated(**options: Any) -> Report:
    random = np.random.default_rng(4)
    owners = []
    for samples in (80, 60, 70):
        scores = random.random(samples).round(3)
        owners.append(((random.random(samples) < scores).astype(int), scores))
    metrics: list[MetricName | Metric] = ["auroc", SENSITIVITY, RELIABILITY]
    return ppaurora.evaluate(owners, metrics=metrics, confidence_level=0.9, **options)


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluated()


def numbers(report: Report) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Every number of the JSON report by where it is."""
    found = {}
    for metric, content in report.to_dict()["metrics"].items():
        for row in content.get("rows", [{"at": {}, "values": {metric: content}}]):
            for name, number in row["values"].items():
                found[(metric, name, *row["at"].values())] = number
    return found


def test_every_number_is_a_row_with_all_that_the_json_says_of_it(report: Report) -> None:
    frame, expected = report.to_frame(), numbers(report)
    assert list(frame.columns) == [
        *("metric", "name", "threshold", "low", "high", "value", "lower", "upper", "standard_error"),
        *("method", "confidence_level", "digits", "suppressed", "note"),
    ]
    assert len(frame) == len(expected) == 1 + 2 + 3 * 3
    for row in frame.to_dict("records"):
        place = [row[key] for key in ("threshold", "low", "high") if not math.isnan(row[key])]
        number = expected.pop((row["metric"], row["name"], *place))
        lower, upper = number["interval"] or (None, None)
        for name, value in {**number, "lower": lower, "upper": upper}.items():
            if name in row:
                assert row[name] == value or (value is None and math.isnan(row[name])), name
    assert not expected


def test_its_types_do_not_depend_on_what_is_there(report: Report) -> None:
    alone = ppaurora.evaluate([([1, 0], [0.9, 0.4])] * 2, metrics=["auroc"]).to_frame()
    assert "threshold" not in alone
    for frame in (report.to_frame(), alone):
        for name in ("value", "lower", "upper", "standard_error", "confidence_level", "digits"):
            assert frame[name].dtype == np.float64
        assert frame["suppressed"].dtype == np.bool_
    assert alone["lower"].isna().all()


def test_what_is_suppressed_has_a_row_without_a_value() -> None:
    report = evaluated(policy=ppaurora.Policy.exact(minimum_positives=10_000))
    frame = report.to_frame()
    assert report.suppressed
    assert len(frame) == len(report.shown())
    assert frame["suppressed"].all()
    assert frame["value"].isna().all()


def test_it_goes_through_a_csv_file(report: Report, tmp_path: Any) -> None:
    frame = report.to_frame()
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    again = pd.read_csv(tmp_path / "numbers.csv", keep_default_na=True)
    assert np.array_equal(again["value"], frame["value"], equal_nan=True)


def test_without_pandas_it_says_what_to_install(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        report.to_frame()


@pytest.mark.parametrize(("place", "row"), [(0.2, 0), (0.5, 1), (0.1 + 0.1 + 1e-17, 0)])
def test_a_row_at_a_threshold(report: Report, place: float, row: int) -> None:
    assert report.sensitivity.at(place) is report.sensitivity[row]


@pytest.mark.parametrize(("place", "row"), [(0.0, 0), (0.1, 0), (0.3, 1), (0.99, 2), (1.0, 2)])
def test_a_row_of_the_bin_that_holds_a_score(report: Report, place: float, row: int) -> None:
    assert report.reliability.at(place) is report.reliability[row]


def test_a_place_that_no_row_is_at(report: Report) -> None:
    with pytest.raises(
        InputError, match=r"^there is no row at 0\.3; there is: threshold 0\.2; threshold 0\.5$"
    ):
        report.sensitivity.at(0.3)
    with pytest.raises(InputError, match=r"no row at 1\.5; there is: 0 to 0\.25; 0\.25 to 0\.5; 0\.5 to 1$"):
        report.reliability.at(1.5)
    with pytest.raises(InputError, match="no row at nan"):
        report.reliability.at(math.nan)


def test_where_two_bins_meet_a_score_may_be_in_either(report: Report) -> None:
    with pytest.raises(InputError, match=r"two bins meet at 0\.25: 0 to 0\.25 and 0\.25 to 0\.5; name"):
        report.reliability.at(0.25)


def test_differences_have_their_tests() -> None:
    report = designed()
    frame = report.to_frame()
    assert list(frame.columns[-4:]) == ["z", "p_value", "degrees_of_freedom", "error_bound"]
    assert all(frame[name].dtype == np.float64 for name in frame.columns[-4:])
    models = frame[frame["minus"] == "risk_b"]
    assert len(models) == 2 + len(THRESHOLDS)
    compared = report.comparison("risk_a", "risk_b").auroc
    assert isinstance(compared, Difference)
    auroc = models[models["metric"] == "auroc"].iloc[0]
    assert (auroc["value"], auroc["z"], auroc["p_value"]) == (compared.value, compared.z, compared.p_value)
    assert frame[frame["minus"].isna()]["z"].isna().all()


def test_differences_between_levels_are_rows() -> None:
    report = designed()
    frame = report.to_frame()
    levels = frame[frame["minus"].isin(["f", "under 50"])]
    assert len(levels) == 2 * 3 * 3  # models, levels but the first ones, single numbers
    chosen = levels[(levels["model"] == "risk_b") & (levels["level"] == "m") & (levels["metric"] == "brier")]
    expected = report.subgroups["sex"].of("risk_b").difference("m", "f", "brier")
    assert chosen["value"].tolist() == [expected.value]
    assert chosen["p_value"].tolist() == [expected.p_value]
    assert chosen["variable"].tolist() == ["sex"]


def test_sites_are_rows() -> None:
    report = designed()
    frame = report.to_frame()
    of_b = frame[(frame["model"] == "risk_b") & frame["variable"].isna() & frame["minus"].isna()]
    rows = {row["name"]: row for row in of_b[of_b["metric"] == "auroc"].to_dict("records")}
    assert set(rows) == {
        *("auroc", "pooled", "tau2", "tau", "i2", "prediction_interval", "sites", "within_sites")
    }
    effect, within = report.sites_of("risk_b").auroc, report.sites_of("risk_b").within
    assert isinstance(within, Estimate)
    for name in ("pooled", "tau2", "tau", "i2"):
        assert rows[name]["value"] == getattr(effect, name).value
    assert rows["sites"]["value"] == effect.sites == 3
    assert rows["within_sites"]["value"] == within.value
    ahead = rows["prediction_interval"]
    assert (ahead["lower"], ahead["upper"]) == effect.prediction_interval
    assert math.isnan(ahead["value"])
    assert "logit scale" in rows["pooled"]["note"]


def test_sites_that_were_not_computed_are_rows_without_values() -> None:
    owners = [([1, 0], [0.9, 0.4]), ([0, 1], [0.3, 0.6])]
    frame = ppaurora.evaluate(owners, metrics=["auroc"], sites=True).to_frame().set_index("name")
    for name in ("pooled", "prediction_interval", "sites"):
        assert math.isnan(frame.loc[name, "value"])
        assert "fewer than three sites" in frame.loc[name, "note"]


def test_rows_left_out_are_rows() -> None:
    frame = designed("exact").to_frame()
    left = frame[frame["metric"] == "left_out"]
    assert dict(zip(left["name"], left["value"], strict=True)) == {
        "missing_score": 7,
        "missing_label": 0,
        "excluded": 11,
    }
