"""How reports word studies with a design: weights, patients, captions, what is undefined, paragraphs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import ppaurora
from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.data.grid import Grid
from ppaurora.evaluation.designed import NO_INTERVAL
from ppaurora.io.text import Line
from ppaurora.pages.report.designs import DifferenceNumber, difference_number
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.sentences import reading_of, subject_of
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown, escape_latex
from ppaurora.pages.report.tripod import _performance
from ppaurora.pages.report.writing import facts_of
from ppaurora.protocols import find_protocol
from ppaurora.statistics.differences import paired_difference
from tests.pages.test_formats import Page
from tests.support.designed_reports import clustered, designed, designed_owners, on_two_grids, plain


def facts(report: ppaurora.Report) -> Facts:
    return facts_of(source_of(report))


def weighted() -> ppaurora.Report:
    random = np.random.default_rng(1)
    owners = [
        (labels, scores, {"weight": random.integers(1, 4, len(scores["risk_a"])).tolist()})
        for labels, scores, _ in designed_owners(outcomes=True)
    ]
    policy = ppaurora.Policy(minimum_owners=3)
    return ppaurora.evaluate(owners, metrics=["auroc"], protocol="grid", decimals=2, policy=policy)


def test_counts_of_a_weighted_study_are_by_weight_everywhere() -> None:
    report = weighted()
    found = facts(report)
    first = report.results.wholes[0].positives
    assert f"for risk_a, outcome death (about {first} positive by weight, to the nearest 5)" in found.results
    for text in (Page(as_html(found)).text, as_markdown(found), as_latex(found)):
        assert "Positives, by weight" in text
        assert "Negatives, by weight" in text
    assert "Numbers of positives and negatives by weight are released to the nearest 5." in as_html(found)
    assert json.loads(as_json(found))["is_weighted"] is True
    assert "by weight" not in as_markdown(facts(designed()))


def test_captions_name_models_and_outcomes_of_the_design() -> None:
    spec = EvaluationSpec(model=Line("one"), version=Line("2"), outcome=Line("sepsis"))
    assert subject_of(None) == ""
    assert subject_of(spec) == " of one (version 2) for the outcome sepsis"
    assert subject_of(spec, ["a", "b"]) == " of a and b for the outcome sepsis"
    assert subject_of(spec, [], ["x", "y"]) == " of one (version 2) for the outcomes x and y"
    found = facts(designed(outcomes=True))
    said = "Performance of risk_a and risk_b for the outcomes death and stroke in the pooled test samples of "
    assert found.caption.startswith(said)
    assert r"\caption{AUROC by sex, risk\_b, stroke. Performance in the pooled test samples" in as_latex(
        found
    )


def test_without_an_interval_are_levels_and_not_all_samples() -> None:
    report = clustered(subgroups=True)
    item = _performance(facts(report).numbers, facts(report).design, suppressed=False)
    assert "Without an interval: Brier score, and AUROC in subgroups." in item.words
    item = _performance(facts(designed()).numbers, facts(designed()).design, suppressed=False)
    assert "Without an interval" not in item.words


@pytest.mark.parametrize("subgroups", [False, True])
def test_why_there_is_no_interval_is_said_once_for_a_table(subgroups: bool) -> None:
    found = facts(clustered(subgroups=subgroups))
    said = f"Where there is {NO_INTERVAL}."
    for text in (as_html(found), as_markdown(found), as_latex(found)):
        assert text.count(NO_INTERVAL) == text.count(said) == 1 + subgroups
    assert NO_INTERVAL not in found.results
    assert NO_INTERVAL not in as_html(facts(designed()))


def test_floors_count_patients_where_they_do() -> None:
    of_patients = facts(clustered(kind="publication")).methods
    assert "fewer than 10 patients with positive samples or 10 patients with negative ones" in of_patients
    assert "fewer than 10 positives or 10 negatives" in facts(designed()).methods


def test_what_has_one_class_only_is_undefined() -> None:
    owners = []
    for labels, scores, levels in designed_owners(outcomes=True):
        stroke = labels["stroke"] * (np.array(levels["sex"]) == "f")
        owners.append(({"death": 0 * stroke, "stroke": stroke}, scores["risk_a"], {"sex": levels["sex"]}))
    found = facts(ppaurora.evaluate(owners, metrics=["auroc", "brier"], confidence_level=0.95))
    assert "outcome death, all numbers are undefined: one class only;" in found.results
    assert "and undefined for m." in found.results
    assert "By sex, AUROC of death is undefined: one class only." in found.results
    notes = [note for section in found.sections for note in section.notes]
    assert {"death: undefined: one class only.", "stroke, sex = m: undefined: one class only."} <= set(notes)
    for text in (as_html(found), as_markdown(found), as_latex(found)):
        assert "withheld" not in text.replace("withheld by the policy", "")
        assert "suppressed" not in text


def test_results_are_paragraphs() -> None:
    found = facts(designed())
    assert [said.split(" ")[0] for said in found.paragraphs] == ["In", "The", "By", "AUROC", "The"]
    page = as_html(found)
    quote = page.split("<h3>Results section</h3>")[1].split("</blockquote>")[0]
    assert quote.count("<p>") == len(found.paragraphs) == 5
    assert as_markdown(found).split("Methods:")[0].count("\n>\n> ") == 4
    assert as_latex(found).split("% Methods:")[0].count("\n%\n% ") == 4
    assert len(facts(plain()).paragraphs) == 1


def difference(value: float, error: float, digits: int | None) -> DifferenceNumber:
    return difference_number(paired_difference(value, error, 0.95, digits), "auroc", "AUROC")


def test_a_test_that_differs_from_its_interval_is_explained() -> None:
    assert difference(0.02, 0.01, 2).caveat == "the interval allows for rounding, and the test does not"
    assert difference(0.02, 0.05, 2).caveat == ""
    assert difference(0.2, 0.01, 2).caveat == ""
    assert difference(0.0196, 0.01, None).caveat == ""
    found = facts(designed())
    compared = found.design.comparisons[0]
    design = replace(
        found.design, comparisons=(replace(compared, numbers=(difference(0.02, 0.01, 2),)),), subgroups=()
    )
    from ppaurora.pages.report.design_sentences import design_results

    said = design_results(found.numbers, design, "x", "", designed().policy, suppressed=False)
    assert "p = 0.0455; the interval allows for rounding, and the test does not)" in said


def test_grids_are_those_of_every_model_or_not_said() -> None:
    grid = find_protocol("grid")(decimals=2)
    own = {"a": Grid(decimals=2), "b": Grid(low=1.0, high=5.0, decimals=1)}
    assert reading_of(grid, {"a": own["a"]}) == reading_of(grid)
    assert reading_of(grid, own) == (
        "Scores were read by model: those of a to 2 decimals, as the nearest of 101 values from 0 to 1; "
        "those of b to 1 decimal, as the nearest of 41 values from 1 to 5."
    )
    assert "Scores were read" not in facts(on_two_grids()).methods
    assert "Scores were read to 2 decimals" in facts(designed()).methods


def test_one_word_and_one_sign_for_one_thing() -> None:
    found = facts(designed())
    for text in (as_html(found), as_markdown(found), as_latex(found)):
        assert "−" not in text
        assert " %" not in text.replace("% ", "")
        assert "3 owners" not in text
        assert "average site" not in text
    (sites,) = [section for section in found.sections if section.key == "sites"]
    assert sites.title == "Differences between sites"


def test_latex_has_minus_signs() -> None:
    assert escape_latex("a - b: -0.1 (95% CI -0.3 to -0.05), 50-70") == (
        r"a $-$ b: $-$0.1 (95\% CI $-$0.3 to $-$0.05), 50-70"
    )
    assert escape_latex("--") == "--"
