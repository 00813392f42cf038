"""The example consortium, from the first page to the result beside the plain value."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsing import Visitor
from tools.browser.running import RunningApp


@pytest.fixture
def story(browser: Browser) -> Iterator[RunningApp]:
    """The app without a kit."""
    with RunningApp() as app:
        yield app
        assert app.stop() == 0, app.said


def compared(page: Page) -> tuple[list[str], list[str]]:
    """The numbers on shares, and those of the files put together."""
    cards = page.locator(".card", has=page.get_by_role("heading", level=4))
    expect(cards).to_have_count(2)
    page.wait_for_load_state()
    on_shares, plain = (re.findall(r"\d\.\d+", text) for text in cards.all_inner_texts())
    return on_shares, plain


def test_a_newcomer_sees_the_whole_story(story: RunningApp, visitor: Visitor) -> None:
    page = visitor.enter(story.link())
    expect(page.get_by_role("heading", level=1)).to_have_text("Three hospitals, one number")
    visitor.look("story, beginning")
    page.get_by_role("button", name="Split one patient").click()
    expect(page.get_by_role("table", name=re.compile("The same record, split 2 times"))).to_be_visible()
    page.get_by_role("button", name="Split it again").click()
    expect(page.get_by_role("table", name=re.compile("The same record, split 3 times"))).to_be_visible()
    visitor.look("story, a record split")

    page.get_by_role("button", name="Send the shares").click()
    expect(page.get_by_role("heading", name="Is it correct?")).to_be_visible()
    visitor.look("story, result")
    found = on_shares, plain = compared(page)
    assert len(on_shares) == len(plain) == 4
    for released, exact in zip(on_shares, plain, strict=True):  # intervals are of rounded numbers
        assert abs(float(released) - float(exact)) < 0.002
    assert (on_shares[0], on_shares[3]) == (f"{float(plain[0]):.3f}", f"{float(plain[3]):.3f}")

    page.reload()
    assert compared(page) == found


def test_the_whole_story_is_one_button(story: RunningApp, visitor: Visitor) -> None:
    """Pressed in two tabs; the servers compute once."""
    page = visitor.enter(story.link())
    other = visitor.context.new_page()
    other.goto(f"{story.origin}/")
    for tab in (page, other):
        tab.get_by_role("button", name="Run the whole story").click()
    for tab in (page, other):
        expect(tab.get_by_role("heading", name="Is it correct?")).to_be_visible()
    assert compared(page) == compared(other)
