"""The reliability diagram: what was predicted, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Chart, Shown, series


@dataclass(frozen=True)
class ReliabilityBin:
    """Samples whose probabilities lie in a bin: their mean, and the fraction of positives among them."""

    label: str
    predicted: Shown
    observed: Shown
    own: bool = False

    @property
    def point(self) -> tuple[float, float] | None:
        x, y = self.predicted.value, self.observed.value
        return None if x is None or y is None else (x, y)


def reliability_diagram(bins: Sequence[ReliabilityBin], *, title: str = "Reliability diagram") -> Chart:
    """Draw the diagram of pooled bins, and of the owner's own if there are any."""
    with_own = any(one.own for one in bins)
    drawn = sum(one.point is not None for one in bins)
    caption = (
        "Fraction of positives against mean predicted probability, in bins of the probability. "
        "On the dashed line, predictions are correct on average. "
        + (
            ""
            if drawn == len(bins)
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
    for own in (True, False):
        places = [plane.at(*one.point) for one in bins if one.own is own and one.point is not None]
        if len(places) > 1:
            plane.path(series(own), places)
        for place in places:
            plane.mark(place, own=own)
    plane.key(("pooled", False), *([("your own data", True)] if with_own else []))
    rows = tuple(
        (f"{one.label}, {'own data' if one.own else 'pooled'}", one.predicted.text, one.observed.text)
        for one in bins
    )
    return Chart(title, caption, plane.svg(), ("bin", "mean predicted", "observed"), rows)
