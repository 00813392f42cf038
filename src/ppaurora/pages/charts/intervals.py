"""Values with their intervals, below each other on one axis: the pooled ones, and the owner's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.pages.charts.axes import Scale, around, tick_labels, ticks
from ppaurora.pages.charts.drawing import LETTER, Chart, Drawing, series

_WIDTH, _EDGE = 374, 16
_TOP, _ROW, _FOOT = 8, 48, 30
_LINE = 18  # more, where label and text do not fit beside each other
_CAP = 5
_LEAST_WIDTH = 0.2  # of the axis


@dataclass(frozen=True)
class IntervalRow:
    """A value that is drawn, with its interval if it has one; `text` is both, as people read them."""

    label: str
    value: float
    interval: tuple[float, float] | None
    text: str
    own: bool = False

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.value, *(self.interval or ()))


def intervals(rows: Sequence[IntervalRow], *, title: str, caption: str) -> Chart:
    """Draw intervals of numbers from 0 to 1; there must be one at least."""
    tops = [_TOP]
    for row in rows:
        tops.append(tops[-1] + _ROW + (0 if _fits(row) else _LINE))
    floor = tops[-1]
    height = floor + _FOOT
    drawing = Drawing(_WIDTH, height, title, "; ".join(f"{row.label}: {row.text}" for row in rows))
    scale = Scale(*_ends([number for row in rows for number in row.numbers]), _EDGE, _WIDTH - _EDGE)
    marks = ticks(scale.low, scale.high)
    for number, label in zip(marks, tick_labels(marks), strict=True):
        drawing.line("grid", (scale(number), _TOP), (scale(number), floor))
        drawing.text((scale(number), floor + 20), label, "soft", anchor="middle")
    drawing.line("axis", (scale.start, floor), (scale.end, floor))
    for row, top in zip(rows, tops, strict=False):
        _draw(drawing, scale, row, top)
    columns = ("number", "value and interval")
    texts = tuple((row.label, row.text) for row in rows)
    return Chart(title, caption, drawing.svg(), columns, texts, reach=scale.high - scale.low)


def _ends(numbers: list[float]) -> tuple[float, float]:
    """Return the ends of the axis: wide enough that a narrow interval looks narrow."""
    more = max(0.0, _LEAST_WIDTH - (max(numbers) - min(numbers))) / 2
    low, high = min(numbers) - more, max(numbers) + more
    return around([max(low, 0.0), min(high, 1.0)], within=(0.0, 1.0))


def _fits(row: IntervalRow) -> bool:
    return LETTER * (len(row.label) + len(row.text) + 2) < _WIDTH - 2 * _EDGE


def _draw(drawing: Drawing, scale: Scale, row: IntervalRow, top: float) -> None:
    """A line of text or two, and under it the interval."""
    drawing.text((scale.start, top + 16), row.label, "backed")
    top += 0 if _fits(row) else _LINE
    drawing.text((scale.end, top + 16), row.text, "strong backed", anchor="end")
    y = top + 32
    if row.interval is not None:
        low, high = map(scale, row.interval)
        drawing.line(series(row.own), (low, y), (high, y))
        for end in (low, high):
            drawing.line(f"{series(row.own)} solid", (end, y - _CAP), (end, y + _CAP))
    drawing.mark((scale(row.value), y), own=row.own)
