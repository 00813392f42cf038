"""Which of a source's columns are meant: found by name, or answered with what to write instead."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ppaurora.data.labels import MISSING
from ppaurora.errors import DataError, InputError
from ppaurora.io.models import StrictModel

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NUMERAL = re.compile(r"[+-]?[\d.,_]+([eE][+-]?\d+)?\s*%?")  # also the kinds that we do not read
_MOST_NAMES_SHOWN = 20


class ColumnNames(TypedDict, total=False):
    """The fields of `Columns`, as functions take them for keywords."""

    score: str
    label: str
    id: str | None
    pos_label: object | None


class Columns(StrictModel):
    """Which columns of an owner's data hold what, and which label is the positive one.

    Attributes
    ----------
    score, label
        The names of the columns; of one that nobody has named yet, an empty text.
    id
        The name of a column that identifies samples; without one, no duplicates are looked for.
    pos_label
        The label of the positive class, if labels are not 0/1 or true/false.
    """

    score: str = "score"
    label: str = "label"
    id: str | None = None
    pos_label: Any = None

    def __post_init__(self) -> None:
        for option, name in self.named.items():
            if not isinstance(name, str):
                raise InputError(f"{option}: give the name of a column, a text")

    @property
    def named(self) -> dict[str, str]:
        """The columns by the options that name them."""
        named = {"score": self.score, "label": self.label}
        return named if self.id is None else named | {"id": self.id}

    @property
    def is_complete(self) -> bool:
        """Whether there is a name for every column that is needed."""
        return bool(self.score and self.label)

    @property
    def options(self) -> list[str]:
        """What differs from the defaults, as commands take it."""
        usual, options = Columns(), []
        for field in self.__struct_fields__:
            if getattr(self, field) != getattr(usual, field):
                options += [f"--{field.replace('_', '-')}", str(getattr(self, field))]
        return options

    def find(
        self, header: Sequence[str], source: str, row: int | None = None, *, is_file: bool = True
    ) -> dict[str, int]:
        """Return where each stands in the header; `row` is the header's own, in a text file."""
        _check_different(self.named)
        found = {}
        for option, name in self.named.items():
            if header.count(name) != 1:
                problem, hint = _what_is_wrong(option, name, header, row, is_file)
                raise DataError(problem, source=source, row=row, column=name, hint=hint)
            found[option] = header.index(name)
        return found


def _check_different(named: Mapping[str, str]) -> None:
    options = list(named)
    for place, first in enumerate(options):
        for second in options[place + 1 :]:
            if named[first] == named[second]:
                raise InputError(
                    f"{first} and {second} cannot both be column '{named[first]}'; name a column for each"
                )


def _what_is_wrong(
    option: str, name: str, header: Sequence[str], row: int | None, is_file: bool
) -> tuple[str, str]:
    """Return the problem, and what to do about it."""
    if name in header:
        return f"there are {header.count(name)} columns of that name", "rename all but one"
    if row is not None and any(is_value(other) for other in header):
        # A file without a header: its first row may be a patient's.
        return "there is no such column", "the first row must name the columns; this one holds values"
    shown = [" ".join(other.split()) for other in header[:_MOST_NAMES_SHOWN]]
    more = ", ..." if len(header) > _MOST_NAMES_SHOWN else ""
    there_is = f"the {'file' if is_file else 'data'} has: {', '.join(shown)}{more}"
    near = _nearest(name, header)
    meant = "COLUMN" if near is None else near
    in_python = f"{option}={meant!r}"
    written = f"--{option} {shlex.quote(meant)}, in Python {in_python}" if is_file else in_python
    return "there is no such column", f"{there_is}; " + (
        f"write {written}" if near is None else f"did you mean {written}?"
    )


def _nearest(name: str, header: Sequence[str]) -> str | None:
    """Return the column of the most similar name, in whatever case."""
    by_lower = {other.lower(): other for other in reversed(header)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def is_value(text: str) -> bool:
    """Return whether this is rather a value than a column's name; a nameless column is nothing special."""
    return bool(_NUMERAL.fullmatch(text) or _NOT_FINITE.fullmatch(text)) or text.lower() in MISSING - {""}
