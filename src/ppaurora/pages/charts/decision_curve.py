"""The decision curve: net benefit against the risk threshold (Vickers and Elkin 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.pages.charts.axes import Plane, around
from ppaurora.pages.charts.drawing import Chart, Place, Shown, series
from ppaurora.statistics.curves import net_benefit_of_all

_STEPS = 60
_LEGEND_BELOW = 0.12  # of the height: how far treating all is followed below 0


@dataclass(frozen=True)
class BenefitPoint:
    """The net benefit at a threshold."""

    threshold: float
    benefit: Shown
    own: bool = False


def decision_curve(
    points: Sequence[BenefitPoint], *, prevalence: float | None, title: str = "Decision curve"
) -> Chart:
    """Without a prevalence of the pooled samples there is no line for treating all; the caption says so."""
    drawn = [one for one in points if one.benefit.value is not None]
    thresholds = [one.threshold for one in points]
    benefits = [one.benefit.value for one in drawn if one.benefit.value is not None]
    x = around(thresholds, within=(0.0, 1.0))
    top = max([0.0, *benefits, *([] if prevalence is None else [prevalence])])
    y = around([min([*benefits, -_LEGEND_BELOW * top]), top])
    plane = Plane(
        title,
        _caption(prevalence),
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
    for own in (True, False):
        places = [plane.at(one.threshold, one.benefit.value or 0.0) for one in drawn if one.own is own]
        if len(places) > 1:
            plane.path(series(own), places)
        for place in places:
            plane.mark(place, own=own)
    with_own = any(one.own for one in points)
    plane.key(("model, pooled", False), *([("model, your own data", True)] if with_own else []))
    rows = tuple(
        (f"{one.threshold:g}", "own data" if one.own else "pooled", one.benefit.text) for one in points
    )
    columns = ("threshold", "of", "net benefit")
    return Chart(title, _caption(prevalence), plane.svg(), columns, rows, reach=y[1] - y[0])


def _treating_all(plane: Plane, prevalence: float) -> list[Place]:
    low, high = plane.x.low, min(plane.x.high, 0.99)
    along = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
    found = [(at, net_benefit_of_all(prevalence, at)) for at in along]
    return [plane.at(*one) for one in found if plane.y.holds(one[1])]


def _caption(prevalence: float | None) -> str:
    said = (
        "Net benefit of treating those whose probability reaches the threshold. Dotted line: treating none. "
    )
    if prevalence is None:
        return said + (
            "Treating all is not drawn: it follows from the number of positives, which was not released."
        )
    return said + f"Dashed line: treating all, with a prevalence of about {prevalence:.3g}."
