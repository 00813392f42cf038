"""Values with their intervals, below each other on one axis, perhaps beside a line to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from ppaurora.pages.charts.axes import Scale, around, tick_labels, ticks
from ppaurora.pages.charts.drawing import LETTER, Chart, Drawing, series
from ppaurora.statistics.intervals import UNIT, Interval

_WIDTH, _EDGE = 374, 16
_TOP, _ROW, _FOOT = 8, 48, 30
_AXIS_TITLE = 18  # more below, for every line of the axis's title
_BESIDE = (20, 46)  # from where to where a row has its interval, below its text
_HEADING = 26  # above the rows of a group
_UNDER_HEADING = 8
_NOTHING = 26  # the height of a row that has no value
_LINE = 18  # more, where label and text do not fit beside each other
_CAP = 5


@dataclass(frozen=True)
class ForestRow:
    """A value that is drawn, with its interval if it has one; `text` is both, as people read them.

    Without a value, the text says why. Rows that follow each other with the same `group` have one heading.
    """

    label: str
    value: float | None
    interval: Interval | None
    text: str
    own: bool = False
    group: str = ""

    @property
    def numbers(self) -> tuple[float, ...]:
        return () if self.value is None else (self.value, *(self.interval or ()))

    @property
    def name(self) -> str:
        """The label with its group."""
        return ": ".join(filter(None, (self.group, self.label)))

    @property
    def fits(self) -> bool:
        """Whether label and text are beside each other."""
        return LETTER * (len(self.label) + len(self.text) + 2) < _WIDTH - 2 * _EDGE

    @property
    def height(self) -> float:
        return (_NOTHING if self.value is None else _ROW) + (0 if self.fits else _LINE)


def forest(
    rows: Sequence[ForestRow],
    *,
    title: str,
    caption: str,
    axis: str = "",
    reference: float | None = None,
    within: Interval = UNIT,
    least_width: float = 0.2,
) -> Chart:
    """Draw rows of values, of which there must be one at least.

    `axis` is the title of the axis. `reference` is where a dashed line stands, beside every interval. Values
    lie `within` these ends; the axis is at least so wide that a narrow interval looks narrow.
    """
    numbers = [number for row in rows for number in row.numbers]
    numbers += [] if reference is None else [reference]
    tops, headings = _places(rows)
    floor = tops[-1]
    axis_title = wrap(axis, int((_WIDTH - 2 * _EDGE) / LETTER))
    height = floor + _FOOT + _AXIS_TITLE * len(axis_title)
    drawing = Drawing(_WIDTH, height, title, "; ".join(f"{row.name}: {row.text}" for row in rows))
    scale = Scale(*_ends(numbers, within, least_width), _EDGE, _WIDTH - _EDGE)
    marks = ticks(scale.low, scale.high)
    for number, label in zip(marks, tick_labels(marks), strict=True):
        drawing.line("grid", (scale(number), _TOP), (scale(number), floor))
        drawing.text((scale(number), floor + 20), label, "soft", anchor="middle")
    drawing.line("axis", (scale.start, floor), (scale.end, floor))
    for number, line in enumerate(axis_title, 1):
        below = floor + _FOOT - 8 + _AXIS_TITLE * number
        drawing.text(((scale.start + scale.end) / 2, below), line, anchor="middle")
    for top, group in headings:
        drawing.text((scale.start, top + 16), group, "soft strong backed")
    for row, top in zip(rows, tops, strict=False):
        if reference is not None and row.value is not None:
            below = top + (0 if row.fits else _LINE)
            start, end = ((scale(reference), below + place) for place in _BESIDE)
            drawing.line("guide", start, end)
        _draw(drawing, scale, row, top)
    columns = ("number", "value and interval")
    texts = tuple((row.name, row.text) for row in rows)
    return Chart(title, caption, drawing.svg(), columns, texts, reach=scale.high - scale.low)


def _places(rows: Sequence[ForestRow]) -> tuple[list[float], list[tuple[float, str]]]:
    """Return where every row begins and the last one ends, and where headings stand."""
    tops: list[float] = []
    headings: list[tuple[float, str]] = []
    here, group = float(_TOP), ""
    for row in rows:
        if row.group and row.group != group:
            headings.append((here, row.group))
            here += _HEADING
        group = row.group
        tops.append(here)
        here += row.height
    return [*tops, here], headings


def _ends(numbers: list[float], within: Interval, least_width: float) -> Interval:
    """Return the ends of the axis: wide enough that a narrow interval looks narrow."""
    more = max(0.0, least_width - (max(numbers) - min(numbers))) / 2
    low, high = min(numbers) - more, max(numbers) + more
    return around([max(low, within[0]), min(high, within[1])], within=within)


def _draw(drawing: Drawing, scale: Scale, row: ForestRow, top: float) -> None:
    """A line of text or two, and under it the interval."""
    start = scale.start + (_UNDER_HEADING if row.group else 0)
    drawing.text((start, top + 16), row.label, "backed")
    top += 0 if row.fits else _LINE
    drawing.text(
        (scale.end, top + 16), row.text, "soft backed" if row.value is None else "strong backed", anchor="end"
    )
    if row.value is None:
        return
    y = top + 32
    if row.interval is not None:
        low, high = map(scale, row.interval)
        drawing.line(series(row.own), (low, y), (high, y))
        for end in (low, high):
            drawing.line(f"{series(row.own)} solid", (end, y - _CAP), (end, y + _CAP))
    drawing.mark((scale(row.value), y), own=row.own)
