"""`ppaurora evaluate` without anything of POSIX: servers as threads, and as processes over TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import OWNERS, check_result, table
from tests.support.on_windows import needs_linux, on_windows

pytestmark = needs_linux


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in OWNERS]
    for path in paths:
        path.write_bytes(table(OWNERS[path.name]))
    return paths


GRID = ("--protocol", "grid", "--decimals", "1")


@pytest.mark.parametrize("options", [("--transport", "memory"), (), ("--workers", "auto"), GRID])
def test_it_computes_what_it_computes_elsewhere(files: list[Path], options: tuple[str, ...]) -> None:
    finished = on_windows("evaluate", *files, "--policy", "exact", "--format", "json", *options)
    assert (finished.returncode, finished.stderr) == (0, "")
    check_result(finished.stdout)


def test_several_workers_in_processes_are_refused(files: list[Path]) -> None:
    for path in files:
        path.write_bytes(table(OWNERS["north.csv"] * 100))
    finished = on_windows("evaluate", *files, "--policy", "exact", "--workers", "2")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert 'transport "tls" with several workers needs Linux or macOS' in finished.stderr


def test_tables_are_printed_in_a_code_page(files: list[Path]) -> None:
    finished = on_windows("evaluate", *files, "--policy", "exact", "--confidence-level", "0.95")
    assert finished.returncode == 0, finished.stderr
    assert "auroc" in finished.stdout
    assert "?" not in finished.stdout


def test_what_a_code_page_lacks_ends_no_command(tmp_path: Path) -> None:
    data = tmp_path / "a.csv"
    data.write_text("score,label\n0.9,\u0142\n0.4,\u2713\n0.1,\u2713\n", encoding="utf-8")
    finished = on_windows("check", data)
    assert finished.returncode == 2
    assert "internal error" not in finished.stderr
    assert r"'\u2713' (2)" in finished.stdout
    words = ("evaluate", data, data, "--pos-label", "\u0142", "--policy", "exact", "--transport", "memory")
    assert on_windows(*words).returncode == 0
    named = tmp_path / "\u0142.csv"
    named.write_text("score,label\n0.9,2\n", encoding="utf-8")
    finished = on_windows("evaluate", named, named)
    assert finished.returncode == 2
    assert r"\u0142.csv" in finished.stderr


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["serve", "."], "a node"),
        (["poc", "start"], "ppaurora poc"),
        (["poc", "status"], "ppaurora poc"),
    ],
)
def test_what_stays_on_linux_and_macos_says_so(words: list[str], what: str) -> None:
    finished = on_windows(*words)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == (
        f"ppaurora: {what} needs Linux or macOS; on Windows, ppaurora has the commands of owners and "
        "coordinators\n"
    )
