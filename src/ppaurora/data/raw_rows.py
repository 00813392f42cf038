"""Rows of a study with a design as a source has them, all columns together, and the samples that they make.

Scores are numbers already. Everything else is a code for how the source spells it, and is judged here: by
its spellings, of which there are few, and not row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.columns import Columns, Role
from ppaurora.data.design import Design
from ppaurora.data.further import Further, LeftOut
from ppaurora.data.labels import MISSING_HINT, is_missing, labels_from
from ppaurora.data.samples import Samples, not_finite
from ppaurora.errors import DataError

_WHOLE = re.compile(r"(\d{1,18})([.,]0*)?")
_PATIENT, _WEIGHT = Role("patient"), Role("weight")


@dataclass(frozen=True)
class Coded:
    """A column of texts: the place of every row's text among those that the column has."""

    places: NDArray[np.int64] = field(repr=False)
    spellings: tuple[str, ...] = field(repr=False)  # in the order in which they appear

    def take(self, chosen: NDArray[np.bool_]) -> Coded:
        """Return the column of some rows; spellings that none of them has are left out."""
        there, places = np.unique(self.places[chosen], return_inverse=True)
        return Coded(places.astype(np.int64), tuple(self.spellings[place] for place in there.tolist()))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each row has no value."""
        return np.array([is_missing(spelling) for spelling in self.spellings], dtype=bool)[self.places]

    @property
    def times(self) -> dict[str, int]:
        """How many rows have each spelling; those that stand for no value are left out."""
        counts = np.bincount(self.places, minlength=len(self.spellings)).tolist()
        found = zip(self.spellings, counts, strict=True)
        return {spelling: count for spelling, count in found if not is_missing(spelling)}

    def first(self, place: int) -> int:
        """Return the first row with this spelling."""
        return int(np.argmax(self.places == place))


@dataclass(frozen=True)
class RawRows:
    """All rows, none of them judged yet. Never leaves the owner; does not print its contents."""

    source: str
    used: Columns  # of every role that the design has
    design: Design
    rows: NDArray[np.int64] = field(repr=False)  # where in the source each is
    scores: Mapping[str, NDArray[np.float64]] = field(repr=False)  # by model; NaN where there is none
    coded: Mapping[Role, Coded] = field(repr=False)
    single_precision: frozenset[str] = frozenset()  # columns of scores

    @property
    def lacks_score(self) -> NDArray[np.bool_]:
        """Whether each row lacks the score of a model."""
        lacks: NDArray[np.bool_] = np.any([np.isnan(scores) for scores in self.scores.values()], axis=0)
        return lacks

    @property
    def lacks_label(self) -> NDArray[np.bool_]:
        """Whether each row lacks the label of an outcome."""
        outcomes = [column.missing for role, column in self.coded.items() if role.option == "label"]
        lacks: NDArray[np.bool_] = np.any(outcomes, axis=0)
        return lacks

    def samples(self, pos_label: object | None) -> Samples:
        """Return checked samples, without the rows that are to be left out, which are counted."""
        left_out, whole = self.used.stated, self
        if self.used.leave_out_missing:
            no_score, no_label = self.lacks_score, self.lacks_label & ~self.lacks_score
            left_out = LeftOut(
                left_out.missing_score + int(no_score.sum()),
                left_out.missing_label + int(no_label.sum()),
                left_out.excluded,
            )
            whole = self._take(~(no_score | no_label))
            if not len(whole.rows):
                raise DataError(
                    "every row lacks a score or a label", source=self.source, hint="leave this owner out"
                )
        return whole._judged(pos_label, left_out)

    def _take(self, chosen: NDArray[np.bool_]) -> RawRows:
        return replace(
            self,
            rows=self.rows[chosen],
            scores={model: scores[chosen] for model, scores in self.scores.items()},
            coded={role: column.take(chosen) for role, column in self.coded.items()},
        )

    def _judged(self, pos_label: object | None, left_out: LeftOut) -> Samples:
        design = self.design
        for model, scores in self.scores.items():
            self._check_scores(Role("score", model), scores)
        labels = {outcome: self._bits(Role("label", outcome), pos_label) for outcome in design.outcome_names}
        further = Further(
            scores=self.scores if design.models else {},
            labels=labels if design.outcomes else {},
            levels={variable: self._levels(variable) for variable in design.variables},
            patients=self._patients() if design.patient else None,
            weights=None if design.weight is None else self._weights(design.weight.most),
            left_out=left_out,
            score_columns=self.used.scores,
        )
        return Samples(
            self.source,
            self.scores[design.model_names[0]],
            labels[design.outcome_names[0]],
            self.rows,
            self.used.score,
            further=further,
            single_precision=self.single_precision,
        )

    def _check_scores(self, role: Role, scores: NDArray[np.float64]) -> None:
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            index = int(bad[0])
            problem, hint = not_finite(scores[index])
            if np.isnan(scores[index]):
                problem, hint = "the score is missing", MISSING_HINT
            raise self._bad(role, index, problem, hint)

    def _bits(self, role: Role, pos_label: object | None) -> NDArray[np.uint8]:
        column = self.coded[role]
        first_rows = [int(self.rows[column.first(place)]) for place in range(len(column.spellings))]
        bits = labels_from(column.spellings, self.source, self.used.named[role], first_rows, pos_label)
        return bits[column.places]

    def _levels(self, variable: str) -> NDArray[np.uint8]:
        role, levels = Role("group", variable), self.design.subgroups[variable].levels
        column = self.coded[role]
        places = np.empty(len(column.spellings), dtype=np.uint8)
        for place, spelling in enumerate(column.spellings):
            level = level_of(spelling, levels)
            if level is None and is_missing(spelling):
                hint = "every row needs a level: leave the row out, or agree on a level for such rows"
                raise self._bad(role, column.first(place), "the level is missing", hint)
            if level is None:
                known = ", ".join(f"'{one}'" for one in levels)
                problem = f"the level is not one of the study's: {known}"
                hint = "spell it as the study does, or leave the sample out"
                raise self._bad(role, column.first(place), problem, hint)
            places[place] = level
        return places[column.places]

    def _patients(self) -> NDArray[np.int64]:
        column = self.coded[_PATIENT]
        self._check_there(_PATIENT, column, "the patient is missing")
        return column.places

    def _weights(self, most: int) -> NDArray[np.uint32]:
        column = self.coded[_WEIGHT]
        self._check_there(_WEIGHT, column, "the weight is missing")
        weights = np.empty(len(column.spellings), dtype=np.uint32)
        for place, spelling in enumerate(column.spellings):
            weight = int(whole_number(spelling) or 0)
            if not 1 <= weight <= most:
                problem = f"the weight is not a whole number from 1 to {most:,}"
                hint = (
                    "weights say how often a row counts, at most as often as the study allows: multiply "
                    "fractions by one number for all owners, and round; leave out rows that weigh 0"
                )
                raise self._bad(_WEIGHT, column.first(place), problem, hint)
            weights[place] = weight
        return weights[column.places]

    def _check_there(self, role: Role, column: Coded, problem: str) -> None:
        gaps = np.flatnonzero(column.missing)
        if len(gaps):
            raise self._bad(role, int(gaps[0]), problem, "every row needs one: leave the row out")

    def _bad(self, role: Role, index: int, problem: str, hint: str) -> DataError:
        row, column = int(self.rows[index]), self.used.named[role]
        return DataError(problem, source=self.source, row=row, column=column, hint=hint)


def level_of(spelling: str, levels: tuple[str, ...]) -> int | None:
    """Return the place of a level; 1.0, as columns of floats have it, is the level 1 if there is no 1.0."""
    for name in (spelling, whole_number(spelling)):
        if name in levels:
            return levels.index(name)
    return None


def whole_number(spelling: str) -> str:
    """Return the digits of a whole number, without decimals that are zero; nothing if it is none."""
    number = _WHOLE.fullmatch(spelling)
    return number[1] if number else ""
