"""Owners whose samples are counted on a grid, in the place of rows or beside them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import ppaurora
from tests.support.formats import FILES

GRID = ppaurora.Grid(decimals=2)


def owner(seed: int) -> tuple[list[int], list[float]]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, 60)
    return labels.tolist(), (random.random(60) * 0.7 + labels * 0.3).tolist()


def test_tables_files_and_rows_are_evaluated_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (owner(seed) for seed in (1, 2, 3))
    rows = ppaurora.evaluate([first, second, third], protocol="grid", decimals=2)
    labels, scores = third
    path = FILES["CSV"]({"score": scores, "label": labels}, tmp_path)
    monkeypatch.setattr("ppaurora.data.dataset.ROWS_KEPT", 10)
    tables = [ppaurora.tabulate(first, GRID), second, path]
    counted = ppaurora.evaluate(tables, protocol="grid", decimals=2)
    assert counted.metrics == rows.metrics
    assert (counted.samples, counted.owners) == (180, 3)
    assert counted.parameters == {"low": 0.0, "high": 1.0, "decimals": 2}


def test_a_table_is_refused_where_it_cannot_be_used() -> None:
    tables = {"north": ppaurora.tabulate(owner(1), GRID, name="north"), "south": owner(2)}
    with pytest.raises(ppaurora.InputError, match=r"^north: a table of counts is for the protocol 'grid'"):
        ppaurora.evaluate(tables)
    with pytest.raises(ppaurora.InputError, match=r"^north: the table is on another grid than the study"):
        ppaurora.evaluate(tables, protocol="grid", decimals=3)


def test_a_report_says_how_the_same_numbers_cost_less() -> None:
    """Of many samples with few decimals; and both cost about what it says."""
    random = np.random.default_rng(5)
    owners = [(random.integers(0, 2, 2000), random.integers(0, 101, 2000) / 100) for _ in range(2)]
    report = ppaurora.evaluate(owners, metrics=["auroc", "aupr"])
    cheaper = ppaurora.evaluate(owners, metrics=["auroc", "aupr"], protocol="grid", decimals=2)
    assert (cheaper.auroc, cheaper.hint) == (report.auroc, "")
    assert cheaper.aupr == pytest.approx(report.aupr, abs=1e-9)
    said = re.fullmatch(
        r"the protocol 'grid' \(low 0, high 1, decimals 2\) would give the same numbers for about (.+) MB in "
        r"(\d+) rounds, where 'fast' takes about (.+) MB in (\d+) rounds",
        report.hint,
    )
    assert said is not None
    for cost, megabytes, rounds in ((cheaper.cost, said[1], said[2]), (report.cost, said[3], said[4])):
        assert float(megabytes) * 1e6 == pytest.approx(cost.bytes, rel=0.3)
        assert int(rounds) == pytest.approx(cost.rounds, rel=0.3)
    assert "hint" not in report.to_dict()


@pytest.mark.parametrize(
    "scores",
    [[0.123456789123, 0.5, 0.25], [0.1 + 0.2, 0.3, 0.5], [1e-300, 1.0, 0.5], [0.25, 0.5, 1e308]],
    ids=["decimals", "nearly a decimal", "tiny", "large"],
)
def test_where_a_grid_would_change_something_nothing_is_said(scores: list[float]) -> None:
    owners = [([1, 0, 1] * 400, scores * 400), ([1, 0, 0] * 400, [0.5, 0.25, 0.75] * 400)]
    assert ppaurora.evaluate(owners, metrics=["auroc"]).hint == ""


def test_few_samples_cost_less_in_lists() -> None:
    assert ppaurora.evaluate([owner(1), owner(2)], metrics=["auroc"]).hint == ""
    few = [([1, 0, 1], [0.5, 0.25, 0.75]), ([1, 0, 0], [0.5001, 0.25, 0.75])]
    assert ppaurora.evaluate(few, metrics=["auroc"]).hint == ""
