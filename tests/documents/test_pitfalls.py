"""docs/pitfalls.md names tests and commands that there are, and says of every pitfall where it stands."""

from __future__ import annotations

import re

import pytest

from tests.campaign.plan import KINDS
from tests.support.repository import ROOT, missing_commands, missing_places, rows_under

TEXT = (ROOT / "docs/pitfalls.md").read_text()
SECTIONS = [title for title in re.findall(r"^## (.*)$", TEXT, flags=re.MULTILINE) if "nothing" not in title]


def says_where(shown: str, here: str) -> bool:
    """Whether a test or a campaign shows it, or a document states it, or it is said not to be prevented."""
    is_shown = re.search(r"`tests/|`make campaign", shown)
    is_stated = "*stated*" in shown and "](" in shown
    return bool(is_shown or is_stated or "**Not prevented" in here)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_pitfall_says_where_it_is_shown(section: str) -> None:
    rows = rows_under(TEXT, section)
    assert len(rows) >= 5
    assert {len(row) for row in rows} == {4}
    assert [row[0] for row in rows if not (row[1] and says_where(row[2], row[1]))] == []


def test_every_place_is_there() -> None:
    assert TEXT.count("`tests/") > 60
    assert missing_places(TEXT) == []


def test_every_command_is_there() -> None:
    assert missing_commands(TEXT) == set()
    named = re.findall(r"ONLY=([a-z-]+)", TEXT)
    assert named
    assert set(named) <= set(KINDS)


def test_what_is_not_there_is_noticed() -> None:
    """The positive control."""
    here = "`tests/documents/test_pitfalls.py::test_every_place_is_there`"
    gone = ["tests/documents/test_pitfalls.py::test_gone", "tests/gone.py", "tests/gone.py::test_gone"]
    assert missing_places(f"{here}, `tests/documents`") == []
    assert missing_places("".join(f"`{place}` " for place in (*gone, here[1:-1]))) == gone
    assert missing_commands("`make gone ONLY=1` and `make test`") == {"gone"}
    assert not says_where("everybody knows", "it is prevented")
    assert not says_where("*stated*", "it is prevented")
    assert says_where("", "**Not prevented:** it is not")
