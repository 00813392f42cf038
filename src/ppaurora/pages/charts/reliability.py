"""The reliability diagram: what was predicted, and what happened."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Chart
from ppaurora.pages.charts.points import Point, draw_points


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
