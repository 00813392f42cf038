"""Grids that fit scores where the caller names none: each model's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import Policy
from ppaurora.data import Columns, Grid, read_dataset
from ppaurora.data.design import Design, Model
from ppaurora.errors import InputError
from ppaurora.evaluation.fitting import fit
from ppaurora.protocols import find_protocol

SCORES = {
    "ndka": [3.01, 419.19, 12.5, 8.0],
    "risk": [0.25, 0.5, 0.75, 0.5],
    "s100b": [0.03, 2.07, 0.5, 0.4],
    "wfns": [1.0, 5.0, 2.0, 2.0],
}
DESIGN = Design(models={name: Model() for name in SCORES}, comparisons=(("s100b", "wfns"),))


def fitted(policy: Policy | None = None, **parameters: Any) -> dict[str, Grid | None]:
    own = read_dataset(([1, 0, 1, 0], SCORES), Columns(), design=DESIGN).samples()
    _, models = fit(find_protocol("grid"), [own, own], DESIGN, parameters, policy or Policy.exact())
    return {name: model.grid for name, model in models.items()}


@pytest.mark.parametrize("parameters", [{}, {"decimals": 2}, {"decimals": 6}])
def test_every_model_has_a_grid_from_its_lowest_to_its_highest_score(parameters: dict[str, Any]) -> None:
    grids = fitted(**parameters)
    assert grids == {
        "ndka": Grid(low=3.01, high=419.19, decimals=2),
        "risk": Grid(low=0.0, high=1.0, decimals=2),
        "s100b": Grid(low=0.03, high=2.07, decimals=2),
        "wfns": Grid(low=1.0, high=5.0, decimals=0),
    }
    assert grids["s100b"] is not None
    assert grids["s100b"].cells <= Model().cells  # so that every value has a cell of its own


def test_ends_that_are_named_stay_and_a_private_evaluation_tells_no_score() -> None:
    assert fitted(low=0.0, high=420.0, decimals=2)["s100b"] == Grid(low=0.0, high=420.0, decimals=2)
    for policy in (Policy(), Policy.private()):
        assert fitted(policy)["s100b"] == Grid(low=0.0, high=3.0, decimals=2)


def test_a_model_that_no_grid_holds_is_named() -> None:
    random = np.random.default_rng(2)
    own = [1, 0] * 10, {"a": random.random(20), "b": 420 * random.random(20)}
    with pytest.raises(InputError, match=r"^model b: decimals: a grid has at most 1,048,576 values; take"):
        ppaurora.evaluate([own, own], protocol="grid", comparisons="all", metrics=["auroc"])


def test_one_score_alone_has_a_grid() -> None:
    own = [1, 0], {"a": [7.5, 7.5], "b": [1.0, 2.0]}
    report = ppaurora.evaluate([own, own], protocol="grid", comparisons="all", metrics=["auroc"])
    assert report.models["a"].auroc == 0.5
