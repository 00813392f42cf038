"""ROC and precision-recall curves at thresholds: the numbers of the metrics that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_curve

import ppaurora
from ppaurora.agreement.terms import Terms
from ppaurora.metrics import METRICS, Query
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Table
from tests.support.runs import samples_of

THRESHOLDS = (0.05, 0.3, 0.5, 0.55, 0.93)
CURVES = {
    "roc_curve": {"sensitivity": "sensitivity", "specificity": "specificity"},
    "precision_recall_curve": {"precision": "ppv", "called_positive": "ppv", "recall": "sensitivity"},
}


def drawn(size: int = 900) -> tuple[NDArray[np.int_], NDArray[np.float64]]:
    random = np.random.default_rng(4)
    scores = np.round(random.beta(1.2, 2.0, size), 2)
    return (random.random(size) < scores).astype(int), scores


def owners() -> list[tuple[NDArray[np.int_], NDArray[np.float64]]]:
    labels, scores = drawn()
    return [(labels[place::3], scores[place::3]) for place in range(3)]


@pytest.mark.parametrize("policy", [Policy(), Policy.exact(), Policy.private(2.0)], ids=lambda one: one.kind)
@pytest.mark.parametrize("name", CURVES)
def test_a_point_has_the_numbers_of_two_metrics(name: str, policy: Policy) -> None:
    """With their intervals and counts, and withheld where they are; with noise, of the same integers."""
    names = (name, *dict.fromkeys(CURVES[name].values()))
    metrics = tuple(METRICS[one](thresholds=THRESHOLDS) for one in names)  # type: ignore[index]
    query = Query(metrics, (300, 300, 300), policy, 0.95)
    people = [
        samples_of(list(zip(scores.tolist(), labels.tolist(), strict=True))) for labels, scores in owners()
    ]
    found = released_in_the_clear(query, people).metrics
    curve = found[name]
    assert isinstance(curve, Table)
    assert [row.at["threshold"] for row in curve] == list(THRESHOLDS)
    for place, row in enumerate(curve):
        assert set(row.values) == set(CURVES[name])
        for column, metric in CURVES[name].items():
            table = found[metric]
            assert isinstance(table, Table)
            assert row[column] == table[place][metric if column not in table[place].values else column]
    withheld = [row.values[next(iter(CURVES[name]))].suppressed for row in curve]
    assert any(withheld) == (policy.kind == "publication")
    assert not all(withheld)


def test_points_lie_on_the_curves_of_scikit_learn() -> None:
    labels, scores = drawn()
    metrics = [METRICS[name](thresholds=THRESHOLDS[:-1]) for name in CURVES]  # type: ignore[index]
    report = ppaurora.evaluate(owners(), metrics=metrics, policy=Policy.exact())
    false_positive_rates, recalls, steps = roc_curve(labels, scores, drop_intermediate=False)
    for row in report.roc_curve:
        place = np.flatnonzero(steps >= row.at["threshold"])[-1]
        assert row["sensitivity"].value == pytest.approx(recalls[place])
        assert row["specificity"].value == pytest.approx(1 - false_positive_rates[place])
    precisions, recalls, steps = precision_recall_curve(labels, scores)
    for row in report.precision_recall_curve:
        place = np.flatnonzero(steps >= row.at["threshold"])[0]
        assert row["precision"].value == pytest.approx(precisions[place])
        assert row["recall"].value == pytest.approx(recalls[place])


def test_default_thresholds_go_with_default_bins() -> None:
    names = (*CURVES, "reliability", "histogram")
    assert Terms(metrics=tuple(METRICS[name]() for name in names), policy=Policy())  # type: ignore[index]
