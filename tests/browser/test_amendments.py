"""An amendment in the browser: its operator accepts the file, an owner reads what changes, and agrees."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.amended import Amended, dropped
from tests.support.browsing import Visitor
from tests.support.deployment import NODES
from tests.support.trials import Trials
from tools.browser.running import RunningApp
from tools.browser.uploading import upload_form


def test_an_amendment_appears_while_a_person_looks(
    nodes: Trials, north: RunningApp, visitor: Visitor
) -> None:
    study = Amended(nodes, "amended")
    page = visitor.enter(north.link())
    page.goto(f"{north.origin}/studies/amended")
    stands = page.get_by_role("region", name="Where the study stands").get_by_role("status")
    expect(stands).to_have_text("Waiting for your data")
    study.amend(dropped("valley"), reason="valley has left the consortium")
    study.accept_at(*NODES)
    expect(page.get_by_role("heading", name="The coordinator has amended this study")).to_be_visible()
    expect(page.get_by_text("valley has left the consortium")).to_be_visible()
    visitor.look("an amendment to agree to")
    page.goto(f"{north.origin}/")
    row = page.get_by_role("article").filter(has=page.get_by_role("link", name="amended", exact=True))
    expect(row).to_contain_text("Asks for your agreement")
    row.get_by_role("link", name="amended", exact=True).click()
    page.get_by_role("button", name="Agree").click()
    expect(stands).to_have_text("Waiting for your data")
    expect(page.get_by_role("button", name="Agree")).to_have_count(0)
    page.get_by_text("Amendments as a file").click()
    visitor.look("a study's page, with the form for amendments")
    upload_form(page).get_by_label("Amendments to amended").set_input_files(study.file)
    expect(page.get_by_role("alert")).to_contain_text("your kit has these amendments")
    assert visitor.take_refusals() == [422]


def test_an_operator_accepts_an_amendment(nodes: Trials, visitor: Visitor) -> None:
    study = Amended(nodes, "amended-too")
    study.amend(dropped("valley"), reason="valley has left the consortium")
    with RunningApp(nodes.kit("proxy-0")) as app:
        page = visitor.enter(app.link())
        upload_form(page).get_by_label("Manifest of a study").set_input_files(study.file)
        page.wait_for_url("**/amendments/**")
        expect(page.get_by_role("heading", level=1)).to_have_text("Accept amendment 1 to amended-too?")
        visitor.look("an amendment to accept")
        page.get_by_label("I have read what changes").check()
        page.get_by_role("button", name="Accept amendment 1").click()
        expect(page.get_by_text("Amendment 1 is in force.")).to_be_visible()
        page.get_by_text("What has changed since").click()
        visitor.look("an amended study of an operator's")
