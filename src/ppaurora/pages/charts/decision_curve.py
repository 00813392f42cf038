"""The decision curve: net benefit against the risk threshold (Vickers and Elkin 2006)."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.pages.charts.axes import Plane, around
from ppaurora.pages.charts.drawing import Chart, Place
from ppaurora.pages.charts.points import Point, draw_band
from ppaurora.statistics.curves import net_benefit_of_all

_STEPS = 60
_LEGEND_BELOW = 0.12  # of the height: how far treating all is followed below 0


def decision_curve(
    points: Sequence[Point], *, prevalence: float | None, level: str = "", title: str = "Decision curve"
) -> Chart:
    """Draw net benefits against thresholds, with a band of their intervals of a level.

    Without a prevalence of the pooled samples there is no line for treating all; the caption says so.
    """
    drawn, caption = [one for one in points if one.place is not None], _caption(prevalence, level)
    benefits = [end for one in drawn for end in (one.y.value or 0.0, *(one.y.interval or ()))]
    x = around([one.x.value for one in points if one.x.value is not None], within=(0.0, 1.0))
    top = max([0.0, *benefits, *([] if prevalence is None else [prevalence])])
    y = around([min([*benefits, -_LEGEND_BELOW * top]), top])
    plane = Plane(
        title,
        caption,
        x=x,
        y=y,
        size=(310, 230),
        x_title="threshold probability",
        y_title="net benefit",
        with_legend=True,
    )
    plane.path("guide dotted", [plane.at(x[0], 0), plane.at(x[1], 0)])
    if prevalence is not None:
        plane.path("guide", _treating_all(plane, prevalence))
    for own in (False, True):
        draw_band(plane, drawn, own=own, marks=True)
    with_own = any(one.own for one in points)
    plane.key(("model, pooled", False), *([("model, your own data", True)] if with_own else []))
    rows = tuple((one.label, "own data" if one.own else "pooled", one.y.text) for one in points)
    columns = ("threshold", "of", "net benefit")
    return Chart(title, caption, plane.svg(), columns, rows, reach=y[1] - y[0])


def _treating_all(plane: Plane, prevalence: float) -> list[Place]:
    low, high = plane.x.low, min(plane.x.high, 0.99)
    along = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
    found = [(at, net_benefit_of_all(prevalence, at)) for at in along]
    return [plane.at(*one) for one in found if plane.y.holds(one[1])]


def _caption(prevalence: float | None, level: str) -> str:
    said = "Net benefit of treating those whose probability reaches the threshold"
    said += f", with a band of its intervals ({level}). " if level else ". "
    said += "Dotted line: treating none. "
    if prevalence is None:
        return said + (
            "Treating all is not drawn: it follows from the number of positives, which was not released."
        )
    return said + f"Dashed line: treating all, with a prevalence of about {prevalence:.3g}."
