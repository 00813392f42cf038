"""The ROC curve: of an owner's own data at every threshold, of pooled data at public ones.

At every threshold it would give pooled samples away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Chart, Shown
from ppaurora.pages.charts.points import Point, draw_points
from ppaurora.pages.charts.thinning import thinned

_LISTED = (0.05, 0.1, 0.2, 0.3, 0.5)


def own_roc_curve(
    false_positive_rate: Sequence[float] | NDArray[np.float64],
    true_positive_rate: Sequence[float] | NDArray[np.float64],
    *,
    title: str = "ROC curve of your own data",
    area: str = "",
) -> Chart:
    """Draw the curve of points from (0, 0) to (1, 1); `area` is the AUROC as a text."""
    caption = (
        "Sensitivity against 1 - specificity at every threshold"
        + (f"; the area under the curve is {area}" if area else "")
        + ". The dashed line is random guessing."
    )
    plane = Plane(title, caption, x_title="1 - specificity", y_title="sensitivity (recall)")
    plane.path("guide", [plane.at(0, 0), plane.at(1, 1)])
    plane.path(
        "own solid",
        [plane.at(x, y) for x, y in zip(*thinned(false_positive_rate, true_positive_rate), strict=True)],
    )
    rows = []
    for rate in _LISTED:
        reached = np.asarray(true_positive_rate)[np.asarray(false_positive_rate) <= rate + 1e-12].max()
        rows.append((f"{1 - rate:.2f}", f"{reached:.3f}"))
    columns = ("specificity of at least", "highest sensitivity")
    return Chart(title, caption, plane.svg(), columns, tuple(rows))


def roc_at_thresholds(
    points: Sequence[Point], *, title: str = "ROC curve at public thresholds", area: str = ""
) -> Chart:
    """Draw specificity and sensitivity at thresholds that grow; `area` is the AUROC as a text."""
    caption = (
        "Sensitivity against 1 - specificity at the thresholds of the plan, joined by straight lines"
        + (f"; the area under the curve of all thresholds is {area}" if area else "")
        + ". The dashed line is random guessing."
        + ("" if all(one.place for one in points) else " Thresholds without a point are withheld.")
    )
    plane = Plane(title, caption, x_title="1 - specificity", y_title="sensitivity (recall)", with_legend=True)
    plane.path("guide", [plane.at(0, 0), plane.at(1, 1)])
    drawn = [replace(one, x=_complement(one.x)) for one in points]
    draw_points(plane, drawn, ends=([(1.0, 1.0)], [(0.0, 0.0)]))
    columns = ("threshold", "specificity (TNR)", "sensitivity (TPR)")
    return Chart(title, caption, plane.svg(), columns, tuple(one.row for one in points))


def _complement(shown: Shown) -> Shown:
    """Return the rest of a fraction."""
    value = None if shown.value is None else 1 - shown.value
    interval = None if shown.interval is None else (1 - shown.interval[1], 1 - shown.interval[0])
    return Shown(value, shown.text, interval)
