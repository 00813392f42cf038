"""Owners whose samples are counted on a grid, in the place of rows or beside them."""

from __future__ import annotations

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
