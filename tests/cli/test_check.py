"""`ppaurora check`, and the same look inside `submit`: what is shown, and what it ends with."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ppaurora.check import ScoreBin
from ppaurora.cli.preview import chart
from ppaurora.owner.study import Study
from tests.support.checks import named, outcomes, owners_kit, write_table
from tests.support.command_line import CommandLine

DIED, RISKS = outcomes()
INVERTED = [round(1 - risk, 3) for risk in RISKS]
POSITIVE = ("--pos-label", "died")

# Tells on standard error which sockets a command opens and whom it looks for, as Python's audit sees it.
WATCHED = """
import sys
sys.addaudithook(lambda event, _: event.startswith("socket.") and print("audited", event, file=sys.stderr))
from ppaurora.cli import main
main()
"""


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a study that nobody serves."""
    folder = tmp_path_factory.mktemp("died")
    return owners_kit(folder, positive_class="died", score_scale="probability")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_table(tmp_path / "good.csv", named(DIED), RISKS)


@pytest.fixture
def inverted(tmp_path: Path) -> Path:
    return write_table(tmp_path / "inverted.csv", named(DIED), INVERTED)


def test_everything_is_shown(command: CommandLine, kit: Path, good: Path) -> None:
    done = command("check", good, *POSITIVE, "--id", "patient", "--kit", kit)
    assert (done.code, done.err) == (0, "")
    lines = dict(line.split("  ", 1) for line in done.out.splitlines() if "  " in line)
    shown = {name.strip(): value.strip() for name, value in lines.items()}
    manifest = Study(kit).manifest
    assert shown["as"] == "hospital-a"
    assert shown["for study"] == f"sepsis-2026, hash {manifest.hash}"
    assert shown["model"] == "sepsis-alert, version 2.1.0"
    assert shown["positive class"] == "died"
    assert "a probability, from 0 to 1; higher means more positive" in done.out
    assert shown["data"].startswith(str(good))
    assert shown["columns"] == "patient, score, label"
    assert shown["used"] == "score 'score', label 'label'"
    assert (shown["rows"], shown["missing values"]) == (f"{len(DIED)}", "none")
    assert shown["duplicates"] == "0 in column 'patient'"
    assert shown["positives"] == f"{sum(DIED)} ({sum(DIED) / len(DIED):.1%}), spelt 'died'"
    assert shown["negatives"].endswith("spelt 'survived'")
    assert shown["scores"].startswith("between 0")
    assert shown["ties"].endswith(f"{len(set(RISKS))} distinct scores")
    found = Study(kit).check(good, pos_label="died").auroc
    assert shown["local AUROC"] == f"{found.value:.4f}; {found.shown_interval()}"
    assert "0.9 to 1" in shown
    assert "warning" not in done.out


def test_nothing_is_written_to_the_kit(command: CommandLine, kit: Path, good: Path) -> None:
    before = sorted(kit.rglob("*"))
    assert command("check", good, *POSITIVE, "--kit", kit).code == 0
    assert command("submit", kit, good, *POSITIVE, "--dry-run").code == 0
    assert sorted(kit.rglob("*")) == before


@pytest.mark.parametrize("checks", [True, False])
def test_no_connection_is_opened(checks: bool, kit: Path, good: Path) -> None:
    """The positive control: `status` of the same kit is seen to look for its nodes."""
    arguments = ["check", good, *POSITIVE, "--kit", kit] if checks else ["status", kit]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == (0 if checks else 3), done.stderr  # nobody is there to answer `status`
    assert ("audited socket." in done.stderr) is not checks


def test_json(command: CommandLine, kit: Path, good: Path, inverted: Path) -> None:
    done = command("check", good, *POSITIVE, "--kit", kit, "--format", "json")
    told = json.loads(done.out)
    assert (done.code, told["owner"], told["study"], told["concerns"]) == (0, "hospital-a", "sepsis-2026", [])
    assert told == Study(kit).check(good, pos_label="died").to_dict()
    done = command("check", inverted, *POSITIVE, "--kit", kit, "--format", "json")
    (concern,) = json.loads(done.out)["concerns"]
    assert (done.code, done.err, concern["code"], concern["warning"]) == (6, "", "auroc-below-half", True)


def test_without_a_kit_the_file_alone_is_looked_at(command: CommandLine, good: Path) -> None:
    done = command("check", good, *POSITIVE)
    assert (done.code, "for study" in done.out) == (0, False)
    done = command("check", good, *POSITIVE, "--study", "sepsis-2026")
    assert (done.code, "--kit" in done.err) == (2, True)


def test_what_cannot_be_used_is_described_as_far_as_it_was_read(command: CommandLine, tmp_path: Path) -> None:
    three = write_table(tmp_path / "three.csv", [*named(DIED[1:]), "unknown"], RISKS)
    done = command("check", three, *POSITIVE)
    assert (done.code, "'unknown' (1)" in done.out) == (2, True)
    assert f"row {len(DIED) + 1}, column 'label'" in done.err
    done = command("check", three, *POSITIVE, "--label", "patient")
    assert (done.code, f"{len(DIED)} different ones; is 'patient' the right column?" in done.out) == (2, True)
    assert "p17" not in done.out + done.err


def test_what_would_be_refused_is_said_with_its_cause(
    command: CommandLine, kit: Path, tmp_path: Path
) -> None:
    percent = write_table(tmp_path / "percent.csv", named(DIED), [100 * risk for risk in RISKS])
    for arguments in (("check", percent, "--kit", kit), ("submit", kit, percent, "--yes")):
        done = command(*arguments, *POSITIVE)
        assert done.code == 2
        assert "are they percentages? If so, divide them by 100 [scale]" in done.out + done.err
        assert "the score is outside [0, 1] (the study evaluates probabilities)" in done.err
    assert [path.suffix for path in (kit / "outbox").rglob("*")] == [".lock"]


def test_a_dry_run_shows_all_and_ends_as_check_does(command: CommandLine, kit: Path, inverted: Path) -> None:
    done = command("submit", kit, inverted, *POSITIVE, "--dry-run")
    assert (done.code, done.out) == (6, "")
    for said in ("learnt by each proxy", "local AUROC", "[auroc-below-half]", "dry run: nothing was sent"):
        assert said in done.err
    assert "Submit" not in done.err


@pytest.mark.parametrize("options", [(), ("--despite-warnings",)])
def test_without_a_terminal_the_options_are_named(
    options: tuple[str, ...], kit: Path, inverted: Path, tmp_path: Path
) -> None:
    """Nothing on standard input, or no standard input at all; a pipe that says yes does not do."""
    manifest = kit.parent / "sepsis-2026.json"
    submit = ("submit", kit, inverted, *POSITIVE, *options)
    needed = "--yes" if options else "--yes, and --despite-warnings if the data is correct"
    tried = [(submit, "</dev/null", needed)]
    if not options:
        tried += [(submit, "<&-", needed), (("accept", kit, manifest), "<&-", "--yes")]
    for arguments, redirect, said in tried:
        done = in_shell(arguments, redirect)
        assert done.returncode == 2, done.stderr
        assert done.stderr.endswith(f"without a terminal, add {said}\n")
    if not options:
        answered = tmp_path / "answers"
        answered.write_text("y\n")
        done = in_shell(submit, f"<{answered}")
        assert (done.returncode, "add --despite-warnings" in done.stderr) == (6, True)


def in_shell(arguments: tuple[object, ...], redirect: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirect}', "sh", sys.executable, "-m", "ppaurora", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def at_a_terminal(
    answer: str, *arguments: object, columns: int = 80, cwd: Path | None = None, **environment: str
) -> tuple[int, str]:
    """Exit code, and what the terminal showed."""
    person, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "ppaurora", *map(str, arguments)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=cwd,
        env={**os.environ, "COLUMNS": str(columns), **environment},
    ) as process:
        os.close(terminal)
        os.write(person, answer.encode())
        shown = b""
        while True:
            try:
                piece = os.read(person, 1 << 16)
            except OSError:  # nobody writes any more
                break
            shown += piece
        code = process.wait(timeout=300)
    os.close(person)
    return code, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(("answer", "code", "says"), [("y\n", 0, "positives"), ("n\n", 2, "--pos-label ja")])
def test_at_a_terminal_words_for_yes_and_no_are_asked_about(
    answer: str, code: int, says: str, tmp_path: Path
) -> None:
    rows = "".join(f"{number / 60},{'ja' if number % 3 or number > 40 else 'nein'}\n" for number in range(60))
    (tmp_path / "d.csv").write_text(f"score,label\n{rows}")
    ended, shown = at_a_terminal(answer, "check", "d.csv", cwd=tmp_path, columns=200)
    assert "Does 'ja' mean positive, and 'nein' negative? [y/N]" in shown
    assert (ended, says in shown) == (code, True)


@pytest.mark.parametrize("answer", ["\n", "n\n"])
def test_at_a_terminal_the_answer_is_no_unless_it_is_yes(answer: str, kit: Path, inverted: Path) -> None:
    code, shown = at_a_terminal(answer, "submit", kit, inverted, *POSITIVE)
    assert (code, "[y/N]" in shown, "not submitted; nothing was sent" in shown) == (2, True, True)
    assert "are the scores inverted?" in " ".join(shown.split())


def test_at_a_terminal_yes_goes_on_despite_warnings(kit: Path, inverted: Path) -> None:
    """As far as it goes: there are no nodes here."""
    code, shown = at_a_terminal("y\n", "submit", kit, inverted, *POSITIVE)
    assert (code, "cannot be reached" in shown) == (3, True)


@pytest.mark.parametrize("columns", [60, 140])
def test_nothing_is_wider_than_the_terminal(columns: int, kit: Path, inverted: Path) -> None:
    arguments = ("check", inverted.name, *POSITIVE)
    code, shown = at_a_terminal("", *arguments, columns=columns, cwd=inverted.parent)
    assert code == 6
    assert max(map(len, shown.splitlines())) < columns
    assert "█" in shown


def test_what_cannot_show_blocks_gets_ascii(tmp_path: Path) -> None:
    """Labels and names of columns are escaped."""
    data = write_table(tmp_path / "scores.csv", named(DIED, "überlebt nicht", "überlebt"), RISKS)
    arguments = ("check", data, "--pos-label", "überlebt nicht")
    code, shown = at_a_terminal("", *arguments, PYTHONIOENCODING="ascii")
    assert (code, "####" in shown, shown.isascii()) == (0, True, True)
    assert "spelt '\\xfcberlebt nicht'" in shown


def test_the_chart() -> None:
    bins = [ScoreBin(0.0, 0.5, 0, 1000), ScoreBin(0.5, 1.0, 8, 1), ScoreBin(1.0, 1.5, 4, 500)]
    assert list(chart(bins, 50, " #")) == [
        "score     negatives             positives",
        "0 to 0.5  1,000 ##############  0",
        "0.5 to 1      1 #               8 ##############",
        "1 to 1.5    500 #######         4 #######",
    ]


def test_columns_that_nobody_named_are_told_with_reasons(tmp_path: Path, command: CommandLine) -> None:
    rows = "".join(f"{number / 9},{number % 2},{number % 3}\n" for number in range(9))
    (tmp_path / "d.csv").write_text(f"p,y,ward\n{rows}")
    done = command("check", tmp_path / "d.csv")
    assert done.code == 2
    assert done.out == (
        "p     may be scores; no labels: more than two different values\n"
        "y     no scores: only two different values; may be labels\n"
        "ward  may be scores; no labels: more than two different values\n"
    )
