"""An SVG of simple shapes as PNG, painted by Matplotlib: as the charts of a report are made of."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon, Rectangle
from matplotlib.patheffects import withStroke

_SVG = "{http://www.w3.org/2000/svg}"
_DOTS_PER_INCH = 300  # of the picture, as journals want it
_UNITS_PER_INCH = 96  # of an SVG
_POINTS = 72 / _UNITS_PER_INCH  # of a unit
_FONT, _FONT_SIZE = "DejaVu Sans", 0.92  # Matplotlib has it everywhere; it is wider than those of browsers
_BOLD = 600
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}

Attributes = Mapping[str, str]


def png(svg: str) -> bytes:
    """Paint an SVG of our own, whose shapes have attributes and no classes, with 300 dots per inch."""
    root = ElementTree.fromstring(svg)  # noqa: S314 (our own)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    figure = Figure((width / _UNITS_PER_INCH, height / _UNITS_PER_INCH))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    for order, shape in enumerate(root):
        if shape.tag not in _UNSEEN:
            _PAINTERS[shape.tag](axes, shape, order)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=_DOTS_PER_INCH)
    return content.getvalue()


def _line(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    own = shape.attrib
    _stroke(axes, [(_at(own, "x1"), _at(own, "y1")), (_at(own, "x2"), _at(own, "y2"))], own, order)


def _polyline(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    _stroke(axes, _places(shape.attrib["points"]), shape.attrib, order)


def _stroke(axes: Axes, places: list[tuple[float, float]], own: Attributes, order: int) -> None:
    width = _at(own, "stroke-width", 1.0)
    dashes = own.get("stroke-dasharray", "none")
    style: Any = "solid"
    if dashes != "none":  # Matplotlib counts them in widths of the line
        style = (0, tuple(float(one) / width for one in dashes.split()))
    cap = own.get("stroke-linecap", "butt")
    axes.plot(
        [x for x, _ in places],
        [y for _, y in places],
        color=own["stroke"],
        linewidth=width * _POINTS,
        linestyle=style,
        dash_capstyle=cap,
        solid_capstyle=cap,
        solid_joinstyle=own.get("stroke-linejoin", "miter"),
        alpha=_at(own, "opacity", 1.0),
        clip_on=False,
        zorder=order,
    )


def _polygon(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    axes.add_patch(Polygon(_places(shape.attrib["points"]), **_filled(shape.attrib), zorder=order))


def _rectangle(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    own = shape.attrib
    corner = (_at(own, "x"), _at(own, "y"))
    axes.add_patch(Rectangle(corner, _at(own, "width"), _at(own, "height"), **_filled(own), zorder=order))


def _circle(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    own = shape.attrib
    axes.add_patch(Circle((_at(own, "cx"), _at(own, "cy")), _at(own, "r"), **_filled(own), zorder=order))


def _filled(own: Attributes) -> dict[str, Any]:
    return {
        "facecolor": own.get("fill", "black"),
        "edgecolor": own.get("stroke", "none"),
        "linewidth": _at(own, "stroke-width", 1.0) * _POINTS,
        "alpha": _at(own, "opacity", 1.0),
        "clip_on": False,
    }


def _text(axes: Axes, shape: ElementTree.Element, order: int) -> None:
    own = shape.attrib
    text = axes.text(
        _at(own, "x"),
        _at(own, "y"),
        shape.text or "",
        color=own["fill"],
        family=_FONT,
        size=_at(own, "font-size") * _POINTS * _FONT_SIZE,
        weight="bold" if _at(own, "font-weight", 400) >= _BOLD else "normal",
        horizontalalignment=_ANCHORS[own.get("text-anchor", "start")],
        verticalalignment="baseline",
        rotation=90 if "transform" in own else 0,
        rotation_mode="anchor",
        parse_math=False,
        zorder=order,
    )
    if own.get("paint-order") == "stroke":
        width = _at(own, "stroke-width") * _POINTS
        text.set_path_effects([withStroke(linewidth=width, foreground=own["stroke"])])


_PAINTERS: dict[str, Callable[[Axes, ElementTree.Element, int], None]] = {
    f"{_SVG}line": _line,
    f"{_SVG}polyline": _polyline,
    f"{_SVG}polygon": _polygon,
    f"{_SVG}rect": _rectangle,
    f"{_SVG}circle": _circle,
    f"{_SVG}text": _text,
}
_UNSEEN = (f"{_SVG}title", f"{_SVG}desc")


def _at(own: Attributes, name: str, default: float = 0.0) -> float:
    return float(own.get(name, default))


def _places(points: str) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in points.split())
    return [(float(x), float(y)) for x, y in pairs]
