"""A second study in the browser: a packed kit under its pass phrase, or a manifest, and no terminal."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from ppaurora.study.provision import provision
from tests.support.browsing import Visitor
from tests.support.owner_at_work import EVALUATION
from tests.support.trials import Trials
from tools.browser.running import RunningApp
from tools.browser.shown import passphrase_of
from tools.browser.uploading import choose_addition


def test_a_packed_kit_is_opened_read_and_added(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    plan = tmp_path / "of-others.toml"
    plan.write_text(nodes.planned("of-others"))
    provision(plan, tmp_path / "kits", packed=True, encrypted=True)
    page = visitor.enter(north.link())
    choose_addition(page, tmp_path / "kits" / "north.kit")
    expect(page.get_by_role("heading", level=1)).to_have_text("Open north.kit")
    visitor.look("a kit under its pass phrase")
    page.get_by_label("Pass phrase").fill(passphrase_of(tmp_path / "kits", "north"))
    page.get_by_role("button", name="Open this kit").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Add of-others?")
    expect(page.locator("code.copyable")).to_have_text(re.compile("^[0-9a-f]{64}$"))
    visitor.look("a kit to be added")
    page.get_by_role("button", name="Add of-others").click()  # the browser wants the box ticked
    expect(page.get_by_label("I have read what this study does")).to_be_focused()
    page.get_by_label("I have read what this study does").check()
    page.get_by_role("button", name="Add of-others").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("of-others")
    page.goto(f"{north.origin}/")
    expect(page.get_by_role("link", name="of-others")).to_be_visible()
    assert (nodes.kit("north") / "kits" / "of-others" / "key.pem").stat().st_mode & 0o777 == 0o600


def test_a_manifest_is_added_and_its_state_is_listed(
    nodes: Trials, north: RunningApp, visitor: Visitor
) -> None:
    nodes.study("to-be-added", more=EVALUATION)
    file = nodes.kit("north") / "studies" / "to-be-added.json"
    moved = file.rename(nodes.folder / "to-be-added.json")  # as the coordinator sends it
    page = visitor.enter(north.link())
    expect(page.get_by_role("link", name="to-be-added")).to_have_count(0)
    choose_addition(page, moved)
    page.get_by_label("I have read what this study does").check()
    page.get_by_role("button", name="Add to-be-added").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("to-be-added")
    page.goto(f"{north.origin}/")
    row = page.get_by_role("article").filter(has=page.get_by_role("link", name="to-be-added"))
    expect(row).to_contain_text("Waiting for your data")
    expect(row).to_contain_text("your turn")
    visitor.look("the list of studies, with their states")


def test_a_wrong_file_gets_a_sentence(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    wrong = tmp_path / "north.kit"
    wrong.write_text("not a kit")
    page = visitor.enter(north.link())
    page.locator("form[data-upload][data-ready]").get_by_label("Kit or manifest").set_input_files(wrong)
    expect(page.get_by_role("alert")).to_contain_text("north.kit: is not a kit")
    visitor.look("no kit")
    assert visitor.take_refusals() == [422]
