"""What bad arguments get from the command line; help; errors that nobody foresaw."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.cli import main
from tests.support.bad_input import PLANTED_DIGITS
from tests.support.command_line import FAST, PAPER, CommandLine, check_refused
from tests.support.evaluations import METRIC_NAMES

GRID = ("--protocol", "grid")


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
        (["--metrics", "auroc,f2"], f"unknown metric 'f2'; there are: {METRIC_NAMES}"),
        (["--metrics", "auroc,f1"], "f1: needs --thresholds as well, for instance --thresholds 0.1,0.2,0.5"),
        (["--metrics", "auroc,aupr,auroc"], "the metric 'auroc' is asked for more than once"),
        (["--metrics", ","], f"no metric asked for; there are: {METRIC_NAMES}"),
        (
            ["--protocol", "quick"],
            "Invalid value for '--protocol': 'quick' is not one of 'fast', 'grid', 'paper'",
        ),
        (["--delta", "3"], "delta applies to the protocol 'paper' only; leave it out"),
        (["--key-bits", "16"], "key_bits: keys have 32 or 64 bits, not 16"),
        (["--key-bits", "wide"], "Invalid value for '--key-bits': 'wide' is not a valid integer"),
        (
            ["--protocol", "paper", "--key-bits", "32"],
            "key_bits applies to the protocol 'fast' only; leave it out",
        ),
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
        (["--decimals", "3"], "decimals applies to the protocol 'grid' only; leave it out"),
        (
            ["--grid-decimals", "9"],
            "grid: decimals: a grid has at most 1,048,576 values; take fewer",
        ),
        ([*GRID, "--decimals", "x"], "Invalid value for '--decimals': 'x' is not a valid integer"),
        ([*GRID, "--decimals", "10"], "decimals: a whole number from 0 to 9, not 10"),
        ([*GRID, "--low", "0.25", "--decimals", "1"], "low: must have at most as many decimals as scores: 1"),
        ([*GRID, "--low", "1"], "high: must be above low, which is 1"),
        ([*GRID, "--high", "0.5"], "row 2, column 'score': the score is outside of the study's grid"),
        ([*GRID, "--grid-decimals", "2"], "grid applies to the protocol 'fast' only; leave it out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "says",
)
def test_bad_arguments(arguments: list[str], says: str, command: CommandLine, files: list[Path]) -> None:
    check_refused(command("evaluate", *files, *FAST, *arguments), says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*GRID, "--decimals", "1"], "protocol grid (11 values from 0 to 1, 1 decimal)"),
        (["--grid-high", "4", "--grid-decimals", "1"], "beside them a table of 41 values from 0 to 4"),
    ],
)
def test_a_grid_by_options(arguments: list[str], says: str, command: CommandLine, files: list[Path]) -> None:
    finished = command("evaluate", *files, *FAST, "--metrics", "auroc", *arguments)
    assert finished.code == 0
    assert says in finished.out


def test_no_files(command: CommandLine) -> None:
    check_refused(command("evaluate"), "Missing argument 'FILES...'")


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
