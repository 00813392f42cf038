"""For whoever holds all data: the protocol and the grids that fit the scores, where none are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ppaurora.data.count_table import CountTable
from ppaurora.data.design import MOST_COARSE_CELLS, Design, Model
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.errors import InputError
from ppaurora.policy.rules import EXACT, Policy
from ppaurora.protocols import Protocol
from ppaurora.statistics.fitting_grid import decimals_of, fitting_grid

_MOST_JOINT_CELLS = 1 << 16  # of two models


def fit(
    kind: type[Protocol],
    owners: Sequence[Samples | CountTable],
    design: Design,
    parameters: Mapping[str, Any],
    policy: Policy,
) -> tuple[Protocol, dict[str, Model]]:
    """Return a protocol that takes all models' scores, and the models, each with a grid where one is needed.

    Lists need grids for what is counted beside them; a grid that is named stays as it is. The lowest and the
    highest score are a grid's ends only where the policy holds nothing back.
    """
    given, named = dict(parameters), kind.fitting([], **parameters)
    if named.tabulated:
        unnamed = [name for name, model in design.models.items() if model.grid is None]
        if not unnamed:
            return kind.fitting([] if design.models else owners, **given), dict(design.models)
        protocol = _protocol_of(kind, unnamed[0], owners, given)
        fits_ends = policy.kind == EXACT and not given.keys() & {"low", "high"}

        def own_grid(name: str) -> Grid | None:
            grid = _protocol_of(kind, name, owners, given).grid
            return _between_ends(grid, _scores(owners, [name])) if fits_ends and grid is not None else grid

        return protocol, _with_grids(design, own_grid)
    counts = bool(design.subgroups) or (
        not policy.is_private and bool(design.comparisons or design.is_clustered)
    )
    if counts and not design.models and named.grid is None:
        given["grid"] = _fitting("", owners)
    protocol = kind.fitting(_scores(owners, design.model_names), **given)
    if not counts or protocol.grid is not None:
        return protocol, dict(design.models)
    return protocol, _with_grids(design, lambda name: _fitting(name, owners))


def fit_rows_per_person(policy: Policy, owners: Sequence[Samples | CountTable]) -> Policy:
    """Return a policy whose rules on cells know how many rows a patient has; a number that is named stays.

    Noise is for the number that was named: fitted to the data, it would tell of it.
    """
    if policy.is_private or not policy.withholds_cells or policy.rows_per_person > 1:
        return policy
    further = [one.further for one in owners if isinstance(one, Samples)]
    rows = [own.most_rows for own in further if own is not None]
    return msgspec.structs.replace(policy, rows_per_person=max(rows, default=1))


def _scores(owners: Sequence[Samples | CountTable], models: Sequence[str]) -> list[Samples | CountTable]:
    """Return owners' samples with the scores of each of some models; a table as it is."""
    return [one.of(Slice(model)) if isinstance(one, Samples) else one for model in models for one in owners]


def _with_grids(design: Design, grid_of: Any) -> dict[str, Model]:
    """Return models with grids; of one of which nothing was said, the cells that others leave to it."""
    found = {
        name: model if model.grid is not None else msgspec.structs.replace(model, grid=grid_of(name))
        for name, model in design.models.items()
    }
    for name, model in design.models.items():
        beside = [found[b if a == name else a] for a, b in design.comparisons if name in (a, b)]
        taken = [min(one.cells, one.grid.cells) for one in beside if one.grid is not None]
        if taken and model == Model(column=model.column):
            cells = min(max(model.cells, _MOST_JOINT_CELLS // max(taken)), MOST_COARSE_CELLS)
            found[name] = msgspec.structs.replace(found[name], cells=cells)
    return found


def _protocol_of(
    kind: type[Protocol], model: str, owners: Sequence[Samples | CountTable], parameters: Mapping[str, Any]
) -> Protocol:
    """Return a protocol that takes a model's scores, with no more decimals than these have."""
    own, given = _scores(owners, [model]), dict(parameters)
    needed, grid = _decimals(own), kind.fitting([], **given).grid
    if grid is not None and needed is not None and needed < grid.decimals:
        given["decimals"] = needed
    try:
        return kind.fitting(own, **given)
    except InputError as error:
        raise InputError(f"model {model}: {error}") from None


def _between_ends(grid: Grid, own: Sequence[Samples | CountTable]) -> Grid:
    """Return a grid without the values below and above all scores; that of probabilities stays whole."""
    scores = [one.scores_of_source for one in own if isinstance(one, Samples) and len(one)]
    places = [int(end) for some in scores for end in (grid.nearest(some).min(), grid.nearest(some).max())]
    if (grid.low, grid.high) == (0.0, 1.0) or min(places) == max(places):
        return grid
    low, high = grid.values[[min(places), max(places)]].tolist()
    return msgspec.structs.replace(grid, low=low, high=high)


def _fitting(model: str, owners: Sequence[Samples | CountTable]) -> Grid | None:
    """Return a grid that stays small, with the range of a model's scores."""
    own = _scores(owners, [model])
    scores = [one.scores_of_source for one in own if isinstance(one, Samples) and len(one)]
    low, high = min(float(some.min()) for some in scores), max(float(some.max()) for some in scores)
    return fitting_grid(low, high, _decimals(own))


def _decimals(own: Sequence[Samples | CountTable]) -> int | None:
    """Return how many decimals all scores have; None if they have many."""
    found = [decimals_of(one.scores_of_source) for one in own if isinstance(one, Samples)]
    needed = [some for some in found if some is not None]
    return max(needed, default=None) if len(needed) == len(found) else None
