"""The app's pages and the report, one state after the other, as people come across them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from ppaurora.pages.report.writing import write_report
from tools.browser.collecting import read_result
from tools.browser.running import RunningApp
from tools.browser.shown import NEXT_STUDY, OTHER_STUDY, STUDY, ShownConsortium
from tools.browser.uploading import choose_addition, upload_form

CHECKED, REPORT = "data-checked", "report"  # the two that documents show


def owner_scenes(context: BrowserContext, consortium: ShownConsortium, *, brief: bool) -> Iterator[str]:
    """Yields a name whenever the context's page is to be looked at. In brief: only what documents show."""
    page = context.pages[0]
    with RunningApp(consortium.kit("north")) as app:
        page.goto(app.link())
        if not brief:
            expect(page.get_by_text("Waiting for your data")).to_be_visible()
            yield "studies"
            yield from _addition_scenes(page, consortium)
            page.get_by_role("link", name=STUDY).click()
            _stands(page, "Waiting for your data")
            yield "study-awaited"
        page.goto(f"{app.origin}/studies/{STUDY}/data")
        if not brief:
            yield "data-choose"
            _choose(page, consortium.wrong_file())
            yield "data-wrong"
            page.get_by_role("button", name="Remove this file").click()
        _choose(page, consortium.data["north"])
        yield CHECKED
        if not brief:
            page.get_by_label("Positive label").select_option("no sepsis")
            page.get_by_role("button", name="Check with these columns").click()
            expect(page.get_by_text("is below 0.5")).to_be_visible()
            yield "data-warned"
            page.get_by_label("Positive label").select_option("sepsis")
            page.get_by_role("button", name="Check with these columns").click()
            expect(page.get_by_text("is below 0.5")).to_have_count(0)
            expect(page.get_by_role("heading", name="What you agree to")).to_be_visible()
        page.get_by_label("I have read what the result will disclose").check()
        page.get_by_role("button", name="Submit").click()
        _stands(page, "Your data is submitted")
        if not brief:
            yield "study-submitted"
            page.get_by_role("link", name="Withdraw").click()
            expect(page.get_by_role("heading", name="Withdraw from")).to_be_visible()
            yield "withdraw"
            page.goto(f"{app.origin}/studies/{STUDY}")
        for owner in ("harbour", "valley"):
            consortium.submit(owner)
        _stands(page, "The result is ready")
        if not brief:
            yield "study-released"
        read_result(page, STUDY)
        if not brief:
            yield "result"
            page.goto(f"{app.origin}/nothing")
            yield "no-such-page"
    yield from _report_scenes(page, consortium, brief=brief)


def _addition_scenes(page: Page, consortium: ShownConsortium) -> Iterator[str]:
    """A packed kit that is not added in the end, and a manifest that is."""
    packed, passphrase = consortium.other_kit("north")
    choose_addition(page, packed)
    yield "add-locked"
    page.get_by_label("Pass phrase").fill(passphrase)
    page.get_by_role("button", name="Open this kit").click()
    expect(page.get_by_role("heading", name=f"Add {OTHER_STUDY}?")).to_be_visible()
    yield "add-review"
    page.get_by_role("button", name="Do not add it").click()
    choose_addition(page, consortium.next_study())
    page.get_by_label("I have read what this study does").check()
    page.get_by_role("button", name=f"Add {NEXT_STUDY}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NEXT_STUDY)
    page.get_by_role("navigation").get_by_role("link", name="Studies").first.click()
    expect(page.get_by_text("Waiting for your data")).to_have_count(2)
    yield "studies-two"


def operator_scenes(context: BrowserContext, consortium: ShownConsortium) -> Iterator[str]:
    """After the study was released."""
    page = context.pages[0]
    with RunningApp(consortium.kit("proxy-0")) as app:
        page.goto(app.link())
        yield "operator-node"
        page.get_by_role("link", name=STUDY).click()
        yield "operator-study"
        page.goto(f"{app.origin}/")
        manifest = consortium.folder / "kits" / f"{STUDY}.json"
        upload_form(page).get_by_label("Manifest of a study").set_input_files(manifest)
        page.wait_for_url("**/proposals/**")
        yield "operator-review"
        page.goto(f"{app.origin}/audit")
        yield "operator-audit"


def story_scenes(context: BrowserContext) -> Iterator[str]:
    page = context.pages[0]
    with RunningApp() as app:
        link = app.link()
        page.goto(link)
        yield "story-beginning"
        page.get_by_role("button", name="Run the whole story").click()
        yield "story-computing"
        expect(page.get_by_role("heading", name="Is it correct?")).to_be_visible()
        yield "story-result"
        context.clear_cookies()
        page.goto(link)
        yield "stranger"


def _report_scenes(page: Page, consortium: ShownConsortium, *, brief: bool) -> Iterator[str]:
    path = consortium.folder / "report.html"
    results = consortium.kit("north") / "results" / f"{STUDY}.json"
    data = consortium.data["north"]
    write_report(results, path, data=data, score="risk", label="outcome", pos_label="sepsis")
    page.goto(path.as_uri())
    yield REPORT
    if not brief:
        write_report(results, path)
        page.goto(path.as_uri())
        yield "report-without-own-data"


def _choose(page: Page, path: Path) -> None:
    upload_form(page).get_by_label("A table with a score and a label").set_input_files(path)
    expect(page.get_by_text("Selected file:")).to_be_visible()
    page.wait_for_load_state()


def _stands(page: Page, title: str) -> None:
    place = page.get_by_role("region", name="Where the study stands").get_by_role("status")
    expect(place).to_have_text(title)
