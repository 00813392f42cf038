"""CITATION.cff: well formed as far as can be seen without a parser of YAML, and what the README says."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.support.repository import README, ROOT

CITATION = (ROOT / "CITATION.cff").read_text()
ENTRY = re.compile(r"( *)(?:- )?([a-z-]+): ?(.*)")


def entries() -> dict[str, str]:
    """The keys of the outermost level, with what stands on the same line."""
    found = [ENTRY.fullmatch(line) for line in CITATION.splitlines()]
    return {entry[2]: entry[3] for entry in found if entry and not entry[1]}


def test_what_the_format_requires_is_there() -> None:
    outermost = entries()
    assert {"cff-version", "message", "title", "authors"} <= set(outermost)
    assert outermost["cff-version"] == "1.2.0"
    assert outermost["type"] == "software"
    paper = CITATION.split("preferred-citation:\n")[1]
    assert re.findall(r"^  (type|title|authors):", paper, re.MULTILINE) == ["type", "title", "authors"]


def test_lines_are_entries_items_or_text_that_goes_on() -> None:
    goes_on = -1  # the indentation of an entry whose text is on the lines below it
    for line in CITATION.splitlines():
        assert "\t" not in line
        indentation = len(line) - len(line.lstrip())
        if goes_on >= 0 and indentation > goes_on:
            continue
        goes_on = -1
        entry = ENTRY.fullmatch(line)
        assert entry or re.fullmatch(r" +- [^:]+", line), line
        if entry and entry[3] == ">-":
            goes_on = indentation
        elif entry and entry[3]:
            assert ": " not in entry[3], f"needs quotation marks: {line}"


def test_it_is_of_this_version_and_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert entries()["version"] == project["version"]
    assert entries()["license"] == project["license"]
    assert entries()["title"] == project["name"]


@pytest.mark.parametrize("named", ["10.1007/978-3-031-39828-5_15", "2102.08788", "Ünal", "Pfeifer", "Akgün"])
def test_readme_and_citation_name_the_same_paper(named: str) -> None:
    assert named in README
    assert named in CITATION


def test_the_title_is_the_same_as_in_the_readme() -> None:
    text = " ".join(CITATION.split())
    quoted = " ".join(README.replace("\n> ", " ").split())
    title = re.search(r"ppAURORA: [A-Z][\w -]+ Curves", text)
    assert title
    assert title.group() in quoted
