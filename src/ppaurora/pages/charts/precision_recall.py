"""The precision-recall curve: of an owner's own data at every threshold, of pooled data at public ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Chart, Place
from ppaurora.pages.charts.points import Point, draw_points
from ppaurora.pages.charts.thinning import thinned

_LISTED = (0.25, 0.5, 0.75, 0.9, 1.0)


def own_precision_recall_curve(
    recall: Sequence[float] | NDArray[np.float64],
    precision: Sequence[float] | NDArray[np.float64],
    *,
    prevalence: float,
    title: str = "Precision-recall curve of your own data",
    area: str = "",
) -> Chart:
    """Draw the curve of points along growing recall; `area` is the average precision as a text."""
    caption = (
        "Precision against recall at every threshold"
        + (f"; average precision, the area under these steps, is {area}" if area else "")
        + f". The dashed line is random guessing: the prevalence, {prevalence:.3f}."
    )
    plane = Plane(title, caption, x_title="recall (sensitivity)", y_title="precision (PPV)")
    plane.path("guide", [plane.at(0, prevalence), plane.at(1, prevalence)])
    plane.path("own solid", _steps(plane, recall, precision))
    rows = []
    for least in _LISTED:
        best = np.asarray(precision)[np.asarray(recall) >= least - 1e-12].max()
        rows.append((f"{least:.2f}", f"{best:.3f}"))
    return Chart(title, caption, plane.svg(), ("recall of at least", "highest precision"), tuple(rows))


def _steps(
    plane: Plane,
    recall: Sequence[float] | NDArray[np.float64],
    precision: Sequence[float] | NDArray[np.float64],
) -> list[Place]:
    """Up or down where the recall before ends: precision between two thresholds is the later one's."""
    places, before = [], 0.0
    for x, y in zip(*thinned(recall, precision), strict=True):
        places += [plane.at(before, y), plane.at(x, y)]
        before = x
    return places


def precision_recall_at_thresholds(
    points: Sequence[Point],
    *,
    prevalence: float | None,
    title: str = "Precision-recall curve at public thresholds",
    area: str = "",
) -> Chart:
    """Draw recall and precision at thresholds that grow; `area` is the average precision as a text."""
    caption = (
        "Precision against recall at the thresholds of the plan, joined by straight lines"
        + (f"; average precision over all thresholds is {area}" if area else "")
        + "."
        + ("" if prevalence is None else f" The dashed line is the prevalence, about {prevalence:.3g}.")
        + ("" if all(one.place for one in points) else " Thresholds without a point are withheld.")
    )
    plane = Plane(title, caption, x_title="recall (sensitivity)", y_title="precision (PPV)", with_legend=True)
    if prevalence is not None:
        plane.path("guide", [plane.at(0, prevalence), plane.at(1, prevalence)])
    draw_points(plane, points)
    columns = ("threshold", "recall", "precision")
    return Chart(title, caption, plane.svg(), columns, tuple(one.row for one in points))
