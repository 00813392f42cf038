"""Points on a plane, pooled and of the owner's own data, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Place, Shown, series

_CAP = 3


@dataclass(frozen=True)
class Point:
    """Two numbers that belong together, at a threshold or in a bin."""

    label: str
    x: Shown
    y: Shown
    own: bool = False

    @property
    def place(self) -> tuple[float, float] | None:
        x, y = self.x.value, self.y.value
        return None if x is None or y is None else (x, y)

    @property
    def row(self) -> tuple[str, str, str]:
        """The point in a table."""
        return f"{self.label}, {'own data' if self.own else 'pooled'}", self.x.text, self.y.text


def draw_points(
    plane: Plane, points: Sequence[Point], *, ends: tuple[Sequence[Place], Sequence[Place]] = ((), ())
) -> None:
    """Join the points of each series, in their order, by a line from and to the ends; with intervals of the
    pooled ones, and a legend.
    """
    before, after = ends
    for own in (True, False):
        found = [one for one in points if one.own is own and one.place is not None]
        places = [one.place for one in found if one.place is not None]
        along = [*before, *places, *after] if places else []
        if len(along) > 1:
            plane.path(series(own), [plane.at(*place) for place in along])
        for one, (x, y) in zip(found, places, strict=True):
            if not own:
                _intervals(plane, one, x, y)
            plane.mark(plane.at(x, y), own=own)
    with_own = any(one.own for one in points)
    plane.key(("pooled", False), *([("your own data", True)] if with_own else []))


def draw_band(plane: Plane, points: Sequence[Point], *, own: bool, marks: bool = False) -> None:
    """Draw a line through the points of a series, and around a pooled one the band of their intervals.

    Where a point is missing, both are interrupted. Marks are drawn at all points, or at lone ones.
    """
    of_series = [one for one in points if one.own is own]
    for there, run in groupby(of_series, key=lambda one: one.place is not None):
        found = list(run) if there else []
        places = [one.place for one in found if one.place is not None]
        edges = [(x, one.y.interval or (y, y)) for one, (x, y) in zip(found, places, strict=True)]
        if not own and edges:
            upper, lower = ([plane.at(x, ends[side]) for x, ends in edges] for side in (1, 0))
            plane.area("band", [*upper, *reversed(lower)])
        if len(places) > 1:
            plane.path(series(own), [plane.at(*place) for place in places])
        for place in places if marks or len(places) == 1 else ():
            plane.mark(plane.at(*place), own=own)


def _intervals(plane: Plane, point: Point, x: float, y: float) -> None:
    """Draw thin lines with caps, across and up."""
    if point.x.interval is not None:
        (left, middle), (right, _) = (plane.at(end, y) for end in point.x.interval)
        plane.line("pooled thin", (left, middle), (right, middle))
        for end in (left, right):
            plane.line("pooled thin", (end, middle - _CAP), (end, middle + _CAP))
    if point.y.interval is not None:
        (middle, low), (_, high) = (plane.at(x, end) for end in point.y.interval)
        plane.line("pooled thin", (middle, low), (middle, high))
        for end in (low, high):
            plane.line("pooled thin", (middle - _CAP, end), (middle + _CAP, end))
