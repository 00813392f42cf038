"""That what looks at pages sees what is wrong with them; and motion only for those who like it."""

from __future__ import annotations

import pytest

from tests.browser.conftest import NewVisitor
from tests.support.browsing import Visitor
from tools.browser.running import RunningApp

GOOD = """<!doctype html><html lang="en"><head><title>A page</title><style>{style}</style></head>
<body><main><h1>A page</h1>{content}</main></body></html>"""
LABELLED = '<label for="one">A name</label> <input id="one">'
DARK = "@media (prefers-color-scheme: dark) { body { background: #222; color: #444 } h1 { color: #fff } }"
WIDE_ONLY = "@media (max-width: 500px) { p { color: #eee } }"
MOVING = """() => [...document.querySelectorAll("*")].filter(one => {
    const style = getComputedStyle(one);
    return style.scrollBehavior === "smooth" || style.animationName !== "none"
        || style.transitionDuration.split(",").some(time => parseFloat(time) > 0);
}).length"""


@pytest.mark.parametrize(
    ("style", "content", "found"),
    [
        ("", LABELLED, []),
        ("", '<input id="one">', ["label"]),
        ("", "<h3>Too deep</h3>", ["heading-order"]),
        (DARK, "<p>Hardly seen at night</p>", ["color-contrast"]),
        (WIDE_ONLY, "<p>Hardly seen on a phone</p>", ["color-contrast"]),
        ("", '<p style="width: 600px">Wide</p>', ["scrolls sideways"]),
    ],
)
def test_what_is_wrong_is_found(visitor: Visitor, style: str, content: str, found: list[str]) -> None:
    """The positive control of every look at a page."""
    visitor.page.set_content(GOOD.format(style=style, content=content))
    visitor.look("a page")
    complaints = visitor.take_complaints()
    assert bool(complaints) == bool(found)
    assert all(any(rule in complaint for rule in found) for complaint in complaints)


def test_a_request_to_another_machine_is_complained_of(visitor: Visitor) -> None:
    """The positive control of every page that loads nothing."""
    visitor.foresee("elsewhere.test", "net::ERR_NAME_NOT_RESOLVED")
    visitor.page.set_content(GOOD.format(style="", content='<img alt="" src="https://elsewhere.test/x.png">'))
    visitor.wait_for_foreseen("a request to another machine: https://elsewhere.test/")


def test_nothing_moves_for_those_who_ask_for_that(north: RunningApp, new_visitor: NewVisitor) -> None:
    calm, other = new_visitor(), new_visitor(reduced_motion="no-preference")
    assert calm.enter(north.link()).evaluate(MOVING) == 0
    assert other.enter(north.link()).evaluate(MOVING) > 0
