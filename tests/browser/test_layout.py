"""Where things are: the decision before the charts, a wide screen used, a narrow one not exceeded."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browsing import DESKTOP, PHONE, Visitor
from tests.support.owner_at_work import EVALUATION, OwnerAtWork, write_table
from tests.support.trials import Trials
from tools.browser.running import RunningApp

NUMBERS = itertools.count(1)
PLAIN_LINKS = """() => [...document.querySelectorAll("a")]
    .filter(one => !one.matches(".button, .skip-link, [aria-current]"))
    .filter(one => !getComputedStyle(one).textDecorationLine.includes("underline"))
    .map(one => one.outerHTML)"""
OUTLINED = """() => {
    const links = [...document.querySelectorAll("main a, nav a")];
    const shown = links.filter(one => (one.focus(), getComputedStyle(one).outlineStyle === "solid"));
    return [links.length, shown.length];
}"""


def box(place: Locator) -> dict[str, float]:
    found = place.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"], "right": found["x"] + found["width"]}


def resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def inner(page: Page) -> dict[str, float]:
    """Where the content of a page may be."""
    found: dict[str, float] = page.locator("main").evaluate(
        """main => {
            const style = getComputedStyle(main), at = main.getBoundingClientRect();
            const [left, right] = [parseFloat(style.paddingLeft), parseFloat(style.paddingRight)];
            return {x: at.x + left, right: at.right - right};
        }"""
    )
    return found


@pytest.fixture
def at_data(nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path) -> Page:
    """The page of a file that was checked."""
    study = f"layout-{next(NUMBERS)}"
    nodes.study(study, more=EVALUATION)
    owner = OwnerAtWork(north, visitor, study)
    owner.enter()
    owner.go_to_data()
    owner.choose(write_table(tmp_path / "layout.csv", 400))
    expect(owner.page.get_by_role("heading", name="What you agree to")).to_be_visible()
    return owner.page


def test_the_decision_comes_before_the_charts(at_data: Page) -> None:
    for size in (DESKTOP, PHONE):
        resize(at_data, size)
        button = box(at_data.get_by_role("button", name="Submit 60 samples"))
        charts = box(at_data.locator(".figures"))
        facts = box(at_data.get_by_role("heading", name="What the file contains"))
        assert facts["y"] < button["y"] < charts["y"]


def test_three_charts_fill_a_row(at_data: Page) -> None:
    resize(at_data, DESKTOP)
    figures = [box(one) for one in at_data.locator(".figures > .figure").all()]
    assert len(figures) == 3
    assert len({figure["y"] for figure in figures}) == 1
    place = inner(at_data)
    assert figures[0]["x"] == pytest.approx(place["x"], abs=1)
    assert figures[-1]["right"] == pytest.approx(place["right"], abs=1)


@pytest.mark.parametrize(
    ("count", "rows"), [(1, [1]), (2, [2]), (3, [3]), (4, [2, 2]), (5, [3, 2]), (7, [3, 2, 2])]
)
def test_no_row_of_charts_has_a_hole(at_data: Page, count: int, rows: list[int]) -> None:
    resize(at_data, DESKTOP)
    at_data.locator(".figures").evaluate(
        """(all, count) => {
            const one = all.firstElementChild;
            all.replaceChildren(...Array.from({length: count}, () => one.cloneNode(true)));
        }""",
        count,
    )
    figures = [box(one) for one in at_data.locator(".figures > .figure").all()]
    tops = sorted({figure["y"] for figure in figures})
    assert [sum(figure["y"] == top for figure in figures) for top in tops] == rows
    if count > 1:
        ends = [max(figure["right"] for figure in figures if figure["y"] == top) for top in tops]
        assert ends == pytest.approx([inner(at_data)["right"]] * len(tops), abs=1)


def test_pages_use_a_wide_screen_and_fit_a_narrow_one(at_data: Page, north: RunningApp) -> None:
    study = at_data.url.removesuffix("/data")
    for address in (f"{north.origin}/", study, f"{study}/data", f"{study}/withdraw"):
        at_data.goto(address)
        resize(at_data, DESKTOP)
        place = inner(at_data)
        assert place["right"] - place["x"] > 1100, address
        assert at_data.evaluate(PLAIN_LINKS) == [], address
        resize(at_data, PHONE)
        assert at_data.evaluate("document.documentElement.scrollWidth") == PHONE[0], address


def test_a_link_that_has_the_focus_shows_it(at_data: Page, north: RunningApp) -> None:
    at_data.goto(f"{north.origin}/")
    at_data.keyboard.press("Tab")
    links, shown = at_data.evaluate(OUTLINED)  # at once: the list is rendered anew while it is looked at
    assert links > 2
    assert shown == links
