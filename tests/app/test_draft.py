"""Guesses at columns, and how far a file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.app.jobs import AppJob, Jobs
from ppaurora.app.owner.draft import Draft
from ppaurora.app.owner.guessing import guess_columns, named_positive
from ppaurora.data import Columns, Design, read_columns, read_dataset
from ppaurora.errors import DataError, InputError
from ppaurora.io.text import Line
from ppaurora.protocols import Fast
from tests.support.app_owner import table
from tests.support.local_app import PATIENCE
from tests.support.workbooks import workbook

SEPSIS = EvaluationSpec(outcome=Line("sepsis within 48 hours"), positive_class=Line("sepsis"))


@pytest.mark.parametrize(
    ("names", "guessed"),
    [
        (("score", "label"), Columns(score="score", label="label")),
        (("patient_id", "risk", "died"), Columns(score="risk", label="died", id="patient_id")),
        (("y_true", "y_score"), Columns(score="y_score", label="y_true")),
        (("caseId", "predProb", "outcome48h"), Columns(score="predProb", label="outcome48h", id="caseId")),
        (("ward", "probability", "sepsis"), Columns(score="probability", label="sepsis")),
        (("x", "label"), Columns(score="x", label="label")),
        (("a", "b", "c"), Columns(score="", label="")),
        (("age", "score"), Columns(score="score", label="")),
    ],
)
def test_columns_are_guessed_from_their_names(names: tuple[str, ...], guessed: Columns) -> None:
    assert guess_columns(names, SEPSIS) == guessed


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (("sepsis", "none"), "sepsis"),
        (("sepsis", "SEPSIS"), None),
        (("yes", "no"), None),
        (("a", "b"), None),
        (("yes", "y"), None),
        (("yes", "no", "unknown"), None),
    ],
)
def test_the_positive_label_is_what_the_plan_calls_it(labels: tuple[str, ...], positive: str | None) -> None:
    assert named_positive(labels, SEPSIS) == positive


class OneModel:
    """As much of a study as a draft of data that cannot be used asks for."""

    class manifest:  # noqa: N801
        evaluation = SEPSIS
        protocol = Fast()

    design = Design()


STUDY: Any = OneModel()


def draft_of(path: Path, content: bytes) -> Draft:
    path.write_bytes(content)
    return Draft.of(path, path.name, STUDY)


def looked_at(draft: Draft, **changes: Any) -> Draft:
    return draft.checked(structs.replace(draft.columns, **changes), STUDY, AppJob("reading"))


def test_several_sheets_are_asked_about_before_columns(tmp_path: Path) -> None:
    sheets: dict[str, list[tuple[object, ...]]] = {
        "A": [("risk", "died"), (0.5, "yes")],
        "B": [("score", "label"), (0.5, 2), (0.25, 1)],
    }
    draft = draft_of(tmp_path / "d.xlsx", workbook(sheets))
    assert (draft.needs_sheet, draft.names, draft.sheets) == (True, (), ("A", "B"))
    draft = draft.opened(STUDY, "B", None)
    assert (draft.needs_sheet, draft.names, draft.columns.sheet) == (False, ("score", "label"), "B")
    assert "row 2, column 'label': the label is neither 0 nor 1" in looked_at(draft).looked.problem


def test_words_for_yes_and_no_are_confirmed_by_a_person(tmp_path: Path) -> None:
    draft = looked_at(draft_of(tmp_path / "d.csv", b"score,label\n0.5,ja\n0.25,nein\n"))
    assert (draft.needs_positive, draft.answers, draft.columns.pos_label) == (True, ("ja", "nein"), None)


def test_a_code_page_is_asked_about(tmp_path: Path) -> None:
    draft = draft_of(tmp_path / "d.csv", "score,label\n0.5,não\n0.25,x\n0.25,y\n".encode("cp1252"))
    assert not draft.may_need_encoding
    draft = looked_at(draft)
    assert draft.needs_encoding
    assert draft.may_need_encoding
    draft = looked_at(draft.opened(STUDY, None, "cp1252"))
    assert (draft.needs_encoding, draft.may_need_encoding, draft.labels[0]) == (False, True, "não")


def test_percentages_are_asked_about(tmp_path: Path) -> None:
    draft = looked_at(draft_of(tmp_path / "d.csv", b"score,label\n50%,a\n25%,b\n30%,c\n"))
    assert draft.needs_percent
    draft = looked_at(draft, percent=True)
    assert not draft.needs_percent
    assert "the label is neither 0 nor 1" in draft.looked.problem


def test_how_far_a_file_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_bytes(table(50_000))
    told: list[int] = []
    assert read_columns(path) == ("score", "label")
    data = read_dataset(path, Columns(), name="large.csv", watch=told.append)
    assert data.description.source == "large.csv"
    assert told == sorted(told)
    assert len(told) > 20
    assert told[-1] == path.stat().st_size


@pytest.mark.parametrize("content", [b"0.7,1\n0.3,0\n", b"score\n0.7\n", b";;\n"])
def test_a_file_that_names_no_columns_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bare.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match="the first row does not name two columns"):
        read_columns(path)


@pytest.mark.parametrize("delimiter", [b",", b";", b"\t", b"|"])
def test_columns_are_set_apart_by_whatever_there_is(tmp_path: Path, delimiter: bytes) -> None:
    path = tmp_path / "table.txt"
    path.write_bytes(delimiter.join([b"id", b" risk", b"died"]) + b"\n" + delimiter.join([b"1", b"2", b"0"]))
    assert read_columns(path) == ("id", "risk", "died")


def test_one_piece_of_work_at_a_time() -> None:
    jobs = Jobs()
    inside: list[AppJob] = []

    def work(job: AppJob) -> None:
        inside.append(job)
        with pytest.raises(InputError, match=r"reading a\.csv is under way"):
            jobs.start("submitting b.csv", work)
        raise ZeroDivisionError("a secret, 0.123456789")

    job = jobs.start("reading a.csv", work)
    assert job.wait(PATIENCE)
    assert inside == [job]
    assert job.problem.startswith("internal error: ZeroDivisionError")
    assert "0.123456789" not in job.problem
    assert jobs.start("submitting b.csv", lambda _: None).wait(PATIENCE)


def test_why_no_column_was_taken_is_told(tmp_path: Path) -> None:
    draft = draft_of(tmp_path / "d.csv", b"a,b,c\n0.5,x,1\n0.25,y,0\n0.75,z,1\n")
    assert not draft.columns.is_complete
    assert [one.in_words for one in draft.candidates] == [
        "may be scores; no labels: more than two different values",
        "no scores: not a number at row 2; no labels: more than two different values",
        "no scores: only two different values; may be labels",
    ]
    assert draft_of(tmp_path / "e.csv", b"score,label\n0.5,1\n").candidates == ()
