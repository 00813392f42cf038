"""A chart as a file of its own: with the style sheet's colours inside, as it looks on paper."""

from __future__ import annotations

import functools
import re
from xml.etree import ElementTree

from ppaurora.pages.environment import style_sheet

SVG = "http://www.w3.org/2000/svg"
_LIGHT = re.compile(r"@media print \{\s*:root \{(.*?)\}", flags=re.DOTALL)
_FONTS = re.compile(r"--sans: (.*?);")
_RULE = re.compile(r"^\.chart (text|\.chart__[\w-]+) \{(.*?)\}", flags=re.MULTILINE)
_DECLARATION = re.compile(r"([\w-]+): ([^;]+);")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
# Those of the style sheet that are attributes of shapes, too.
_ATTRIBUTES = {
    *("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin"),
    *("font-size", "font-weight", "paint-order", "opacity"),
}

ElementTree.register_namespace("", SVG)


def standalone(svg: str) -> str:
    """Return a chart's SVG for other programs: of a size, on white, with attributes instead of classes.

    Word processors and editors of vector graphics know attributes; of style sheets they know various parts.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314 (our own)
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib |= {"width": width, "height": height, "font-family": _font_families()}
    for shape in root.iter():
        shape.attrib |= _look(shape)
        shape.attrib.pop("class", None)
    paper = ElementTree.Element(f"{{{SVG}}}rect", width=width, height=height, fill=_colours()["--page"])
    root.insert(2, paper)  # behind title and description, under all shapes
    return ElementTree.tostring(root, encoding="unicode")


def _look(shape: ElementTree.Element) -> dict[str, str]:
    """Return what the style sheet says of a shape: of its classes in the order of the style sheet."""
    kinds = {f".{name}" for name in shape.get("class", "").split()}
    if shape.tag == f"{{{SVG}}}text":
        kinds.add("text")
    return {name: value for kind, own in _rules() if kind in kinds for name, value in own.items()}


@functools.cache
def _rules() -> list[tuple[str, dict[str, str]]]:
    return [
        (kind, {name: _plain(value) for name, value in _DECLARATION.findall(own) if name in _ATTRIBUTES})
        for kind, own in _RULE.findall(style_sheet())
    ]


def _plain(value: str) -> str:
    """Return a value without variables, and without the unit that numbers in SVG have anyway."""
    return _VARIABLE.sub(lambda found: _colours()[found[1]], value).removesuffix("px")


@functools.cache
def _colours() -> dict[str, str]:
    found = _LIGHT.search(style_sheet())
    return dict(_DECLARATION.findall(found[1] if found else ""))


def _font_families() -> str:
    return ", ".join(_FONTS.findall(style_sheet())).replace('"', "'")
