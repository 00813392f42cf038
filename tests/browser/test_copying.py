"""Buttons that copy: named by what they copy, at a click only; and what is there without them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import NewVisitor
from tests.support.browsing import Visitor
from tests.support.trials import Trials
from tools.browser.running import RunningApp

COUNTED = """
window.copied = [];
const write = navigator.clipboard.writeText.bind(navigator.clipboard);
navigator.clipboard.writeText = (text) => { window.copied.push(text); return write(text); };
"""
REFUSED = "navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'));"

Study = Callable[[Visitor], Page]


@pytest.fixture
def at_study(nodes: Trials, north: RunningApp) -> Study:
    """The page of a study, whose hash can be copied."""

    def enter(visitor: Visitor) -> Page:
        page = visitor.enter(north.link())
        page.goto(f"{north.origin}/studies/trial")
        return page

    return enter


def test_a_click_copies_the_hash_and_says_so(nodes: Trials, visitor: Visitor, at_study: Study) -> None:
    visitor.context.grant_permissions(["clipboard-write"])
    visitor.page.add_init_script(COUNTED)
    page = at_study(visitor)
    button = page.get_by_role("button", name="Copy the hash")
    expect(button).to_be_visible()
    assert page.evaluate("copied") == []  # nothing without a click
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    assert page.evaluate("copied") == [nodes.manifest.hash]
    page.evaluate("document.querySelector('main').append(document.createElement('textarea'))")
    page.locator("textarea").focus()
    page.keyboard.press("Control+V")
    expect(page.locator("textarea")).to_have_value(nodes.manifest.hash)


def test_a_browser_that_does_not_copy_selects(nodes: Trials, visitor: Visitor, at_study: Study) -> None:
    visitor.page.add_init_script(REFUSED)
    page = at_study(visitor)
    page.get_by_role("button", name="Copy the hash").click()
    expect(page.get_by_text("Selected: copy it with")).to_be_visible()
    assert page.evaluate("getSelection().toString().trim()") == nodes.manifest.hash


def without_policy(route: Route) -> None:
    answer = route.fetch()
    headers = {name: value for name, value in answer.headers.items() if name != "permissions-policy"}
    route.fulfill(response=answer, headers=headers)


@pytest.mark.parametrize("allowed", [False, True])
def test_pages_cannot_read_the_clipboard(
    nodes: Trials, visitor: Visitor, at_study: Study, allowed: bool
) -> None:
    """Even if a person allowed it; allowed by the header as well, it can: the positive control."""
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if allowed:
        visitor.page.route("**/studies/trial", without_policy)
    page = at_study(visitor)
    visitor.foresee("Permissions policy violation", "clipboard-read")
    read = "navigator.clipboard.readText().then(() => 'read', (error) => error.name)"
    assert page.evaluate(read) == ("read" if allowed else "NotAllowedError")


def test_without_a_script_one_click_selects_all_of_it(
    nodes: Trials, new_visitor: NewVisitor, at_study: Study
) -> None:
    page = at_study(new_visitor(java_script_enabled=False))
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    style = "one => getComputedStyle(one).userSelect"
    assert page.locator("code.copyable").first.evaluate(style) == "all"
