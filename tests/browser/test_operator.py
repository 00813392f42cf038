"""An operator's pages: a study is agreed to, runs, is stopped and goes on; the audit log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ppaurora.owner.study import Study
from ppaurora.setup.acceptance import accept
from ppaurora.study.kit import read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision
from tests.support.browsing import Visitor
from tests.support.owner_at_work import write_table
from tests.support.sending import send
from tests.support.trials import HEAD, PAIR, Trials
from tools.browser.running import RunningApp
from tools.browser.uploading import upload_form


@pytest.fixture(scope="module")
def operator(browser: Browser, running: Trials) -> Iterator[RunningApp]:
    """The app of the leading node's operator."""
    with RunningApp(running.kit("proxy-0")) as app:
        yield app
        assert app.stop() == 0, app.said


def proposed(nodes: Trials, name: str, owners: tuple[str, ...] = PAIR) -> Manifest:
    """A study that everybody has agreed to but the operator of the leading node."""
    text = nodes.planned(name)
    assert HEAD in text
    for owner in set(nodes.owners) - set(owners):
        text = text.replace(f"[owners.{owner}]\n", "")
    plan = nodes.folder / f"{name}.toml"
    plan.write_text(text)
    manifest = provision(plan, nodes.folder / name, nodes.folder / "kits")
    for node in ("proxy-1", "helper"):
        accept(read_kit(nodes.kit(node)), manifest)
    for owner in owners:
        nodes.owner(owner).add(manifest)
    return manifest


def stands(page: Page, state: str) -> None:
    place = page.get_by_role("region", name="Where the study stands").get_by_role("status")
    expect(place).to_have_text(re.compile(f"^{state}"))


def test_a_study_is_accepted_stopped_and_goes_on(
    nodes: Trials, operator: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    proposed(nodes, "operated")
    page = visitor.enter(operator.link())
    expect(page.get_by_role("heading", level=1)).to_have_text("Proxy 0")
    expect(page.get_by_role("row", name=re.compile("^Node"))).to_contain_text("running")
    visitor.look("node")

    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"study": 7}')
    upload_form(page).get_by_label("Manifest of a study").set_input_files(wrong)
    expect(page.get_by_role("alert")).to_be_visible()
    assert visitor.take_refusals() == [422]
    visitor.look("node, wrong manifest")

    page.goto(f"{operator.origin}/")
    manifest = nodes.folder / "operated" / "operated.json"
    upload_form(page).get_by_label("Manifest of a study").set_input_files(manifest)
    expect(page.get_by_role("heading", level=1)).to_have_text("Agree to operated?")
    visitor.look("a study to agree to")
    page.get_by_label("The agreed hash").fill("0" * 64)
    page.get_by_label("I have read what this study does").check()
    page.get_by_role("button", name="Accept operated").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert visitor.take_refusals() == [422]
    page.go_back()
    page.get_by_label("The agreed hash").fill("")
    page.get_by_label("I have read what this study does").check()
    page.get_by_role("button", name="Accept operated").click()
    stands(page, "Collecting")
    expect(page.get_by_text("Accepted.")).to_be_visible()

    page.get_by_role("button", name="Stop the study here").click()
    stands(page, "Stopped")
    visitor.look("study, stopped")
    page.get_by_role("button", name="Resume").click()
    stands(page, "Collecting")
    for number, owner in enumerate(PAIR):
        path = write_table(tmp_path / f"{owner}.csv", 500 + number)
        send(Study(nodes.kit(owner), "operated"), path, score="risk", label="outcome", pos_label="sepsis")
    stands(page, "Released")
    expect(page.get_by_role("table", name=re.compile("Attempts"))).to_contain_text("released")
    visitor.look("study, released")

    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^Delete operated at"))
    visitor.look("delete?")
    page.get_by_role("link", name="Keep it").click()
    stands(page, "Released")
    page.get_by_role("link", name="Audit log").click()
    expect(page.get_by_role("region", name="Verified")).to_be_visible()
    expect(page.get_by_role("table", name=re.compile("Entries"))).to_contain_text("operated")
    visitor.look("audit log")


def test_two_tabs_stop_a_study_once(nodes: Trials, operator: RunningApp, visitor: Visitor) -> None:
    nodes.study("stopped-twice")
    page = visitor.enter(operator.link())
    other = visitor.context.new_page()
    # Nothing that this tab asks for is answered, so that it does not hear what the other one does.
    other.add_init_script("window.fetch = () => new Promise(() => {})")
    for tab in (page, other):
        tab.goto(f"{operator.origin}/studies/stopped-twice")
    page.bring_to_front()
    page.get_by_role("button", name="Stop the study here").click()
    stands(page, "Stopped")
    other.get_by_role("button", name="Stop the study here").click()
    expect(other.get_by_text("Nothing was changed;")).to_be_visible()
    assert visitor.take_refusals() == [409]
