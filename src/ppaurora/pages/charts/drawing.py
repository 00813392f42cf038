"""A drawing in SVG. Its classes say what shapes are; style.css says how they look, also in the dark."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from ppaurora.pages.charts.standalone import standalone

Place = tuple[float, float]

LETTER = 6.8  # the width of a letter, roughly


@dataclass(frozen=True)
class Chart:
    """A picture, what is under it, and its numbers as a table: for whoever cannot see it, or wants them.

    `reach` is how far its axis of values goes, in their unit: steps of more than a tenth of it would show.
    """

    title: str
    caption: str
    svg: Markup
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    reach: float = 1.0

    @property
    def file_name(self) -> str:
        """Return its title as the name of a file, without an ending."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def about(self, name: str) -> Chart:
        """Return the same chart with the name of what it shows in its title and its caption."""
        title = f"{self.title}: {name}"
        old, new = (Markup("<title>{}</title>").format(one) for one in (self.title, title))
        svg = Markup(self.svg.replace(old, new, 1))  # noqa: S704 - both are escaped
        return replace(self, title=title, caption=f"{name}: {self.caption}", svg=svg)

    @property
    def standalone(self) -> str:
        """Return the picture for other programs: an SVG that needs no style sheet."""
        return standalone(self.svg)

    @property
    def data_link(self) -> str:
        """Return that as an address inside of a page, so that a browser can save it without a script."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.standalone.encode()).decode()


@dataclass(frozen=True)
class Shown:
    """A number, and how people read it; None if there is none to draw, and the text says why."""

    value: float | None
    text: str
    interval: tuple[float, float] | None = None


class Drawing:
    """Shapes, in the order in which they are drawn; a kind is a class `chart__kind` of the style sheet."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width, self.height = width, height
        self._title, self._description = title, description
        self._shapes: list[Markup] = []

    def line(self, kind: str, start: Place, end: Place) -> None:
        self._add('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', _classes(kind), *start, *end)

    def path(self, kind: str, places: Iterable[Place]) -> None:
        self._add('<polyline class="{}" points="{}"/>', _classes(kind), _places(places))

    def area(self, kind: str, places: Iterable[Place]) -> None:
        self._add('<polygon class="{}" points="{}"/>', _classes(kind), _places(places))

    def rectangle(self, kind: str, corner: Place, width: float, height: float) -> None:
        self._add(
            '<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>', _classes(kind), *corner, width, height
        )

    def text(
        self, place: Place, text: str, kind: str = "", *, anchor: str = "start", turn: bool = False
    ) -> None:
        turned = Markup(' transform="rotate(-90 {} {})"').format(*map(_number, place)) if turn else ""
        self._add(
            '<text class="{}" x="{}" y="{}" text-anchor="{}"{}>{}</text>',
            _classes(kind),
            *place,
            anchor,
            turned,
            text,
        )

    def mark(self, place: Place, *, own: bool) -> None:
        """A filled diamond, or an open circle for the owner's own."""
        x, y = place
        if own:
            self._add('<circle class="chart__own-mark" cx="{}" cy="{}" r="5"/>', x, y)
        else:
            self.area("pooled-mark", [(x, y - 6.5), (x + 6.5, y), (x, y + 6.5), (x - 6.5, y)])

    def legend(self, place: Place, entries: Sequence[tuple[str, bool]], *, marks: bool = True) -> None:
        """Texts with the lines that they explain, and their marks, beside each other."""
        x, y = place
        for text, own in entries:
            self.line(series(own), (x, y), (x + 22, y))
            if marks:
                self.mark((x + 11, y), own=own)
            self.text((x + 28, y + 4), text)
            x += 44 + LETTER * len(text)

    def svg(self) -> Markup:
        return Markup(
            '<svg class="chart" role="img" viewBox="0 0 {} {}" xmlns="http://www.w3.org/2000/svg">'
            "<title>{}</title><desc>{}</desc>{}</svg>"
        ).format(
            _number(self.width),
            _number(self.height),
            self._title,
            self._description,
            Markup("").join(self._shapes),
        )

    def _add(self, shape: str, *values: object) -> None:
        self._shapes.append(
            Markup(shape).format(  # noqa: S704 - shapes are this module's own texts
                *(_number(one) if isinstance(one, int | float) else one for one in values)
            )
        )


def series(own: bool) -> str:
    """Return the kind of a line; the owner's own is dashed."""
    return "own" if own else "pooled"


def _classes(kind: str) -> str:
    return " ".join(f"chart__{one}" for one in kind.split())


def _places(places: Iterable[Place]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in places)


def _number(number: float) -> str:
    """Round to a tenth of a unit, which is less than anybody sees."""
    return f"{round(float(number), 1):g}"
