"""The form by which a person says which columns hold what: one choice for every column that a study needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from ppaurora.data import Columns, Design
from ppaurora.data.columns import Role
from ppaurora.errors import InputError

_TITLES = {
    "score": "Column with the scores",
    "label": "Column with the labels",
    "group": "Column with the subgroups",
    "patient": "Column that tells patients apart (not sent)",
    "weight": "Column with the weights",
}


@dataclass(frozen=True)
class ColumnField:
    """One choice: its name in the form, what it is for, and the column that is chosen; empty if none is."""

    name: str
    title: str
    chosen: str

    @classmethod
    def of(cls, role: Role, chosen: str) -> ColumnField:
        title = _TITLES[role.option]
        link = "by" if role.option == "group" else "of"
        return cls(_field(role), f"{title} {link} {role.name}" if role.name else title, chosen)


def fields_of(columns: Columns) -> tuple[ColumnField, ...]:
    """Return a choice for every column that is needed."""
    needed = {role: chosen for role, chosen in columns.named.items() if role.option != "id"}
    return tuple(ColumnField.of(role, chosen) for role, chosen in needed.items())


def planned_columns(guessed: Columns, names: Sequence[str], design: Design) -> Columns:
    """Return the columns that a design needs, by the plan's names where the table has these; else empty."""
    if not design.names_columns:
        return guessed
    usual = Columns()
    planned = structs.replace(
        guessed,
        score=usual.score if design.models else guessed.score,
        label=usual.label if design.outcomes else guessed.label,
        id=None,
    ).under(design)

    def there(column: str) -> str:
        return column if column in names else ""

    columns = structs.replace(
        planned,
        scores={name: there(column) for name, column in planned.scores.items()},
        labels={name: there(column) for name, column in planned.labels.items()},
        groups={name: there(column) for name, column in planned.groups.items()},
        patient=None if planned.patient is None else there(planned.patient),
        weight=None if planned.weight is None else there(planned.weight),
    )
    taken = set(columns.named.values())
    return columns if guessed.id in taken else structs.replace(columns, id=guessed.id)


def columns_of(form: Mapping[str, Any], design: Design) -> Columns:
    """Return what a person has chosen; raise if a column is missing."""

    def chosen(option: str, name: str = "") -> str:
        return str(form.get(_field(Role(option, name)), ""))

    columns = Columns(
        score="" if design.models else chosen("score"),
        label="" if design.outcomes else chosen("label"),
        id=str(form.get("id", "")) or None,
        pos_label=str(form.get("positive", "")) or None,
        scores={name: chosen("score", name) for name in sorted(design.models)},
        labels={name: chosen("label", name) for name in sorted(design.outcomes)},
        groups={name: chosen("group", name) for name in sorted(design.subgroups)},
        patient=chosen("patient") if design.patient else None,
        weight=chosen("weight") if design.weight is not None else None,
        leave_out_missing=design.left_out and "leave-out-missing" in form,
        left_out=_excluded(str(form.get("excluded", ""))) if design.left_out else {},
        sheet=str(form.get("sheet", "")) or None,
        encoding=str(form.get("encoding", "")) or None,
        percent="percent" in form,
    )
    if not columns.is_complete:
        what = "every choice" if design.names_columns else "the scores and one for the labels"
        raise InputError(f"choose a column for {what}; nothing was read")
    return columns.under(design)


def _excluded(text: str) -> dict[str, int]:
    """Return how many rows a person says were left out before."""
    if not text.strip():
        return {}
    if not (text.isascii() and text.isdecimal()):
        raise InputError("the number of rows left out before must be a whole number; nothing was read")
    return {"excluded": int(text)}


def _field(role: Role) -> str:
    return f"{role.option}:{role.name}" if role.name else role.option
