"""docs/assurance.md names tests and commands that there are."""

from __future__ import annotations

import re

from tests.support.repository import ROOT, missing_commands, missing_places, rows_under

TEXT = (ROOT / "docs/assurance.md").read_text()


def test_every_place_is_there() -> None:
    assert TEXT.count("`tests/") > 15
    assert missing_places(TEXT) == []


def test_every_question_says_how_and_where() -> None:
    rows = rows_under(TEXT, "Kinds of tests")
    assert len(rows) > 10
    assert all(len(row) == 3 and all(row) for row in rows)


def test_every_command_of_make_is_there() -> None:
    assert "`make crashes`" in TEXT
    assert missing_commands(TEXT) == set()


def test_a_run_on_record_is_one_of_a_campaign_and_names_its_commit() -> None:
    campaigns = [name for name, *_ in rows_under(TEXT, "Campaigns")]
    for row in rows_under(TEXT, "The last long runs"):
        name, commit, *rest = row
        assert name in campaigns
        assert re.fullmatch(r"`[0-9a-f]{7,40}`", commit)
        assert len(rest) == 3
        assert all(rest)
