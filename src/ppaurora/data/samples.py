"""An owner's samples, checked: finite scores, labels 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppaurora.data.arrays import bits_already, one_per_sample, scores_from, single_precision
from ppaurora.data.further import Further
from ppaurora.data.labels import MISSING_HINT, labels_from
from ppaurora.data.slices import Slice
from ppaurora.errors import DataError


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
    further
        What rows have beside one score and one label, where a study wants more; `scores` and `labels` are
        then those of its first model and its first outcome.
    single_precision
        The columns of scores that the source has as float32, or with even fewer bits.
    """

    source: str
    scores: NDArray[np.float64] = field(repr=False)
    labels: NDArray[np.uint8] = field(repr=False)
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    score_column: str = "y_score"
    negated: bool = False
    further: Further | None = field(default=None, repr=False)
    single_precision: frozenset[str] = frozenset()

    def of(self, slice_: Slice, levels: Sequence[str] = ()) -> Samples:
        """Return the samples of a slice; of a level, `levels` are all that its variable has."""
        further = self.further or Further()
        scores, labels = self.scores, self.labels
        if slice_.model in further.scores:
            scores = further.scores[slice_.model]
            scores = 0.0 - scores if self.negated else scores
        if slice_.outcome in further.labels:
            labels = further.labels[slice_.outcome]
        column = further.score_columns.get(slice_.model, slice_.model or self.score_column)
        whole = replace(self, scores=scores, labels=labels, score_column=column)
        if not slice_.is_level:
            return whole
        return whole.take(further.levels[slice_.variable] == levels.index(slice_.level))

    def take(self, chosen: NDArray[np.bool_]) -> Samples:
        """Return some of the samples."""
        rows = np.arange(1, len(self) + 1, dtype=np.int64) if self.rows is None else self.rows
        return replace(
            self,
            scores=self.scores[chosen],
            labels=self.labels[chosen],
            rows=rows[chosen],
            further=None if self.further is None else self.further.take(chosen),
        )

    def negate(self) -> Samples:
        """Exactly, and zero stays zero."""
        return replace(self, scores=0.0 - self.scores, negated=not self.negated)

    def fixed(self) -> Samples:
        """Return a copy that nobody can change, whoever has the arrays that this one was made of."""
        scores, labels = self.scores.copy(), self.labels.copy()
        for array in (scores, labels):
            array.flags.writeable = False
        further = None if self.further is None else self.further.fixed()
        return replace(self, scores=scores, labels=labels, further=further)

    @property
    def is_single_precision(self) -> bool:
        """Whether the source has these scores as float32, or with even fewer bits."""
        return self.score_column in self.single_precision

    @property
    def scores_of_source(self) -> NDArray[np.float64]:
        return 0.0 - self.scores if self.negated else self.scores

    def __len__(self) -> int:
        return len(self.scores)

    def row_of(self, index: int) -> int:
        return index + 1 if self.rows is None else int(self.rows[index])

    def bad_score(self, index: int, problem: str, hint: str) -> DataError:
        """Return what to raise about one score: it says where the score is, not what it is."""
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
    labels, scores = one_per_sample(y_true, source, "y_true"), one_per_sample(y_score, source, "y_score")
    if len(labels) != len(scores):
        raise DataError(f"y_true has {len(labels)} values, y_score has {len(scores)}", source=source)
    if not len(scores):
        raise DataError("has no samples", source=source, hint="leave this owner out")
    converted, first_gap = scores_from(scores, source, "y_score")
    if first_gap is not None:
        raise DataError(
            "the score is missing", source=source, row=first_gap + 1, column="y_score", hint=MISSING_HINT
        )
    bits = bits_already(labels) if pos_label is None else None
    if bits is None:
        bits = labels_from(labels.tolist(), source, "y_true", None, pos_label)
    samples = Samples(source, converted, bits, single_precision=single_precision({"y_score": scores}))
    check_finite(samples)
    return samples


def check_finite(samples: Samples) -> None:
    bad = np.flatnonzero(~np.isfinite(samples.scores))
    if len(bad):
        index = int(bad[0])
        raise samples.bad_score(index, *not_finite(samples.scores[index]))


def not_finite(score: float) -> tuple[str, str]:
    """Return what is wrong with a score that is not finite, and what to do about it."""
    if np.isnan(score):
        return "the score is missing (NaN)", MISSING_HINT
    return (
        "the score is infinite",
        "every score must be a finite number: correct it where it is computed, or leave the row out",
    )
