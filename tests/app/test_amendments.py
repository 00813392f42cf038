"""Amendments in the browser: what changes is shown line by line, and an owner agrees, or has nothing to."""

from __future__ import annotations

import datetime
import itertools
import re

import pytest
from msgspec import structs

from ppaurora.messages.owners import Amended as AmendedStudy
from ppaurora.owner.agreeing import Proposal
from ppaurora.owner.client import NodeClient
from ppaurora.study.amending import amend
from ppaurora.study.amendments import Amendments, amended, sign_amendment
from ppaurora.study.kit import OwnerKit
from ppaurora.study.provision import authority_key
from tests.support.amended import DATA, DAY, Amended, dropped, until
from tests.support.app_owner import Person
from tests.support.deployment import NODES
from tests.support.local_app import Answer, Browser, entered, served
from tests.support.trials import Trials, becomes

NUMBERS = itertools.count(1)
LATER = DAY + datetime.timedelta(days=30)


@pytest.fixture
def study(nodes: Trials) -> Amended:
    return Amended(nodes, f"amended-{next(NUMBERS)}")


@pytest.fixture
def person(study: Amended, browser: Browser) -> Person:
    return Person(browser, study.name)


def shown_hash(page: Answer) -> str:
    found = re.search(r'name="manifest" value="([0-9a-f]{64})"', page.text)
    assert found is not None, page.said
    return found[1]


def agree(person: Person, manifest: str) -> Answer:
    return person.browser.post(
        f"{person.path}/amendment/agree", {"manifest": manifest}, csrf_token=person.csrf_token()
    )


def give(person: Person, study: Amended, content: bytes | None = None) -> Answer:
    content = study.file.read_bytes() if content is None else content
    return person.browser.upload("/add", study.file.name, content, csrf_token=person.csrf_token())


def known(study: Amended, owner: str = "north") -> int:
    """The number of the last amendment in an owner's kit."""
    return OwnerKit.read(study.nodes.kit(owner)).manifest(study.name).amendment


def test_what_changes_is_shown_and_agreed_to(study: Amended, person: Person) -> None:
    nodes = study.nodes
    study.submit("north", "harbour")
    person.page("Your data is submitted")
    amendments = study.amend(dropped("valley"), reason="valley has <closed>")
    study.accept_at(*NODES)
    page = person.page("amendment 1</h2>")
    assert "valley has <closed>" in page.text
    assert "<closed>" not in page.body.decode()
    assert re.search(r"owner valley</dt>.*before:</span> key [0-9a-f]{64}.*no longer", page.text)
    assert "Whatever you have submitted stands" in page.text
    assert re.search(r">valley</th><td>\s*<span class=\"badge badge--plain\">no longer</span>", page.text)
    assert "another key" not in page.text
    assert f"<strong>{amendments.latest.hash[:12]}</strong>" in page.text
    assert shown_hash(page) == amendments.latest.hash
    assert "Asks for your agreement" in person.browser.until("/live", "Asks for your agreement").text
    assert agree(person, study.manifest.hash).status == 422  # something else than what was shown
    assert known(study) == 0
    assert agree(person, amendments.latest.hash).status == 303
    person.page("waits for", "harbour has yet to agree", "Your data is submitted")
    page = person.page(f"{amendments.latest.hash}</code>")
    assert "What changes" not in page.text
    assert known(study) == 1
    with nodes.store("proxy-0") as store:
        assert list(store.agreements(study.manifest.hash)) == ["north"]
    study.owner("harbour").agree(_proposal(study, "harbour"))
    person.page("The result is ready")
    assert person.browser.post(f"{person.path}/collect", csrf_token=person.csrf_token()).status == 303
    result = person.browser.until(f"{person.path}/result", "Basis of this result")
    assert "valley has <closed>" in result.text
    assert "agreed to by the signatures of north and harbour" in result.text
    assert "Before anything was computed, the study was amended once" in result.text
    assert agree(person, amendments.latest.hash).status == 422


def _proposal(study: Amended, owner: str) -> Proposal:
    found = study.owner(owner).proposal()
    assert found is not None
    return found


def test_what_was_agreed_beforehand_waits_for_nobody(nodes: Trials, browser: Browser) -> None:
    study = Amended(nodes, f"amended-{next(NUMBERS)}", "[agreed_changes]\ndeadline_days = 30\n")
    person = Person(browser, study.name)
    study.amend((until(DAY), until(LATER)))
    study.accept_at(*NODES)
    page = person.page("amendment 1</h2>")
    assert "agreed to such changes beforehand" in page.text
    assert "Take it into my kit" in page.text
    assert "Asks for your agreement" not in page.text
    assert "Waiting for your data" in page.text  # the study goes on
    assert agree(person, shown_hash(page)).status == 303
    assert "agreed to such changes" not in person.page(f"the end of {LATER}").text
    assert becomes(lambda: known(study) == 1)
    with nodes.store("proxy-0") as store:
        assert store.agreements(study.manifest.hash) == {}


def test_a_dropped_owner_is_told_before_and_after(study: Amended, person: Person) -> None:
    study.submit("north")
    study.amend(dropped("north"))
    study.accept_at("proxy-1")  # not in force: the operator of proxy 0 decides
    page = person.page("amendment 1</h2>")
    assert "You take part no longer" in page.text
    assert "/amendment/agree" not in page.text
    assert "Amended without you" in page.text
    study.accept_at("proxy-0", "helper")
    page = person.page("do not count you among the owners")
    assert "since amendment 1 your key is not that of an owner" in page.text
    assert known(study) == 0


def test_another_key_asks_for_a_call(study: Amended, person: Person) -> None:
    amend(study.plan, study.kits, reason="the key was lost", new_keys=["valley"])
    study.accept_at(*NODES)
    page = person.page("amendment 1</h2>")
    assert "valley has another key." in page.text
    assert "Call them before you agree" in page.text
    assert "choose the same file again" not in page.text


def test_a_server_with_another_key_needs_its_shares_again(study: Amended, person: Person) -> None:
    """Its operator has yet to move to the new kit; the coordinator's file is enough to read what changes."""
    amend(study.plan, study.kits, reason="the disk was lost", new_keys=["proxy-1"])
    assert give(person, study).status == 303
    page = person.page("amendment 1</h2>")
    assert "proxy 1 has another key." in page.text
    assert "choose the same file again" in page.text


def test_a_file_is_shown_where_no_node_tells(study: Amended, person: Person) -> None:
    """And what was changed in it is not: nothing but the coordinator's signature counts."""
    amendments = study.amend((until(DAY), until(LATER)), reason="votes are late")
    text = study.file.read_text()
    assert str(LATER) in text
    forged = text.replace(str(LATER), str(LATER + datetime.timedelta(days=1)))
    answer = give(person, study, forged.encode())
    assert answer.status == 422
    assert "signature" in answer.text
    assert "votes are late" not in person.page("Waiting for your data").text
    assert give(person, study).location == person.path  # the control: as the coordinator has signed it
    page = person.page("amendment 1</h2>")
    assert "votes are late" in page.text
    assert agree(person, amendments.latest.hash).status == 303
    page = person.page("is in the kit, and was not delivered")  # no operator has accepted it
    assert "the study's page has a button" in page.text
    assert known(study) == 1
    study.accept_at(*NODES)
    page = person.page("Your agreement has not arrived")
    tell = f"{person.path}/amendment/tell"
    assert person.browser.post(tell, csrf_token=person.csrf_token()).status == 303
    person.page("Waiting for your data")
    with study.nodes.store("proxy-0") as store:
        assert list(store.agreements(study.manifest.hash)) == ["north"]
    again = give(person, study)
    assert again.status == 422
    assert "your kit has these amendments" in again.text


def test_what_a_node_has_made_up_is_not_shown(
    study: Amended, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.amend((until(DAY), until(LATER)), reason="votes are late")
    study.accept_at(*NODES)
    told = NodeClient.amended

    def lying(client: NodeClient) -> AmendedStudy:
        content = told(client)
        return structs.replace(content, amendments=content.amendments.replace(b"votes are", b"fools are"))

    monkeypatch.setattr(NodeClient, "amended", lying)
    page = person.page("An amendment cannot be shown")
    assert "it was changed after it was signed" in page.text
    assert f"Ask the coordinator for the file {study.name}.amendments.json" in page.text
    assert "fools are late" not in page.text
    assert "/amendment/agree" not in page.text
    monkeypatch.undo()  # the control: as the coordinator has signed it
    assert "votes are late" in person.page("amendment 1</h2>").text


def test_servers_of_one_organisation_have_to_be_wanted(study: Amended, person: Person) -> None:
    first = study.manifest
    merged = {
        name: structs.replace(node, organisation=type(node.organisation)("One"))
        for name, node in first.nodes.items()
    }
    after = amended(first, structs.replace(first, nodes=merged))
    step = sign_amendment(after, "merged", authority_key(study.nodes.folder / "kits"))
    study.file.write_text(Amendments(first=first, steps=(step,)).text())
    assert give(person, study).status == 303
    assert "I agree although" in person.page("amendment 1</h2>").text
    assert agree(person, after.hash).status == 422
    assert known(study) == 0
    path, fields = f"{person.path}/amendment/agree", {"manifest": after.hash, "force": "on"}
    assert person.browser.post(path, fields, csrf_token=person.csrf_token()).status == 303
    assert becomes(lambda: known(study) == 1)


def test_amendments_of_a_study_of_others_are_refused(nodes: Trials, study: Amended, browser: Browser) -> None:
    other = Amended(nodes, f"amended-{next(NUMBERS)}")
    other.amend((until(DAY), until(LATER)))
    (nodes.kit("north") / "studies" / f"{other.name}.json").unlink()
    answer = give(Person(browser, study.name), other)
    assert answer.status == 422
    assert "in which you do not take part here" in answer.text


def test_what_a_command_agrees_to_is_followed(study: Amended, person: Person) -> None:
    person.page("Waiting for your data")
    amendments = study.amend((until(DAY), until(LATER)))
    study.accept_at(*NODES)
    study.owner("north").agree(_proposal(study, "north"))
    page = person.page(f"the end of {LATER}")
    assert amendments.latest.hash in page.text


@pytest.mark.parametrize("form", ["agree", "tell"])
def test_the_forms_are_guarded(study: Amended, person: Person, form: str) -> None:
    amendments = study.amend((until(DAY), until(LATER)))
    study.accept_at(*NODES)
    person.page("amendment 1</h2>")
    path, fields = f"{person.path}/amendment/{form}", {"manifest": amendments.latest.hash}
    token = person.csrf_token()
    wrong = [
        person.browser.post(path, fields, csrf_token="A" * 43),
        person.browser.post(path, fields, csrf_token=token, Origin="https://evil.example"),
        person.browser.post(path, fields, csrf_token=token, Sec_Fetch_Site="cross-site"),
        Browser(person.browser.port).post(path, fields, csrf_token=token),
    ]
    assert [answer.status for answer in wrong] == [403] * 4
    assert person.browser.get(path).status == 405
    assert known(study) == 0
    assert person.browser.post(path, fields, csrf_token=token).status == 303  # the control
    if form == "agree":
        assert becomes(lambda: known(study) == 1)


def test_an_operator_reads_and_accepts_amendments(study: Amended) -> None:
    nodes = study.nodes
    with served(nodes.kit("proxy-0")) as (sessions, _):
        browser = entered(sessions)
        amendments = study.amend(dropped("valley"), reason="valley has closed")
        content = study.file.read_bytes()
        token = browser.csrf_token()
        forged = content.replace(b"valley has closed", b"valley has clozed")
        refused = browser.upload("/proposals", study.file.name, forged, csrf_token=token)
        assert refused.status == 422
        assert "signature" in refused.text
        sent = browser.upload("/proposals", study.file.name, content, csrf_token=token)
        path = f"/amendments/{amendments.latest.hash}"
        assert (sent.status, sent.location) == (303, path)
        review = browser.get(path)
        assert "valley has closed" in review.text
        assert "owner valley</dt>" in review.text
        assert "north and harbour have to agree" in review.text
        accept = f"{path}/accept"
        assert browser.post(accept, {"agree": "on"}, csrf_token="A" * 43).status == 403
        assert "confirm that you have" in browser.post(accept, csrf_token=token).text
        wrong = browser.post(accept, {"agree": "on", "expect-hash": "0" * 12}, csrf_token=token)
        assert "is not the expected one; nothing was done" in wrong.text
        assert study.in_force("proxy-0") == 0
        agreed = {"agree": "on", "expect-hash": amendments.latest.hash[:12]}
        done = browser.post(accept, agreed, csrf_token=token)
        assert done.location == f"/studies/{study.name}?done=amended"
        assert study.in_force("proxy-0") == 1
        again = browser.post(accept, agreed, csrf_token=token)
        assert again.location == f"/studies/{study.name}?done=accepted-before"
        page = browser.get(f"/studies/{study.name}")
        assert "Amendment 1 is in force" in page.text
        assert "north and harbour have yet to agree" in page.text
        assert "valley has closed" in page.text
    with served(nodes.kit("helper")) as (sessions, _):
        study.accept_at("helper")
        browser = entered(sessions)
        page = browser.until(f"/studies/{study.name}/live", "Amendment 1 is in force")
    with served(nodes.kit("proxy-1")) as (sessions, _):
        browser = entered(sessions)
        assert "Amendment" not in browser.get(f"/studies/{study.name}/live").text


def test_what_comes_too_late_is_told_to_the_operator(study: Amended) -> None:
    study.submit(*DATA)
    study.owner("north").wait(timeout=120)
    amendments = study.amend(dropped("valley"))
    with served(study.nodes.kit("proxy-0")) as (sessions, _):
        browser = entered(sessions)
        token = browser.csrf_token()
        browser.upload("/proposals", study.file.name, study.file.read_bytes(), csrf_token=token)
        late = browser.post(f"/amendments/{amendments.latest.hash}/accept", {"agree": "on"}, csrf_token=token)
        assert late.status == 422
        assert "cannot be amended any more" in late.text
