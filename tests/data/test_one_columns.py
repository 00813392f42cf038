"""`Columns` says which columns hold what: functions, commands and pages take all its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import click
import pytest

import ppaurora
from ppaurora.cli.main import cli
from ppaurora.data import ColumnKeywords, Columns, read_data
from ppaurora.errors import InputError

FIELDS = set(Columns.__struct_fields__)
KEYWORDS = FIELDS - {"scores", "labels", "groups"} | {"group"}
OPTIONS = {f"--{name.replace('_', '-')}" for name in KEYWORDS}


def test_keywords_are_the_fields_but_those_that_a_dict_says() -> None:
    assert set(get_type_hints(ColumnKeywords)) == KEYWORDS
    columns = Columns.called(score={"a": "risk_a"}, label={"dead": "died"}, group={"sex": "gender"}, id="pid")
    named = {"scores": {"a": "risk_a"}, "labels": {"dead": "died"}, "groups": {"sex": "gender"}}
    assert columns == Columns(id="pid", **named)  # type: ignore[arg-type]
    assert Columns.called(score="risk") == Columns(score="risk")


@pytest.mark.parametrize(
    "public",
    [ppaurora.Study.check, ppaurora.Study.submit, ppaurora.Study.evaluate, ppaurora.write_report],
    ids=lambda public: public.__qualname__,
)
def test_functions_take_them_all(public: Callable[..., Any]) -> None:
    parameters = inspect.signature(public).parameters
    assert parameters["columns"].kind is inspect.Parameter.VAR_KEYWORD
    assert not KEYWORDS & set(parameters)
    with pytest.raises(TypeError, match="colour"):
        Columns(colour="blue")  # type: ignore[call-arg]


def test_evaluate_names_its_own() -> None:
    """All but the column that tells samples apart: nobody looks for duplicates there."""
    assert KEYWORDS - set(inspect.signature(ppaurora.evaluate).parameters) == {"id"}


@pytest.mark.parametrize("name", ["check", "submit", "report"])
def test_commands_take_them_all(name: str) -> None:
    with click.Context(cli) as context:
        command = cli.get_command(context, name)
    assert command is not None
    assert {option for parameter in command.params for option in parameter.opts} >= OPTIONS


def test_options_are_what_commands_take() -> None:
    assert Columns().options == []
    every = Columns(score="risk", label="died", id="patient", pos_label="yes")
    assert every.options == ["--score", "risk", "--label", "died", "--id", "patient", "--pos-label", "yes"]
    of_a_design = Columns(
        scores={"a": "risk_a", "b": "risk_b"},
        labels={"dead": "died"},
        groups={"sex": "gender"},
        patient="patient",
        weight="times",
        leave_out_missing=True,
        left_out={"excluded": 12},
    )
    assert of_a_design.options == [
        *("--score", "a=risk_a", "--score", "b=risk_b", "--label", "dead=died", "--group", "sex=gender"),
        *("--patient", "patient", "--weight", "times", "--leave-out-missing", "--left-out", "excluded=12"),
    ]
    of_a_file = Columns(sheet="Data 2", encoding="cp1252", percent=True)
    assert of_a_file.options == ["--sheet", "Data 2", "--encoding", "cp1252", "--percent"]
    assert {
        one for one in every.options + of_a_design.options + of_a_file.options if one.startswith("--")
    } == OPTIONS


def test_two_columns_are_not_one() -> None:
    """It is told when data is read: until then, a person may change them."""
    with pytest.raises(InputError, match="score and id cannot both be column 'risk'"):
        read_data({"risk": [1, 0], "label": [1, 0]}, score="risk", id="risk")
    assert not Columns(score="", label="").is_complete
    with pytest.raises(InputError, match="score and label cannot both be column ''"):
        read_data({"": [1, 0]}, score="", label="")
