"""What the terminal shows of models, comparisons, subgroups, sites and rows left out."""

from __future__ import annotations

import numpy as np
import pytest

import ppaurora
from ppaurora.cli.tables import print_metrics
from ppaurora.evaluation.designed import NO_INTERVAL
from ppaurora.statistics.differences import Difference
from tests.support.designed_reports import (
    HOSTILE_LEVEL,
    clustered,
    designed,
    designed_owners,
    on_two_grids,
    plain,
)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def printed(report: ppaurora.Report, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    print_metrics(report, report.samples, report.owners)
    return capsys.readouterr().out


def rows(text: str, *, after: str) -> list[list[str]]:
    """Return the rows of the table with this title."""
    lines = text.split(f"{after} ", 1)[1].splitlines() if f"{after} " in text else []
    found = []
    for line in lines[1:]:
        if line.startswith("│"):
            found.append([cell.strip() for cell in line.strip("│").split("│")])
        elif line.startswith("└"):
            break
    return found


def test_every_model_has_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    report = designed()
    text = printed(report, capsys)
    for model, one in report.models.items():
        table = rows(text, after=f"{model}: 720 samples of 3 owners")
        auroc = one["auroc"]
        assert isinstance(auroc, ppaurora.Estimate)
        assert table[0] == ["auroc", auroc.shown(), auroc.shown_interval()]
        assert auroc.line("Area under the curve") in text
    assert text.count("positives: about ") == 2


@pytest.mark.parametrize("kind", ["publication", "exact", "private"])
def test_comparisons_are_lines_as_of_proc(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = designed(kind)
    lines = printed(report, capsys).splitlines()
    compared = report.comparison("risk_a", "risk_b")
    assert isinstance(compared.auroc, Difference)
    (line,) = [line for line in lines if line.startswith("AUROC risk_a - risk_b: ")]
    assert line.startswith(compared.auroc.line("AUROC risk_a - risk_b"))
    assert compared.auroc.test_line() in line
    assert compared.auroc.note in line
    if kind == "publication":
        assert ", 95% CI: " in line
        assert " (DeLong, paired), Z = " in line
    assert sum(line.startswith("net benefit risk_a - risk_b at threshold 0.") for line in lines) == (
        0 if kind == "private" else 2
    )


def test_a_bound_of_the_standard_error_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    owners = [
        ([0, 1] * 20, {"a": [at / 40 for at in range(40)], "b": [at * 7 % 40 / 40 for at in range(40)]})
    ] * 3
    models = {name: {"grid": {"decimals": 2}, "cells": 8} for name in "ab"}
    report = ppaurora.evaluate(
        owners,
        comparisons="all",
        models=models,
        metrics=["auroc"],
        confidence_level=0.95,
        protocol="grid",
        decimals=2,
    )
    found = report.comparison("a", "b").auroc
    assert found is not None
    assert found.error_bound
    (line,) = [one for one in printed(report, capsys).splitlines() if one.startswith("AUROC a - b: ")]
    assert " standard error " in line
    assert " of that of ungrouped scores" in line


def test_levels_are_a_table_with_differences_from_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    report = designed()
    text = printed(report, capsys)
    for model in ("risk_a", "risk_b"):
        found = report.subgroups["sex"].of(model)
        f, m = rows(text, after=f"{model}: subgroups by sex")
        less = found.difference("m", "f")
        for level, row in (("f", f), ("m", m)):
            auroc = found[level]["auroc"]
            assert isinstance(auroc, ppaurora.Estimate)
            counts = [f"{found[level].positives:,}", f"{found[level].negatives:,}"]
            assert row[:4] == [level, *counts, f"{auroc.shown_shortly()} ({auroc.shown_span()})"]
        assert f[4:] == ["reference", ""]
        assert m[4] == f"{less.shown_shortly()} ({less.shown_span()})"
        assert m[5] in less.test_line()
        ages = rows(text, after=f"{model}: subgroups by age_group")
        assert [row[0] for row in ages] == ["under 50", "50-70", HOSTILE_LEVEL]


def test_withheld_levels_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(designed(small=True), capsys)
    for row in rows(text, after="risk_a: subgroups by age_group"):
        assert row[1:4] == ["withheld"] * 3
    assert "withheld" not in str(rows(text, after="risk_a: subgroups by sex"))
    assert text.count("\nwithheld: a level has too few people, ") == 2  # age_group, of both models
    assert "suppressed" not in text
    assert "withheld" not in printed(designed(), capsys)


def test_what_is_undefined_is_not_withheld(capsys: pytest.CaptureFixture[str]) -> None:
    """Under exact, the outcome death has no positives, and stroke none among m."""
    owners = []
    for labels, scores, levels in designed_owners(outcomes=True):
        stroke = labels["stroke"] * (np.array(levels["sex"]) == "f")
        owners.append(({"death": 0 * stroke, "stroke": stroke}, scores["risk_a"], {"sex": levels["sex"]}))
    text = printed(ppaurora.evaluate(owners, metrics=["auroc"], confidence_level=0.95), capsys)
    assert rows(text, after="death: 720 samples of 3 owners")[0][1] == "undefined"
    assert "\nundefined: one class only\n" in text
    _, m = rows(text, after="stroke: subgroups by sex")
    assert m[1:5] == ["", "", "undefined", "undefined"]
    assert "\nm: undefined: one class only\n" in text
    assert "withheld" not in text
    assert "suppressed" not in text


def test_notes_on_levels_stand_below_their_table_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(designed(), capsys)
    said = "the test uses the rounded values; the interval allows for rounding; reading scores on a grid"
    below = text.split("risk_a: subgroups by sex ")[1].split("└")[1]
    assert below.splitlines()[1].startswith(said)
    assert "the test uses" not in printed(designed("exact"), capsys)


def test_missing_intervals_are_explained_below_tables(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(clustered(subgroups=True), capsys)
    whole, levels = text.split("subgroups by sex ")
    assert whole.count(NO_INTERVAL) == levels.count(NO_INTERVAL) == 1
    assert [row[0] for row in rows(text, after="720 samples of 3 owners")] == ["auroc", "brier"]
    assert NO_INTERVAL not in printed(designed(), capsys)


def test_counts_of_a_weighted_study_are_by_weight(capsys: pytest.CaptureFixture[str]) -> None:
    report = clustered("weight")
    one = report.results.wholes[0]
    both = f"positives, by weight: {one.positives:,}; negatives, by weight: {one.negatives:,}"
    assert f"\n{both}\n" in printed(report, capsys)


def test_models_with_grids_of_their_own_have_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = "grids: a: 101 values from 0 to 1, 2 decimals; b: 37 values from 1 to 4.6, 1 decimal\n"
    assert said in printed(on_two_grids(), capsys)
    assert "grids: " not in printed(designed(), capsys)


def test_sites_are_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    report = designed()
    text = printed(report, capsys)
    assert len(report.results.sites) == 2
    for one in report.results.sites:
        assert f"{one.slice.model}: differences between sites" in text
        for effect in one.effects.values():
            assert effect.sentence() in text
        assert one.within is not None
        assert one.within.line("AUROC within sites") in text


def test_rows_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert "rows left out: 7 (missing score), 0 (missing label), 11 (excluded)\n" in printed(
        designed("exact"), capsys
    )
    assert (
        "rows left out: 5 (missing score), 0 (missing label), 10 (excluded); to the nearest 5\n"
        in printed(designed(), capsys)
    )
    noisy = printed(designed("private"), capsys)
    assert "(excluded); with noise\n" in noisy


def test_a_plain_study_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(plain(), capsys)
    assert text.splitlines()[0].strip() == "720 samples of 3 owners"
    assert text.count("┏") == 1
    assert "subgroups" not in text
    assert "left out" not in text


def test_a_study_of_one_model_with_subgroups_has_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    owners = [([0, 1] * 15, [at / 30 for at in range(30)], {"sex": ["f", "f", "m"] * 10})] * 3
    report = ppaurora.evaluate(owners, metrics=["auroc"], protocol="grid", decimals=2)
    text = printed(report, capsys)
    assert text.splitlines()[0].strip() == "90 samples of 3 owners"
    assert len(rows(text, after="subgroups by sex")) == 2
