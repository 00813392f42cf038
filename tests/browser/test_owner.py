"""An owner's whole way through the page, against three real nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from ppaurora.owner.study import Study
from tests.support.browsing import Visitor
from tests.support.owner_at_work import EVALUATION, OwnerAtWork, write_table
from tests.support.sending import send
from tests.support.trials import Trials
from tools.browser.collecting import read_result
from tools.browser.running import RunningApp

HEAD = 'metrics = ["auroc", "ap"]\nconfidence_level = 0.95\n'


def submit_as(nodes: Trials, owner: str, study: str, path: Path) -> None:
    """As another owner does, from its own machine."""
    send(Study(nodes.kit(owner), study), path, score="risk", label="outcome", pos_label="sepsis")


def test_from_a_wrong_file_to_the_report(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    nodes.study("whole-way", head=HEAD, more=EVALUATION)
    owner = OwnerAtWork(north, visitor, "whole-way")
    page = owner.page
    owner.enter()
    owner.expect_standing("Waiting for your data")
    expect(owner.row("harbour")).to_contain_text("waiting")
    visitor.look("study, data awaited")

    page.get_by_role("link", name="Choose your data").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your data for whole-way")
    visitor.look("data, no file chosen")
    owner.drop(write_table(tmp_path / "one.csv", 100), write_table(tmp_path / "two.csv", 101))
    expect(page.get_by_text("One file, please")).to_be_visible()

    owner.drop(write_table(tmp_path / "wrong.csv", 100, bad="high"))
    owner.wait_for_look()
    expect(page.get_by_role("alert")).to_be_visible()
    said = owner.alerts()
    assert all(part in said for part in ("wrong.csv", "row 4", "risk")), said
    assert "high" not in said
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
    visitor.look("data, wrong file")

    page.get_by_role("button", name="Remove this file").click()
    owner.drop(write_table(tmp_path / "right.csv", 100))
    owner.wait_for_look()
    expect(page.get_by_label("Column with the scores")).to_have_value("risk")
    expect(page.get_by_label("Column with the labels")).to_have_value("outcome")
    expect(page.get_by_label("Positive label")).to_have_value("sepsis")
    expect(page.get_by_role("img", name=re.compile("ROC"))).to_be_visible()

    page.get_by_label("Positive label").select_option("healthy")
    page.get_by_role("button", name="Check with these columns").click()
    expect(page.get_by_text("the local AUROC is below 0.5")).to_contain_text("the positive label is wrong")
    visitor.look("data, warned of inverted scores")
    page.get_by_role("button", name="Submit 60 samples").click()  # the browser wants the boxes ticked
    expect(page.get_by_label("I have read what the result will disclose")).to_be_focused()

    page.get_by_label("Positive label").select_option("sepsis")
    page.get_by_role("button", name="Check with these columns").click()
    expect(page.get_by_text("Warning:")).to_have_count(0)
    expect(page.get_by_role("heading", name="What you agree to")).to_be_visible()
    visitor.look("data, ready to be submitted")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as PNG").first.click()
    assert download.value.suggested_filename == "scores-by-class-in-your-own-data.png"
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    owner.submit()
    expect(owner.row("north")).to_contain_text("submitted")
    visitor.look("study, data submitted")

    submit_as(nodes, "harbour", "whole-way", write_table(tmp_path / "harbour.csv", 102, 80))
    owner.expect_standing("The result is ready")
    expect(owner.row("harbour")).to_contain_text("submitted")
    visitor.look("study, released")
    read_result(page, "whole-way")
    expect(page.get_by_text("The receipt is verified")).to_be_visible()
    visitor.look("result")

    expected = Study(nodes.kit("harbour"), "whole-way").result()
    expect(page.get_by_text(f"{expected.auroc}"[:5]).first).to_be_visible()
    expect(page.get_by_text(expected.privacy).first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Result with its receipt").click()
    saved = json.loads(Path(download.value.path()).read_text())
    assert saved["metrics"]["auroc"]["value"] == expected.auroc
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    query = len(visitor.requests)
    page.goto(report.as_uri())
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert [url for url in visitor.requests[query:] if not url.startswith("data:")] == [report.as_uri()]
    visitor.look("the saved report")


def test_data_is_replaced_and_withdrawn(
    nodes: Trials, north: RunningApp, visitor: Visitor, tmp_path: Path
) -> None:
    nodes.study("replacing", more=EVALUATION)
    owner = OwnerAtWork(north, visitor, "replacing")
    page = owner.page
    owner.enter()
    owner.go_to_data()
    owner.choose(write_table(tmp_path / "first.csv", 110, 60))
    owner.submit()

    page.get_by_role("link", name="Submit other data instead").click()
    owner.choose(write_table(tmp_path / "second.csv", 111, 70))
    owner.agree()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("other data")
    visitor.look("study, other data refused")
    assert Study(nodes.kit("north"), "replacing").submitted.samples == 60  # type: ignore[union-attr]
    owner.go_to_data()
    owner.submit("If this data differs")
    assert Study(nodes.kit("north"), "replacing").submitted.samples == 70  # type: ignore[union-attr]

    page.get_by_role("link", name="Withdraw").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Withdraw from replacing?")
    visitor.look("withdraw?")
    page.get_by_role("link", name="Keep it submitted").click()
    page.get_by_role("link", name="Withdraw").click()
    page.get_by_role("button", name="Withdraw").click()
    owner.expect_standing("You have withdrawn your data")
    expect(owner.row("north")).to_contain_text("withdrawn")
    visitor.look("study, withdrawn")
