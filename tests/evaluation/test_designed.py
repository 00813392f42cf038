"""Parts of the result of a study with a design: how they are found, and what they say of themselves."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import ppaurora
from ppaurora.errors import InputError
from ppaurora.evaluation.designed import NO_INTERVAL, DesignedResults, without_reason
from ppaurora.statistics.estimates import Estimate, Table
from tests.support.designed_reports import clustered, designed, on_two_grids, plain


def test_any_model_with_any_outcome_is_one_call() -> None:
    report = designed(outcomes=True)
    found = report.whole("risk_b", "stroke")
    assert (found.slice.model, found.slice.outcome) == ("risk_b", "stroke")
    assert report.whole() is report.results.wholes[0]
    assert report.whole(outcome="stroke") is report.outcomes["stroke"]
    with pytest.raises(InputError, match="there is no risk_c, death; there are: risk_a, death; risk_b, "):
        report.whole("risk_c")
    with pytest.raises(InputError, match="this report is of one model and one outcome"):
        plain().whole()


def test_sites_of_any_model() -> None:
    report = designed()
    assert report.sites_of() is report.sites is report.results.sites[0]
    assert report.sites_of("risk_b") is report.results.sites[1]
    with pytest.raises(InputError, match="there is no risk_c; there are: risk_a; risk_b"):
        report.sites_of("risk_c")
    assert plain().sites is None
    with pytest.raises(InputError, match="differences between sites were not asked for"):
        plain().sites_of()


def test_names_that_are_not_there_are_answered_with_those_that_are() -> None:
    report = designed(outcomes=True)
    with pytest.raises(KeyError, match="'c' is not a model of this report; models: risk_a, risk_b"):
        report.models["c"]
    with pytest.raises(KeyError, match="'icu' is not an outcome of this report; outcomes: death, stroke"):
        report.outcomes["icu"]
    with pytest.raises(KeyError, match="'x' is not a model of this report; models: none"):
        plain().models["x"]
    with pytest.raises(KeyError, match="'age' makes no subgroups here; variables: age_group, sex"):
        report.subgroups["age"]
    with pytest.raises(KeyError, match="'ap' was not asked for; there are: auroc, brier"):
        report.outcomes["death"]["ap"]
    with pytest.raises(AttributeError, match="'ap' was not asked for; there are: auroc, brier"):
        report.outcomes["death"].ap  # noqa: B018
    with pytest.raises(AttributeError, match=r"without 'models'; there are: auroc, .*report\.whole\(model, "):
        report.outcomes["death"].models  # noqa: B018
    with pytest.raises(AttributeError, match="nothing of sites about 'brier'; there is: auroc"):
        designed().sites.brier  # type: ignore[union-attr] # noqa: B018


def test_comparisons_that_are_not_there_are_answered_with_those_that_are() -> None:
    there = "comparisons: risk_a - risk_b for death, risk_a - risk_b for stroke"
    with pytest.raises(KeyError, match=f"'risk_b' was not compared with 'risk_a'; {there}"):
        designed(outcomes=True).comparison("risk_b", "risk_a")
    with pytest.raises(KeyError, match=f"'risk_a' was not compared with 'risk_b' for 'icu'; {there}"):
        designed(outcomes=True).comparison("risk_a", "risk_b", "icu")
    with pytest.raises(KeyError, match='comparisons: risk_a - risk_b"'):
        designed().comparison("a", "b")


@pytest.mark.parametrize("column", ["patient", "weight"])
def test_numbers_of_clustered_rows_say_why_they_have_no_interval(column: str) -> None:
    report = clustered(column)
    auroc, brier = report["auroc"], report["brier"]
    assert isinstance(auroc, Estimate)
    assert isinstance(brier, Estimate)
    assert auroc.interval is not None
    assert NO_INTERVAL not in auroc.note
    assert (brier.interval, brier.note) == (None, NO_INTERVAL)


def test_so_do_levels_and_without_a_level_of_confidence_nothing_does() -> None:
    report = clustered(subgroups=True)
    for one in report.subgroups["sex"].values():
        for found in one.metrics.values():
            assert not isinstance(found, Table)
            assert NO_INTERVAL in found.note
            assert NO_INTERVAL not in without_reason(found.note)
    owners = [([0, 1] * 9, [at / 18 for at in range(18)], {"patient": list(range(18))})] * 3
    bare = ppaurora.evaluate(owners, metrics=["auroc", "brier"], protocol="grid", decimals=2)
    assert bare["brier"].note == ""  # type: ignore[union-attr]


def test_negatives_are_known_where_positives_are_known_exactly() -> None:
    for one in designed("exact").results.wholes:
        assert one.positives is not None
        assert one.negatives == 720 - one.positives
    assert [one.negatives for one in designed().results.wholes] == [None, None]
    assert [one.negatives for one in designed("private").results.wholes] == [None, None]
    weighted = clustered("weight").results.wholes[0]
    assert weighted.positives is not None
    assert weighted.negatives is not None
    assert weighted.positives + weighted.negatives > 720


def test_standard_errors_of_an_average_site_name_their_scale() -> None:
    for site in designed().results.sites:
        for name, scale in (("auroc", "logit"), ("observed_expected", "log")):
            assert site.effects[name].scale == scale
            assert f"the standard error is on the {scale} scale" in site.effects[name].pooled.note


def test_a_difference_of_withheld_levels_says_so() -> None:
    found = designed(small=True).subgroups["age_group"].difference("50-70", "under 50")
    assert (found.suppressed, found.note) == (True, "one of the two numbers is withheld")


def test_parameters_have_no_grid_that_is_not_all_models() -> None:
    report = on_two_grids()
    assert {model: str(grid) for model, grid in report.results.grids.items()} == {
        "a": "101 values from 0 to 1, 2 decimals",
        "b": "37 values from 1 to 4.6, 1 decimal",
    }
    assert report.to_dict()["parameters"] == {}
    assert designed().to_dict()["parameters"] == {"low": 0.0, "high": 1.0, "decimals": 2}
    read = replace(report, parameters={}, results=replace(report.results, grids={}))
    assert read.to_dict() == report.to_dict()


def test_a_plain_result_has_no_grids() -> None:
    assert plain().results == DesignedResults()
    assert math.isclose(plain().auroc, designed("exact").models["risk_a"].auroc)
