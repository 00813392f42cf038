"""What was predicted, and what happened: the reliability diagram, and the smooth calibration curve."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Chart
from ppaurora.pages.charts.points import Point, draw_band, draw_points


def reliability_diagram(bins: Sequence[Point], *, title: str = "Reliability diagram") -> Chart:
    """Draw mean predictions and fractions of positives in bins, pooled and the owner's own."""
    caption = (
        "Fraction of positives against mean predicted probability, in bins of the probability. "
        "On the dashed line, predictions are correct on average. "
        + (
            ""
            if all(one.place for one in bins)
            else "Bins without a point are withheld or empty; the table shows which. "
        )
    ).strip()
    plane = Plane(
        title,
        caption,
        x_title="mean predicted probability",
        y_title="observed fraction of positives",
        with_legend=True,
    )
    plane.path("guide", [plane.at(0, 0), plane.at(1, 1)])
    draw_points(plane, bins)
    columns = ("bin", "mean predicted", "observed")
    return Chart(title, caption, plane.svg(), columns, tuple(one.row for one in bins))


def smooth_calibration_curve(
    points: Sequence[Point], *, level: str = "", title: str = "Smooth calibration curve"
) -> Chart:
    """Draw observed against predicted probabilities along a curve, with a band of intervals of a level."""
    caption = (
        "Observed against predicted probability, smoothed. On the dashed line, predictions are correct on "
        "average."
        + (f" The band has the intervals of all points, each for itself ({level})." if level else "")
        + ("" if all(one.place for one in points) else " Where there is no line, points are withheld.")
    )
    with_own = any(one.own for one in points)
    plane = Plane(
        title,
        caption,
        x_title="predicted probability",
        y_title="observed probability",
        with_legend=True,
    )
    plane.path("guide", [plane.at(0, 0), plane.at(1, 1)])
    for own in (False, True):
        draw_band(plane, points, own=own)
    plane.key(("pooled", False), *([("your own data", True)] if with_own else []), marks=False)
    columns = ("of", "predicted", "observed")
    rows = tuple(("own data" if one.own else "pooled", one.x.text, one.y.text) for one in points)
    return Chart(title, caption, plane.svg(), columns, rows)
