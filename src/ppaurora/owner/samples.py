"""An owner's samples, checked: finite scores, labels 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppaurora.errors import DataError

LABEL_HINT = "use 0/1 or true/false, or name the positive label with pos_label"
_KNOWN_LABELS = {"0": 0, "1": 1, "false": 0, "true": 1, "0.0": 0, "1.0": 1}


@dataclass(frozen=True)
class Samples:
    """Scores and labels in the clear. Never leaves the owner; does not print its contents."""

    source: str
    scores: NDArray[np.float64] = field(repr=False)
    labels: NDArray[np.uint8] = field(repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)  # where in the source; else 1, 2, ...
    score_column: str = "y_score"

    def __len__(self) -> int:
        return len(self.scores)

    def row_of(self, index: int) -> int:
        return index + 1 if self.rows is None else int(self.rows[index])


def check_samples(
    source: str, y_true: ArrayLike, y_score: ArrayLike, pos_label: object | None = None
) -> Samples:
    """Samples from arrays, as scikit-learn's metrics take them."""
    labels, scores = np.asarray(y_true), np.asarray(y_score)
    for name, array in (("y_true", labels), ("y_score", scores)):
        if array.ndim != 1:
            raise DataError(
                f"needs one value per sample, got an array of shape {array.shape}", source=source, column=name
            )
    if len(labels) != len(scores):
        raise DataError(f"y_true has {len(labels)} values, y_score has {len(scores)}", source=source)
    if not len(scores):
        raise DataError("has no samples", source=source)
    if scores.dtype.kind not in "fiu":
        raise DataError(f"must be numbers, not {scores.dtype}", source=source, column="y_score")
    exact = scores.astype(np.float64)
    if scores.dtype.kind in "iu" or scores.dtype.itemsize > 8:
        changed = np.flatnonzero(exact.astype(scores.dtype) != scores)
        if len(changed):
            raise DataError(
                "does not fit a float64 exactly", source=source, row=int(changed[0]) + 1, column="y_score"
            )
    samples = Samples(source, exact, labels_from(labels.tolist(), source, "y_true", None, pos_label))
    check_finite(samples)
    return samples


def check_finite(samples: Samples) -> None:
    bad = np.flatnonzero(~np.isfinite(samples.scores))
    if len(bad):
        index = int(bad[0])
        what = "is missing (NaN)" if np.isnan(samples.scores[index]) else "is infinite"
        raise DataError(
            f"the score {what}",
            source=samples.source,
            row=samples.row_of(index),
            column=samples.score_column,
            hint="every score must be a finite number",
        )


def labels_from(
    values: Sequence[Any], source: str, column: str, rows: Sequence[int] | None, pos_label: object | None
) -> NDArray[np.uint8]:
    """Labels as bits. With `pos_label`, one other value may stand for the negative class."""
    known = dict(_KNOWN_LABELS) if pos_label is None else {_name(pos_label): 1}
    out = np.empty(len(values), dtype=np.uint8)
    for index, value in enumerate(values):
        name = _name(value)
        bit = known.get(name)
        if bit is None:
            row = index + 1 if rows is None else rows[index]
            if name in ("", "nan", "none"):
                raise DataError("the label is missing", source=source, row=row, column=column)
            if pos_label is None:
                raise DataError(
                    "the label is neither 0 nor 1", source=source, row=row, column=column, hint=LABEL_HINT
                )
            if len(known) == 2:
                raise DataError(
                    "a third label, where one beside the positive one is allowed",
                    source=source,
                    row=row,
                    column=column,
                    hint="check the spelling, or map the labels to two",
                )
            bit = known[name] = 0
        out[index] = bit
    return out


def _name(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().lower()
