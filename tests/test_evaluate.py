"""`ppaurora.evaluate` from end to end: three parties in threads, against exact oracles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import DataError, InputError, Report, UndefinedResultError
from tests.bad_input import BAD_ARRAYS, BadArrays
from tests.oracles import exact_aupr, exact_auroc
from tests.test_owner import LikeAPandasSeries

AUROC_TOLERANCE = 1e-9
AUPR_TOLERANCE = 1e-7
GOOD = ([0, 1], [0.25, 0.75])

Owner = tuple[Sequence[int], Sequence[float]]


def pooled(owners: Sequence[Owner]) -> list[tuple[float, int]]:
    return [
        (float(score), int(label))
        for labels, scores in owners
        for label, score in zip(labels, scores, strict=True)
    ]


def check_values(report: Report, owners: Sequence[Owner]) -> None:
    auroc, aupr = exact_auroc(pooled(owners)), exact_aupr(pooled(owners))
    assert auroc is not None
    assert aupr is not None
    assert abs(report.auroc - auroc) < AUROC_TOLERANCE
    assert abs(report.aupr - aupr) < AUPR_TOLERANCE


def random_owners(seed: int, sizes: Sequence[int], different_scores: int) -> list[Owner]:
    random = np.random.default_rng(seed)
    return [
        (random.integers(0, 2, size), random.integers(0, different_scores, size) / different_scores)
        for size in sizes
    ]


# Values


@pytest.mark.parametrize(
    ("sizes", "different_scores", "delta"),
    [
        ((1, 1), 50, 1),
        ((7, 12, 5), 6, 1),
        ((9, 4), 1, 1),
        ((1, 13, 2, 6), 40, 3),
        ((8, 8), 3, 5),
        ((3, 1, 1, 2, 4, 3), 8, 11),
    ],
)
def test_the_exact_pooled_values(sizes: tuple[int, ...], different_scores: int, delta: int) -> None:
    owners = random_owners(sum(sizes), sizes, different_scores)
    owners[0][0][0], owners[-1][0][-1] = 1, 0  # both classes, wherever they are
    report = ppaurora.evaluate(owners, protocol="paper", delta=delta)
    check_values(report, owners)
    assert (report.owners, report.samples, report.delta) == (len(sizes), sum(sizes), delta)


def test_without_ties_both_auroc_agree() -> None:
    owners = [([1, 0, 1], [0.9, 0.3, 0.6]), ([0, 0, 1], [0.7, 0.1, 0.2])]
    report = ppaurora.evaluate(owners, metrics=("auroc_no_ties", "auroc"))
    expected = exact_auroc(pooled(owners))
    assert expected is not None
    assert abs(report.auroc_no_ties - expected) < AUROC_TOLERANCE
    assert report.auroc_no_ties == report.auroc
    assert list(report.metrics) == ["auroc_no_ties", "auroc"]


def test_an_owner_with_one_class_only_is_fine() -> None:
    owners = [([1, 1, 1], [0.5, 0.75, 0.25]), ([0, 0], [0.5, 0.125]), ([1], [0.5])]
    check_values(ppaurora.evaluate(owners), owners)


@pytest.mark.parametrize("score", [5e-324, 0.1, 0.5, 1.0])
def test_scores_that_differ_in_the_last_bit_stay_different(score: float) -> None:
    below = float(np.nextafter(score, 0.0))
    for positive, negative, expected in ((score, below, 1), (below, score, 0), (score, score, 0.5)):
        owners = [([1], [positive]), ([0], [negative])]
        assert exact_auroc(pooled(owners)) == expected
        assert ppaurora.evaluate(owners, metrics=["auroc"]).auroc == expected


def test_minus_zero_ties_with_zero() -> None:
    assert ppaurora.evaluate([([1], [-0.0]), ([0], [0.0])], metrics=["auroc"]).auroc == 0.5


# Containers


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


def test_owners_and_metrics_may_be_any_iterable_and_delta_a_numpy_integer() -> None:
    report = ppaurora.evaluate(
        (owner for owner in (GOOD, [[1, 0], [0.5, 0.5]])),
        metrics=iter(["auroc"]),
        protocol="paper",
        delta=np.int64(3),
    )
    assert json.loads(report.to_json())["delta"] == 3
    assert abs(report.auroc - exact_auroc([(0.25, 0), (0.75, 1), (0.5, 1), (0.5, 0)])) < AUROC_TOLERANCE


# Bad input


@pytest.mark.parametrize("case", BAD_ARRAYS, ids=lambda case: case.name)
def test_bad_data_is_a_data_error_that_names_owner_row_and_column(case: BadArrays) -> None:
    owners = [([0, 1], [0.5, 0.5]), (case.y_true, case.y_score)]
    if case.pos_label is not None:
        owners[0] = ([case.pos_label], [0.5])
    with pytest.raises(DataError) as caught:
        ppaurora.evaluate(owners, pos_label=case.pos_label, protocol="paper")
    error = caught.value
    assert (error.source, error.row, error.column) == ("owner 2", case.row, case.column)
    assert case.says in str(error)
    assert error.exit_code == 2


@pytest.mark.parametrize("delta", [2, 0, -1, -2, 100, 1.0, 2.5, "1", None, float("nan")])
def test_delta_must_be_odd_and_positive(delta: Any) -> None:
    with pytest.raises(InputError, match="delta must be an odd number, 1 or larger, not "):
        ppaurora.evaluate([GOOD, GOOD], protocol="paper", delta=delta)


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
        ({"metrics": ["auroc", "f1"]}, "unknown metric 'f1'; there are: auroc, auroc_no_ties, aupr"),
        ({"metrics": ["AUROC"]}, "unknown metric 'AUROC'"),
        ({"metrics": []}, "no metric asked for"),
        ({"metrics": ["aupr", "auroc", "aupr"]}, "a metric is asked for twice"),
        ({"metrics": "auroc"}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": "auroc,aupr"}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": [["auroc"]]}, "metrics must be a list of names"),
        ({"protocol": "quick"}, "unknown protocol 'quick'; there "),
        ({"transport": "pigeon"}, "unknown transport 'pigeon'; there are: memory, tls"),
        ({"timeout": 0}, "the timeout must be above 0 and at most 1000000 seconds"),
        ({"timeout": -1.0}, "the timeout must be above 0"),
        ({"timeout": float("inf")}, "the timeout must be above 0"),
        ({"timeout": float("nan")}, "the timeout must be above 0"),
        ({"pos_label": ""}, "the positive label must be a value"),
    ],
)
def test_bad_arguments_are_input_errors(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        ppaurora.evaluate([GOOD, GOOD], **arguments)
    assert says in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("metrics", [("auroc",), ("aupr",), ("auroc", "aupr", "auroc_no_ties")])
def test_one_class_only_is_undefined_and_nobody_is_told_which(metrics: tuple[str, ...]) -> None:
    messages = []
    for label in (0, 1):
        owners = [([label] * 3, [0.25, 0.5, 0.5]), ([label], [0.5])]
        with pytest.raises(UndefinedResultError) as caught:
            ppaurora.evaluate(owners, metrics=metrics)
        messages.append((str(caught.value), repr(caught.value), caught.value.args, vars(caught.value)))
    assert messages[0] == messages[1]
    assert messages[0][0] == "undefined: one class only"


# The report


@pytest.fixture(scope="module")
def report() -> Report:
    owners = [([0, 1, 0], [0.25, 0.75, 0.5]), ([1, 0, 0], [0.5, 0.5, 0.125])]
    return ppaurora.evaluate(owners, metrics=("auroc", "aupr"), protocol="paper", delta=3)


def test_json_has_every_field(report: Report) -> None:
    fields = json.loads(report.to_json())
    assert fields["metrics"] == {"auroc": report.auroc, "aupr": report.aupr}
    assert (fields["owners"], fields["samples"]) == (2, 6)
    assert (fields["protocol"], fields["delta"], fields["transport"]) == ("paper", 3, "memory")
    assert fields["openings"] == report.openings
    assert set(fields) >= {
        "metrics",
        "owners",
        "samples",
        "protocol",
        "delta",
        "transport",
        "openings",
        "cost",
    }
    cost = fields["cost"]
    assert set(cost) >= {"seconds", "bytes", "rounds", "messages", "bytes_by_party", "bytes_by_step"}
    assert cost["seconds"] == report.cost.seconds > 0
    assert cost["bytes"] == report.cost.bytes > 0
    assert cost["rounds"] == report.cost.rounds > 0
    assert cost["messages"] == report.cost.messages > cost["rounds"]
    assert sum(cost["bytes_by_party"].values()) == sum(cost["bytes_by_step"].values()) == cost["bytes"]
    assert set(cost["bytes_by_party"]) == {"proxy 0", "proxy 1", "helper"}


def test_the_dictionary_is_a_copy(report: Report) -> None:
    report.to_dict()["metrics"]["auroc"] = 2.0
    report.to_dict()["cost"]["bytes"] = 0
    assert report.auroc <= 1.0
    assert report.cost.bytes > 0


def test_a_metric_that_was_not_asked_for(report: Report) -> None:
    with pytest.raises(AttributeError) as caught:
        _ = report.auroc_no_ties
    assert str(caught.value) == "'auroc_no_ties' was not asked for; this report has: auroc, aupr"


def test_delta_above_one_opens_comparisons_and_says_so(report: Report) -> None:
    assert list(report.openings) == ["merge: which of two tops is larger"]
    assert all(count > 0 for count in report.openings.values())


def test_delta_one_opens_nothing() -> None:
    assert ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper", delta=1).openings == {}


def test_progress_ends_at_the_total() -> None:
    seen: list[tuple[str, int, int]] = []
    ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], progress=lambda *step: seen.append(step))
    merging = [(done, total) for step, done, total in seen if step == "merge"]
    assert merging[-1] == (4, 4)
    assert merging == sorted(merging)


def test_an_error_in_the_callers_progress_function_is_the_callers() -> None:
    def broken(step: str, done: int, total: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], progress=broken, timeout=10)
