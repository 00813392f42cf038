"""An owner's commands without anything of POSIX, at real nodes, from the packed kit to the report."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.app_owner import table
from tests.support.on_windows import needs_linux, on_windows
from tests.support.trials import PAIR, Trials

pytestmark = needs_linux


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{owner} scores.csv" for owner in PAIR]
    for path in paths:
        path.write_bytes(table().replace(b"\n", b"\r\n"))
    return paths


def done(finished: subprocess.CompletedProcess[str], code: int = 0) -> str:
    assert finished.returncode == code, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


def test_a_study_from_check_to_report(nodes: Trials, files: list[Path], tmp_path: Path) -> None:
    name = "on-windows"
    manifest = nodes.study(name)
    study = ("--study", name)
    north, harbour = (nodes.kit(owner) for owner in PAIR)
    yes = (*study, "--yes", "--despite-warnings")
    for words in (["preflight", north, *study], ["check", files[0], "--kit", north, *study]):
        done(on_windows(*words))
    assert "acknowledged" in done(on_windows("submit", north, files[0], *yes))
    assert "60" in done(on_windows("status", north, *study))
    done(on_windows("result", north, *study), 4)
    done(on_windows("withdraw", north, *study, "--yes"))
    done(on_windows("submit", north, files[0], *yes))
    done(on_windows("submit", north, files[1], *yes, "--replace"))
    done(on_windows("submit", harbour, files[1], *yes, "--wait"))
    out = tmp_path / "result.json"
    said = done(on_windows("result", north, *study, "--out", out))
    assert "auroc" in said
    receipt = out.with_name("result.receipt.json")
    assert manifest.hash in done(on_windows("verify", receipt))
    pages = [tmp_path / f"report.{kind}" for kind in ("html", "md", "json")]
    for page in pages:
        done(on_windows("report", out, "--out", page))
        assert page.read_bytes().decode()
    assert b"\r" not in receipt.read_bytes() + out.read_bytes()
    assert json.loads(pages[2].read_bytes())
    printed = on_windows("report", out, "--format", "markdown").stdout.encode("cp1252")
    assert printed.replace(b"\r\n", b"\n") == pages[1].read_bytes()  # UTF-8 in a file, whatever the code page
    assert "same study" in done(on_windows("compare", out, out), 2)
