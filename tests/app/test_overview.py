"""The list of an owner's studies: how each stands, whose turn it is, and until when."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import structs

from ppaurora.app.owner.controller import OwnerController
from ppaurora.app.owner.kits import OwnerKits
from ppaurora.app.owner.overview import ASKING, StudyRow
from ppaurora.app.owner.poller import Seen
from ppaurora.app.owner.views import standing
from ppaurora.errors import PeerLostError
from ppaurora.messages.owners import StudyState, StudyStatus
from ppaurora.owner.study import NodeStatus, Study
from tests.support.app_owner import Person, submit_other, table
from tests.support.local_app import Browser
from tests.support.trials import Trials

UNTIL = '[evaluation]\nsubmissions_until = "2099-12-31"\n'


def row_of(browser: Browser, study: str, *texts: str) -> str:
    """The words of a study's row, once it says one of these."""

    def said(page: str) -> str:
        return page.split(f'href="/studies/{study}"')[1].split("</article>")[0]

    for _ in range(200):
        row = said(browser.until("/live", study).text)
        if any(text in row for text in texts):
            return row
    raise AssertionError(row)


def test_rows_follow_a_study_from_the_first_file_to_the_result(nodes: Trials, browser: Browser) -> None:
    nodes.study("listed", more=UNTIL)
    person = Person(browser, "listed")
    row = row_of(browser, "listed", "Waiting for your data")
    assert "your turn" in row
    assert "choose a file, and submit it" in row
    assert "the end of 2099-12-31 (UTC)" in row
    person.choose(table())
    person.submitted("agree")
    row = row_of(browser, "listed", "Your data is submitted")
    assert "<strong>harbour</strong>: submit their data" in row
    assert "your turn" not in row
    submit_other(nodes, "listed")
    row = row_of(browser, "listed", "The result is ready")
    assert "your turn" in row
    assert "fetch the result" in row
    assert "2099" not in row  # no deadline matters any longer
    Study(nodes.kit("north"), "listed").result()
    row = row_of(browser, "listed", "The result is here")
    assert "Next step" not in row


def test_the_list_itself_says_the_same_without_a_script(nodes: Trials, browser: Browser) -> None:
    nodes.study("no-script", more=UNTIL)
    page = browser.until("/", "Waiting for your data").text
    assert '<noscript><meta http-equiv="refresh"' in page
    assert "the end of 2099-12-31 (UTC)" in page


@pytest.fixture
def controller(nodes: Trials) -> OwnerController:
    study = OwnerKits(nodes.owner("north")).find("trial")
    assert study is not None
    return OwnerController(study.kit, study.manifest)


def answers(controller: OwnerController, **changes: object) -> Mapping[str, NodeStatus]:
    found = controller.study.status()
    return {
        title: structs.replace(one, **changes) for title, one in found.items() if isinstance(one, StudyStatus)
    }


@pytest.mark.parametrize(
    ("state", "title", "turn", "step"),
    [
        (StudyState.STOPPED, "The study is stopped", "the operator of proxy 0", "resume the study"),
        (StudyState.EXPIRED, "The study is expired", "the coordinator", "make a new study"),
        (StudyState.DELETED, "The study is deleted", "the coordinator", "make a new study"),
        (StudyState.RUNNING, "The computation is in progress", "the servers", "compute"),
        (StudyState.RELEASED, "The result is ready", "you", "fetch the result"),
    ],
)
def test_whoever_has_to_act_is_named(
    controller: OwnerController, state: StudyState, title: str, turn: str, step: str
) -> None:
    found = standing(controller, Seen(answers(controller, state=state, note="because")))
    assert (found.title, found.turn) == (title, turn)
    assert found.step.startswith(step)
    assert found.is_own_turn == (turn == "you")


def test_before_an_answer_and_without_one(controller: OwnerController) -> None:
    assert standing(controller, Seen()) is ASKING
    lost = standing(controller, Seen(problem=PeerLostError("proxy 0", "is gone")))
    assert lost.kind == "bad"


def test_a_study_that_cannot_be_shown_leaves_the_others(nodes: Trials, browser: Browser) -> None:
    nodes.study("damaged")
    inbox = nodes.kit("north") / "inbox" / "damaged.json"
    inbox.parent.mkdir(exist_ok=True)
    inbox.write_text("{}")
    try:
        row = row_of(browser, "damaged", "This study cannot be shown")
        assert "is damaged" in row
        row_of(browser, "trial", "Waiting for your data")
    finally:
        inbox.unlink()


def test_a_row_before_anybody_was_asked(nodes: Trials) -> None:
    """What the first page shows, which is there before what asks the nodes is loaded."""
    study = OwnerKits(nodes.owner("north")).find("trial")
    assert study is not None
    row = StudyRow.of(study)
    assert row.standing is ASKING
    assert row.deadline == "none; data can be submitted until all owners have submitted theirs"
    assert row.details == "3 owners; AUROC, AUPR, average precision"
