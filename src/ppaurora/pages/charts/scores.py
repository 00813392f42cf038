"""Scores by class: a histogram of positives above the axis, one of negatives below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ppaurora.pages.charts.axes import Scale, tick_labels, ticks
from ppaurora.pages.charts.drawing import Chart, Drawing

_WIDTH, _EDGE, _HALF = 374, 16, 92
_TOP, _MIDDLE, _FOOT = 26, 24, 26


@dataclass(frozen=True)
class ClassCounts:
    """How many samples of a class have a score in each bin; None where that is withheld."""

    counts: Sequence[int | None]

    @property
    def total(self) -> int:
        return sum(count or 0 for count in self.counts)

    @property
    def fractions(self) -> list[float]:
        """Which fraction of the class is in each bin."""
        return [(count or 0) / max(self.total, 1) for count in self.counts]

    @property
    def texts(self) -> list[str]:
        return ["withheld" if count is None else f"{count:,}" for count in self.counts]


def scores_by_class(
    edges: Sequence[float],
    positives: Sequence[int | None],
    negatives: Sequence[int | None],
    *,
    title: str = "Scores by class in your own data",
    own: bool = True,
) -> Chart:
    """Draw histograms of both classes' scores; heights are fractions of a class, to show a rare one.

    The chart reaches as far as its highest bar would, in samples of the smaller class.
    """
    above, below = classes = ClassCounts(positives), ClassCounts(negatives)
    many = [f"{one.total:,} " if own else "" for one in classes]
    caption = (
        f"How the scores of {many[0]}positives (above) and {many[1]}negatives (below) are distributed: the "
        "height of a bar is the fraction of its class."
    )
    if None in (*positives, *negatives):
        caption += " Bins without a bar are withheld or empty; the table shows which."
    height = _TOP + 2 * _HALF + _MIDDLE + _FOOT
    drawing = Drawing(_WIDTH, height, title, caption)
    across = Scale(edges[0], edges[-1], _EDGE, _WIDTH - _EDGE)
    upper, lower = _TOP + _HALF, _TOP + _HALF + _MIDDLE
    fractions = above.fractions, below.fractions
    tallest = max(*fractions[0], *fractions[1]) or 1.0
    for number, (low, high) in enumerate(pairwise(edges)):
        x, width = across(low) + 0.75, max(across(high) - across(low) - 1.5, 0.5)
        up, down = (fraction[number] / tallest * _HALF for fraction in fractions)
        drawing.rectangle("bar-positive", (x, upper - up), width, up)
        drawing.rectangle("bar-negative", (x, lower), width, down)
    for y in (upper, lower):
        drawing.line("axis", (across.start, y), (across.end, y))
    marks = ticks(edges[0], edges[-1])
    for tick, label in zip(marks, tick_labels(marks), strict=True):
        drawing.text((across(tick), upper + _MIDDLE / 2 + 5), label, "soft", anchor="middle")
    drawing.text((across.start, _TOP - 10), "positives", "strong")
    drawing.text((across.start, height - 6), "negatives", "strong")
    drawing.text((across.end, height - 6), "score along the middle", "soft", anchor="end")
    rows = tuple(
        (f"{low:g} to {high:g}", *texts)
        for (low, high), *texts in zip(pairwise(edges), above.texts, below.texts, strict=True)
    )
    columns = ("score", "positives", "negatives")
    reach = tallest * min(above.total, below.total)
    return Chart(title, caption, drawing.svg(), columns, rows, reach=reach)
