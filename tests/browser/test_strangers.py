"""Other sites' pages, other names for this machine, links used before: refused, each beside what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, Response, expect

from ppaurora.owner.study import Study
from tests.browser.conftest import NewVisitor
from tests.support.browsing import Visitor
from tests.support.other_site import QUIET_PAGE, other_site, posting_page
from tests.support.owner_at_work import EVALUATION, OwnerAtWork, write_table
from tests.support.sending import send
from tests.support.trials import Trials
from tools.browser.chromium import REBOUND
from tools.browser.running import RunningApp

FETCH = """async ([address, options]) => {
    try { const answer = await fetch(address, options); return [answer.type, answer.status]; }
    catch (error) { return ["failed", 0]; }
}"""


def csrf_token(page: Page) -> str:
    """As if a stranger had found it out."""
    return page.locator("input[name=csrf]").first.get_attribute("value") or ""


@pytest.fixture
def submitted(nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path) -> OwnerAtWork:
    """An owner at the page of a study to which it has submitted; strangers want to withdraw that."""
    name = f"wanted-{len(list(nodes.folder.glob('wanted-*.toml')))}"
    nodes.study(name, more=EVALUATION)
    path = write_table(tmp_path / "north.csv", 1)
    send(Study(nodes.kit("north"), name), path, score="risk", label="outcome", pos_label="sepsis")
    owner = OwnerAtWork(north, visitor, name)
    owner.enter()
    owner.expect_standing("Your data is submitted")
    owner.page.get_by_role("link", name="Withdraw").click()
    expect(owner.page.get_by_role("button", name="Withdraw")).to_be_visible()
    owner.page.wait_for_load_state()
    return owner


def is_withdrawn(nodes: Trials, owner: OwnerAtWork) -> bool:
    return Study(nodes.kit("north"), owner.study).is_withdrawn


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_form_of_another_site_changes_nothing(nodes: Trials, submitted: OwnerAtWork, host: str) -> None:
    """Even with the CSRF token, which it cannot know. The cookie goes along: the site is the same."""
    own, stranger = submitted.page, submitted.visitor.context.new_page()
    action = f"{submitted.address}/withdraw"
    with other_site(posting_page(action, {"csrf": csrf_token(own)})) as origin:
        with stranger.expect_response(action) as answer:
            stranger.goto(origin.replace("127.0.0.1", host), wait_until="commit")
        assert answer.value.status == 403
        sent = answer.value.request.all_headers()
        assert ("cookie" in sent) == (host == "127.0.0.1")
    expect(stranger.get_by_role("heading", level=1)).to_have_text("Access denied")
    assert submitted.visitor.take_refusals() == [403]
    assert not is_withdrawn(nodes, submitted)

    own.evaluate("document.querySelector('form').submit()")  # the same form, of the app's own page
    submitted.expect_standing("You have withdrawn your data")
    assert is_withdrawn(nodes, submitted)


def test_a_form_without_the_sessions_word_changes_nothing(nodes: Trials, submitted: OwnerAtWork) -> None:
    page = submitted.page
    page.evaluate("document.querySelector('input[name=csrf]').value = 'guessed'")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("Nothing was done")).to_be_visible()
    assert submitted.visitor.take_refusals() == [403]
    assert not is_withdrawn(nodes, submitted)

    page.goto(f"{submitted.address}/withdraw")
    page.get_by_role("button", name="Withdraw").click()
    submitted.expect_standing("You have withdrawn your data")


def test_another_sites_script_reads_nothing(north: RunningApp, visitor: Visitor) -> None:
    own = visitor.enter(north.link())
    stranger = visitor.context.new_page()
    answers: list[Response] = []
    stranger.on("response", lambda answer: answers.append(answer))
    # The browser says why it gives the stranger nothing, of each request in its own time.
    visitor.foresee(north.origin, "Failed to load resource: net::ERR_", refusals=[403])
    with other_site(QUIET_PAGE) as origin:
        stranger.goto(origin)
        answers.clear()
        with stranger.expect_response(lambda answer: answer.url.startswith(north.origin)):
            query = [f"{north.origin}/", {"credentials": "include", "mode": "no-cors"}]
            assert stranger.evaluate(FETCH, query) == ["failed", 0]
            query = [f"{north.origin}/", {"credentials": "include"}]
            assert stranger.evaluate(FETCH, query) == ["failed", 0]
            stranger.set_content(f'<iframe src="{north.origin}/" title="app"></iframe>')  # until it is loaded
        assert not stranger.frames[-1].get_by_text("Studies").count()
    assert {answer.status for answer in answers} == {403}
    visitor.wait_for_foreseen(north.origin)

    assert own.evaluate(FETCH, [f"{north.origin}/", {"credentials": "include"}]) == ["basic", 200]


def test_another_name_for_this_machine_is_refused(north: RunningApp, new_visitor: NewVisitor) -> None:
    """DNS rebinding, as the browser does it. The link is not used up by it."""
    link = north.link()
    stranger = new_visitor(known=(REBOUND,))
    # It gets no style sheet either, and no policies: those are for addresses that a browser trusts.
    stranger.foresee(REBOUND, "Cross-Origin-Opener-Policy", refusals=[421])
    answer = stranger.page.goto(link.replace("127.0.0.1", REBOUND))
    assert answer is not None
    assert answer.status == 421
    expect(stranger.page.get_by_text("answers at the address that it has printed")).to_be_visible()
    stranger.wait_for_foreseen(REBOUND)

    page = new_visitor().enter(link)
    expect(page.get_by_role("heading", name="Studies of north")).to_be_visible()


def test_a_link_is_good_once(north: RunningApp, new_visitor: NewVisitor) -> None:
    link = north.link()
    first, second = new_visitor(), new_visitor()
    first.enter(link)
    answer = second.page.goto(link)
    assert answer is not None
    assert answer.status == 403
    expect(second.page.get_by_text("This link has already been used")).to_be_visible()
    assert second.take_refusals() == [403]
    second.look("a link used before")
    answer = second.page.goto(f"{north.origin}/")
    assert answer is not None
    assert answer.status == 403
    assert second.take_refusals() == [403]

    assert first.page.reload() is not None
    expect(first.page.get_by_role("heading", name="Studies of north")).to_be_visible()
    second.enter(north.link())
    expect(second.page.get_by_role("heading", name="Studies of north")).to_be_visible()
