"""Whatever happens in between: nothing is lost, nothing is doubled, and there is a sentence."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

from ppaurora.owner.study import Study
from tests.browser.conftest import NewVisitor
from tests.support.browsing import Visitor
from tests.support.owner_at_work import EVALUATION, OwnerAtWork, write_table
from tests.support.sending import send
from tests.support.trials import Trials
from tools.browser.chromium import PATIENCE
from tools.browser.running import RunningApp

# What a browser says of an app that is gone, or that goes while it is asked.
GONE = ("CONNECTION_REFUSED", "CONNECTION_RESET", "CONNECTION_CLOSED", "EMPTY_RESPONSE")


def submissions(nodes: Trials, study: str) -> int:
    """What the owner has said to the study: a second submission would be a second revision."""
    status = Study(nodes.kit("north"), study).status()
    return max(getattr(answer, "revision", 0) for answer in status.values())


def one_that_says(pattern: str, tabs: Sequence[Page]) -> Page:
    """The first of these pages where it is to be read."""
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        for tab in tabs:
            if tab.get_by_text(re.compile(pattern)).count():
                return tab
        tabs[0].wait_for_timeout(50)
    raise AssertionError(f"no page says {pattern}")


def press(page: Page, key: str, until: str, most: int = 60) -> None:
    """Tab through the page until this has the focus; whatever has it must be visible."""
    target = page.locator(until).first
    for _ in range(most):
        page.keyboard.press(key)
        if target.evaluate("one => one === document.activeElement"):
            outline = target.evaluate("one => getComputedStyle(one).outlineStyle")
            assert outline != "none", f"{until} has the focus, and nobody sees it"
            return
    raise AssertionError(f"{until} is not reached by {key}")


def test_the_keyboard_is_enough(nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path) -> None:
    """From the link to the submission and back; the file's dialog alone is the system's."""
    nodes.study("by-keyboard", more=EVALUATION)
    visitor.page.on("filechooser", lambda _: None)  # from now on: a dialog that opens at once is not missed
    page = visitor.enter(north.link())
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    press(page, "Tab", "a[href='/studies/by-keyboard']")
    page.keyboard.press("Enter")
    owner = OwnerAtWork(north, visitor, "by-keyboard")
    owner.expect_standing("Waiting for your data")
    press(page, "Tab", "a[href='/studies/by-keyboard/data']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/data")
    press(page, "Tab", "#file")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(write_table(tmp_path / "keys.csv", 300))
    owner.wait_for_look()

    press(page, "Tab", "#positive")
    page.keyboard.press("h")  # one key: those behind a pause would begin another word
    expect(page.locator("#positive")).to_have_value("healthy")
    press(page, "Tab", "form[action$='columns'] button")
    page.keyboard.press("Enter")
    expect(page.get_by_text("the local AUROC is below 0.5")).to_be_visible()
    press(page, "Tab", "#positive")
    page.keyboard.press("s")
    expect(page.locator("#positive")).to_have_value("sepsis")
    press(page, "Tab", "form[action$='columns'] button")
    page.keyboard.press("Enter")
    expect(page.get_by_text("the local AUROC is below 0.5")).to_have_count(0)
    expect(page.get_by_role("heading", name="What you agree to")).to_be_visible()
    press(page, "Tab", "#agree")
    page.keyboard.press("Space")
    press(page, "Tab", "form[action$='submit'] button")
    page.keyboard.press("Enter")
    owner.expect_standing("Your data is submitted")

    press(page, "Tab", "a[href$='/withdraw']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/withdraw")
    press(page, "Tab", "form[action$='withdraw'] button")
    page.keyboard.press("Space")
    owner.expect_standing("You have withdrawn your data")


def test_news_leave_the_keyboard_where_it_is(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    """The part of the page that is rendered anew holds what has the focus."""
    nodes.study("with-news", more=EVALUATION)
    owner = OwnerAtWork(north, visitor, "with-news")
    owner.enter()
    owner.expect_standing("Waiting for your data")
    link = owner.page.get_by_role("link", name="Choose your data")
    link.focus()
    send(
        Study(nodes.kit("harbour"), "with-news"),
        write_table(tmp_path / "news.csv", 340),
        score="risk",
        label="outcome",
        pos_label="sepsis",
    )
    expect(owner.row("harbour")).to_contain_text("submitted")
    expect(link).to_be_focused()


def test_a_page_loaded_again_and_two_tabs_submit_once(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    nodes.study("two-tabs", more=EVALUATION)
    owner = OwnerAtWork(north, visitor, "two-tabs")
    owner.enter()
    owner.go_to_data()
    owner.choose(write_table(tmp_path / "tabs.csv", 310))
    owner.page.reload()
    expect(owner.page.get_by_text("tabs.csv")).to_be_visible()
    other = visitor.context.new_page()
    other.goto(f"{owner.address}/data")
    tabs = (owner.page, other)
    for tab in tabs:
        tab.get_by_label("I have read what the result will disclose").check()
    # Both at once: neither waits for the other's answer, and either may be the first.
    for tab in tabs:
        tab.evaluate("setTimeout(() => document.querySelector('form[action$=submit]').requestSubmit(), 100)")
    late = one_that_says("is under way, perhaps started in another tab|no longer as it was shown", tabs)
    (owner.page,) = (tab for tab in tabs if tab is not late)
    owner.expect_standing("Your data is submitted")
    assert len(visitor.take_refusals()) == 1
    assert submissions(nodes, "two-tabs") == 1
    owner.page.reload()
    owner.expect_standing("Your data is submitted")
    assert submissions(nodes, "two-tabs") == 1


def test_a_closed_browser_finds_everything_again(
    nodes: Trials, north: RunningApp, new_visitor: NewVisitor, tmp_path: Path
) -> None:
    nodes.study("closed-browser", more=EVALUATION)
    first = new_visitor()
    owner = OwnerAtWork(north, first, "closed-browser")
    owner.enter()
    owner.go_to_data()
    owner.choose(write_table(tmp_path / "closed.csv", 320))
    first.context.close()

    second = new_visitor()
    owner = OwnerAtWork(north, second, "closed-browser")
    owner.enter()
    owner.go_to_data()
    expect(owner.page.get_by_text("closed.csv")).to_be_visible()
    owner.agree()
    with owner.page.expect_response(f"{owner.address}/submit"):
        owner.page.get_by_role("button", name="Submit").click()
    second.context.close()  # in the middle of it

    third = new_visitor()
    owner = OwnerAtWork(north, third, "closed-browser")
    owner.enter()
    owner.expect_standing("Your data is submitted")
    assert submissions(nodes, "closed-browser") == 1


def test_a_lost_node_is_told_and_found_again(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    nodes.study("lost-node", more=EVALUATION)
    owner = OwnerAtWork(north, visitor, "lost-node")
    owner.enter()
    owner.expect_standing("Waiting for your data")
    owner.go_to_data()
    owner.choose(write_table(tmp_path / "lost.csv", 330))
    nodes.kill("proxy-1")
    try:
        owner.agree()
        owner.page.get_by_role("button", name="Submit").click()
        expect(owner.page.get_by_role("alert")).to_contain_text("proxy 1")
        expect(owner.row("proxy 1")).to_contain_text("not reached")
        visitor.look("study, a node is lost")
    finally:
        nodes.start("proxy-1")
    owner.go_to_data()
    owner.submit()
    assert submissions(nodes, "lost-node") == 1


def test_an_ended_app_is_told(nodes: Trials, visitor: Visitor) -> None:
    nodes.study("ended-browser", owners=("harbour", "valley"), more=EVALUATION)
    with RunningApp(nodes.kit("valley")) as app:
        owner = OwnerAtWork(app, visitor, "ended-browser")
        owner.enter()
        owner.expect_standing("Waiting for your data")
        visitor.look("study of another owner's")
        visitor.foresee("Failed to fetch", *(f"net::ERR_{name}" for name in GONE))
    expect(owner.page.get_by_text("The app is not responding")).to_be_visible()
