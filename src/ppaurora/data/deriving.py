"""The design of an evaluation without a plan: what follows from named columns and from owners' arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ppaurora.data.columns import Columns
from ppaurora.data.design import MOST_LEVELS, MOST_WEIGHT, Design, all_pairs
from ppaurora.data.labels import is_missing, spelt
from ppaurora.data.raw_rows import whole_number
from ppaurora.errors import InputError
from ppaurora.io.models import checked, to_builtins

ALL = "all"  # in the place of comparisons: every pair of models
Parts = tuple[Any, Any, Mapping[Any, Any]]  # labels, scores, further columns by name


def design_with(columns: Columns, fields: Mapping[str, Any], found: Mapping[str, Any]) -> Design:
    """Return the design that a caller means: the fields given, and else what columns and data say.

    `found` is what `design_of_arrays` returns. Models and outcomes that columns are named for are those of
    the study; so are patients and weights. `comparisons` may be "all".
    """
    design: dict[str, Any] = dict(found)
    if columns.scores:
        design["models"] = {name: {} for name in columns.scores}
    if columns.labels:
        design["outcomes"] = {name: {} for name in columns.labels}
    if columns.patient is not None:
        design["patient"] = columns.patient
    if columns.leave_out_missing or columns.left_out:
        design["left_out"] = True
    given = {name: to_builtins(value) for name, value in fields.items() if value is not None}
    for named in ("models", "outcomes"):  # what is given of some leaves the others as they are
        if named in given:
            given[named] = {**design.get(named, {}), **given[named]}
    column = {} if columns.weight is None else {"column": columns.weight}
    weight = {**design.get("weight", {}), **column, **given.get("weight", {})}
    design |= given | ({"weight": weight} if weight else {})
    without_levels = [name for name in columns.groups if name not in design.get("subgroups", {})]
    if without_levels:
        name = without_levels[0]
        raise InputError(
            f"group {name}: say which levels it has: --levels {name}=LEVEL,LEVEL, in Python "
            f"subgroups={{{name!r}: [...]}}"
        )
    if design.get("comparisons") == ALL:
        design["comparisons"] = all_pairs(sorted(design.get("models", {})))
    made = checked(Design, design)
    made.check_design()
    return made


def design_of_arrays(
    owners: Sequence[tuple[str, Parts]], columns: Columns, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a `Design` that follow from owners' arrays, by the owners' names.

    Models are the keys of a dict of scores, outcomes those of a dict of labels. Of further columns,
    "patient" and "weight", or what the caller calls these, are what they are called. Others are variables,
    with the levels that all owners together have, unless the fields that the caller gives say which
    variables there are. All owners must have the same keys.
    """
    if not owners:
        return {}
    first, expected = owners[0][0], [_keys(part) for part in owners[0][1]]
    for name, parts in owners:
        for what, own, others in zip(("labels", "scores", "further columns"), parts, expected, strict=True):
            if set(_keys(own)) != set(others):
                raise InputError(
                    f"{name}: its {what} have other names than those of {first}; use the same for every owner"
                )
    outcomes, models, further = expected
    more = [parts[2] for _, parts in owners]
    design: dict[str, Any] = {}
    if models:
        design["models"] = {name: {} for name in models}
    if outcomes:
        design["outcomes"] = {name: {} for name in outcomes}
    patient, weight = (
        column if column in further else usual
        for column, usual in ((columns.patient, "patient"), (columns.weight, "weight"))
    )
    variables = [name for name in further if name not in (patient, weight)]
    if variables and fields.get("subgroups") is None:
        design["subgroups"] = {name: {"levels": _levels(name, more)} for name in variables}
    if patient in further:
        design["patient"] = patient
    if weight in further:
        design["weight"] = {"most": _most_weight(weight, more)}
    return design


def _keys(part: Any) -> list[str]:
    return [str(key) for key in part] if isinstance(part, Mapping) else []


def _levels(variable: str, more: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the different levels of all owners; missing ones are for the reader to refuse."""
    values = {value for own in more for value in np.unique(np.asarray(own[variable]).astype(str)).tolist()}
    named = {spelt(value) for value in values if not is_missing(value)}
    levels = sorted({whole_number(level) or level for level in named})
    if not 2 <= len(levels) <= MOST_LEVELS:
        raise InputError(
            f"{variable}: a variable has from 2 to {MOST_LEVELS} levels, and this one has {len(levels)}; "
            "leave it out, or make groups of its values"
        )
    return levels


def _most_weight(weight: str, more: Iterable[Mapping[str, Any]]) -> int:
    """Return the largest weight; what is no weight is for the reader to refuse."""
    try:
        most = max(float(np.max(np.asarray(own[weight], dtype=np.float64))) for own in more)
    except (TypeError, ValueError):
        return MOST_WEIGHT
    return int(min(max(most, 1), MOST_WEIGHT)) if np.isfinite(most) else MOST_WEIGHT
