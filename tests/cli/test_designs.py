"""Options for studies with several models, outcomes, subgroups, patients and weights."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ppaurora.cli.options import subgroup_fields
from ppaurora.data import Samples
from ppaurora.data.design import Design, SampleWeight, Subgroup
from ppaurora.data.further import LeftOut
from ppaurora.errors import InputError
from tests.support.checks import designed_kit
from tests.support.command_line import CommandLine

HEADER = "risk_1,risk_2,died,icu,gender,pid,times"
ROWS = [
    f"{at / 50!r},{at * 7 % 50 / 50!r},{at % 3 // 2},{at % 2},{'fm'[at % 5 // 4]},{at // 2},1"
    for at in range(50)
]
ONE = ("--score", "risk_1")
MODELS = ("--score", "a=risk_1", "--score", "b=risk_2")
GROUPS = ("--group", "sex=gender", "--levels", "sex=f,m")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "north.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n")
    return path


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `ppaurora evaluate` would evaluate; nothing is computed."""
    given: dict[str, Any] = {}

    def instead(owners: Any, **terms: Any) -> None:
        given.update(terms, owners=owners)
        raise InputError("reached")

    monkeypatch.setattr("ppaurora.cli.evaluate.evaluate_samples", instead)
    return given


def evaluate(command: CommandLine, file: Path, *options: str) -> str:
    done = command("evaluate", file, file, "--transport", "memory", *options)
    assert done.code == 2
    return done.err


def test_evaluate_makes_a_design_of_its_options(
    command: CommandLine, file: Path, evaluated: dict[str, Any]
) -> None:
    options = (*MODELS, "--label", "died=died", "--label", "icu=icu", *GROUPS, "--patient", "pid")
    others = ("--weight", "times", "--most-weight", "7", "--compare", "a,b", "--sites")
    assert "reached" in evaluate(command, file, *options, *others, "--left-out", "excluded=12")
    assert (list(evaluated["models"]), list(evaluated["outcomes"])) == (["a", "b"], ["died", "icu"])
    assert evaluated["comparisons"] == (("a", "b"),)
    assert evaluated["subgroups"] == {"sex": Subgroup(levels=("f", "m"))}
    assert evaluated["patient"] == "pid"
    assert evaluated["weight"] == SampleWeight(column="times", most=7)
    assert evaluated["sites"]
    assert evaluated["left_out"]
    first, second = evaluated["owners"]
    assert isinstance(first, Samples)
    assert first.further is not None
    assert (first.further.left_out, second.further.left_out) == (LeftOut(excluded=12), LeftOut())
    assert first.further.scores["b"].tolist() == [place * 7 % 50 / 50 for place in range(50)]


def test_all_models_are_compared(command: CommandLine, file: Path, evaluated: dict[str, Any]) -> None:
    options = (*MODELS, "--score", "c=times", "--label", "died", "--compare", "all")
    assert "reached" in evaluate(command, file, *options)
    assert evaluated["comparisons"] == (("a", "b"), ("a", "c"), ("b", "c"))


def test_without_such_options_nothing_is_different(
    command: CommandLine, file: Path, evaluated: dict[str, Any]
) -> None:
    assert "reached" in evaluate(command, file, "--score", "risk_1", "--label", "died")
    assert not set(evaluated) & set(Design.__struct_fields__)
    assert [one.further for one in evaluated["owners"]] == [None, None]


def test_a_column_may_have_an_equals_sign(command: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("P(y=1),label\n0.75,1\n0.25,0\n")
    done = command("check", path, "--score", "P(y=1)")
    assert done.code == 0
    assert "score 'P(y=1)', label 'label'" in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--score", "risk_1", "--score", "risk_2"),
            "--score: write a name, '=', and what it stands for, as in",
        ),
        (("--score", "a=risk_1", "--score", "a=risk_2"), "--score a: stands more than once"),
        (("--score", "a="), "--score: write a name, '=', and what it stands for, as in a=COLUMN"),
        ((*MODELS, "--compare", "a"), "--compare: write two models with a comma between, as in a,b"),
        ((*MODELS, "--compare", "a,z"), "comparisons: 'z' is not a model in this study; there are: a, b"),
        ((*MODELS, "--compare", "a,a"), "comparisons: 'a' cannot be compared with itself"),
        (
            ("--score", "risk_1", "--group", "sex=gender"),
            "group sex: say which levels it has: --levels sex=LEVEL",
        ),
        (
            ("--score", "risk_1", "--levels", "sex"),
            "--levels: write a name, '=', and what it stands for, as in",
        ),
        ((*ONE, "--levels", "gender=f"), "--levels gender: write all its levels, two at least, with commas"),
        ((*ONE, "--levels", "gender=f,"), "levels: each is a short text"),
        ((*ONE, "--levels", "gender=f,x"), "row 6, column 'gender': the level is not one of"),
        ((*ONE, "--levels", "sex=f,m"), "row 1, column 'sex': there is no such column"),
        (
            ("--score", "risk_1", "--weight", "pid"),
            "row 2, column 'pid': the weight is not a whole number from 1",
        ),
        (
            (*ONE, "--weight", "times", "--most-weight", "0"),
            "--most-weight: write a whole number from 1 to 1,",
        ),
        (
            (*ONE, "--weight", "times", "--most-weight", "5000"),
            "--most-weight: write a whole number from 1 to",
        ),
        ((*ONE, "--most-weight", "5"), "--most-weight: goes with --weight COLUMN, the column of the weights"),
        (
            (*ONE, "--metrics", "auroc,sensitivity"),
            "sensitivity: needs --thresholds as well, for instance --thresholds 0.1,0.2,0.5",
        ),
        ((*ONE, "--patient", "who"), "row 1, column 'who': there is no such column"),
        ((*ONE, "--left-out", "lost=3"), "left_out: give numbers of rows by reason"),
        (
            ("--score", "risk_1", "--left-out", "excluded=3.5"),
            "--left-out excluded: write a whole number of rows",
        ),
        ((*ONE, "--left-out", "3"), "--left-out: write a name, '=', and what it stands for"),
    ],
)
def test_bad_options_are_answered(
    options: tuple[str, ...], said: str, command: CommandLine, file: Path, evaluated: dict[str, Any]
) -> None:
    error = evaluate(command, file, "--label", "died", *options)
    assert said in error
    assert not evaluated


def test_check_without_a_kit_shows_all_of_it(command: CommandLine, file: Path) -> None:
    options = (*MODELS, "--label", "died", *GROUPS, "--patient", "pid", "--left-out", "excluded=12")
    done = command("check", file, *options)
    assert done.code in (0, 6)
    shown = dict(line.split("  ", 1) for line in done.out.splitlines() if "  " in line)
    aurocs = {f"local AUROC, {of}" for of in ("a", "b", "a minus b")}
    assert aurocs | {"a, sex = f", "b, sex = m", "patients"} <= set(shown)
    assert shown["patients"].strip() == "25; at most 2 rows of one"
    assert shown["rows left out"].strip() == "missing score 0, missing label 0, excluded 12"
    told = json.loads(command("check", file, *options, "--format", "json").out)["design"]
    assert [one["level"] for one in told["slices"]] == ["", "", "f", "m", "f", "m"]
    assert told["patients"] == 25


def test_check_names_the_model_that_it_warns_of_and_shows(command: CommandLine, file: Path) -> None:
    """Scores of the second model are those of the first, inverted."""
    rows = [f"{at / 50!r},{1 - at / 50!r},{int(at >= 30)},{int(at >= 25)},f,{at},1" for at in range(50)]
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    done = command("check", file, *MODELS, "--label", "died=died", "--label", "icu=icu")
    assert done.code == 6
    assert (
        "warning: the local AUROC of model b for outcome died and of model b for outcome icu is below 0.5, "
        "by more than chance explains" in done.out
    )
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in done.out.splitlines() if "  " in line)
    assert shown["positives of died"] == "20 (40.0%), spelt '1'"
    assert shown["scores of a"] == "between 0 and 0.98"
    assert "\nscores by class, a, died:\n" in done.out
    plain = command("check", file, "--score", "risk_1", "--label", "died").out
    assert "scores by class" not in plain
    assert "\npositives " in plain


SETTINGS = """
comparisons = [["a", "b"]]
patient = "pid"
left_out = true
"""
TABLES = """
[models.a]
column = "risk_1"
grid = { low = 0.0, high = 1.0, decimals = 2 }

[models.b]
column = "risk_2"
grid = { low = 0.0, high = 1.0, decimals = 2 }

[subgroups.sex]
column = "gender"
levels = ["f", "m"]
"""


def test_a_kit_says_which_columns_there_are(command: CommandLine, file: Path, tmp_path: Path) -> None:
    kit = designed_kit(tmp_path, SETTINGS, TABLES)
    done = command("check", file, "--kit", kit, "--label", "died", "--format", "json")
    told = json.loads(done.out)["design"]
    assert told["differences"][0].keys() == {"a", "b", "outcome", "difference"}
    assert told["most_rows_of_a_patient"] == 2
    assert "AUROC, a minus b" in command("check", file, "--kit", kit, "--label", "died").out
    wrong = command("submit", kit, file, "--label", "died", "--dry-run", "--group", "sex=gendre")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean --group sex=gender, in Python group={'sex': 'gender'}?" in wrong.err
    refused = command("check", file, "--kit", kit, "--label", "died", "--levels", "sex=f,m")
    assert refused.code == 2
    assert "--levels: the study's plan says which levels there are" in refused.err


def test_scores_of_every_model_must_be_on_its_grid(command: CommandLine, file: Path, tmp_path: Path) -> None:
    kit = designed_kit(tmp_path, SETTINGS, TABLES)
    file.write_text("\n".join([HEADER, *ROWS, "0.5,1.5,1,0,f,99,1"]) + "\n")
    done = command("check", file, "--kit", kit, "--label", "died")
    assert done.code == 2
    assert f"{file}, row 52, column 'risk_2': the score is outside of the study's grid" in done.err


@pytest.mark.parametrize("command_with_data", [("check", "--kit"), ("submit",)])
def test_a_column_without_the_name_of_its_model_is_refused(
    command_with_data: tuple[str, ...], command: CommandLine, file: Path, tmp_path: Path
) -> None:
    kit = designed_kit(tmp_path, SETTINGS, TABLES + "[outcomes.died]\n[outcomes.icu]\n")
    name, *option = command_with_data
    given = (name, file, *option, kit) if option else (name, kit, file, "--dry-run")
    for wrong, said in (
        (("--score", "nonsense"), "score nonsense: say which model it is for; the study names a, b: write"),
        (("--label", "nonsense"), "label nonsense: say which outcome it is for; the study names died, icu"),
    ):
        done = command(*given, *wrong)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
        assert f"write {wrong[0]} {'a' if wrong[0] == '--score' else 'died'}=COLUMN, in Python" in done.err


def test_levels_with_commas_are_given_one_by_one() -> None:
    found = subgroup_fields(("age=[0,50)", "sex=f,m", "age=[50,70)"))
    assert found == {"subgroups": {"age": {"levels": ["[0,50)", "[50,70)"]}, "sex": {"levels": ["f", "m"]}}}
