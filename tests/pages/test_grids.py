"""What a report says of scores that were read on a grid, in every format."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.metrics import METRICS
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.numbers import settings_of
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown
from ppaurora.pages.report.writing import facts_of

CHANGED = "reading scores to 1 decimal changed it by at most 0.033"
READ = "read to 1 decimal, as the nearest of 11 values from 0 to 1"


def facts(**parameters: Any) -> Facts:
    random = np.random.default_rng(3)
    labels = [(np.arange(60) < 20).astype(int) for _ in range(2)]
    owners = [(own, np.clip(random.normal(0.3 + 0.3 * own, 0.1), 0, 1)) for own in labels]
    asked: Any = {"metrics": ["auroc"], "confidence_level": 0.95, **parameters}
    return facts_of(source_of(ppaurora.evaluate(owners, **asked)))


@pytest.fixture(scope="module")
def on_grid() -> Facts:
    return facts(protocol="grid", decimals=1)


def test_the_bound_stands_beside_the_area_in_every_format(on_grid: Facts) -> None:
    (number,) = on_grid.single
    assert number.note == CHANGED
    assert f"({number.shown_interval}), where {CHANGED}." in on_grid.results
    assert on_grid.caption.endswith(f" AUROC: {CHANGED}.")
    assert CHANGED in as_markdown(on_grid)
    assert CHANGED in as_latex(on_grid).partition(r"\caption")[2]
    assert f'<p class="card__detail">R{CHANGED[1:]}</p>' in as_html(on_grid)
    assert json.loads(as_json(on_grid))["numbers"][0]["grid_bound"] == number.grid_bound


def test_methods_say_how_scores_were_read_and_what_was_split(on_grid: Facts) -> None:
    assert f" Scores were {READ}. " in on_grid.methods
    assert "split its numbers of positives and negatives at every score into" in on_grid.methods


def test_beside_lists_only_tables_are_on_the_grid() -> None:
    beside, without = facts(grid=ppaurora.Grid(decimals=1)), facts()
    assert f" For measures that are made of a table of counts, scores were {READ}. " in beside.methods
    assert "split its scores and labels into" in beside.methods
    assert beside.results == without.results
    assert CHANGED not in as_html(beside) + as_html(without)
    assert "read to" not in without.methods


def test_a_list_of_edges_is_told_as_a_number_of_bins() -> None:
    """A title with all edges does not fit beside a chart."""
    chosen = [
        METRICS["ici"](bins=(0.0, 0.1, 0.2, 1.0), bandwidth=0.2),
        METRICS["partial_auroc"](max_fpr=0.2),
    ]
    assert settings_of(chosen) == {"ici": "3 bins, bandwidth 0.2", "partial_auroc": "max fpr 0.2"}
