"""An owner's whole way through the pages, against three real nodes."""

from __future__ import annotations

import html
import itertools
import json
import os
import re
import stat
import threading
from pathlib import Path

import pytest

from ppaurora.app.owner.pictures import pictures_of
from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.sessions import Sessions
from ppaurora.check import check_data
from ppaurora.data import check_samples
from ppaurora.owner.study import Study
from ppaurora.owner.verifying import verify_receipt
from tests.support.app_owner import Person, submit_other, table
from tests.support.local_app import Browser, entered, served
from tests.support.oracles import defined, exact_auroc, exact_average_precision
from tests.support.policies import with_floors
from tests.support.trials import Trials, becomes
from tests.support.workbooks import workbook

App = tuple[Sessions, PrivateFolder]
NUMBERS = itertools.count(1)


def files_in(room: PrivateFolder) -> list[str]:
    return [name for name in os.listdir(room.path) if name != "in-use"]


def revision(nodes: Trials, study: str) -> int:
    """That a proxy knows of north: how often it was told something."""
    own = Study(nodes.kit("north"), study)
    return next(iter(own._clients.values())).status().revision


@pytest.fixture
def person(nodes: Trials, browser: Browser) -> Person:
    """At a new study."""
    name = f"study-{next(NUMBERS)}"
    nodes.study(name)
    return Person(browser, name)


def test_from_a_file_to_the_result(nodes: Trials, person: Person, app: App, tmp_path: Path) -> None:
    overview = person.page("Waiting for your data")
    assert "What the result will disclose" in overview.text
    assert "numbers at full precision" in overview.text  # the words of disclosure.py
    assert "Why this page runs on your machine" in overview.text
    assert "1,000 samples, for example" in overview.text
    assert "How to read these figures" in overview.text
    before, _ = overview.text.split("<details", 1)
    assert re.search(r"Fingerprint .*<code [^>]*>[0-9a-f]{64}</code>", before)  # without opening anything
    assert "harbour" in overview.text
    looked = person.choose(table())
    assert "Submit 60 samples" in looked.text
    assert looked.text.count('<svg class="chart') == 3
    [name] = files_in(app[1])
    assert stat.S_IMODE((app[1].path / name).stat().st_mode) == 0o600
    assert person.submit("agree").status == 303
    sent = person.page("Your data is submitted")
    assert "Waiting for harbour" in sent.text
    assert "60 samples: proxy 0 and proxy 1 acknowledged it" in sent.text
    assert files_in(app[1]) == []
    submit_other(nodes, person.study)
    person.page("The result is ready")
    collected = person.browser.post(f"{person.path}/collect", csrf_token=person.csrf_token())
    assert collected.status == 303
    person.page("The result is here")
    result = person.browser.get(f"{person.path}/result")
    report = Study(nodes.kit("north"), person.study).result()
    assert f"{report.auroc:.4f}" in result.text
    assert "The receipt is verified" in result.text
    assert html.escape(report.privacy) in result.text
    receipt = person.browser.get(f"{person.path}/result/receipt.json")
    assert receipt.headers["Content-Disposition"] == f'attachment; filename="{person.study}.receipt.json"'
    (tmp_path / "receipt.json").write_bytes(receipt.body)
    assert verify_receipt(tmp_path / "receipt.json").signed_by == ("proxy-0", "proxy-1", "helper")
    saved = person.browser.get(f"{person.path}/result/result.json")
    assert json.loads(saved.body)["metrics"] == json.loads(report.to_json())["metrics"]
    page = person.browser.get(f"{person.path}/result/report.html")
    assert page.headers["Content-Disposition"] == f'attachment; filename="{person.study}.html"'
    assert f"{report.auroc:.4f}" in page.text
    for kind in ("report.md", "report.json", "table.tex"):
        assert f"{report.auroc:.4f}"[:6] in person.browser.get(f"{person.path}/result/{kind}").text
    assert "has its result" in person.choose(table()).text
    assert person.submit("agree").status == 422


def test_data_is_replaced_and_withdrawn(nodes: Trials, person: Person) -> None:
    person.choose(table(60))
    person.submitted("agree")
    person.page("Your data is submitted")
    looked = person.choose(table(80))
    assert "60 samples sent before" in looked.text
    person.submitted("agree")
    refused = person.page("failed")
    assert "other data was submitted to the study" in refused.text
    assert revision(nodes, person.study) == 1
    person.submitted("agree", "replace")
    replaced = person.page("80 samples: proxy 0 and proxy 1 acknowledged it")
    assert "failed" not in replaced.text
    person.page("Your data is submitted")  # and nothing is under way any longer
    assert revision(nodes, person.study) == 2
    query = person.browser.get(f"{person.path}/withdraw")
    assert "80 samples" in query.text
    assert revision(nodes, person.study) == 2  # looking changes nothing
    assert person.browser.post(f"{person.path}/withdraw", csrf_token=person.csrf_token()).status == 303
    person.page("You have withdrawn your data")
    assert revision(nodes, person.study) == 3
    person.choose(table(60))
    person.submitted("agree")
    person.page("60 samples: proxy 0 and proxy 1 acknowledged it")
    assert revision(nodes, person.study) == 4


def test_a_broken_rule_is_told_before_and_after_and_can_be_mended(nodes: Trials, browser: Browser) -> None:
    """How much the others need, then who has too much; with less in its place, the study goes on."""
    nodes.study("too-much", policy='[policy]\nkind = "exact"\nlargest_owner_fraction = 0.6\n')
    person = Person(browser, "too-much")
    looked = person.choose(table(120))
    needed = "The other owners</strong> need at least 80 samples together, as no owner may have more than 0.6"
    assert needed in looked.text
    person.submitted("agree")
    person.page("Your data is submitted")
    submit_other(nodes, "too-much")
    told = person.page("proxy 0 says: north has more than 0.6 of all samples: 120 of 180; north can replace")
    assert "Submit other data instead" in told.text
    person.choose(table(90))
    person.submitted("agree", "replace")
    person.page("The result is ready")


def test_withdrawing_nothing_is_told(person: Person) -> None:
    person.browser.post(f"{person.path}/withdraw", csrf_token=person.csrf_token())
    assert "there is nothing to withdraw" in person.page("failed").text


def test_two_tabs_submit_at_once_and_one_does(nodes: Trials, person: Person, app: App) -> None:
    person.choose(table(3000))
    other = Person(entered(app[0]), person.study)
    draft, words = person.browser.draft(person.data), (person.csrf_token(), other.csrf_token())
    answers = []

    def submit(who: Person, csrf_token: str) -> None:
        fields = {"draft": draft, "agree": "on"}
        answers.append(who.browser.post(f"{who.path}/submit", fields, csrf_token=csrf_token))

    threads = [threading.Thread(target=submit, args=one) for one in zip((person, other), words, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = sorted(answers, key=lambda answer: answer.status)
    assert first.status == 303
    assert second.status in (409, 422)
    assert "under way" in second.text or "no longer as it was shown" in second.text
    person.page("Your data is submitted")
    assert revision(nodes, person.study) == 1


def test_another_process_that_submits_is_waited_for(nodes: Trials, person: Person) -> None:
    person.choose(table())
    own = Study(nodes.kit("north"), person.study)
    with own._outbox.alone():
        person.submitted("agree")
        assert "another process is submitting" in person.page("failed").text
    person.submitted("agree")
    person.page("Your data is submitted")


def test_a_file_of_another_tab_is_not_submitted_unseen(person: Person, app: App) -> None:
    person.choose(table(60))
    old = person.browser.draft(person.data)
    Person(entered(app[0]), person.study).choose(table(80), "other.csv")
    answer = person.browser.post(
        f"{person.path}/submit", {"draft": old, "agree": "on"}, csrf_token=person.csrf_token()
    )
    assert answer.status == 422
    assert "or replaced by another one" in answer.text
    assert len(files_in(app[1])) == 1
    assert "other.csv" in person.browser.get(person.data).text
    fields = {"draft": person.browser.draft(person.data)}
    person.browser.post(f"{person.data}/away", fields, csrf_token=person.csrf_token())
    assert files_in(app[1]) == []


def test_columns_that_another_tab_chose_are_not_submitted_unseen(
    nodes: Trials, person: Person, app: App
) -> None:
    """One tab shows risk and asks for agreement; behind its back, the other has the file read otherwise."""
    rows = [f"{i / 60},{1 - i / 77},{int(i % 3 > 0)}" for i in range(60)]
    person.choose("\n".join(["risk,other,label", *rows]).encode())
    shown = person.browser.draft(person.data)
    Person(entered(app[0]), person.study).columns(score="other", label="label")
    answer = person.browser.post(
        f"{person.path}/submit",
        {"draft": shown, "agree": "on", "despite-warnings": "on"},
        csrf_token=person.csrf_token(),
    )
    assert answer.status == 422
    assert "no longer as it was shown" in answer.text
    assert revision(nodes, person.study) == 0
    person.submitted("agree", "despite-warnings")  # what is shown now
    person.page("Your data is submitted")


def test_nothing_is_sent_without_agreement(nodes: Trials, person: Person) -> None:
    person.choose(table())
    answer = person.submit("replace")
    assert answer.status == 422
    assert "Confirm that you agree" in answer.text
    assert revision(nodes, person.study) == 0


def test_warnings_want_a_tick_of_their_own(nodes: Trials, person: Person) -> None:
    inverted = b"score,label\n" + b"".join(b"%d,%d\n" % (i, i < 30) for i in range(60))
    looked = person.choose(inverted)
    assert "auroc-below-half" in looked.text
    answer = person.submit("agree")
    assert answer.status == 422
    assert "The data check has warnings (auroc-below-half)" in answer.text
    assert revision(nodes, person.study) == 0
    assert person.submit("agree", "despite-warnings").status == 303
    person.page("Your data is submitted")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("report.pdf", b"%PDF-1.7 ...", "report.pdf: is a PDF, not a table"),
        ("empty.csv", b"", "empty.csv: is empty"),
        ("bare.csv", b"0.5,1\n0.7,0\n", "the first row must name the columns"),
        (
            "row.csv",
            b"score,label\n0.5,1\nhigh,0\n",
            "row.csv, row 3, column 'score': the score is not a number",
        ),
        (
            "label.csv",
            b"score,label\n0.5,1\n0.7,\n",
            "label.csv, row 3, column 'label': the label is missing",
        ),
        ("short.csv", b"score,label\n0.5\n", "values in the row: 1, columns in the header: 2"),
    ],
)
def test_a_wrong_file_is_told_as_the_command_does(
    nodes: Trials, browser: Browser, app: App, name: str, content: bytes, said: str
) -> None:
    person = Person(browser, "trial")
    answer = person.choose(content, name)
    assert said in answer.text
    assert "high" not in answer.text.split("<h2>")[0]
    person.choose(table(), "mended.csv")
    assert "Submit 60 samples" in browser.get(person.data).text
    browser.post(f"{person.data}/away", {"draft": browser.draft(person.data)}, csrf_token=person.csrf_token())
    assert files_in(app[1]) == []


def test_the_sheet_of_a_workbook_is_chosen(nodes: Trials, person: Person) -> None:
    rows = [(number / 60, "ja" if number % 3 else "nein") for number in range(60)]
    content = workbook({"Read me": [("a", "b")], "Ward 1": [("risk", "died"), *rows]})
    asked = person.choose(content, "ward.xlsx")
    assert "Which sheet is it?" in asked.text
    assert "choose a column" not in asked.text
    looked = person.columns(sheet="Ward 1")
    assert "Does “ja” mean positive, and “nein” negative?" in looked.text
    looked = person.columns(sheet="Ward 1", score="risk", label="died", positive="ja")
    assert "Submit 60 samples" in looked.text


def test_the_region_of_a_file_and_percentages_are_asked_about(nodes: Trials, person: Person) -> None:
    rows = "".join(f"{number},5%;{'sí' if number % 3 else 'no'}\n" for number in range(60))
    asked = person.choose(f"score;label\n{rows}".encode("cp1252"), "ward.csv")
    assert "Are the scores percentages?" in asked.text
    asked = person.columns(score="score", label="label", percent="on")
    assert "Where was this file written?" in asked.text
    asked = person.columns(encoding="cp1252")
    assert "Does “sí” mean positive, and “no” negative?" in asked.text
    looked = person.columns(score="score", label="label", encoding="cp1252", percent="on", positive="sí")
    assert "Submit 60 samples" in looked.text


def test_columns_and_the_positive_label_are_chosen(nodes: Trials, person: Person, app: App) -> None:
    rows = [f"{i},{i / 60},{i / 77},{'sick' if i % 3 else 'well'}" for i in range(60)]
    content = "\n".join(["a,b,c,d", *rows]).encode()
    assert "choose a column" in person.choose(content, "letters.csv").text
    looked = person.columns(score="b", label="d")
    assert "Which label is positive?" in looked.text
    assert ">sick</option>" in looked.text
    looked = person.columns(score="b", label="d", positive="sick", id="a")
    assert "Submit 60 samples" in looked.text
    assert "where <strong>sick</strong> is positive" in looked.text
    same = person.columns(score="b", label="b")
    assert "score and label cannot both be column 'b'" in same.text
    assert len(files_in(app[1])) == 1


def test_a_closed_browser_loses_nothing(nodes: Trials, person: Person, app: App) -> None:
    """The work goes on; whoever comes back, with a new link, reads where it stands."""
    person.choose(table(2000))
    person.submitted("agree")
    assert becomes(lambda: revision(nodes, person.study) == 1)
    Person(entered(app[0]), person.study).page("2,000 samples: proxy 0 and proxy 1 acknowledged it")


def test_an_upload_that_is_cut_off_leaves_nothing(person: Person, app: App) -> None:
    csrf_token = person.csrf_token()
    head = f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf_token}\r\n'
    head += '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nscore,label\n'
    with person.browser.half_sent(f"{person.data}/file", head.encode(), length=5_000_000):
        assert becomes(lambda: len(files_in(app[1])) == 1)
    assert becomes(lambda: files_in(app[1]) == [])
    assert "Check this file" in person.browser.get(person.data).text
    assert "Submit 60 samples" in person.choose(table()).text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../../north/key.pem", "key.pem"),
        ("..", ".."),
        ("\u202evsc.exe", "?vsc.exe"),
        ("<img src=x onerror=alert(1)>.csv", "<img src=x onerror=alert(1)>.csv"),
    ],
)
def test_a_file_is_kept_under_no_name_of_its_own(person: Person, app: App, name: str, shown: str) -> None:
    looked = person.choose(table(), name)
    assert f"<strong>{html.escape(shown)}</strong>" in looked.body.decode()
    [kept] = files_in(app[1])
    assert re.fullmatch("[0-9a-f]{32}", kept)
    assert (app[1].path / kept).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("letter", ["\x1b", "\0"])
def test_a_name_that_cannot_be_sent_gets_a_sentence(person: Person, app: App, letter: str) -> None:
    answer = person.browser.upload(
        f"{person.data}/file", f"a{letter}b.csv", table(), csrf_token=person.csrf_token()
    )
    assert answer.status == 422
    assert "Give it a plain name" in answer.text
    assert files_in(app[1]) == []


@pytest.mark.parametrize("gigabytes", [3, 10, 10_000])
def test_a_large_file_is_refused_before_it_is_read(person: Person, app: App, gigabytes: int) -> None:
    kind = {"Content-Type": "multipart/form-data; boundary=x", "X-CSRF-Token": person.csrf_token()}
    length = {"Content-Length": str(gigabytes << 30)}
    answer = person.browser.send("POST", f"{person.data}/file", None, kind | length)
    assert answer.status == 413
    assert "The page takes files up to 2 GB" in answer.text
    assert "Keep only the columns that the study needs" in answer.text
    assert files_in(app[1]) == []


def test_the_pictures_tell_the_areas_by_definition() -> None:
    labels, scores = [1, 0, 1, 1, 0, 0, 1], [3.0, 1.0, 2.0, 1.0, 2.0, 0.0, 5.0]
    own = check_samples("north", labels, scores)
    _, roc, precision_recall = pictures_of(check_data(own))
    known = list(zip(scores, labels, strict=True))
    assert f"{float(defined(exact_auroc(known))):.4f}" in roc.caption
    assert f"{float(defined(exact_average_precision(known))):.4f}" in precision_recall.caption


def test_a_lost_node_is_told_and_a_submission_goes_on(nodes: Trials, person: Person) -> None:
    person.choose(table())
    nodes.kill("proxy-1")
    try:
        person.page("not reached")
        person.submitted("agree")
        failed = person.page("failed")
        assert "60 samples are acknowledged by proxy 0" in failed.text
        assert "Your submission is not complete" in failed.text
    finally:
        nodes.start("proxy-1")
    person.submitted("agree")
    person.page("Your data is submitted")
    assert revision(nodes, person.study) == 1


def test_there_is_no_page_of_another_study(browser: Browser) -> None:
    for path in ("/studies/none", "/studies/..%2f..", "/studies/trial/result/..%2f..%2fkey.pem"):
        assert browser.get(path).status in (404, 422)
    assert browser.get("/studies/trial/result").status == 409


def test_the_budget_is_shown_and_stops(nodes: Trials, tmp_path: Path) -> None:
    """As the command does: the file is shown, with what studies spend on it, and cannot be submitted."""
    for name, epsilon in (("spends-2", 2), ("spends-1", 1)):
        policy = f'[policy]\nkind = "private"\nepsilon = {epsilon}\n'
        nodes.study(name, head='metrics = ["auroc"]\n', policy=policy)
    nodes.study("unbounded", head='metrics = ["auroc"]\n')
    content = table()
    with served(with_floors(nodes, "north", tmp_path, "epsilon = 2.5")) as (sessions, _):
        browser = entered(sessions)
        first, second, third = (Person(browser, name) for name in ("spends-2", "spends-1", "unbounded"))
        shown = first.choose(content).said
        assert "this study 2, so far 0, at most 2.5 by your floor" in shown
        first.submitted("agree")
        first.page("Your data is submitted")
        answer = second.choose(content)
        assert "The study does not accept this data" in answer.said
        assert "this study 1, so far 2 on this data (spends-2), at most 2.5 by your floor" in answer.said
        assert 'name="agree"' not in answer.text
        assert "Nothing was sent" in second.submit("agree").said
        assert "a study of kind 'exact' has no noise" in third.choose(content).said
