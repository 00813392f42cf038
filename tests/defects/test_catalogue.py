"""The catalogue fits the tree as it is, and the command tells what is noticed from what is not."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.defects.__main__ import EXIT_MISUSED, EXIT_NOT_CAUGHT, main, try_all
from tests.defects.catalogue import CATALOGUE
from tests.defects.defect import Defect
from tests.defects.trial import is_selected
from tests.support.repository import ROOT

PACKAGE = ROOT / "src/ppaurora"
FEWEST = 200
FEWEST_IN_A_ROOM = {"node": 20, "suites": 15, "metrics": 10, "owner": 10, "app": 8, "study": 8, "channel": 5}


def rooms() -> set[str]:
    return {
        path.stem
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" and not path.stem.startswith("__")) or (path / "__init__.py").exists()
    }


def test_every_text_to_be_replaced_is_there_once_and_so_are_the_tests() -> None:
    assert [problem for defect in CATALOGUE if (problem := defect.problem_in(ROOT))] == []


def test_every_defect_is_a_change_that_can_still_be_read() -> None:
    for defect in CATALOGUE:
        assert defect.new != defect.old, defect.name
        if defect.file.endswith(".py"):
            ast.parse(defect.changed((ROOT / defect.file).read_text()), defect.name)


def test_no_two_have_the_same_name_or_the_same_change() -> None:
    names = Counter(defect.name for defect in CATALOGUE)
    changes = Counter((defect.file, defect.old, defect.new) for defect in CATALOGUE)
    assert [one for one, times in names.items() if times > 1] == []
    assert [one for one, times in changes.items() if times > 1] == []


def test_there_are_many_and_some_in_every_room() -> None:
    by_room = Counter(defect.room for defect in CATALOGUE)
    assert len(CATALOGUE) >= FEWEST
    assert set(by_room) == rooms()
    assert {room: by_room[room] for room, least in FEWEST_IN_A_ROOM.items() if by_room[room] < least} == {}


def test_a_test_belongs_to_the_selections_that_name_it() -> None:
    test = "tests/a/test_b.py::test_c[1-2]"
    for selection in (test, "tests/a/test_b.py::test_c", "tests/a/test_b.py", "tests/a"):
        assert is_selected(test, ["tests/z.py", selection])
    assert is_selected("tests/a/test_b.py", ["tests/a/test_b.py::test_c"])  # a file that could not be loaded
    for selection in ("tests/a/test_b.py::test_", "tests/a/test", "tests/a/test_b.py::test_c[1]"):
        assert not is_selected(test, [selection])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one function, with a test of a part of it, and two that are broken."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it starts faster
    package, tests = tmp_path / "tree/src/tiny", tmp_path / "tree/tests"
    for folder in (package, tests):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "def half(x):\n    return x / 2\n\n\ndef third(x):\n    return x / 3\n"
    )
    (tests / "test_half.py").write_text(
        "from tiny import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    )
    (tests / "test_failing.py").write_text("def test_third():\n    assert False\n")
    (tests / "test_unloadable.py").write_text("import nothing_like_it\n")
    return tmp_path / "tree"


def defect(name: str, old: str, new: str, *tests: str) -> Defect:
    return Defect(name, "for this test", file="src/tiny/__init__.py", old=old, new=new, tests=tests)


HALF, FAILING, UNLOADABLE = (f"tests/test_{name}.py" for name in ("half", "failing", "unloadable"))


def test_what_is_noticed_is_told_from_what_is_not_and_from_what_fails_anyway(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The positive control: one that changes nothing observable is reported as not caught."""
    defects = [
        defect("noticed", "x / 2", "x // 3", HALF),
        defect("not-noticed", "x / 3", "x / 4", HALF),
        defect("fails-anyway", "x / 2", "x // 3", HALF, FAILING),
        defect("never-loads", "x / 2", "x // 3", UNLOADABLE),
    ]
    assert try_all(tree, defects) == EXIT_NOT_CAUGHT
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines()}
    assert lines["noticed"].endswith(f" s  {HALF}::test_half")
    assert lines["not-noticed"].endswith("NOT CAUGHT")
    assert lines["fails-anyway"].endswith(f"NOT CAUGHT ({FAILING}::test_third fails without it, too)")
    assert lines["never-loads"].endswith(f"NOT CAUGHT ({UNLOADABLE} fails without it, too)")
    assert "1 of 4 defects were caught" in said


def test_what_cannot_be_tried_is_named(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unfit = [defect("gone", "x / 5", "x", HALF), defect("untested", "x / 3", "x", "tests/test_third.py")]
    assert try_all(tree, unfit) == EXIT_MISUSED
    said = capsys.readouterr().err
    assert "gone: src/tiny/__init__.py: the text to be replaced is there 0 times" in said
    assert "untested: there is no tests/test_third.py" in said


def test_the_list_says_what_each_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--room", "policy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in CATALOGUE if one.room == "policy"]
    assert main(["no-such-defect"]) == EXIT_MISUSED
