"""Which of a source's columns are meant: found by name, or answered with what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import msgspec

from ppaurora.data.design import Design, column_of
from ppaurora.data.encodings import ENCODING_HINT, REPLACEMENT, check_encoding
from ppaurora.data.further import LEFT_OUT_REASONS, MOST_LEFT_OUT, LeftOut
from ppaurora.data.labels import MISSING
from ppaurora.errors import DataError, InputError, Wording
from ppaurora.io.models import StrictModel
from ppaurora.io.system import quoted

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NUMERAL = re.compile(r"[+-]?[\d.,_]+([eE][+-]?\d+)?\s*%?")  # also the kinds that we do not read
NO_SUCH_COLUMN = "there is no such column"
_MOST_NAMES_SHOWN = 20
_OPTION_OF = {"scores": "score", "labels": "label", "groups": "group"}


class ColumnKeywords(TypedDict, total=False):
    """The columns of an owner's data, as functions take them for keywords: `Columns.called` reads them."""

    score: str | Mapping[str, str]  # of several models, by their names
    label: str | Mapping[str, str]  # of several outcomes, by their names
    id: str | None
    pos_label: object | None
    group: Mapping[str, str]  # by variable
    patient: str | None
    weight: str | None
    leave_out_missing: bool
    left_out: Mapping[str, int]
    sheet: str | None
    encoding: str | None
    percent: bool


@dataclass(frozen=True)
class Role:
    """The use of a column: scores of a model, labels of an outcome, levels of a variable, and so on.

    Where a study has no names for its only model or outcome, the name is empty.
    """

    option: str  # of commands: score, label, group, patient, weight, id
    name: str = ""

    def __str__(self) -> str:
        """Name it for people."""
        return f"{self.option} {self.name}".strip()

    def in_command(self, column: str) -> str:
        """Return what to write in a command for this column."""
        return f"--{self.option} {quoted(f'{self.name}={column}' if self.name else column)}"

    def in_python(self, column: str, named: Mapping[Role, str]) -> str:
        """Return which keyword says it, together with the other columns that the same keyword names."""
        if not self.name:
            return f"{self.option}={column!r}"
        columns = {role.name: name for role, name in named.items() if role.option == self.option}
        return f"{self.option}={columns | {self.name: column}!r}"


class Columns(StrictModel):
    """Which columns of an owner's data hold what, and which label is the positive one.

    Attributes
    ----------
    score, label
        The names of the columns; of one that nobody has named yet, an empty text.
    id
        The name of a column that identifies samples; without one, no duplicates are looked for.
    pos_label
        The label of the positive class, if labels are not 0/1 or true/false; of all outcomes.
    scores, labels, groups
        In a study that names models, outcomes or variables of subgroups: by these names, the columns that
        the table calls otherwise than the study.
    patient, weight
        Likewise, the columns that tell patients apart, and how often a row counts.
    leave_out_missing
        Whether rows without a score or a label are left out, and counted; by default they are refused.
    left_out
        How many rows were left out before, by reason: missing_score, missing_label, excluded.
    sheet
        The sheet of an Excel workbook; not needed if only one has values.
    encoding
        The encoding of a text file, such as cp1252, if it is neither UTF-8 nor UTF-16.
    percent
        Whether scores that are written with a percent sign are read as hundredths; by default they are
        refused.
    """

    score: str = "score"
    label: str = "label"
    id: str | None = None
    pos_label: Any = None
    scores: dict[str, str] = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    groups: dict[str, str] = msgspec.field(default_factory=dict)
    patient: str | None = None
    weight: str | None = None
    leave_out_missing: bool = False
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    sheet: str | None = None
    encoding: str | None = None
    percent: bool = False

    def __post_init__(self) -> None:
        for field, option in _OPTION_OF.items():
            if not isinstance(getattr(self, field), Mapping):
                raise InputError(f"{option}: give a dict from the study's names to names of columns")
        for role, name in self.named.items():
            if not isinstance(name, str):
                raise InputError(f"{role}: give the name of a column, a text")
        _check_left_out(self.left_out)
        if self.encoding is not None:
            check_encoding(self.encoding)

    @classmethod
    def called(cls, **names: Unpack[ColumnKeywords]) -> Columns:
        """Return the columns that a caller names; `score` and `label` may be dicts, by model and outcome."""
        unknown = names.keys() - ColumnKeywords.__annotations__.keys()
        if unknown:
            known = ", ".join(ColumnKeywords.__annotations__)
            raise TypeError(f"unexpected keyword argument '{min(unknown)}'; there are: {known}")
        fields: dict[str, Any] = dict(names)
        for field, option in _OPTION_OF.items():
            if option == "group" or isinstance(fields.get(option), Mapping):
                given = fields.pop(option, {})
                fields[field] = dict(given) if isinstance(given, Mapping) else given
        return cls(**fields)

    @property
    def named(self) -> dict[Role, str]:
        """The columns by what they are for."""
        named = {Role("score", name): column for name, column in (self.scores or {"": self.score}).items()}
        named |= {Role("label", name): column for name, column in (self.labels or {"": self.label}).items()}
        named |= {Role("group", name): column for name, column in self.groups.items()}
        single = {"patient": self.patient, "weight": self.weight, "id": self.id}
        return named | {Role(option): column for option, column in single.items() if column is not None}

    @property
    def first(self) -> tuple[Role, Role]:
        """The roles of the columns `score` and `label`: those of the first model and the first outcome."""
        return Role("score", min(self.scores, default="")), Role("label", min(self.labels, default=""))

    @property
    def further(self) -> dict[Role, str]:
        """The columns that a design needs beside these two."""
        return {
            role: name for role, name in self.named.items() if role not in self.first and role.option != "id"
        }

    @property
    def is_complete(self) -> bool:
        """Whether there is a name for every column that is needed."""
        return all(self.named.values())

    @property
    def stated(self) -> LeftOut:
        """The rows that were left out before this data was read."""
        return LeftOut(**self.left_out)

    @property
    def options(self) -> list[str]:
        """What differs from the defaults, as commands take it."""
        usual, options = Columns(), []
        for field in self.__struct_fields__:
            value, flag = getattr(self, field), f"--{_OPTION_OF.get(field, field).replace('_', '-')}"
            if value == getattr(usual, field):
                continue
            if isinstance(value, Mapping):
                for name, one in value.items():
                    options += [flag, f"{name}={one}"]
            else:
                options += [flag] if value is True else [flag, str(value)]
        return options

    def under(self, design: Design, *, is_file: bool = True) -> Columns:
        """Return the columns that a design needs: those named here, and else by the names that it has.

        `score` and `label` are then those of its first model and its first outcome. What is not in a file
        comes from Python, which errors are then written for.
        """
        scores = self._of("scores", design.models, "model", is_file)
        labels = self._of("labels", design.outcomes, "outcome", is_file)
        for option, wanted in (("patient", design.patient), ("weight", design.weight)):
            if getattr(self, option) is not None and not wanted:
                raise InputError(f"{option}: the study has no such column; leave {option} out")
        weight = None if design.weight is None else design.weight.column
        return msgspec.structs.replace(
            self,
            score=scores[design.model_names[0]] if scores else self.score,
            label=labels[design.outcome_names[0]] if labels else self.label,
            scores=scores,
            labels=labels,
            groups=self._of("groups", design.subgroups, "variable", is_file),
            patient=(design.patient or None) if self.patient is None else self.patient,
            weight=weight if self.weight is None else self.weight,
        )

    def _of(self, field: str, specs: Mapping[str, Any], what: str, is_file: bool) -> dict[str, str]:
        """Return the columns of all models, outcomes or variables, in the order of their names."""
        given: Mapping[str, str] = getattr(self, field)
        option = _OPTION_OF[field]
        for name in given:
            if name not in specs:
                there = f"there are: {', '.join(sorted(specs))}" if specs else "it names none"
                raise InputError(f"{option} {name}: the study has no such {what}; {there}")
        columns = {name: given.get(name) or column_of(name, specs) for name in sorted(specs)}
        alone = "" if option == "group" else getattr(self, option)
        if columns and not given and alone not in ("", option):
            roles = {Role(option, name): column for name, column in columns.items()}
            written = _written(next(iter(roles)), alone if len(roles) == 1 else "COLUMN", roles, is_file)
            raise InputError(
                f"{option} {alone}: say which {what} it is for; the study names {', '.join(columns)}: "
                f"write {written}"
            )
        return columns

    def find(
        self, header: Sequence[str], source: str, row: int | None = None, *, is_file: bool = True
    ) -> dict[Role, int]:
        """Return where each stands in the header; `row` is the header's own, in a text file."""
        _check_different(self.named)
        found = {}
        for role, name in self.named.items():
            if header.count(name) != 1:
                free = [other for other in header if other not in self.named.values()]
                problem, hint = self._what_is_wrong(role, name, header, free, row, is_file)
                raise DataError(problem, source=source, row=row, column=name, hint=hint)
            found[role] = header.index(name)
        return found

    def _what_is_wrong(
        self,
        role: Role,
        name: str,
        header: Sequence[str],
        free: Sequence[str],
        row: int | None,
        is_file: bool,
    ) -> tuple[str, str]:
        """Return the problem, and what to do about it; columns that are for nothing else are free."""
        if name in header:
            return f"there are {header.count(name)} columns of that name", "rename all but one"
        if row is not None and any(is_value(other) for other in header):
            # A file without a header: its first row may be a patient's.
            return NO_SUCH_COLUMN, "the first row must name the columns; this one holds values"
        shown = [" ".join(other.split()) for other in header[:_MOST_NAMES_SHOWN]]
        more = ", ..." if len(header) > _MOST_NAMES_SHOWN else ""
        there_is = f"the {'file' if is_file else 'data'} has: {', '.join(shown)}{more}"
        if row is not None and not name.isascii() and any(REPLACEMENT in other for other in header):
            return f"{NO_SUCH_COLUMN}, and some names are not UTF-8", f"{there_is}; {ENCODING_HINT}"
        near = _nearest(name, free)
        if near is None and row is not None and any(REPLACEMENT in other for other in header):
            there_is = f"{there_is}; where names are not readable, {ENCODING_HINT}"
        written = _written(role, "COLUMN" if near is None else near, self.named, is_file)
        hint = f"write {written}" if near is None else f"did you mean {written}?"
        page = f"{there_is}; choose the column for it under 'Columns'"
        return NO_SUCH_COLUMN, Wording(f"{there_is}; {hint}", page)


def _check_left_out(counts: Any) -> None:
    reasons = ", ".join(LEFT_OUT_REASONS)
    if not isinstance(counts, Mapping) or not set(counts) <= set(LEFT_OUT_REASONS):
        raise InputError(f"left_out: give numbers of rows by reason; the reasons are: {reasons}")
    for reason, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_LEFT_OUT:
            raise InputError(f"left_out {reason}: give a whole number of rows, from 0 to {MOST_LEFT_OUT:,}")


def _check_different(named: Mapping[Role, str]) -> None:
    roles = list(named)
    for place, first in enumerate(roles):
        for second in roles[place + 1 :]:
            if named[first] == named[second]:
                raise InputError(
                    f"{first} and {second} cannot both be column '{named[first]}'; name a column for each"
                )


def _written(role: Role, column: str, named: Mapping[Role, str], is_file: bool) -> str:
    """Return what to write for this column: in a command and in Python, or where no file is, in Python."""
    in_python = role.in_python(column, named)
    return f"{role.in_command(column)}, in Python {in_python}" if is_file else in_python


def _nearest(name: str, header: Sequence[str]) -> str | None:
    """Return the column of the most similar name, in whatever case."""
    by_lower = {other.lower(): other for other in reversed(header)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def is_value(text: str) -> bool:
    """Return whether this is rather a value than a column's name; a nameless column is nothing special."""
    return bool(_NUMERAL.fullmatch(text) or _NOT_FINITE.fullmatch(text)) or text.lower() in MISSING - {""}
