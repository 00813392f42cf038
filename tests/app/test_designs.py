"""The page of a file in a study that names columns: they are preselected, chosen, and shown with the data."""

from __future__ import annotations

import pytest

from ppaurora.data.design import Design, Model, Subgroup
from ppaurora.owner.study import Study
from tests.support.app_owner import Person
from tests.support.local_app import Browser
from tests.support.trials import Trials

DESIGN = Design(
    models={"new": Model(column="risk_2"), "old": Model(column="risk_1")},
    comparisons=(("new", "old"),),
    subgroups={"sex": Subgroup(levels=("f", "m"))},
    patient="pid",
    left_out=True,
)
ROWS = [f"{at / 60!r},{at * 7 % 60 / 60!r},{at % 3 // 2},{'fm'[at % 2]},{at // 2}" for at in range(60)]
GAP = "0.5,,1,f,99"


def test_columns_are_chosen_and_shown(
    nodes: Trials, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Study, "design", property(lambda self: DESIGN))
    nodes.study("designed")
    person = Person(browser, "designed")
    content = "\n".join(["risk_1,risk_2,died,gender,pid", *ROWS, GAP]) + "\n"
    first = person.choose(content.encode())
    assert '<option value="risk_2" selected>' in first.text
    assert "Column with the subgroups by sex" in first.text
    assert "choose a column" in first.text  # the plan calls it sex
    chosen = {"score:new": "risk_2", "score:old": "risk_1", "label": "died", "group:sex": "gender"}
    refused = person.columns(**chosen, patient="pid")
    assert "row 62, column 'risk_2': the score is missing" in refused.said
    fields = {"patient": "pid", "excluded": "12", "leave-out-missing": "on"}
    looked = person.columns(**chosen, **fields)
    assert "AUROC, new minus old" in looked.text
    assert "distinct scores of new" in looked.text
    assert "The charts show your own data (new) and are for you alone." in looked.text
    assert "<dt>patients</dt><dd>30; at most 2 rows of one</dd>" in looked.text
    assert "missing score 1, missing label 0, excluded 12" in looked.text
    assert "group sex from <strong>gender</strong>" in looked.text
    assert 'value="12"' in looked.text
