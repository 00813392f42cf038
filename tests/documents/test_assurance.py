"""docs/assurance.md names tests and commands that there are."""

from __future__ import annotations

import re

from tests.support.repository import ROOT

TEXT = (ROOT / "docs/assurance.md").read_text()


def rows_under(heading: str) -> list[list[str]]:
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_place_is_there() -> None:
    places = re.findall(r"`((?:tests|tools)/[\w./]+)`", TEXT)
    assert len(places) > 15
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_every_question_says_how_and_where() -> None:
    rows = rows_under("Kinds of tests")
    assert len(rows) > 10
    assert all(len(row) == 3 and all(row) for row in rows)


def test_every_command_of_make_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", TEXT))
    assert "crashes" in named <= targets


def test_a_run_on_record_is_one_of_a_campaign_and_names_its_commit() -> None:
    campaigns = [name for name, *_ in rows_under("Campaigns")]
    for row in rows_under("The last long runs"):
        name, commit, *rest = row
        assert name in campaigns
        assert re.fullmatch(r"`[0-9a-f]{7,40}`", commit)
        assert len(rest) == 3
        assert all(rest)
