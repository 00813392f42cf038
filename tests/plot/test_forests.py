"""Displays of subgroups and comparisons draw the numbers of a report, and say what they are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from ppaurora.errors import InputError
from ppaurora.plot import ComparisonDisplay, SubgroupDisplay
from ppaurora.statistics.estimates import Estimate
from tests.support.designed_reports import HOSTILE_LEVEL, THRESHOLDS, designed, plain


def axes() -> Axes:
    """Without pyplot, which would keep the figure."""
    return Figure().add_subplot()


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def drawn(ax: Axes, number: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return where the marks of a display are."""
    bars = [one for one in ax.containers if isinstance(one, ErrorbarContainer)][number]
    points: Any = bars.lines[0]
    return np.asarray(points.get_xdata()), np.asarray(points.get_ydata())


def test_subgroups_are_where_they_belong() -> None:
    report = designed()
    display = SubgroupDisplay.from_report(report, axes(), model="risk_b")
    ages, sexes = (report.subgroups[name].of("risk_b") for name in ("age_group", "sex"))
    assert display.labels == (
        "all samples",
        *(f"age_group: {level}" for level in ("under 50", "50-70", HOSTILE_LEVEL)),
        "sex: f",
        "sex: m",
    )
    expected = [report.models["risk_b"].auroc, *(one.auroc for one in (*ages.values(), *sexes.values()))]
    x, y = drawn(display.ax_)
    assert x.tolist() == expected
    assert y.tolist() == list(range(6))
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == list(display.labels)
    assert display.reference == report.models["risk_b"].auroc
    assert display.ax_.get_xlabel() == "AUROC of risk_b"
    assert legend(display.ax_) == ["all samples", "risk_b, pooled, rounded to 3 decimals\nwhiskers: 95% CI"]
    low, high = display.ax_.get_ylim()
    assert low > 5 > 0 > high  # the first row is on top


def test_another_number_of_subgroups_and_two_models_in_the_same_axes() -> None:
    ax, report = axes(), designed()
    for model in ("risk_a", "risk_b"):
        SubgroupDisplay.from_report(report, ax, metric="brier", model=model)
    first, second = drawn(ax, 0), drawn(ax, 1)
    assert first[0][0] == report.models["risk_a"].brier
    assert second[0][0] == report.models["risk_b"].brier
    assert (second[1] > first[1]).all()
    assert [said.split(",")[0] for said in legend(ax)] == ["all samples", "risk_a", "risk_b"]
    assert ax.get_xlabel() == "Brier score"  # of both


def test_withheld_levels_are_not_drawn_and_counted() -> None:
    display = SubgroupDisplay.from_report(designed(small=True), axes())
    x, y = drawn(display.ax_)
    assert len(x) == 3
    assert y.tolist() == [0, 4, 5]
    assert legend(display.ax_)[-1].endswith("3 of 6 not released")


def test_differences_are_beside_a_line_at_zero() -> None:
    report = designed()
    display = ComparisonDisplay.from_report(report, axes())
    compared = report.comparison("risk_a", "risk_b")
    assert display.labels == (
        "AUROC, risk_a - risk_b",
        "Brier score, risk_a - risk_b",
        *(f"net benefit, risk_a - risk_b, threshold {at:g}" for at in THRESHOLDS),
    )
    assert display.reference == 0.0
    assert compared.auroc is not None
    assert compared.net_benefit is not None
    x, _ = drawn(display.ax_)
    assert x[0] == compared.auroc.value
    assert x[-1] == compared.net_benefit[-1]["net_benefit"].value
    assert compared.auroc.interval == (display.values.lower[0], display.values.upper[0])
    assert legend(display.ax_)[0] == "no difference"


def test_noise_is_said() -> None:
    for display in (SubgroupDisplay, ComparisonDisplay):
        said = legend(display.from_report(designed("private"), axes()).ax_)[-1]
        assert "with noise (epsilon 8)" in said


@pytest.mark.parametrize(
    ("display", "problem"),
    [(SubgroupDisplay, "has no subgroups"), (ComparisonDisplay, "compares no models")],
)
def test_a_plain_report_has_nothing_to_draw(display: Any, problem: str) -> None:
    with pytest.raises(InputError, match=f"nothing to draw: this report {problem}"):
        display.from_report(plain(), axes())


def test_what_is_no_single_number_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"'sensitivity' is no single number of subgroups; there is: auroc, brier"
    ):
        SubgroupDisplay.from_report(designed(), axes(), metric="sensitivity")
    with pytest.raises(InputError, match=r"there is no risk_c; there are: risk_a; risk_b"):
        SubgroupDisplay.from_report(designed(), axes(), model="risk_c")


def test_a_suppressed_result_has_nothing_to_draw() -> None:
    for display in (SubgroupDisplay, ComparisonDisplay):
        with pytest.raises(InputError, match="the release policy withholds all of these numbers"):
            display.from_report(designed(small=True, floor=5000), axes())


def test_intervals_are_those_of_the_report() -> None:
    report = designed()
    display = SubgroupDisplay.from_report(report, axes())
    auroc = report.subgroups["sex"]["f"]["auroc"]
    assert isinstance(auroc, Estimate)
    place = display.labels.index("sex: f")
    assert (display.values.lower[place], display.values.upper[place]) == auroc.interval


@pytest.mark.parametrize("display", [SubgroupDisplay, ComparisonDisplay])
@pytest.mark.parametrize("kind", ["publication", "exact"])
def test_nothing_covers_anything_else(display: Any, kind: str) -> None:
    shown = display.from_report(designed(kind))
    figure, ax = shown.figure_, shown.ax_
    try:
        figure.canvas.draw()
        frame, found = ax.get_window_extent(), ax.get_legend()
        assert found is not None
        assert found.get_window_extent().y0 >= frame.y1  # above the rows
        assert found.get_window_extent().y1 <= figure.bbox.y1
        labels = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert min(one.x0 for one in labels) > 0.01 * figure.bbox.width
        low, high = ax.get_xlim()
        ticks = [label for label in ax.get_xticklabels() if low <= label.get_position()[0] <= high]
        places = [label.get_window_extent() for label in ticks]
        assert len(places) > 2
        assert all(one.x1 < other.x0 for one, other in pairwise(places))
    finally:
        pyplot.close(figure)
