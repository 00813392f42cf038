"""What a design costs beside one model: bytes and rounds as they were sent, the same every time."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ppaurora
from ppaurora.evaluation.report import RunCost

OWNERS = 8
LEVELS = [f"region {number}" for number in range(16)]


@cache
def cost_of(
    protocol: Any, samples: int, *, models: int = 1, compared: bool = False, levels: bool = False
) -> RunCost:
    """Return the cost of AUROC with an interval; on a grid, of 10,001 values. One model is a plain study."""
    random = np.random.default_rng(24)
    names = ["a", "b"][:models]
    owners: list[Any] = []
    for _ in range(OWNERS):
        y_true = random.integers(0, 2, samples)
        scores = {name: np.round(random.random(samples), 4) for name in names}
        regions = {"region": random.choice(LEVELS, samples)} if levels else {}
        owners.append((y_true, scores if models > 1 else scores["a"], *([regions] if levels else [])))
    parameters: dict[str, Any] = {"decimals": 4} if protocol == "grid" else {}
    if protocol == "fast" and (compared or levels):
        parameters["grid"] = ppaurora.Grid(decimals=4)
    report = ppaurora.evaluate(
        owners,
        comparisons=[("a", "b")] if compared else None,
        subgroups={"region": LEVELS} if levels else None,
        metrics=["auroc"],
        confidence_level=0.95,
        policy=ppaurora.Policy.exact(),
        protocol=protocol,
        **parameters,
    )
    assert len(report.models) == (models if models > 1 or levels else 0)
    assert [len(found) for found in report.subgroups.values()] == ([16] if levels else [])
    return report.cost


def test_a_comparison_on_a_grid_adds_at_most_80_megabytes() -> None:
    """However many samples there are: the cost on a grid depends on its values and the owners alone."""
    compared = cost_of("grid", 20, models=2, compared=True).bytes
    assert compared == cost_of("grid", 40, models=2, compared=True).bytes
    together = cost_of("grid", 20, models=2).bytes
    apart = 2 * cost_of("grid", 20).bytes
    assert compared - together <= 80_000_000
    assert compared - apart <= 80_000_000


def test_two_models_of_lists_cost_at_most_2_2_times_one_in_the_same_rounds() -> None:
    one, two = (cost_of("fast", 250, models=models) for models in (1, 2))
    assert two.bytes <= 2.2 * one.bytes
    assert two.rounds_by_step["merge"] == one.rounds_by_step["merge"]


def test_sixteen_levels_cost_at_most_sixteen_tables() -> None:
    one, levels = cost_of("grid", 60), cost_of("grid", 60, levels=True)
    assert levels.bytes <= 16 * one.bytes
