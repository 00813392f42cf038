"""Arrays of labels and scores, as scikit-learn has them, and as studies with several models have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ppaurora.data.columns import Columns
from ppaurora.data.design import Design
from ppaurora.data.tables import NamedColumns
from ppaurora.errors import InputError

Arrays = dict[str, Any]


def arrays_of(source: Any, name: str, used: Columns, design: Design) -> tuple[NamedColumns, Columns]:
    """Return the columns of `(y_true, y_score)` or `(y_true, y_score, more)`, and what they are called.

    Labels are a dict by outcome, and scores one by model, if and only if the study names these; `more` has
    the other columns, by the study's names of variables, "patient" and "weight", or as the owner calls them.
    """
    y_true, y_score, more = parts_of(source, name)
    labels = _by_name(y_true, "y_true", "outcome", design.outcomes, name)
    scores = _by_name(y_score, "y_score", "model", design.models, name)
    others = {str(key): values for key, values in more.items()}
    arrays = {f"y_true{_index(key)}": values for key, values in labels.items()}
    arrays |= {f"y_score{_index(key)}": values for key, values in scores.items()}
    arrays |= {key: values for key, values in others.items() if key not in arrays}

    def called(column: str, usual: str) -> str:
        return usual if column not in others and usual in others else column

    columns = msgspec.structs.replace(
        used,
        score=f"y_score{_index(design.model_names[0])}",
        label=f"y_true{_index(design.outcome_names[0])}",
        scores={model: f"y_score{_index(model)}" for model in used.scores},
        labels={outcome: f"y_true{_index(outcome)}" for outcome in used.labels},
        groups={variable: called(column, variable) for variable, column in used.groups.items()},
        patient=None if used.patient is None else called(used.patient, "patient"),
        weight=None if used.weight is None else called(used.weight, "weight"),
    )
    names = list(arrays)
    return NamedColumns("arrays", names, lambda wanted: [[arrays[one] for one in wanted]]), columns


def parts_of(source: Any, name: str) -> tuple[Any, Any, Mapping[Any, Any]]:
    """Return labels, scores and other columns by name; what are not two or three such parts is refused."""
    try:
        y_true, y_score, *more = source
    except (TypeError, ValueError):
        raise _not_two(name) from None
    if len(more) > 1 or not all(isinstance(one, Mapping) for one in more):
        raise _not_two(name)
    return y_true, y_score, more[0] if more else {}


def _not_two(name: str) -> InputError:
    return InputError(f"{name}: give two arrays, (y_true, y_score), a data frame, or a file")


def _by_name(values: Any, argument: str, what: str, specs: Mapping[str, Any], source: str) -> Arrays:
    """Return arrays by the study's names; a single one if it has none."""
    known = ", ".join(f"'{name}'" for name in sorted(specs))
    if not isinstance(values, Mapping):
        if specs:
            raise InputError(f"{source}: {argument}: give a dict of arrays, one for every {what}: {known}")
        return {"": values}
    if not specs:
        raise InputError(f"{source}: {argument}: the study names no {what}s; give one array")
    missing = [name for name in sorted(specs) if name not in values]
    if missing:
        raise InputError(f"{source}: {argument}: has nothing for the {what} '{missing[0]}'; give {known}")
    return {name: values[name] for name in sorted(specs)}


def _index(name: str) -> str:
    return f'["{name}"]' if name else ""
