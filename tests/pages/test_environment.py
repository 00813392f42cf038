"""The environment of all pages: nothing unescaped, nothing missing; and a style that can be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jinja2
import pytest

from ppaurora.errors import InputError
from ppaurora.pages.environment import environment, style_hash, style_sheet

TEXT_ON = {
    "ink": ("page", "surface", "raised", "accent-soft", "warn-soft", "bad-soft", "good-soft"),
    "ink-soft": ("page", "surface", "raised"),
    "accent": ("page", "surface", "raised", "accent-soft"),
    "on-accent": ("accent", "accent-strong"),
    "good": ("good-soft", "page"),
    "warn": ("warn-soft", "page"),
    "bad": ("bad-soft", "page", "raised"),
}
SHAPES_ON_PAGE = ("chart-pooled", "chart-own", "chart-axis", "line-strong", "focus")


def test_values_are_escaped_and_none_is_missing() -> None:
    assert environment().from_string("{{ it }}").render(it="<b>&\"'") == "&lt;b&gt;&amp;&#34;&#39;"
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ nothing }}").render()


def test_another_folder_comes_first(tmp_path: Path) -> None:
    (tmp_path / "base.html").write_text("mine")
    assert environment(tmp_path).get_template("base.html").render() == "mine"
    assert environment(tmp_path).get_template("report.html") is not None


def test_without_jinja2_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=r"pip install 'ppaurora\[report\]'"):
        environment.__wrapped__()


def test_the_style_loads_nothing_and_cannot_end_its_element() -> None:
    assert not re.search(r"url\(|@import|@font-face|https?:|</|expression", style_sheet())
    assert re.fullmatch(r"sha256-[A-Za-z0-9+/]{43}=", style_hash())


def palettes() -> dict[str, dict[str, str]]:
    """The tokens, in the light, in the dark and on paper."""
    light, dark, paper = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", style_sheet(), flags=re.DOTALL)
    )
    return {"light": light, "dark": light | dark, "print": light | paper}


def contrast(one: str, other: str) -> float:
    """As WCAG 2.2 defines it."""

    def luminance(colour: str) -> float:
        linear = []
        for start in (1, 3, 5):
            part = int(colour[start : start + 2], 16) / 255
            linear.append(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_as_wcag_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", ["light", "dark", "print"])
def test_colours_have_the_contrast_that_text_needs(palette: str) -> None:
    """4.5 to 1 for text, 3 to 1 for shapes and borders that mean something."""
    found = palettes()[palette]
    weak = {
        f"{text} on {ground}": contrast(found[text], found[ground])
        for text, grounds in TEXT_ON.items()
        for ground in grounds
        if contrast(found[text], found[ground]) < 4.5
    }
    weak |= {
        shape: contrast(found[shape], found["page"])
        for shape in SHAPES_ON_PAGE
        if contrast(found[shape], found["page"]) < 3
    }
    assert weak == {}
