"""The form for the columns of a file: one choice for every column that a study needs."""

from __future__ import annotations

import pytest

from ppaurora.app.owner.column_form import columns_of, fields_of, planned_columns
from ppaurora.data import Columns, Design
from ppaurora.data.design import Model, SampleWeight, Subgroup
from ppaurora.errors import InputError

DESIGN = Design(
    models={"new": Model(column="risk_2"), "old": Model(column="risk_1")},
    subgroups={"sex": Subgroup(levels=("f", "m"))},
    patient="pid",
    weight=SampleWeight(),
    left_out=True,
)
NAMES = ("risk_1", "risk_2", "died", "gender", "pid", "weight")
FORM = {
    "score:new": "risk_2",
    "score:old": "risk_1",
    "label": "died",
    "group:sex": "gender",
    "patient": "pid",
    "weight": "weight",
}


def test_the_names_of_the_plan_are_preselected() -> None:
    columns = planned_columns(Columns(score="risk_1", label="died", id="pid"), NAMES, DESIGN)
    assert {field.name: field.chosen for field in fields_of(columns)} == FORM | {"group:sex": ""}
    assert [field.title for field in fields_of(columns)][:2] == [
        "Column with the scores of new",
        "Column with the scores of old",
    ]
    assert not columns.is_complete
    assert columns.id is None  # it tells patients apart, not samples


def test_a_person_chooses() -> None:
    columns = columns_of(FORM | {"excluded": "12", "leave-out-missing": "on"}, DESIGN)
    assert columns.groups == {"sex": "gender"}
    assert (columns.score, columns.left_out, columns.leave_out_missing) == ("risk_2", {"excluded": 12}, True)
    with pytest.raises(InputError, match="choose a column for every choice; nothing was read"):
        columns_of(FORM | {"group:sex": ""}, DESIGN)
    with pytest.raises(InputError, match="must be a whole number"):
        columns_of(FORM | {"excluded": "1.5"}, DESIGN)


def test_plain_studies_have_the_form_that_they_had() -> None:
    guessed = Columns(score="risk", label="", id="pid")
    assert planned_columns(guessed, NAMES, Design()) == guessed
    assert [(field.name, field.chosen) for field in fields_of(guessed)] == [("score", "risk"), ("label", "")]
    form = {"score": "risk", "label": "died", "id": "pid", "positive": "yes", "excluded": "7"}
    assert columns_of(form, Design()) == Columns(score="risk", label="died", id="pid", pos_label="yes")
    with pytest.raises(InputError, match="choose a column for the scores and one for the labels"):
        columns_of({"score": "risk"}, Design())


def test_how_a_file_is_written_is_chosen_as_well() -> None:
    form = {"score": "risk", "label": "died", "sheet": "Ward 1", "encoding": "cp1252", "percent": "on"}
    columns = columns_of(form, Design())
    assert (columns.sheet, columns.encoding, columns.percent) == ("Ward 1", "cp1252", True)
