"""`ppaurora evaluate` under a policy, with intervals and with metrics that have parameters."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ppaurora.errors import SUPPRESSED_EXIT_CODE
from ppaurora.io.models import to_builtins
from ppaurora.policy.rules import Policy
from tests.support.command_line import FAST, CommandLine, check_refused, table, values, written
from tests.support.oracles import Sample, defined, exact_auroc
from tests.support.releases import to_multiple_of_five

STUDY = (*FAST, "--policy", "publication")


def owners(positive_rate: float) -> list[list[Sample]]:
    random = np.random.default_rng(4)
    return [
        [(k / 32, int(random.random() < positive_rate)) for k in random.integers(0, 33, size).tolist()]
        for size in (150, 130, 120)
    ]


@pytest.fixture
def many(tmp_path: Path) -> list[Path]:
    return [written(tmp_path, f"{n}.csv", table(owner)) for n, owner in enumerate(owners(0.4))]


@pytest.fixture
def rare(tmp_path: Path) -> list[Path]:
    """Both classes are there, but too few positives."""
    found = [written(tmp_path, f"{n}.csv", table(owner)) for n, owner in enumerate(owners(0.01))]
    assert sum(file.read_text().count(",1\n") for file in found) in range(1, 10)
    return found


def test_what_a_study_lets_out(command: CommandLine, many: list[Path]) -> None:
    finished = command("evaluate", *many, *STUDY, "--metrics", "auroc", "--format", "json")
    assert (finished.code, finished.err) == (0, "")
    report = json.loads(finished.out)
    pooled = [sample for owner in owners(0.4) for sample in owner]
    exact = defined(exact_auroc(pooled))
    assert report["metrics"]["auroc"]["value"] == round(float(exact), 3)
    assert report["metrics"]["auroc"]["digits"] == 3
    assert (report["suppressed"], report["positives"]) == (
        False,
        to_multiple_of_five(sum(y for _, y in pooled)),
    )
    assert report["policy"] == to_builtins(Policy())
    shown = command("evaluate", *many, *STUDY, "--metrics", "auroc")
    (row,) = [line.strip("│ ").split() for line in shown.out.splitlines() if " auroc " in line]
    assert row[-1] == f"{float(exact):.3f}"


def test_with_noise_the_default_is_what_noise_is_known_for(command: CommandLine, many: list[Path]) -> None:
    finished = command("evaluate", *many, *FAST, "--policy", "private", "--format", "json")
    assert (finished.code, finished.err) == (0, "")
    assert list(json.loads(finished.out)["metrics"]) == ["auroc"]
    asked = command("evaluate", *many, *FAST, "--policy", "private", "--metrics", "auroc,aupr")
    check_refused(asked, "the metric 'aupr' cannot be released with noise")


def test_a_suppressed_result_has_an_exit_code_of_its_own(command: CommandLine, rare: list[Path]) -> None:
    told = []
    for policy in (STUDY, (*STUDY, "--minimum-positives", "12"), FAST):
        finished = command("evaluate", *rare, *policy, "--format", "json")
        report = json.loads(finished.out)
        assert finished.code == (0 if policy == FAST else SUPPRESSED_EXIT_CODE)
        assert report["suppressed"] == (policy != FAST)
        told.append((report["metrics"], report["positives"], finished.err))
    assert told[0] == told[1]
    assert told[0][1:] == (None, "")
    for found in told[0][0].values():
        assert found["suppressed"]
        assert (found["value"], found["interval"], found["standard_error"]) == (None, None, None)
    shown = command("evaluate", *rare, *STUDY)
    assert shown.code == SUPPRESSED_EXIT_CODE == 5
    assert "withheld: a policy rule on secret counts was not met" in shown.out
    assert "nan" not in shown.out.lower()


def test_single_rules_make_a_policy_stricter(command: CommandLine, many: list[Path]) -> None:
    stricter = {"digits": 2, "counts": "hidden", "minimum_negatives": 20, "largest_owner_fraction": 0.4}
    options = [
        word for rule, value in stricter.items() for word in (f"--{rule.replace('_', '-')}", str(value))
    ]
    finished = command("evaluate", *many, *STUDY, *options, "--whole-tables", "--format", "json")
    assert finished.code == 0
    report = json.loads(finished.out)
    assert report["policy"] == {**to_builtins(Policy()), **stricter, "whole_tables": True}
    assert report["positives"] is None
    assert report["metrics"]["auroc"]["digits"] == 2


def test_a_policy_that_promises_nothing_takes_any_rule(command: CommandLine, many: list[Path]) -> None:
    finished = command("evaluate", *many, *FAST, "--digits", "4", "--counts", "rounded", "--format", "json")
    assert finished.code == 0
    report = json.loads(finished.out)
    assert report["policy"] == {**to_builtins(Policy.exact()), "digits": 4, "counts": "rounded"}
    assert report["positives"] % 5 == 0
    assert report["metrics"]["auroc"]["digits"] == 4


def test_intervals_are_printed_as_proc_prints_them(command: CommandLine, many: list[Path]) -> None:
    finished = command("evaluate", *many, *FAST, "--metrics", "auroc,ap", "--confidence-level", "0.9")
    assert finished.code == 0
    assert "Area under the curve: 0." in finished.out
    assert "90% CI: 0." in finished.out
    assert "(DeLong)" in finished.out
    assert finished.out.count("Area under the curve") == 1


def test_metrics_with_parameters(command: CommandLine, many: list[Path]) -> None:
    query = ("--metrics", "sensitivity,ppv,partial_auroc,histogram", "--thresholds", "0.25,0.5")
    more = ("--max-fpr", "0.2", "--bins", "0,0.5,1")
    finished = command("evaluate", *many, *FAST, *query, *more, "--format", "json")
    assert finished.code == 0, finished.err
    metrics = json.loads(finished.out)["metrics"]
    assert list(metrics) == ["sensitivity", "ppv", "partial_auroc", "histogram"]
    for name in ("sensitivity", "ppv"):
        assert [row["at"] for row in metrics[name]["rows"]] == [{"threshold": 0.25}, {"threshold": 0.5}]
    assert 0 < metrics["partial_auroc"]["value"] < 1
    counted = [row["values"] for row in metrics["histogram"]["rows"]]
    assert sum(row[label]["value"] for row in counted for label in ("positives", "negatives")) == 400
    shown = command("evaluate", *many, *FAST, *query, *more)
    assert "sensitivity at threshold 0.25" in shown.out
    assert "ppv: called_positive at threshold 0.5" in shown.out


def test_without_a_policy_everything_is_let_out(command: CommandLine, files: list[Path]) -> None:
    """Of few samples, and of two owners."""
    finished = command("evaluate", *files[:2], *FAST, "--metrics", "auroc", "--format", "json")
    assert finished.code == 0
    assert json.loads(finished.out)["policy"] == to_builtins(Policy.exact())
    assert json.loads(finished.out)["positives"] == 2
    assert values(finished.out)["auroc"] is not None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--policy", "publication"], "an owner has fewer than 20 samples"),
        (
            ["--policy", "publication", "--digits", "4"],
            "digits: kind = 'publication' has 3, and a plan may only",
        ),
        (["--policy", "publication", "--counts", "exact"], "take kind = 'exact', which promises nothing"),
        (["--policy", "publication", "--epsilon", "1"], "are rules of kind = 'private'"),
        (["--policy", "private", "--digits", "3"], "its noise takes the place of this rule"),
        (["--minimum-owners", "4"], "asks for at least 4 owners"),
        (["--minimum-samples", "9"], "fewer than 9 samples in all"),
        (["--policy", "loose"], "Invalid value for '--policy'"),
        (["--digits", "0"], "policy: digits"),
        (["--digits", "10"], "policy: digits"),
        (["--digits", "many"], "policy: digits"),
        (["--counts", "shown"], "Invalid value for '--counts'"),
        (["--largest-owner-fraction", "0"], "policy: largest_owner_fraction"),
        (["--minimum-positives", "-1"], "policy: minimum_positives"),
        (["--minimum-per-cell", "0"], "policy: minimum_per_cell"),
        (["--confidence-level", "95"], "write 0.95 for 95 %"),
        (["--confidence-level", "0"], "confidence_level is 0.0"),
        (["--thresholds", "0.5"], "--thresholds: is a parameter of sensitivity, "),
        (["--metrics", "ppv", "--thresholds", "a half"], "--thresholds: write numbers separated by commas"),
        (["--metrics", "ppv", "--thresholds", "0.5,0.2"], "ppv: thresholds: must be in increasing order"),
        (["--metrics", "partial_auroc", "--max-fpr", "0.1,0.2"], "partial_auroc: max_fpr: "),
        (["--metrics", "partial_auroc", "--max-fpr", "1"], "max_fpr: is above 0, below 1"),
        (["--metrics", "histogram", "--counts", "hidden"], "which the policy hides"),
        (["--protocol", "paper", "--digits", "2"], "the protocol 'paper' cannot round"),
        (["--protocol", "paper", "--metrics", "brier"], "'paper' does not compute the metric 'brier'"),
        (["--protocol", "paper", "--confidence-level", "0.9"], "'paper' does not compute intervals"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "says",
)
def test_bad_arguments(arguments: list[str], says: str, command: CommandLine, files: list[Path]) -> None:
    check_refused(command("evaluate", *files, *FAST, *arguments), says)


def test_what_a_policy_protects_is_printed(many: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    command = CommandLine(capsys)
    level = ("--confidence-level", "0.95", "--metrics", "auroc")
    private = command("evaluate", *many, *FAST, *level, "--policy", "private", "--epsilon", "1")
    assert "Private, with epsilon 1 for every person: whoever knows everything else" in private.out
    assert "% wider" in private.out
    published = command("evaluate", *many, *STUDY, *level)
    assert "For publication: rounded to 3 decimals" in published.out
    assert ", to the nearest 5\n" in published.out
    assert "Exact: nothing was held back." in command("evaluate", *many, *FAST).out
