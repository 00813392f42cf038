"""Labels of two classes, however they are spelt, as bits; and what counts as no value at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.answers import yes_and_no
from ppaurora.errors import DataError, InputError, Wording

# What spreadsheets, R, SAS and pandas write where there is no value.
MISSING = frozenset({"", ".", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "none", "null"})
_CORRECT = "correct it at the source, or leave the row out"
MISSING_HINT = Wording(  # of a score or a label
    f"{_CORRECT}: evaluate, check and submit do so, and count it, with --leave-out-missing, in Python "
    "leave_out_missing=True; never make up a value",
    f"{_CORRECT}: where the study counts such rows, tick 'Leave out rows without a score or a label', else "
    "remove it from the file; never make up a value",
)
_LABEL_HINT = Wording(
    "use 0/1 or true/false, or name the positive label with --pos-label, in Python pos_label",
    "use 0/1 or true/false, or choose the positive label under 'Columns'",
)
_WHOLE_NUMBER = re.compile(r"([+-]?\d{1,18})(\.0*|,0)?")
_TRUTH = {"false": "0", "true": "1"}


def spelt(value: object) -> str:
    """Return a label as it is written; texts come as bytes from some programs."""
    return (str(value, "utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()


def is_missing(value: object) -> bool:
    return _name(value) in MISSING


def are_bits(labels: Iterable[object]) -> bool:
    """Return whether labels are 0 and 1, or true and false, and need no word which one is positive."""
    return all(_name(label) in ("0", "1") for label in labels)


def labels_from(
    values: Sequence[Any], source: str, column: str, rows: Sequence[int] | None, pos_label: object | None
) -> NDArray[np.uint8]:
    """Labels as bits. With `pos_label`, one other value may stand for the negative class."""
    known = {"0": 0, "1": 1} if pos_label is None else {_name(pos_label): 1}
    if known.keys() & MISSING:
        raise InputError("the positive label must be a value; the one given reads as a missing one")
    out = np.empty(len(values), dtype=np.uint8)
    for index, value in enumerate(values):
        name = _name(value)
        bit = known.get(name)
        if bit is None:
            row = index + 1 if rows is None else rows[index]
            if name in MISSING:
                raise DataError(
                    "the label is missing", source=source, row=row, column=column, hint=MISSING_HINT
                )
            if pos_label is None:
                raise DataError(
                    "the label is neither 0 nor 1", source=source, row=row, column=column, hint=_hint(values)
                )
            if len(known) == 2:
                raise DataError(
                    "a second label that is not the positive one",
                    source=source,
                    row=row,
                    column=column,
                    hint="check the spelling of labels and positive label, or map the labels to two",
                )
            bit = known[name] = 0
        out[index] = bit
    return out


def _hint(values: Sequence[Any]) -> str:
    """Return what to do about labels that are words; of which row each is, nobody is told."""
    spellings: dict[str, str] = {}
    for value in values:
        name = _name(value)
        if name not in MISSING:
            spellings.setdefault(name, spelt(value))
        if len(spellings) > 2:
            return _LABEL_HINT
    words = yes_and_no(spellings.values())
    if words is None:
        return _LABEL_HINT
    yes, no = words
    return (
        f"the labels are '{yes}' and '{no}': if '{yes}' means positive, add --pos-label {yes}, in Python "
        f"pos_label={yes!r}"
    )


def _name(value: object) -> str:
    """Return how a label is spelt: 1, 1.0, True and "TRUE" are the same, and so are "Sick" and "sick"."""
    name = spelt(value).lower()
    number = _WHOLE_NUMBER.fullmatch(name)
    return str(int(number[1])) if number else _TRUTH.get(name, name)
