"""What R's write.csv writes is taken as it is, by the commands that examples/r_user.R names."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.deployment import command
from tests.support.oracles import defined, exact_auroc
from tests.support.repository import ROOT

SCRIPT = ROOT / "examples/r_user.R"
KEPT = ROOT / "examples/r_user"  # what the script has written, for those without R
COMMANDS = [
    shlex.split(line) for line in re.findall(r"^#   ppaurora (.*)$", SCRIPT.read_text(), re.MULTILINE)
]
FILES = ("north.csv", "harbour.csv")
RSCRIPT = shutil.which("Rscript")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By R where there is R."""
    if RSCRIPT is None:
        return KEPT
    folder = tmp_path_factory.mktemp("R")
    run = [RSCRIPT, str(SCRIPT), str(folder)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """Where the named commands are typed."""
    shutil.copytree(written, tmp_path / "FOLDER")
    return tmp_path


def rows(path: Path) -> list[tuple[float, int]]:
    with path.open(newline="") as file:
        return [(float(row["risk"]), int(row["outcome"] == "yes")) for row in csv.DictReader(file)]


@pytest.mark.skipif(RSCRIPT is None, reason="R is not installed: what it writes cannot be compared")
def test_the_files_that_are_kept_are_what_r_writes(written: Path) -> None:
    """Whatever R this is: the same rows and the same layout, and scores but for the last digits."""
    for name in FILES:
        new, kept = ((place / name).read_text().splitlines() for place in (written, KEPT))
        assert new[0] == kept[0] == '"","risk","outcome"'
        assert [line.split(",")[::2] for line in new] == [line.split(",")[::2] for line in kept]
        assert [s for s, _ in rows(written / name)] == pytest.approx(
            [s for s, _ in rows(KEPT / name)], abs=1e-9
        )


def test_the_named_commands_give_the_pooled_result(folder: Path) -> None:
    check, evaluate = COMMANDS
    looked = command(*check, cwd=folder)
    assert looked.returncode == 0, looked.stderr
    assert re.search(r"positives +56 \(33\.5%\), spelt 'yes'", looked.stdout)
    done = command(*evaluate, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    pooled = [row for name in FILES for row in rows(folder / "FOLDER" / name)]
    assert json.loads(done.stdout)["metrics"]["auroc"]["value"] == float(defined(exact_auroc(pooled)))


@pytest.mark.parametrize(("positive", "negative"), [("TRUE", "FALSE"), ("1", "0")])
def test_a_logical_or_a_number_needs_no_positive_label(folder: Path, positive: str, negative: str) -> None:
    for name in FILES:
        path = folder / "FOLDER" / name
        path.write_text(path.read_text().replace('"yes"', positive).replace('"no"', negative))
    _, evaluate = COMMANDS
    done = command(*evaluate[: evaluate.index("--pos-label")], cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("column", [1, 2])
def test_na_is_refused_with_its_place(folder: Path, column: int) -> None:
    path = folder / "FOLDER/harbour.csv"
    lines = path.read_text().splitlines()
    fields = lines[4].split(",")
    fields[column] = "NA"
    lines[4] = ",".join(fields)
    path.write_text("\n".join(lines) + "\n")
    done = command(*COMMANDS[1], cwd=folder)
    assert done.returncode == 2
    assert "harbour.csv" in done.stderr
    assert "row 5" in done.stderr
    assert f"column '{['', 'risk', 'outcome'][column]}'" in done.stderr
