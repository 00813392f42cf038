"""An owner's samples, checked: finite scores, labels 0 or 1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppaurora.errors import DataError, InputError

# What spreadsheets, R, SAS and pandas write where there is no value.
MISSING = frozenset({"", ".", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "none", "null"})
MISSING_HINT = "fill it in, or leave the sample out"
_LABEL_HINT = "use 0/1 or true/false, or name the positive label with --pos-label, in Python pos_label"
_WHOLE_NUMBER = re.compile(r"([+-]?\d{1,18})(\.0*)?")
_TRUTH = {"false": "0", "true": "1"}


@dataclass(frozen=True)
class Samples:
    """Scores and labels in the clear. Never leaves the owner; does not print its contents.

    Attributes
    ----------
    source
        The file or owner that errors name.
    scores, labels
        One of each per sample; labels are 0 and 1.
    rows
        Where in the source each sample is; by default 1, 2, and so on.
    score_column
        What the source calls the scores.
    negated
        Whether the source's scores are lower for what is more positive; `scores` are then their negatives.
    """

    source: str
    scores: NDArray[np.float64] = field(repr=False)
    labels: NDArray[np.uint8] = field(repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    score_column: str = "y_score"
    negated: bool = False

    def negate(self) -> Samples:
        """Exactly, and zero stays zero."""
        return replace(self, scores=0.0 - self.scores, negated=not self.negated)

    @property
    def scores_of_source(self) -> NDArray[np.float64]:
        return 0.0 - self.scores if self.negated else self.scores

    def __len__(self) -> int:
        return len(self.scores)

    def row_of(self, index: int) -> int:
        return index + 1 if self.rows is None else int(self.rows[index])

    def bad_score(self, index: int, problem: str, hint: str) -> DataError:
        """What to raise about one score: it says where the score is, not what it is."""
        return DataError(
            problem, source=self.source, row=self.row_of(index), column=self.score_column, hint=hint
        )


def check_probabilities(samples: Samples, hint: str) -> None:
    """Scores from 0 to 1."""
    outside = np.flatnonzero((samples.scores < 0) | (samples.scores > 1))
    if len(outside):
        raise samples.bad_score(int(outside[0]), "the score is outside [0, 1]", hint)


def check_samples(
    source: str, y_true: ArrayLike, y_score: ArrayLike, pos_label: object | None = None
) -> Samples:
    """Samples from arrays, as scikit-learn's metrics take them. `source` is whose they are, for errors.

    Examples
    --------
    >>> from ppaurora.data import check_samples
    >>> len(check_samples("north", ["sick", "well"], [0.9, 0.4], pos_label="sick"))
    2
    >>> check_samples("north", [1, 0], [0.9, float("nan")])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ppaurora.errors.DataError: north, row 2, column 'y_score': the score is missing (NaN) ...
    """
    labels, scores = _vector(y_true, source, "y_true"), _vector(y_score, source, "y_score")
    if len(labels) != len(scores):
        raise DataError(f"y_true has {len(labels)} values, y_score has {len(scores)}", source=source)
    if not len(scores):
        raise DataError("has no samples", source=source, hint="leave this owner out")
    if scores.dtype == object:
        scores = _numbers(scores, source)
    if scores.dtype.kind not in "fiu":
        raise DataError(f"must be numbers, not {scores.dtype}", source=source, column="y_score")
    with np.errstate(over="ignore", under="ignore"):
        converted = scores.astype(np.float64)
    changed = _first_changed(scores, converted)
    if changed is not None:
        raise DataError(
            "the score does not fit a float64 exactly",
            source=source,
            row=changed + 1,
            column="y_score",
            hint="convert the scores to float64 before, if that may make different ones equal",
        )
    bits = _bits_already(labels) if pos_label is None else None
    if bits is None:
        bits = labels_from(labels.tolist(), source, "y_true", None, pos_label)
    samples = Samples(source, converted, bits)
    check_finite(samples)
    return samples


def _vector(values: ArrayLike, source: str, column: str) -> NDArray[Any]:
    """One value per sample, none of them masked."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        raise DataError("needs one value per sample, got several", source=source, column=column) from None
    if array.ndim != 1:
        raise DataError(
            f"needs one value per sample, got an array of shape {array.shape}",
            source=source,
            column=column,
            hint="of a classifier's probabilities take the column of the positive class"
            if array.ndim > 1
            else "",
        )
    if isinstance(values, np.ma.MaskedArray):
        masked = np.flatnonzero(np.ma.getmaskarray(values))
        if len(masked):
            row = int(masked[0]) + 1
            raise DataError("the value is masked", source=source, row=row, column=column, hint=MISSING_HINT)
    return array


def _numbers(objects: NDArray[Any], source: str) -> NDArray[Any]:
    """Numbers that came as objects, which is what a list with a gap in it becomes."""
    values = objects.tolist()
    for row, value in enumerate(values, start=1):
        if _name(value) in MISSING:
            raise DataError(
                "the score is missing", source=source, row=row, column="y_score", hint=MISSING_HINT
            )
    return _vector(values, source, "y_score")


def _bits_already(labels: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Numbers or bools that are all 0 or 1, which need no look at each."""
    if labels.dtype.kind not in "buif":
        return None
    ones = labels == 1
    return ones.view(np.uint8) if (ones | (labels == 0)).all() else None


def _first_changed(scores: NDArray[Any], converted: NDArray[np.float64]) -> int | None:
    """The first finite score, if any, that is another number as a float64."""
    if scores.dtype.kind == "f":
        changed = np.flatnonzero(np.isfinite(scores) & (converted.astype(scores.dtype) != scores)).tolist()
    else:
        large = np.flatnonzero(np.abs(converted) > 2.0**53).tolist()
        changed = [index for index in large if int(converted[index]) != int(scores[index])]
    return changed[0] if changed else None


def check_finite(samples: Samples) -> None:
    bad = np.flatnonzero(~np.isfinite(samples.scores))
    if len(bad):
        index = int(bad[0])
        what = "is missing (NaN)" if np.isnan(samples.scores[index]) else "is infinite"
        raise samples.bad_score(index, f"the score {what}", "every score must be a finite number")


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
                    "the label is neither 0 nor 1", source=source, row=row, column=column, hint=_LABEL_HINT
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


def _name(value: object) -> str:
    """How a label is spelt: 1, 1.0, True and "TRUE" are the same, and so are "Sick" and "sick"."""
    name = str(value).strip().lower()
    number = _WHOLE_NUMBER.fullmatch(name)
    return str(int(number[1])) if number else _TRUTH.get(name, name)
