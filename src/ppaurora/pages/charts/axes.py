"""From numbers to places: scales, round ticks, and a plane with two axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ppaurora.pages.charts.drawing import Drawing, Place

_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 14, 12, 46
_LEGEND = 24
_LEAST_STEP = 1e-300
_SAME = 1e-9


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` lie from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, number: float) -> float:
        reach = self.high / 2 - self.low / 2  # the whole may be too large for a float
        part = (number / 2 - self.low / 2) / reach if reach else 0.5
        return self.start + part * (self.end - self.start)

    def holds(self, number: float) -> bool:
        return self.low <= number <= self.high


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`: at most so many."""
    if low == high:
        return [low]
    step = _step(low, high, most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [_rounded(number * step, step) for number in range(first, last + 1)]


def tick_labels(numbers: list[float]) -> list[str]:
    """Return labels with as many decimals as the finest of them needs."""
    if len(numbers) < 2:
        return [f"{number:g}" for number in numbers]
    step = min(b - a for a, b in pairwise(numbers))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    largest = max(map(abs, numbers))
    if decimals > 6 or largest >= 1e6:
        digits = max(6, math.floor(math.log10(largest / step)) + 2)  # enough to tell one from the next
        return [f"{number:.{digits}g}" for number in numbers]
    return [f"{number:z.{decimals}f}" for number in numbers]


def around(
    numbers: Iterable[float], *, within: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float]:
    """Round ends of an axis that shows all of these, with a little room; not beyond what can be."""
    found = list(numbers)
    low, high = min(found), max(found)
    # Or so near that floats have no ticks in between.
    is_one = high - low <= max(_SAME * max(abs(low), abs(high)), _LEAST_STEP)
    room = max(abs(low) * 0.1, 0.05) if is_one else (high - low) * 0.08
    low, high = max(low - room, within[0]), min(high + room, within[1])
    step = _step(low, high, 6)
    return (
        max(_rounded(math.floor(low / step + 1e-9) * step, step), within[0]),
        min(_rounded(math.ceil(high / step - 1e-9) * step, step), within[1]),
    )


def _step(low: float, high: float, most: int) -> float:
    least = max(high / (most - 1) - low / (most - 1), _LEAST_STEP)
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= least * (1 - 1e-9))


def _rounded(number: float, step: float) -> float:
    return round(number, min(max(0, 1 - math.floor(math.log10(step))), 300))


class Plane(Drawing):
    """A drawing with two axes, grid and titles: `at` gives the place of two numbers."""

    def __init__(
        self,
        title: str,
        description: str,
        *,
        x: tuple[float, float] = (0, 1),
        y: tuple[float, float] = (0, 1),
        size: tuple[float, float] = (310, 310),
        x_title: str = "",
        y_title: str = "",
        with_legend: bool = False,
    ) -> None:
        top = _TOP + (_LEGEND if with_legend else 0)
        width, height = size
        super().__init__(_LEFT + width + _RIGHT, top + height + _BOTTOM, title, description)
        self.x = Scale(*x, _LEFT, _LEFT + width)
        self.y = Scale(*y, top + height, top)
        self._axis_titles = (x_title, y_title)
        self._grid()

    def at(self, x: float, y: float) -> Place:
        return self.x(x), self.y(y)

    def key(self, *entries: tuple[str, bool], marks: bool = True) -> None:
        """The legend, above the plane."""
        self.legend((_LEFT, _TOP + 4), entries, marks=marks)

    def _grid(self) -> None:
        x_title, y_title = self._axis_titles
        across, up = ticks(self.x.low, self.x.high), ticks(self.y.low, self.y.high)
        for number, label in zip(up, tick_labels(up), strict=True):
            y = self.y(number)
            self.line("grid", (self.x.start, y), (self.x.end, y))
            self.text((self.x.start - 8, y + 4), label, "soft", anchor="end")
        for number, label in zip(across, tick_labels(across), strict=True):
            x = self.x(number)
            self.line("grid", (x, self.y.start), (x, self.y.end))
            self.text((x, self.y.start + 18), label, "soft", anchor="middle")
        self.path(
            "axis", [(self.x.start, self.y.end), (self.x.start, self.y.start), (self.x.end, self.y.start)]
        )
        self.text(((self.x.start + self.x.end) / 2, self.height - 6), x_title, anchor="middle")
        self.text((13, (self.y.start + self.y.end) / 2), y_title, anchor="middle", turn=True)
