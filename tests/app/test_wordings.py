"""Errors and advice in the words of where they are read: a page has fields and buttons, and no options."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from ppaurora.app.jobs import sentence_of
from ppaurora.check.concerns import label_concerns
from ppaurora.check.labels import Spelling
from ppaurora.data import Columns, read_dataset
from ppaurora.errors import DataError, InputError, PeerLostError, Wording, text_of
from ppaurora.owner.outbox import has_result
from ppaurora.pages.environment import environment


def printed(text: str) -> str:
    """As a template prints it."""
    return environment().from_string("{{ text }}").render(text=text)


def error_of(table: bytes, folder: Path) -> InputError:
    """What is wrong with a file."""
    path = folder / "data.csv"
    path.write_bytes(table)
    with pytest.raises(InputError) as caught:
        read_dataset(path, Columns()).samples(None)
    return caught.value


def test_a_page_prints_its_own_words() -> None:
    text = Wording("run it with --replace", "choose 'Replace' & send")
    assert str(text) == "run it with --replace"
    assert printed(text) == "choose &#39;Replace&#39; &amp; send"
    assert printed(Wording("the same everywhere")) == printed("the same everywhere") == "the same everywhere"


@pytest.mark.parametrize(
    ("table", "command", "page"),
    [
        (b"score,label\n0.5,yes\n", "--pos-label", "choose the positive label under 'Columns'"),
        (b"score,label\n,1\n0.5,0\n", "--leave-out-missing", "tick 'Leave out rows without a score"),
        (b"risk,label\n0.5,1\n", "--score COLUMN", "choose the column for it under 'Columns'"),
    ],
)
def test_what_is_wrong_with_data(table: bytes, command: str, page: str, tmp_path: Path) -> None:
    error = error_of(table, tmp_path)
    assert command in str(error)
    shown = printed(sentence_of(error)).replace("&#39;", "'")
    assert page in shown
    assert "--" not in shown
    assert "data.csv, row" in shown or "column" in shown


def test_nobody_is_told_to_make_up_a_value(tmp_path: Path) -> None:
    for table in (b"score,label\n,1\n0.5,0\n", b"score,label\n0.5,\n0.5,0\n"):
        error = error_of(table, tmp_path)
        assert isinstance(error, DataError)
        for said in (str(error), printed(sentence_of(error))):
            assert "correct it at the source, or leave the row out" in said
            assert "never make up a value" in said
            assert "fill" not in said


def test_a_wrong_positive_label() -> None:
    labels = [Spelling("no", 3, positive=True), Spelling("dead", 4, positive=False)]
    (concern,) = (one for one in label_concerns(labels, None) if one.code == "positive-label")
    assert "--pos-label dead" in concern.text
    assert "choose dead as the positive label under" in printed(concern.text)
    assert "--" not in printed(concern.text)


def test_what_an_owner_does_next() -> None:
    said = has_result("trial")
    assert "'ppaurora result' shows it again" in str(said)
    assert printed(sentence_of(said)).endswith("The study&#39;s page shows it")


def test_wordings_survive_another_process() -> None:
    copied = copy.deepcopy(has_result("trial"))
    assert text_of(copied) == str(has_result("trial"))
    assert printed(text_of(copied)).endswith("page shows it")
    error = copy.deepcopy(PeerLostError("proxy 0", "is gone", "ask its operator"))
    assert (error.advice, error.__notes__) == ("ask its operator", ["ask its operator"])
