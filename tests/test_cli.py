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
from ppaurora.owner import Prepared, Samples, prepare
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import GOOD_FILE, ONLY_PAPER, PLANTED_DIGITS, BadFile, by_protocol
from tests.support.oracles import exact_aupr, exact_auroc, exact_average_precision

OWNERS = {
    "north.csv": [(0.9, 1), (0.4, 0), (0.4, 1)],
    "harbour.csv": [(0.4, 0), (0.1, 0)],
    "valley.csv": [(0.6, 1)],
}
POOLED = [sample for samples in OWNERS.values() for sample in samples]
AUROC, AUPR, AP = exact_auroc(POOLED), exact_aupr(POOLED), exact_average_precision(POOLED)
FAST = ("--transport", "memory")
PAPER = ("--protocol", "paper", "--transport", "memory")
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
    assert AUROC is not None
    assert AUPR is not None
    assert abs(report["metrics"]["auroc"] - AUROC) < 1e-9
    assert abs(report["metrics"]["aupr"] - AUPR) < 1e-9
    assert report["protocol"] == "paper" or report["metrics"]["auroc"] == float(AUROC)
    assert (report["owners"], report["samples"]) == (3, 6)
    assert {"seconds", "bytes", "rounds"} <= report["cost"].keys()


# What it prints


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
    asked = " aupr , auroc_no_ties,ap,"
    finished = command("evaluate", *files, *FAST, "--format", "json", "--metrics", asked)
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
    assert report["key_bits"] == width
    assert report["metrics"] == {"auroc": exact_auroc([(float(score), 0), (5e7, 1), (-3.5, 1)])}
    shown = command("evaluate", one, other, *FAST, *arguments, "--metrics", "auroc")
    assert f"protocol fast ({width}-bit keys)" in shown.out


def test_columns_and_positive_label(command: CommandLine, tmp_path: Path) -> None:
    one = written(tmp_path, "a.csv", b"risk;outcome\n0.75;Died\n0.5;lived\n")
    other = written(tmp_path, "b.csv", b"outcome\trisk\r\nlived\t0.5\r\ndied\t0.25\r\n")
    names = ("--score", "risk", "--label", "outcome", "--pos-label", "died")
    finished = command("evaluate", one, other, *names, *FAST, "--format", "json", "--metrics", "auroc")
    assert finished.code == 0
    expected = exact_auroc([(0.75, 1), (0.5, 0), (0.5, 0), (0.25, 1)])
    assert json.loads(finished.out)["metrics"] == {"auroc": expected}


def test_an_owner_with_one_class_only_is_fine(command: CommandLine, tmp_path: Path) -> None:
    sick = written(tmp_path, "sick.csv", table([(0.75, 1), (0.25, 1)]))
    well = written(tmp_path, "well.csv", table([(0.5, 0)]))
    finished = command("evaluate", sick, well, *FAST, "--metrics", "auroc", "--format", "json")
    assert finished.code == 0
    assert json.loads(finished.out)["metrics"] == {"auroc": 0.5}


def test_three_server_processes_by_default(files: list[Path]) -> None:
    finished = subprocess.run(
        [*RUN, "evaluate", *map(str, files), "--format", "json"], capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    check_result(finished.stdout)
    report = json.loads(finished.stdout)
    assert (report["transport"], report["protocol"], report["key_bits"]) == ("tls", "fast", 64)
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
        [*RUN, "evaluate", *map(str, files), *FAST],
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert finished.returncode == 0, finished.stderr
    assert "auroc" in finished.stdout.decode("ascii")


# Bad input: files


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_FILES))
def test_a_bad_file_gets_a_message_that_names_the_place(
    case: BadFile, protocol: str, command: CommandLine, tmp_path: Path
) -> None:
    columns = {"score": "score", "label": "label", **case.options}
    good = GOOD_FILE.replace(b"score", columns["score"].encode()).replace(b"label", columns["label"].encode())
    if "pos_label" in columns:
        good = b"score,label\n0.5," + columns["pos_label"].encode() + b"\n"
    first, bad = written(tmp_path, "good.csv", good), written(tmp_path, "bad ward.csv", case.content)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in columns.items()]
    options += [f"--protocol={protocol}", f"--key-bits={case.key_bits}"]
    finished = command("evaluate", first, bad, *options, *FAST, "--format", "json")
    place = f"ppaurora: {bad}"
    place += "" if case.row is None else f", row {case.row}"
    place += "" if case.column is None else f", column '{case.column}'"
    check_refused(finished, case.says)
    assert finished.err.startswith(f"{place}: ")
    assert finished.err.endswith(")\n"), "the message does not end with what to do"
    assert finished.err.count("\n") == 1
    assert PLANTED_DIGITS not in finished.err


@pytest.mark.parametrize(
    "case", [case for case in BAD_FILES if case.protocols == ONLY_PAPER], ids=lambda case: case.name
)
def test_fast_takes_what_only_paper_refuses(case: BadFile, command: CommandLine, tmp_path: Path) -> None:
    first, second = written(tmp_path, "a.csv", GOOD_FILE), written(tmp_path, "b.csv", case.content)
    finished = command("evaluate", first, second, *FAST, "--metrics", "auroc", "--format", "json")
    assert (finished.code, finished.err) == (0, "")
    report = json.loads(finished.out)
    rows = [line.split(",")[1:] for line in (GOOD_FILE + case.content).decode().splitlines()]
    samples = [(float(score), int(label)) for score, label in rows if score != "score"]
    assert report["samples"] == len(samples)
    assert report["metrics"]["auroc"] == float(exact_auroc(samples) or -1)


def test_a_list_that_was_sent_unsorted_is_named(
    command: CommandLine, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget_to_sort(samples: Samples, protocol: str, key_bits: int) -> Prepared:
        prepared = prepare(samples, protocol, key_bits)
        if samples.source != str(files[1]):
            return prepared
        return Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy())

    monkeypatch.setattr("ppaurora.evaluation.prepare", forget_to_sort)
    finished = command("evaluate", *files, *FAST)
    check_refused(finished, f"ppaurora: {files[1]}: the list that was sent is not sorted; there is no result")


def test_a_directory_in_place_of_a_file(command: CommandLine, files: list[Path], tmp_path: Path) -> None:
    finished = command("evaluate", files[0], tmp_path, *FAST)
    check_refused(finished, f"ppaurora: {tmp_path}: cannot be read: Is a directory\n")


def test_a_file_that_is_not_there(command: CommandLine, files: list[Path], tmp_path: Path) -> None:
    finished = command("evaluate", files[0], tmp_path / "nowhere.csv", *FAST)
    check_refused(finished, f"ppaurora: {tmp_path / 'nowhere.csv'}: cannot be read: No such file")


@pytest.mark.parametrize("metrics", ["auroc", "auroc,aupr,auroc_no_ties,ap"])
@pytest.mark.parametrize("arguments", [FAST, PAPER], ids=["fast", "paper"])
def test_one_class_only_looks_the_same_for_both_classes(
    arguments: tuple[str, ...], metrics: str, command: CommandLine, tmp_path: Path
) -> None:
    outputs = []
    for label in (0, 1):
        one = written(tmp_path, "a.csv", table([(0.25, label), (0.5, label)]))
        other = written(tmp_path, "b.csv", table([(0.5, label)]))
        outputs.append(command("evaluate", one, other, *arguments, "--metrics", metrics))
    assert outputs[0] == outputs[1] == Finished(2, "", "ppaurora: undefined: one class only\n")


# Bad input: arguments


@pytest.mark.parametrize("delta", [2, 0, -1, -4])
def test_delta_must_be_odd_and_positive(delta: int, command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, "--delta", delta, *PAPER)
    check_refused(finished, f"ppaurora: delta must be an odd number, 1 or larger, not {delta}\n")


def test_one_file_is_not_enough(command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", files[0], *FAST)
    check_refused(finished, "ppaurora: at least two owners are needed, got 1\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metrics", "auroc,f1"], "unknown metric 'f1'; there are: auroc, auroc_no_ties, aupr, ap"),
        (["--metrics", "auroc,aupr,auroc"], "the metric 'auroc' is asked for more than once"),
        (["--metrics", ","], "no metric asked for; there are: auroc, auroc_no_ties, aupr, ap"),
        (["--protocol", "quick"], "Invalid value for '--protocol': 'quick' is not one of 'fast', 'paper'"),
        (["--delta", "3"], "delta applies to the protocol 'paper' only"),
        (["--key-bits", "16"], "Invalid value for '--key-bits': '16' is not one of '32', '64'"),
        (["--protocol", "paper", "--key-bits", "32"], "the key width is for the protocol 'fast'"),
        (["--key-bits", "32"], "row 2, column 'score': the score is not a float32"),
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
    check_refused(command("evaluate", *files, *FAST, *arguments), says)


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
    assert finished.err.strip() == "ppaurora: interrupted"
