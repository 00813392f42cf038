"""Guesses at columns, and how far a file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.app.jobs import AppJob, Jobs
from ppaurora.app.owner.guessing import guess_columns, named_positive
from ppaurora.data import Columns, read_columns, read_dataset
from ppaurora.errors import DataError, InputError
from ppaurora.io.text import Line
from tests.support.app_owner import table
from tests.support.local_app import PATIENCE

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
