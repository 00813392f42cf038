"""What all benchmarks have in common: errors and exit codes, tables, and a place outside of the wheel."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import cli, main
from benchmarks.study import Measurement
from benchmarks.tables import Table

ROOT = Path(__file__).resolve().parents[2]
TABLE = Table(
    ("who", "seconds", "remark"), [["a", "1.5", ""], ["somebody", "10.0", "x|y"]], ("who", "remark")
)


def exit_code(arguments: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_all_benchmarks_are_commands() -> None:
    names = {"against", "alone", "app", "attacks", "audit", "correctness", "docs", "paper", "peers"}
    names |= {"coverage", "designs", "policies", "primitives", "release", "scale", "study"}
    assert set(cli.commands) == names
    for name in names - {"docs"}:
        assert "--out" in CliRunner().invoke(cli, [name, "--help"]).output


def test_errors_are_told_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(["scale", "--sizes", "some"]) == 2
    told = "python -m benchmarks: --sizes takes numbers from 2 on, separated by commas\n"
    assert capsys.readouterr().err == told
    assert exit_code(["scale", "--no-such-option"]) == 2
    assert "Usage: python -m benchmarks scale" in capsys.readouterr().err

    def interrupted(samples: int, owners: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.study.measure", interrupted)
    assert exit_code(["study", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err.strip() == "python -m benchmarks: interrupted"


def test_a_study_is_printed_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "benchmarks.study.measure", lambda samples, owners: Measurement(samples, owners, 2.0, 3.0, 1.0, 1.5)
    )
    done = CliRunner().invoke(cli, ["study", "--samples", "1000", "--out", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1].split() == ["1,000", "8", "2.00", "3.00", "1.00", "1.50", "1.50"]
    assert (tmp_path / "new/study.json").exists()


def test_a_table_for_people_is_aligned_and_whole() -> None:
    assert TABLE.text().splitlines() == [
        "who       seconds  remark",
        "--------  -------  ------",
        "a             1.5",
        "somebody     10.0  x|y",
    ]


def test_a_table_for_documents_says_which_columns_are_numbers() -> None:
    assert TABLE.markdown().splitlines() == [
        "| who | seconds | remark |",
        "|---|--:|---|",
        "| a | 1.5 |  |",
        "| somebody | 10.0 | x\\|y |",
    ]


def test_a_checkout_needs_no_installation_of_the_benchmarks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "docs", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_wheel_is_without_benchmarks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/ppaurora"]
    texts = {source: source.read_text() for source in (ROOT / "src").rglob("*.py")}
    for source, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "benchmarks" in text else ():
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            else:
                continue
            assert not any(module.split(".")[0] == "benchmarks" for module in modules), source
