"""Scores by class: a histogram of positives above the axis, one of negatives below it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ppaurora.pages.charts.axes import Scale, tick_labels, ticks
from ppaurora.pages.charts.drawing import Chart, Drawing

_WIDTH, _EDGE, _HALF = 374, 16, 92
_TOP, _MIDDLE, _FOOT = 26, 24, 26


def scores_by_class(
    edges: Sequence[float],
    positives: Sequence[int],
    negatives: Sequence[int],
    *,
    title: str = "Scores by class in your own data",
) -> Chart:
    """Draw histograms of both classes' scores; heights are fractions of a class, to show a rare one."""
    caption = (
        f"How the scores of {sum(positives):,} positives (above) and {sum(negatives):,} negatives (below) "
        "are distributed: the height of a bar is the fraction of its class."
    )
    height = _TOP + 2 * _HALF + _MIDDLE + _FOOT
    drawing = Drawing(_WIDTH, height, title, caption)
    across = Scale(edges[0], edges[-1], _EDGE, _WIDTH - _EDGE)
    upper, lower = _TOP + _HALF, _TOP + _HALF + _MIDDLE
    fractions = [[count / max(sum(counts), 1) for count in counts] for counts in (positives, negatives)]
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
        (f"{low:g} to {high:g}", f"{p:,}", f"{n:,}")
        for (low, high), p, n in zip(pairwise(edges), positives, negatives, strict=True)
    )
    return Chart(title, caption, drawing.svg(), ("score", "positives", "negatives"), rows)
