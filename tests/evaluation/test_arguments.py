"""`ppaurora.evaluate` takes arrays of any kind, and refuses what is wrong by its name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import DataError, InputError, Policy, UndefinedResultError
from ppaurora.metrics.names import MetricName
from ppaurora.policy.rules import Weights
from ppaurora.protocols import Protocol
from ppaurora.protocols.names import ProtocolName
from tests.support.bad_arrays import BAD_ARRAYS
from tests.support.bad_input import ONLY_PAPER, BadArrays, by_protocol, one_of_each_kind
from tests.support.evaluations import ALL_METRICS, GOOD, METRIC_NAMES, check_values
from tests.support.oracles import exact_auroc
from tests.support.owners import LikeAPandasSeries


@pytest.mark.parametrize(
    ("y_true", "y_score", "pos_label"),
    [
        ([True, False, True], (1, 0, 0), None),
        (np.array([1.0, 0.0, 1.0]), np.array([1, 0, 0], np.float32), None),
        (LikeAPandasSeries(["TRUE", "false", "True"]), LikeAPandasSeries([1.0, 0.0, 0.0]), None),
        (["sick", "well", "sick"], np.array([1, 0, 0], np.longdouble), "sick"),
        ([7, 3, 7], [1, 0, -0.0], 7),
    ],
    ids=["truth and integers", "float32", "pandas", "pos_label and longdouble", "numbers as labels"],
)
def test_arrays_of_any_kind(y_true: Any, y_score: Any, pos_label: object) -> None:
    report = ppaurora.evaluate([(y_true, y_score), (y_true, y_score)], metrics=["auroc"], pos_label=pos_label)
    expected = exact_auroc([(1.0, 1), (0.0, 0), (0.0, 1)] * 2)
    assert report.auroc == expected == 0.75
    assert report.parameters == {"key_bits": 32}


def test_owners_and_metrics_may_be_any_iterable_and_delta_a_numpy_integer() -> None:
    owners: Any = (owner for owner in (GOOD, [[1, 0], [0.5, 0.5]]))
    metrics: Any = iter(["auroc"])
    delta: Any = np.int64(3)
    report = ppaurora.evaluate(owners, metrics=metrics, protocol="paper", delta=delta)
    assert json.loads(report.to_json())["parameters"] == {"delta": 3}
    check_values(report, [GOOD, ([1, 0], [0.5, 0.5])])


@pytest.mark.parametrize(("case", "protocol"), by_protocol(one_of_each_kind(BAD_ARRAYS)))
def test_bad_data_is_a_data_error_that_names_owner_row_and_column(
    case: BadArrays, protocol: Protocol
) -> None:
    owners: list[Any] = [([0, 1], [0.5, 0.5]), (case.y_true, case.y_score)]
    if case.pos_label is not None:
        owners[0] = ([case.pos_label], [0.5])
    name: Any = protocol.name
    with pytest.raises(DataError) as caught:
        ppaurora.evaluate(owners, pos_label=case.pos_label, protocol=name, **protocol.settings())
    error = caught.value
    assert (error.source, error.row, error.column) == ("owner 2", case.row, case.column)
    assert case.says in str(error)
    assert error.exit_code == 2


@pytest.mark.parametrize(
    "case", [case for case in BAD_ARRAYS if case.protocols == ONLY_PAPER], ids=lambda case: case.name
)
def test_fast_takes_what_only_paper_refuses(case: BadArrays) -> None:
    owners = [([1, 0], [0.25, 0.75]), (case.y_true, case.y_score)]
    check_values(ppaurora.evaluate(owners, metrics=["auroc"]), owners)


@pytest.mark.parametrize("delta", [2, 0, -1, -2, 100, 1.0, 2.5, "1", None, float("nan")])
def test_delta_must_be_odd_and_positive(delta: Any) -> None:
    with pytest.raises(InputError, match="delta must be an odd number, 1 or larger, not "):
        ppaurora.evaluate([GOOD, GOOD], protocol="paper", delta=delta)


@pytest.mark.parametrize("delta", [1, 3, 5])
def test_delta_is_for_paper(delta: int) -> None:
    with pytest.raises(InputError, match=r"^delta applies to the protocol 'paper' only; leave it out$"):
        ppaurora.evaluate([GOOD, GOOD], delta=delta)
    report = ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper", delta=delta)
    assert report.parameters == {"delta": delta}


@pytest.mark.parametrize("key_bits", [0, 16, 33, 128, -64, True, 64.0, "64", float("nan"), [32]])
def test_keys_have_32_or_64_bits(key_bits: Any) -> None:
    with pytest.raises(InputError, match=r"^key_bits: keys have 32 or 64 bits, not "):
        ppaurora.evaluate([GOOD, GOOD], key_bits=key_bits)
    with pytest.raises(InputError, match=r"^key_bits applies to the protocol 'fast' only; leave it out$"):
        ppaurora.evaluate([GOOD, GOOD], protocol="paper", key_bits=key_bits)


@pytest.mark.parametrize("owners", [[], [GOOD]])
def test_two_owners_at_least(owners: list[Any]) -> None:
    with pytest.raises(InputError, match=f"at least two owners are needed, got {len(owners)}"):
        ppaurora.evaluate(owners)


@pytest.mark.parametrize(
    "owner",
    [([0, 1],), ([0, 1], [0.5, 0.5], [1, 1]), 5, None, [1, 0, 1]],
    ids=["one array", "three arrays", "number", "nothing", "labels alone"],
)
def test_an_owner_is_two_arrays(owner: Any) -> None:
    with pytest.raises(InputError, match=r"owner 2: give two arrays, \(y_true, y_score\)"):
        ppaurora.evaluate([GOOD, owner])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"metrics": ["auroc", "f2"]}, f"unknown metric 'f2'; there are: {METRIC_NAMES}"),
        (
            {"metrics": ["auroc", "f1"]},
            "f1: needs thresholds; write ppaurora.METRICS['f1'](thresholds=[0.1, 0.2, 0.5]) in the place of",
        ),
        ({"metrics": ["AUROC"]}, "unknown metric 'AUROC'"),
        ({"metrics": []}, "no metric asked for"),
        ({"metrics": ["aupr", "auroc", "aupr"]}, "the metric 'aupr' is asked for more than once"),
        ({"metrics": "auroc"}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": "auroc,aupr"}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": [["auroc"]]}, "metrics must be a list of names"),
        ({"metrics": 1}, "metrics must be a list of names"),
        ({"metrics": [None]}, "metrics must be a list of names"),
        ({"protocol": "quick"}, "unknown protocol 'quick'; there are: fast, grid, paper"),
        ({"protocol": None}, "unknown protocol 'None'; there are: fast, grid, paper"),
        ({"transport": "pigeon"}, "unknown transport 'pigeon'; there are: memory, tls"),
        ({"timeout": 0}, "the timeout must be above 0 and at most 1000000 seconds"),
        ({"timeout": -1.0}, "the timeout must be above 0"),
        ({"timeout": float("inf")}, "the timeout must be above 0"),
        ({"timeout": float("nan")}, "the timeout must be above 0"),
        ({"timeout": None}, "the timeout must be above 0"),
        ({"timeout": "60"}, "the timeout must be above 0"),
        ({"pos_label": ""}, "the positive label must be a value"),
        ({"confidence_level": 10**400}, "it must be a number between 0 and 1"),
        ({"policy": {"digits": 3}}, "policy: give a ppaurora.Policy"),
        ({"policy": "exact"}, "policy: give a ppaurora.Policy"),
        ({"policy": Policy.private(weights=Weights(sums=0.0))}, "policy: weights.sums: expected float > 0"),
        ({"subgroups": ["sex"]}, "subgroups: needs the levels of every variable; write {'sex': ['f', 'm']}"),
        ({"subgroups": "age"}, "subgroups: needs the levels of every variable; write {'age': [...]}"),
        ({"subgroups": 3}, "subgroups: needs the levels of every variable"),
        ({"subgroups": {"sex": "f"}}, "subgroups: needs a list of the levels of sex; write {'sex': [...]}"),
        (
            {"subgroups": {"sex": ["f"]}},
            "subgroups: sex needs two levels at least, as in {'sex': ['f', 'm']}",
        ),
        ({"weight": {"column": "w", "most": 5000}}, "weight.most: expected a whole number from 1 to 1,000"),
        ({"comparisons": ("new", "old")}, "needs a list of pairs of models; write [('new', 'old')]"),
        ({"comparisons": "both"}, "comparisons: needs a list of pairs of models; write [('a', 'b')]"),
        ({"comparisons": 3}, "comparisons: needs a list of pairs of models"),
        ({"keybits": 64}, "keybits is not a parameter of any protocol; those of 'fast': key_bits"),
    ],
)
def test_bad_arguments_are_input_errors(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        ppaurora.evaluate([GOOD, GOOD], **arguments)
    assert says in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("protocol", "metrics"),
    [
        *(("fast", metrics) for metrics in (("auroc",), ("aupr",), ("ap",), ("auroc_no_ties",), ALL_METRICS)),
        *(("paper", metrics) for metrics in (("auroc",), ALL_METRICS)),
    ],
)
def test_one_class_only_is_undefined_and_nobody_is_told_which(
    protocol: ProtocolName, metrics: tuple[MetricName, ...]
) -> None:
    messages = []
    for label in (0, 1):
        owners = [([label] * 3, [0.25, 0.5, 0.5]), ([label], [0.5])]
        with pytest.raises(UndefinedResultError) as caught:
            ppaurora.evaluate(owners, metrics=metrics, protocol=protocol)
        messages.append((str(caught.value), repr(caught.value), caught.value.args, vars(caught.value)))
    assert messages[0] == messages[1]
    assert messages[0][0] == "undefined: one class only"


def test_errors_advise_keywords_that_the_same_call_takes() -> None:
    table = {"risk_a": [0.9, 0.4], "risk_b": [0.8, 0.7], "died": [1, 0], "gender": ["f", "m"]}
    wrong: dict[str, Any] = {
        "score": {"a": "risk_a", "b": "risc_b"},
        "label": {"died": "y"},
        "subgroups": {"sex": ["f", "m"]},
        "group": {"sex": "gendre"},
        "metrics": ["auroc"],
    }
    right = {
        "score": "did you mean score={'a': 'risk_a', 'b': 'risk_b'}?",
        "label": "write label={'died': 'COLUMN'}",
        "group": "did you mean group={'sex': 'gender'}?",
    }
    meant: dict[str, Any] = {
        "score": {"a": "risk_a", "b": "risk_b"},
        "label": {"died": "died"},
        "group": {"sex": "gender"},
    }
    for keyword, said in right.items():
        with pytest.raises(DataError) as caught:
            ppaurora.evaluate([table, table], **wrong)
        assert said in str(caught.value)
        wrong[keyword] = meant[keyword]
    report = ppaurora.evaluate([table, table], **wrong)
    assert list(report.models) == ["a", "b"]
    assert list(report.subgroups) == ["sex"]
    with pytest.raises(InputError, match="group: give a dict from the study's names to names of columns"):
        ppaurora.evaluate([table, table], **{**wrong, "group": "gender"})


@pytest.mark.parametrize("named", [{"patient": "pid"}, {"weight": "times"}])
def test_a_column_that_arrays_lack_is_called_what_the_caller_calls_it(named: dict[str, Any]) -> None:
    (column,) = named.values()
    with pytest.raises(DataError, match=f"owner 1, column '{column}': there is no such column"):
        ppaurora.evaluate([GOOD, GOOD], protocol="grid", **named)


@pytest.mark.parametrize(
    ("further", "named"),
    [
        ({"sex": ["f"] * 4}, {"subgroups": {"sex": ["f", "m"]}}),
        ({"gender": ["f"] * 4}, {"subgroups": {"sex": ["f", "m"]}, "group": {"sex": "gender"}}),
        ({"gender": ["f"] * 4}, {"subgroups": {"sex": {"column": "gender", "levels": ["f", "m"]}}}),
        ({"pid": [7] * 4}, {"patient": "pid"}),
        ({"patient": [7] * 4}, {"patient": "pid"}),
        ({"times": [2] * 4}, {"weight": "times"}),
        ({"weight": [2] * 4}, {"weight": "times"}),
    ],
)
def test_what_the_caller_says_of_a_column_is_not_derived_from_it(
    further: dict[str, list[Any]], named: dict[str, Any]
) -> None:
    """One level alone occurs, one patient, one weight."""
    own = [1, 0, 1, 0], [0.9, 0.4, 0.7, 0.8], further
    report = ppaurora.evaluate([own, own], protocol="grid", decimals=1, metrics=["auroc"], **named)
    assert report.auroc == 0.75
    assert list(report.subgroups) == (["sex"] if "subgroups" in named else [])


def test_subgroups_that_are_not_there_are_answered_with_those_that_are() -> None:
    own = [1, 0, 1, 0], [0.9, 0.4, 0.7, 0.8], {"sex": ["f", "f", "m", "m"]}
    report = ppaurora.evaluate([own, own], protocol="grid", decimals=1)
    with pytest.raises(KeyError, match="'age' makes no subgroups here; variables: sex"):
        report.subgroups["age"]


def test_metrics_are_those_that_the_policy_allows_unless_named() -> None:
    assert list(ppaurora.evaluate([GOOD, GOOD]).metrics) == ["auroc", "aupr"]
    assert list(ppaurora.evaluate([GOOD, GOOD], policy=Policy.private()).metrics) == ["auroc"]
