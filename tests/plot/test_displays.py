"""Displays draw the numbers of a report where they belong, and say what they are."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

import ppaurora
from ppaurora import Estimate, Policy, Report
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Metric
from ppaurora.metrics.facts import Figure as MetricFigure
from ppaurora.metrics.names import MetricName
from ppaurora.plot import (
    CalibrationDisplay,
    DecisionCurveDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    ScoreDistributionDisplay,
    SmoothCalibrationDisplay,
)
from ppaurora.plot.displays import Display

THRESHOLDS = [0.1, 0.2, 0.3, 0.5]
BINS = [step / 10 for step in range(11)]
ROUNDED = Policy.exact(digits=2, counts="rounded")
DISPLAYS: dict[type[Display], str] = {
    CalibrationDisplay: "reliability",
    SmoothCalibrationDisplay: "smooth_calibration",
    RocCurveDisplay: "roc_curve",
    PrecisionRecallDisplay: "precision_recall_curve",
    DecisionCurveDisplay: "net_benefit",
    ScoreDistributionDisplay: "histogram",
}
each_display = pytest.mark.parametrize("display", DISPLAYS, ids=lambda one: one.__name__)


def evaluated(policy: Policy | None = None, **options: Any) -> Report:
    random = np.random.default_rng(9)
    owners = []
    for samples in (300, 400, 350):
        scores = random.beta(1, 2, size=samples).round(3)
        owners.append(((random.random(samples) < scores).astype(int), scores))
    at = {"thresholds": THRESHOLDS}
    metrics: list[MetricName | Metric] = [
        "auroc",
        "reliability",
        METRICS["smooth_calibration"](bins=BINS, bandwidth=0.2),
        "histogram",
        *(METRICS[name](**at) for name in ("roc_curve", "precision_recall_curve", "net_benefit")),
    ]
    options = {"metrics": metrics, "confidence_level": 0.9, **options}
    return ppaurora.evaluate(owners, policy=policy or Policy.exact(), **options)


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluated()


def axes() -> Axes:
    """Without pyplot, which would keep the figure."""
    return Figure().add_subplot()


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def points(ax: Axes) -> np.ndarray:
    """The marks of an error bar."""
    (drawn,) = [one for one in ax.containers if isinstance(one, ErrorbarContainer)]
    return np.asarray(drawn.lines[0].get_xydata())


def whiskers(ax: Axes, number: int) -> list[tuple[float, float]]:
    """Both ends of every whisker: across, or up."""
    (drawn,) = [one for one in ax.containers if isinstance(one, ErrorbarContainer)]
    return [(ends[0, number], ends[-1, number]) for ends in drawn.lines[2][number].get_segments()]


def test_every_figure_of_a_table_has_a_display() -> None:
    areas = {MetricFigure.ROC_CURVE, MetricFigure.PRECISION_RECALL_CURVE}
    assert {display.figure for display in DISPLAYS} == {m.figure for m in METRICS.values()} - areas - {None}


def test_points_and_whiskers_of_the_roc_curve(report: Report) -> None:
    ax = RocCurveDisplay.from_report(report, axes()).ax_
    rows = report.roc_curve
    expected = [(1 - row["specificity"].value, row["sensitivity"].value) for row in rows]
    assert np.allclose(points(ax), expected)
    across = [tuple(1 - bound for bound in row["specificity"].interval[::-1]) for row in rows]
    assert np.allclose(whiskers(ax, 0), across)
    assert np.allclose(whiskers(ax, 1), [row["sensitivity"].interval for row in rows])
    line = ax.lines[1].get_xydata()  # after the guide
    assert np.allclose(line, [(1, 1), *expected, (0, 0)])
    (guide, said) = legend(ax)
    assert guide == "random guessing"
    area = report["auroc"]
    assert isinstance(area, Estimate)
    in_words = f"AUROC {area.shown_shortly()} (90% CI {area.shown_span()})"
    assert said == f"pooled, exact\n{in_words}\nwhiskers: 90% CI"


def test_points_and_whiskers_of_the_precision_recall_curve(report: Report) -> None:
    ax = PrecisionRecallDisplay.from_report(report, axes(), name="my model").ax_
    rows = report.precision_recall_curve
    assert np.allclose(points(ax), [(row["recall"].value, row["precision"].value) for row in rows])
    assert np.allclose(whiskers(ax, 1), [row["precision"].interval for row in rows])
    assert legend(ax) == ["my model, exact\nwhiskers: 90% CI"]


def test_points_and_whiskers_of_the_reliability_diagram(report: Report) -> None:
    ax = CalibrationDisplay.from_report(report, axes()).ax_
    rows = report.reliability
    assert np.allclose(points(ax), [(row["mean_predicted"].value, row["observed"].value) for row in rows])
    assert np.allclose(whiskers(ax, 1), [row["observed"].interval for row in rows])
    assert legend(ax) == ["perfect calibration", "pooled, exact\nwhiskers: 90% CI"]


def check_band(ax: Axes, x: list[float], numbers: list[Estimate]) -> None:
    """Its corners are the bounds of the intervals."""
    corners = ax.collections[0].get_paths()[0].vertices
    for at, one in zip(x, numbers, strict=True):
        for bound in one.interval or ():
            assert np.isclose(corners, (at, bound)).all(axis=1).any()


def test_line_and_band_of_the_smooth_calibration_curve(report: Report) -> None:
    ax = SmoothCalibrationDisplay.from_report(report, axes()).ax_
    numbers = [row["observed"] for row in report.smooth_calibration]
    x = [row.at["probability"] for row in report.smooth_calibration]
    assert np.allclose(np.asarray(ax.lines[-1].get_xydata()).T, [x, [one.value for one in numbers]])
    check_band(ax, x, numbers)
    assert legend(ax) == ["perfect calibration", "pooled, exact\nband: 90% CI of each point"]


def test_line_and_band_of_the_decision_curve(report: Report) -> None:
    display = DecisionCurveDisplay.from_report(report, axes(), color="C3")
    rows = [row["net_benefit"] for row in report.net_benefit]
    _, line, all_treated = display.ax_.lines
    assert np.allclose(
        np.asarray(line.get_xydata()), list(zip(THRESHOLDS, [one.value for one in rows], strict=True))
    )
    assert line.get_color() == "C3"
    check_band(display.ax_, THRESHOLDS, rows)
    assert "band: 90% CI of each point" in legend(display.ax_)[1]
    assert report.positives is not None
    rate = report.positives / report.samples
    for at, benefit in np.asarray(all_treated.get_xydata()):
        assert np.isclose(benefit, rate - (1 - rate) * at / (1 - at))


def test_treating_all_is_not_drawn_where_positives_are_hidden() -> None:
    report = evaluated(Policy.exact(counts="hidden"), metrics=[METRICS["net_benefit"](thresholds=THRESHOLDS)])
    said = legend(DecisionCurveDisplay.from_report(report, axes()).ax_)
    assert len(said) == 2
    assert not [text for text in said if "all" in text.split()]


def test_bars_of_scores_by_class(report: Report) -> None:
    ax = ScoreDistributionDisplay.from_report(report, axes()).ax_
    above, below = ax.containers
    for bars, name, side in ((above, "positives", 1), (below, "negatives", -1)):
        counts = np.array([row[name].value for row in report.histogram])
        assert np.allclose([bar.get_height() for bar in bars], side * counts / counts.sum())
        assert np.allclose([bar.get_x() for bar in bars], [row.at["low"] for row in report.histogram])
    assert legend(ax) == ["positives, pooled, exact", "negatives, pooled, exact"]


@each_display
def test_a_display_is_drawn_again_in_other_axes(display: type[Display], report: Report) -> None:
    first = axes()
    made = display.from_report(report, first)
    assert (made.ax_, made.figure_) == (first, first.figure)
    second = axes()
    assert made.plot(second, name="again") is made
    assert (made.ax_, made.figure_) == (second, second.figure)
    drawn = [len(ax.lines) + len(ax.patches) + len(ax.collections) for ax in (first, second)]
    assert drawn[0] == drawn[1] > 1
    assert second.get_xlabel() == first.get_xlabel() != ""
    made.plot(second, name="twice")
    assert len(legend(second)) == len(set(legend(second)))  # guides are named once


def test_without_axes_there_is_a_new_figure(report: Report) -> None:
    with matplotlib.rc_context({"backend": "agg"}):
        from matplotlib import pyplot

        display = CalibrationDisplay.from_report(report)
        try:
            assert display.figure_ is pyplot.gcf()
        finally:
            pyplot.close()


@each_display
@pytest.mark.parametrize(
    ("policy", "said"),
    [(ROUNDED, "rounded to 2 decimals"), (Policy.private(), "with noise (epsilon 2)")],
    ids=["rounded", "private"],
)
def test_the_legend_says_what_the_numbers_are(
    display: type[Display], policy: Policy, said: str, reports: dict[str, Report]
) -> None:
    ax = display.from_report(reports[policy.kind], axes()).ax_
    if display is ScoreDistributionDisplay and not policy.is_private:
        said = "to the nearest 5"
    if display is DecisionCurveDisplay and not policy.is_private:
        said = "rounded to 3 decimals"
    assert any(f"pooled, {said}" in text for text in legend(ax))


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {policy.kind: evaluated(policy) for policy in (ROUNDED, Policy.private())}


def test_what_is_withheld_is_left_out_and_counted() -> None:
    report = evaluated(Policy.exact(minimum_per_cell=60))
    rows = [row for row in report.reliability if row["observed"].value is not None]
    gone = len(report.reliability) - len(rows)
    assert 0 < gone < len(report.reliability)
    ax = CalibrationDisplay.from_report(report, axes()).ax_
    assert np.allclose(points(ax), [(row["mean_predicted"].value, row["observed"].value) for row in rows])
    assert legend(ax)[-1].endswith(f"{gone} of {len(report.reliability)} not released")


def test_curves_of_separate_metrics_at_the_thresholds_that_both_have() -> None:
    sensitivity = METRICS["sensitivity"](thresholds=THRESHOLDS)
    specificity = METRICS["specificity"](thresholds=THRESHOLDS[1:])
    ppv = METRICS["ppv"](thresholds=THRESHOLDS[:2])
    report = evaluated(metrics=[sensitivity, ppv, specificity])
    ax = RocCurveDisplay.from_report(report, axes()).ax_
    both = [(report.specificity.at(t)["specificity"], report.sensitivity.at(t)) for t in THRESHOLDS[1:]]
    assert np.allclose(points(ax), [(1 - x.value, y["sensitivity"].value) for x, y in both])
    ax = PrecisionRecallDisplay.from_report(report, axes()).ax_
    expected = [
        (report.sensitivity.at(t)["sensitivity"].value, report.ppv.at(t)["ppv"].value) for t in THRESHOLDS[:2]
    ]
    assert np.allclose(points(ax), expected)


def test_a_report_without_the_numbers_says_which_metric_has_them() -> None:
    report = evaluated(metrics=["auroc"])
    for display, metric in DISPLAYS.items():
        with pytest.raises(InputError, match=f"no values of '{metric}'.*; it has: auroc"):
            display.from_report(report, axes())


def test_a_suppressed_report_has_nothing_to_draw() -> None:
    report = evaluated(Policy.exact(minimum_positives=10_000))
    for display in DISPLAYS:
        with pytest.raises(InputError, match="withholds this result"):
            display.from_report(report, axes())


def test_without_matplotlib_the_package_is_there_and_its_plots_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("ppaurora.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for error in (ImportError, InputError):
        with pytest.raises(error, match=r"^plots need Matplotlib: pip install 'ppaurora\[plot\]'$"):
            importlib.import_module("ppaurora.plot")
    assert evaluated(metrics=["auroc"]).auroc
