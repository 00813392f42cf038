"""The report of a study with a design that real nodes released: sections, TRIPOD+AI, own data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.owner.study import Study
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown
from ppaurora.pages.report.writing import facts_of
from tests.support.sending import send
from tests.support.trials import OWNERS, RunCommand, Trials

HEAD = """\
confidence_level = 0.95
metrics = ["auroc", "brier", { name = "net_benefit", thresholds = [0.3] }]
sites = true
left_out = true
comparisons = [["new", "old"]]
"""
POLICY = '[policy]\nkind = "exact"\ndigits = 3\n'
DESIGN = """\
[evaluation]
score_scale = "probability"
model = "the model of the plan"
outcome = "sepsis"
[models.new]
column = "risk_2"
grid = { decimals = 2 }
[models.old]
column = "risk_1"
grid = { decimals = 2 }
[subgroups.sex]
levels = ["f", "m"]
"""


def hospital(rows: int, seed: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)
    died = random.random(rows) < 0.4
    return {
        "risk_1": np.round(random.beta(2 + died, 3), 2).tolist(),
        "risk_2": np.round(random.beta(2 + 2 * died, 3), 2).tolist(),
        "label": died.astype(int).tolist(),
        "sex": random.choice(["f", "m"], rows).tolist(),
    }


DATA = {owner: hospital(rows, rows) for owner, rows in zip(OWNERS, (160, 90, 120), strict=True)}


@pytest.fixture(scope="module")
def study(running: Trials) -> Study:
    running.study("two-models", owners=OWNERS, head=HEAD, policy=POLICY, more=DESIGN)
    studies = {owner: Study(running.kit(owner), "two-models") for owner in OWNERS}
    for owner, data in DATA.items():
        send(studies[owner], data, left_out={"excluded": len(data["sex"]) // 10})
    studies["harbour"].wait(timeout=300)
    return studies["harbour"]


@pytest.fixture(scope="module")
def facts(study: Study) -> Facts:
    return facts_of(source_of(study.results))


def test_a_filed_result_has_all_of_it(facts: Facts, study: Study) -> None:
    report = study.result()
    assert [section.key for section in facts.sections] == [
        *("models", "comparisons", "subgroups", "sites", "left-out")
    ]
    content = json.loads(as_json(facts))
    assert [one["model"] for one in content["slices"]] == ["new", "old"]
    assert content["left_out"][2]["value"] == sum(len(data["sex"]) // 10 for data in DATA.values())
    assert report.sites is not None
    for text in (as_html(facts), as_markdown(facts), as_latex(facts)):
        for one in report.models.values():
            auroc = one["auroc"]
            assert isinstance(auroc, ppaurora.Estimate)
            assert auroc.shown_shortly() in text
        assert "Differences between" in text
        for said in ("secret of its institution", "fixed beforehand", "only the sums were released"):
            assert said in text
    assert "known to its own institution only" in as_html(facts)


def test_tripod_items_say_where_it_is(facts: Facts) -> None:
    items = {one.item: one for one in facts.reporting}
    assert {item: items[item].status for item in ("11", "12d", "12e", "23b")} == {
        "11": "in part",
        "12d": "answered",
        "12e": "answered",
        "23b": "answered",
    }
    assert "Random-effects meta-analysis over institutions" in items["12d"].words
    assert "their differences between models" in items["12e"].words
    assert "Models: new and old" in items["12g"].words
    assert "Rows that were left out, by reason" in items["20a"].words
    assert "Subgroups by sex: see the section on subgroups." in items["23a"].words
    assert "prediction intervals" in items["23b"].words


def test_own_data_is_beside_the_first_model(study: Study, run: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    ppaurora.write_report(study.results, path, data=DATA["harbour"])
    text = path.read_text()
    assert "## Comparison with your own data" in text
    assert "### Subgroups" in text


def test_the_command_prints_it(study: Study, run: RunCommand) -> None:
    report = study.result()
    _, out = run("result", study.kit.folder, "--study", "two-models")
    compared = report.comparison("new", "old").auroc
    assert compared is not None
    assert compared.line("AUROC new - old") in out
    assert "subgroups by sex" in out
    assert "rows left out: 0 (missing score), 0 (missing label), 37 (excluded)" in out


def test_captions_name_models_of_the_design_and_the_outcome_of_the_plan(facts: Facts) -> None:
    where = "in the pooled test samples of 3 institutions (n = 370"
    assert facts.caption.startswith(f"Performance of new and old for the outcome sepsis {where}")
    captions = [line for line in as_latex(facts).splitlines() if line.startswith(r"\caption")]
    rest = f"Performance for the outcome sepsis {where}"
    assert {one.split(".")[0].removeprefix(r"\caption{") for one in captions} >= {
        *("Released numbers", "AUROC by sex, new", "AUROC by sex, old", "Differences between models"),
    }
    assert all(rest in one and "the model of the plan" not in one for one in captions)
