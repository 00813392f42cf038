"""What bad files get from the command line: a message that names the place, and no value."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ppaurora.data import Samples
from ppaurora.protocols import Fast, Prepared, Protocol
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import (
    GOOD_FILE,
    ONLY_PAPER,
    PLANTED_DIGITS,
    BadFile,
    by_protocol,
    one_of_each_kind,
)
from tests.support.command_line import FAST, PAPER, RUN, CommandLine, Finished, check_refused, table, written
from tests.support.oracles import exact_auroc


@pytest.mark.parametrize(("case", "protocol"), by_protocol(one_of_each_kind(BAD_FILES)))
def test_a_bad_file_gets_a_message_that_names_the_place(
    case: BadFile, protocol: Protocol, command: CommandLine, tmp_path: Path
) -> None:
    columns = {"score": "score", "label": "label", **case.options}
    good = GOOD_FILE.replace(b"score", columns["score"].encode()).replace(b"label", columns["label"].encode())
    if "pos_label" in columns:
        good = b"score,label\n0.5," + columns["pos_label"].encode() + b"\n"
    first, bad = written(tmp_path, "good.csv", good), written(tmp_path, "bad ward.csv", case.content)
    settings = {**columns, "protocol": protocol.name, **protocol.settings()}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
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
    assert report["metrics"]["auroc"]["value"] == float(exact_auroc(samples) or -1)


def test_a_list_that_was_sent_unsorted_is_named(
    command: CommandLine, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Fast.prepare

    def forget_to_sort(protocol: Fast, samples: Samples) -> Prepared:
        prepared = prepare(protocol, samples)
        if samples.source != str(files[1]):
            return prepared
        return Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy())

    monkeypatch.setattr(Fast, "prepare", forget_to_sort)
    finished = command("evaluate", *files, *FAST)
    check_refused(
        finished, f"ppaurora: {files[1]}: the list that was sent is not sorted, or its sums do not fit"
    )


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


def test_bad_input_in_a_process_of_its_own(files: list[Path], tmp_path: Path) -> None:
    bad = written(tmp_path, "bad.csv", b"score,label\n0.5,1\nnan,0\n")
    finished = subprocess.run(
        [*RUN, "evaluate", str(files[0]), str(bad)], capture_output=True, text=True, timeout=300
    )
    check_refused(
        Finished(finished.returncode, finished.stdout, finished.stderr), f"{bad}, row 3, column 'score': "
    )
