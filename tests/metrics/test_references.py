"""Every metric, through the whole computation, equals its reference and scikit-learn on the pooled data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

import ppaurora
from ppaurora.evaluation.evaluate import Transport
from ppaurora.metrics import METRICS, Metric, find_metric
from ppaurora.metrics.names import MetricName
from ppaurora.statistics.estimates import Estimate, Table

TOLERANCE = 1e-9
OF_RECALIBRATION = 1e-6  # a root that is found in fixed point
GRID = ppaurora.Grid(decimals=3)  # beside lists; no score is changed by it
THRESHOLDS = (0.05, 0.3, 0.325, 0.5, 0.95)
PARAMETERS: dict[str, dict[str, Any]] = {
    "thresholds": {"thresholds": THRESHOLDS},
    "max_fpr": {"max_fpr": 0.15},
    "specificity": {"specificity": 0.8},
    "sensitivity": {"sensitivity": 0.7},
    "bins": {},
    "bandwidth": {},
}
# Of the numbers in a row, those that tell how many samples are behind the others.
COUNTED = ("called_positive", "called_negative", "samples")

Data = tuple[NDArray[np.int_], NDArray[np.float64]]


def metric(name: str) -> Metric:
    needed: dict[str, Any] = {}
    for parameter in find_metric(name).Parameters.__struct_fields__:
        needed |= PARAMETERS[parameter]
    return find_metric(name)(**needed)


def data(seed: int, size: int = 180) -> Data:
    """Probabilities with many ties, several of them at thresholds and edges of bins."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, 41, size) / 40
    return (random.random(size) < (scores + random.random(size)) / 2).astype(int), scores


def without_ties(seed: int, size: int = 180) -> Data:
    random = np.random.default_rng(seed)
    scores = random.permutation(size) / size
    return (random.random(size) < scores).astype(int), scores


def split(pooled: Data, *cuts: int) -> list[Data]:
    return list(zip(*(np.split(part, cuts) for part in pooled), strict=True))


def reference(query: Metric, pooled: Data) -> Any:
    """Where logits are taken, probabilities of 0 and 1 are half a step of the grid from the end."""
    labels, scores = pooled
    half = GRID.step / 2
    return query.reference(labels, np.clip(scores, half, 1 - half) if query.needs_table else scores)


def check_equal(found: Estimate | Table, expected: Any, at: str) -> None:
    """A reference is a number, or a row of numbers by name for each row; what is not a number is withheld."""
    if isinstance(found, Estimate) and METRICS[cast(MetricName, at)].needs_table:
        value = math.nan if found.value is None else found.value
        assert value == pytest.approx(expected, abs=OF_RECALIBRATION, nan_ok=True), at
        return
    if isinstance(found, Estimate):
        assert found.value == pytest.approx(expected, abs=TOLERANCE), at
        return
    assert len(found) == len(expected), at
    for row, plain in zip(found, expected, strict=True):
        assert set(plain) == {name for name in row.values if name not in COUNTED}, at
        for name, value in plain.items():
            if math.isnan(value):
                assert row[name].value is None, (at, row.at, name)
            else:
                assert row[name].value == pytest.approx(value, abs=TOLERANCE), (at, row.at, name)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_by_itself_equals_its_reference(name: str) -> None:
    pooled = without_ties(1) if name == "auroc_no_ties" else data(1)
    query = metric(name)
    beside = GRID if query.needs_table else None
    report = ppaurora.evaluate(split(pooled, 90, 91, 130), metrics=[query], grid=beside)
    check_equal(report.metrics[name], reference(query, pooled), name)
    assert report.openings == {}
    assert report.positives == pooled[0].sum()


def all_metrics() -> list[Metric]:
    return [metric(name) for name in METRICS if name != "auroc_no_ties"]


@pytest.mark.parametrize("transport", ["memory", "tls"])
def test_all_metrics_together_equal_their_references(transport: Transport) -> None:
    """With intervals: they do not change the values."""
    pooled = data(3, 300)
    report = ppaurora.evaluate(
        split(pooled, 100, 220),
        metrics=all_metrics(),
        transport=transport,
        confidence_level=0.9,
        timeout=60,
        grid=GRID,
    )
    assert list(report.metrics) == [one.name for one in all_metrics()]
    for one in all_metrics():
        check_equal(report.metrics[one.name], reference(one, pooled), one.name)


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        ([1, 0], [0.9, 0.1]),
        ([0, 1], [0.9, 0.1]),
        ([1, 0], [0.5, 0.5]),
        ([1, 1, 0, 0], [1.0, 0.0, 1.0, 0.0]),
        ([1, 1, 1, 0], [0.0, 0.0, 0.0, 0.01]),
        ([0, 0, 0, 1], [1.0, 1.0, 1.0, 1.0]),
    ],
    ids=["right", "wrong", "tied", "both ends", "nearly all negative scores", "all at one"],
)
def test_few_samples(labels: list[int], scores: list[float]) -> None:
    owners = [(labels[:1], scores[:1]), (labels[1:], scores[1:])]
    report = ppaurora.evaluate(owners, metrics=all_metrics(), grid=GRID)
    pooled = np.array(labels), np.array(scores)
    for one in all_metrics():
        if one.name == "observed_expected" and sum(labels) >= 100 * sum(scores):
            assert report.observed_expected is None
        elif one.name == "calibration_intercept" and {*scores} == {0.0, 1.0}:
            assert report.calibration_intercept is None  # its standard error is 22
        else:
            check_equal(report.metrics[one.name], reference(one, pooled), one.name)


# scikit-learn's functions themselves


def evaluated_together(names: Sequence[str], pooled: Data) -> ppaurora.Report:
    return ppaurora.evaluate(split(pooled, 60, 150), metrics=[metric(name) for name in names])


def evaluated(name: str, pooled: Data) -> Any:
    return getattr(evaluated_together([name], pooled), name)


def column(table: Table, name: str) -> list[float | None]:
    return [row[name].value for row in table]


def close(found: Sequence[float | None], expected: Sequence[float]) -> bool:
    return all(
        one is not None and abs(one - other) < TOLERANCE for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("seed", [4, 5])
def test_numbers_by_scikit_learn(seed: int) -> None:
    labels, scores = pooled = data(seed)
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    expected = {
        "brier": brier_score_loss(labels, scores),
        "auroc": roc_auc_score(labels, scores),
        "ap": average_precision_score(labels, scores),
        "partial_auroc": roc_auc_score(labels, scores, max_fpr=0.15),
        "youden_j": (tpr - fpr).max(),
        "sensitivity_at_specificity": tpr[fpr <= 0.2 + TOLERANCE].max(),
        "specificity_at_sensitivity": 1 - fpr[tpr >= 0.7 - TOLERANCE].min(),
    }
    report = evaluated_together(list(expected), pooled)
    assert {name: getattr(report, name) for name in expected} == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("max_fpr", [0.01, 0.1, 0.37, 0.999])
def test_partial_auroc_by_scikit_learn(max_fpr: float) -> None:
    labels, scores = pooled = data(6)
    partial = METRICS["partial_auroc"](max_fpr=max_fpr)
    found = ppaurora.evaluate(split(pooled, 60, 150), metrics=[partial]).partial_auroc
    assert found == pytest.approx(roc_auc_score(labels, scores, max_fpr=max_fpr), abs=TOLERANCE)


SCORES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sensitivity": (recall_score, {}),
    "specificity": (recall_score, {"pos_label": 0}),
    "ppv": (precision_score, {}),
    "npv": (precision_score, {"pos_label": 0}),
    "f1": (f1_score, {}),
    "accuracy": (accuracy_score, {}),
}


def test_numbers_at_thresholds_by_scikit_learn() -> None:
    labels, scores = pooled = data(7)
    report = evaluated_together(list(SCORES), pooled)
    for name, (function, options) in SCORES.items():
        table = getattr(report, name)
        assert [row.at for row in table] == [{"threshold": threshold} for threshold in THRESHOLDS], name
        expected = [function(labels, scores >= threshold, **options) for threshold in THRESHOLDS]
        assert close(column(table, name), expected), name
    called = [int((scores >= threshold).sum()) for threshold in THRESHOLDS]
    assert column(report.ppv, "called_positive") == called
    assert column(report.npv, "called_negative") == [len(scores) - one for one in called]


def test_net_benefit_by_its_formula() -> None:
    labels, scores = pooled = data(8)
    expected = []
    for t in THRESHOLDS:
        tp = np.count_nonzero((scores >= t) & (labels == 1))
        fp = np.count_nonzero((scores >= t) & (labels == 0))
        expected.append(tp / len(labels) - fp / len(labels) * t / (1 - t))
    assert close(column(evaluated("net_benefit", pooled), "net_benefit"), expected)
    assert min(expected) < 0 < max(expected)


def test_calibration_in_the_large_and_observed_to_expected() -> None:
    labels, scores = pooled = data(9)
    gap = labels.mean() - scores.mean()
    assert evaluated("calibration_in_the_large", pooled) == pytest.approx(gap, abs=TOLERANCE)
    other_way = (1 - labels, scores)
    assert evaluated("calibration_in_the_large", other_way) == pytest.approx(
        (1 - labels).mean() - scores.mean(), abs=TOLERANCE
    )
    assert gap * ((1 - labels).mean() - scores.mean()) < 0, "both signs are wanted"
    ratio = labels.sum() / scores.sum()
    assert evaluated("observed_expected", pooled) == pytest.approx(ratio, abs=TOLERANCE)


def test_reliability_is_scikit_learns_calibration_curve() -> None:
    labels, scores = data(10)
    scores = np.where((scores > 0.4) & (scores <= 0.5), 0.55, scores)  # so that a bin is empty
    table = evaluated("reliability", (labels, scores))
    observed, predicted = calibration_curve(labels, scores, n_bins=10)
    there = [row for row in table if row["samples"].value]
    assert [row.at["low"] for row in table if not row["samples"].value] == [0.4]
    assert close([row["observed"].value for row in there], observed)
    assert close([row["mean_predicted"].value for row in there], predicted)
    assert sum(row["samples"].value for row in table) == len(labels)


@pytest.mark.parametrize(
    "bins",
    [tuple(k / 10 for k in range(11)), (0.1, 0.3, 0.325, 0.7), (-5.0, 5.0)],
    ids=["ten", "inner", "one"],
)
def test_a_histogram_is_numpys(bins: tuple[float, ...]) -> None:
    labels, scores = pooled = data(11)
    histogram = METRICS["histogram"](bins=bins)
    table = ppaurora.evaluate(split(pooled, 60, 150), metrics=[histogram]).histogram
    for name, label in (("positives", 1), ("negatives", 0)):
        assert column(table, name) == np.histogram(scores[labels == label], bins)[0].tolist()


def test_scores_of_any_size_have_thresholds_and_histograms() -> None:
    random = np.random.default_rng(12)
    scores = random.normal(scale=1e6, size=150).round(-5)
    labels = (random.random(150) < 0.4).astype(int)
    chosen = METRICS["sensitivity"](thresholds=[-1e6, 0.0, 3e5]), METRICS["histogram"](bins=[-2e6, 0.0, 3e5])
    report = ppaurora.evaluate(split((labels, scores), 60), metrics=chosen)
    for one in chosen:
        check_equal(report.metrics[one.name], one.reference(labels, scores), one.name)
