"""What `ppaurora evaluate` prints, and where."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import (
    AP,
    AUPR,
    AUROC,
    FAST,
    PAPER,
    RUN,
    CommandLine,
    check_result,
    table,
    values,
    written,
)
from tests.support.oracles import exact_auroc


@pytest.mark.parametrize(("arguments", "protocol"), [(FAST, "fast"), (PAPER, "paper")], ids=["fast", "paper"])
def test_json_is_alone_on_standard_output(
    arguments: tuple[str, ...], protocol: str, command: CommandLine, files: list[Path]
) -> None:
    finished = command("evaluate", *files, *arguments, "--format", "json")
    assert finished.code == 0
    check_result(finished.out)
    assert json.loads(finished.out)["protocol"] == protocol
    assert finished.err == ""


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        (FAST, "fast (64-bit keys)"),
        (PAPER, "paper (delta 1)"),
    ],
    ids=["fast", "paper"],
)
def test_text_is_a_table(
    arguments: tuple[str, ...], detail: str, command: CommandLine, files: list[Path]
) -> None:
    finished = command("evaluate", *files, *arguments, "--metrics", "auroc,aupr,ap")
    assert finished.code == 0
    lines = finished.out.splitlines()
    assert lines[0].strip() == "6 samples of 3 owners"
    for name, expected in (("auroc", AUROC), ("aupr", AUPR), ("ap", AP)):
        assert expected is not None
        (row,) = [line.strip("│ ").split() for line in lines if f" {name} " in line]
        assert row[0] == name
        assert abs(float(row[-1]) - expected) < 1e-9
    assert f"protocol {detail}, transport memory: " in finished.out
    assert " rounds" in finished.out
    assert lines[-1] == "opened to the servers: nothing"
    assert finished.err == ""


def test_text_names_what_was_opened(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, *PAPER, "--delta", 3, "--metrics", "auroc")
    assert finished.code == 0
    assert "protocol paper (delta 3)" in finished.out
    assert "opened to the servers: merge: which of two tops is larger: " in finished.out


def test_metrics_in_the_order_asked_for(command: CommandLine, files: list[Path]) -> None:
    query = " aupr , auroc_no_ties,ap,"
    finished = command("evaluate", *files, *FAST, "--format", "json", "--metrics", query)
    assert finished.code == 0
    assert list(json.loads(finished.out)["metrics"]) == ["aupr", "auroc_no_ties", "ap"]


@pytest.mark.parametrize(
    ("score", "arguments", "width"),
    [
        ("0.1", (), 64),
        ("0.125", (), 32),
        ("0.125", ("--key-bits", "32"), 32),
        ("0.125", ("--key-bits", "64"), 64),
        ("-1e300", (), 64),
    ],
)
def test_key_width(
    score: str, arguments: tuple[str, ...], width: int, command: CommandLine, tmp_path: Path
) -> None:
    one = written(tmp_path, "a.csv", f"score,label\n{score},0\n5e7,1\n".encode())
    other = written(tmp_path, "b.csv", b"score,label\n-3.5,1\n")
    finished = command("evaluate", one, other, *FAST, *arguments, "--metrics", "auroc", "--format", "json")
    assert finished.code == 0
    report = json.loads(finished.out)
    assert report["parameters"] == {"key_bits": width}
    assert values(finished.out) == {"auroc": exact_auroc([(float(score), 0), (5e7, 1), (-3.5, 1)])}
    shown = command("evaluate", one, other, *FAST, *arguments, "--metrics", "auroc")
    assert f"protocol fast ({width}-bit keys)" in shown.out


def test_columns_and_positive_label(command: CommandLine, tmp_path: Path) -> None:
    one = written(tmp_path, "a.csv", b"risk;outcome\n0.75;Died\n0.5;lived\n")
    other = written(tmp_path, "b.csv", b"outcome\trisk\r\nlived\t0.5\r\ndied\t0.25\r\n")
    names = ("--score", "risk", "--label", "outcome", "--pos-label", "died")
    finished = command("evaluate", one, other, *names, *FAST, "--format", "json", "--metrics", "auroc")
    assert finished.code == 0
    expected = exact_auroc([(0.75, 1), (0.5, 0), (0.5, 0), (0.25, 1)])
    assert values(finished.out) == {"auroc": expected}


def test_an_owner_with_one_class_only_is_fine(command: CommandLine, tmp_path: Path) -> None:
    sick = written(tmp_path, "sick.csv", table([(0.75, 1), (0.25, 1)]))
    well = written(tmp_path, "well.csv", table([(0.5, 0)]))
    finished = command("evaluate", sick, well, *FAST, "--metrics", "auroc", "--format", "json")
    assert finished.code == 0
    assert values(finished.out) == {"auroc": 0.5}


def test_three_server_processes_by_default(files: list[Path]) -> None:
    finished = subprocess.run(
        [*RUN, "evaluate", *map(str, files), "--format", "json"], capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    check_result(finished.stdout)
    report = json.loads(finished.stdout)
    assert (report["transport"], report["protocol"]) == ("tls", "fast")
    assert report["parameters"] == {"key_bits": 64}
    assert finished.stderr == ""


@pytest.mark.parametrize("output", ["json", "text"])
def test_the_progress_bar_goes_to_the_terminal_on_standard_error(files: list[Path], output: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*RUN, "evaluate", *map(str, files), *FAST, "--format", output],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        text=True,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux's way of saying that the other end was closed
            break
        if not piece:
            break
        shown += piece
    printed, _ = process.communicate(timeout=300)
    os.close(ours)
    assert process.returncode == 0
    assert b"merge" in shown
    assert b"%" in shown
    assert "\x1b" not in printed
    if output == "json":
        check_result(printed)
    else:
        assert printed.splitlines()[0].strip() == "6 samples of 3 owners"
        assert "merge" not in printed


def test_a_terminal_that_knows_ascii_only(files: list[Path]) -> None:
    finished = subprocess.run(
        [*RUN, "evaluate", *map(str, files), *FAST],
        capture_output=True,
        timeout=300,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert finished.returncode == 0, finished.stderr
    assert "auroc" in finished.stdout.decode("ascii")
