"""The command line: what it prints where, and what bad input gets."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ppaurora.cli import main
from tests.bad_input import BAD_FILES, GOOD_FILE, PLANTED_DIGITS, BadFile
from tests.oracles import exact_aupr, exact_auroc

OWNERS = {
    "north.csv": [(0.9, 1), (0.4, 0), (0.4, 1)],
    "harbour.csv": [(0.4, 0), (0.1, 0)],
    "valley.csv": [(0.6, 1)],
}
POOLED = [sample for samples in OWNERS.values() for sample in samples]
MEMORY = ("--protocol", "paper", "--transport", "memory")
RUN = [sys.executable, "-c", "from ppaurora.cli import main; main()"]


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


class CommandLine:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Finished:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Finished(stopped.value.code, captured.out, captured.err)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [written(tmp_path, name, table(samples)) for name, samples in OWNERS.items()]


def table(samples: list[tuple[float, int]], header: str = "score,label") -> bytes:
    return "\n".join([header, *(f"{score!r},{label}" for score, label in samples), ""]).encode()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def check_refused(finished: Finished, *said: str) -> None:
    assert finished.code == 2
    assert finished.out == ""
    assert "Traceback" not in finished.err
    for words in said:
        assert words in finished.err


def check_result(printed: str) -> None:
    """One JSON document and nothing else, with the pooled values."""
    report = json.loads(printed)
    assert printed.startswith("{")
    auroc, aupr = exact_auroc(POOLED), exact_aupr(POOLED)
    assert auroc is not None
    assert aupr is not None
    assert abs(report["metrics"]["auroc"] - auroc) < 1e-9
    assert abs(report["metrics"]["aupr"] - aupr) < 1e-7
    assert (report["owners"], report["samples"]) == (3, 6)
    assert {"seconds", "bytes", "rounds"} <= report["cost"].keys()


# What it prints


def test_json_is_alone_on_standard_output(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, *MEMORY, "--format", "json")
    assert finished.code == 0
    check_result(finished.out)
    assert finished.err == ""


def test_text_is_a_table(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, *MEMORY)
    assert finished.code == 0
    lines = finished.out.splitlines()
    assert lines[0].strip() == "6 samples of 3 owners"
    auroc, aupr = exact_auroc(POOLED), exact_aupr(POOLED)
    for name, expected, tolerance in (("auroc", auroc, 1e-9), ("aupr", aupr, 1e-7)):
        (row,) = [line.strip("│ ").split() for line in lines if f" {name} " in line]
        assert row[0] == name
        assert abs(float(row[-1]) - expected) < tolerance
    assert "protocol paper (delta 1), transport memory: " in finished.out
    assert " rounds" in finished.out
    assert lines[-1] == "opened to the servers: nothing"
    assert finished.err == ""


def test_text_names_what_was_opened(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, *MEMORY, "--delta", 3, "--metrics", "auroc")
    assert finished.code == 0
    assert "opened to the servers: merge: which of two tops is larger: " in finished.out


def test_metrics_in_the_order_asked_for(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, *MEMORY, "--format", "json", "--metrics", " aupr , auroc_no_ties,")
    assert finished.code == 0
    assert list(json.loads(finished.out)["metrics"]) == ["aupr", "auroc_no_ties"]


def test_columns_and_positive_label(command: CommandLine, tmp_path: Path) -> None:
    one = written(tmp_path, "a.csv", b"risk;outcome\n0.75;Died\n0.5;lived\n")
    other = written(tmp_path, "b.csv", b"outcome\trisk\r\nlived\t0.5\r\ndied\t0.25\r\n")
    names = ("--score", "risk", "--label", "outcome", "--pos-label", "died")
    finished = command("evaluate", one, other, *names, *MEMORY, "--format", "json", "--metrics", "auroc")
    assert finished.code == 0
    expected = exact_auroc([(0.75, 1), (0.5, 0), (0.5, 0), (0.25, 1)])
    assert json.loads(finished.out)["metrics"] == {"auroc": expected}


def test_an_owner_with_one_class_only_is_fine(command: CommandLine, tmp_path: Path) -> None:
    sick = written(tmp_path, "sick.csv", table([(0.75, 1), (0.25, 1)]))
    well = written(tmp_path, "well.csv", table([(0.5, 0)]))
    finished = command("evaluate", sick, well, *MEMORY, "--metrics", "auroc", "--format", "json")
    assert finished.code == 0
    assert json.loads(finished.out)["metrics"] == {"auroc": 0.5}


def test_three_server_processes_by_default(files: list[Path]) -> None:
    finished = subprocess.run(
        [*RUN, "evaluate", *map(str, files), "--format", "json"], capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    check_result(finished.stdout)
    assert json.loads(finished.stdout)["transport"] == "tls"
    assert finished.stderr == ""


@pytest.mark.parametrize("output", ["json", "text"])
def test_the_progress_bar_goes_to_the_terminal_on_standard_error(files: list[Path], output: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*RUN, "evaluate", *map(str, files), *MEMORY, "--format", output],
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
    printed, _ = process.communicate(timeout=60)
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
        [*RUN, "evaluate", *map(str, files), *MEMORY],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert finished.returncode == 0, finished.stderr
    assert "auroc" in finished.stdout.decode("ascii")


# Bad input: files


@pytest.mark.parametrize("case", BAD_FILES, ids=lambda case: case.name)
def test_a_bad_file_gets_a_message_that_names_the_place(
    case: BadFile, command: CommandLine, tmp_path: Path
) -> None:
    columns = {"score": "score", "label": "label", **case.options}
    good = GOOD_FILE.replace(b"score", columns["score"].encode()).replace(b"label", columns["label"].encode())
    if "pos_label" in columns:
        good = b"score,label\n0.5," + columns["pos_label"].encode() + b"\n"
    first, bad = written(tmp_path, "good.csv", good), written(tmp_path, "bad ward.csv", case.content)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in columns.items()]
    finished = command("evaluate", first, bad, *options, *MEMORY, "--format", "json")
    place = f"ppaurora: {bad}"
    place += "" if case.row is None else f", row {case.row}"
    place += "" if case.column is None else f", column '{case.column}'"
    check_refused(finished, case.says)
    assert finished.err.startswith(f"{place}: ")
    assert finished.err.endswith(")\n"), "the message does not end with what to do"
    assert finished.err.count("\n") == 1
    assert PLANTED_DIGITS not in finished.err


def test_a_directory_in_place_of_a_file(command: CommandLine, files: list[Path], tmp_path: Path) -> None:
    finished = command("evaluate", files[0], tmp_path, *MEMORY)
    check_refused(finished, f"ppaurora: {tmp_path}: cannot be read: Is a directory\n")


def test_a_file_that_is_not_there(command: CommandLine, files: list[Path], tmp_path: Path) -> None:
    finished = command("evaluate", files[0], tmp_path / "nowhere.csv", *MEMORY)
    check_refused(finished, f"ppaurora: {tmp_path / 'nowhere.csv'}: cannot be read: No such file")


@pytest.mark.parametrize("metrics", ["auroc", "auroc,aupr,auroc_no_ties"])
def test_one_class_only_looks_the_same_for_both_classes(
    metrics: str, command: CommandLine, tmp_path: Path
) -> None:
    outputs = []
    for label in (0, 1):
        one = written(tmp_path, "a.csv", table([(0.25, label), (0.5, label)]))
        other = written(tmp_path, "b.csv", table([(0.5, label)]))
        outputs.append(command("evaluate", one, other, *MEMORY, "--metrics", metrics))
    assert outputs[0] == outputs[1] == Finished(2, "", "ppaurora: undefined: one class only\n")


# Bad input: arguments


@pytest.mark.parametrize("delta", [2, 0, -1, -4])
def test_delta_must_be_odd_and_positive(delta: int, command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, "--delta", delta, *MEMORY)
    check_refused(finished, f"ppaurora: delta must be an odd number, 1 or larger, not {delta}\n")


def test_one_file_is_not_enough(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", files[0], *MEMORY)
    check_refused(finished, "ppaurora: at least two owners are needed, got 1\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metrics", "auroc,f1"], "unknown metric 'f1'; there are: auroc, auroc_no_ties, aupr"),
        (["--metrics", "auroc,aupr,auroc"], "a metric is asked for twice"),
        (["--metrics", ","], "no metric asked for; there are: auroc, auroc_no_ties, aupr"),
        (["--protocol", "quick"], "Invalid value for '--protocol': 'quick' is not"),
        (
            ["--transport", "pigeon"],
            "Invalid value for '--transport': 'pigeon' is not one of 'memory', 'tls'",
        ),
        (["--format", "xml"], "Invalid value for '--format'"),
        (["--delta", "one"], "Invalid value for '--delta'"),
        (["--delta", "1.5"], "Invalid value for '--delta'"),
        (["--timeout", "0"], "the timeout must be above 0"),
        (["--timeout", "-3"], "the timeout must be above 0"),
        (["--timeout", "nan"], "the timeout must be above 0"),
        (["--timeout", "inf"], "the timeout must be above 0"),
        (["--pos-label", ""], "the positive label must be a value"),
        (["--score", "label"], "score and label cannot both be column 'label'"),
        (["--colour", "red"], "No such option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "says",
)
def test_bad_arguments(arguments: list[str], says: str, command: CommandLine, files: list[Path]) -> None:
    check_refused(command("evaluate", *files, *MEMORY, *arguments), says)


def test_no_files(command: CommandLine) -> None:
    check_refused(command("evaluate"), "Missing argument 'FILES...'")


def test_bad_input_in_a_process_of_its_own(files: list[Path], tmp_path: Path) -> None:
    bad = written(tmp_path, "bad.csv", b"score,label\n0.5,1\nnan,0\n")
    finished = subprocess.run(
        [*RUN, "evaluate", str(files[0]), str(bad)], capture_output=True, text=True, timeout=60
    )
    check_refused(
        Finished(finished.returncode, finished.stdout, finished.stderr), f"{bad}, row 3, column 'score': "
    )


# What is nobody's input


def test_help_and_version(command: CommandLine) -> None:
    for arguments, says in (
        (["--help"], "Exit codes:"),
        (["evaluate", "-h"], "--pos-label"),
        (["--version"], "0."),
    ):
        finished = command(*arguments)
        assert finished.code == 0
        assert says in finished.out


def fail_with_data(*_: object, **__: object) -> None:
    raise ValueError(f"could not convert string to float: '0.{PLANTED_DIGITS}'")


def test_an_unforeseen_error_is_told_without_its_text(
    command: CommandLine, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PPAURORA_DEBUG", raising=False)
    monkeypatch.setattr("ppaurora.cli.evaluate.evaluate_samples", fail_with_data)
    finished = command("evaluate", *files)
    assert (finished.code, finished.out) == (70, "")
    assert finished.err.startswith("ppaurora: internal error: ValueError; to see where, set PPAURORA_DEBUG=1")
    assert PLANTED_DIGITS not in finished.err


def test_who_debugs_gets_the_whole_error(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PPAURORA_DEBUG", "1")
    monkeypatch.setattr("ppaurora.cli.evaluate.evaluate_samples", fail_with_data)
    with pytest.raises(ValueError, match=PLANTED_DIGITS):
        main(["evaluate", *map(str, files)])


def test_interrupted(command: CommandLine, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ppaurora.cli.evaluate.evaluate_samples", interrupt)
    finished = command("evaluate", *files)
    assert (finished.code, finished.out) == (130, "")
    assert finished.err.strip() == "ppaurora: interrupted; nothing was kept"
