"""Arrays and columns of any library as scores and labels; the place is named where they cannot be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppaurora.data.labels import is_missing, spelt
from ppaurora.errors import DataError


def one_per_sample(values: ArrayLike, source: str, column: str, before: int = 0) -> NDArray[Any]:
    """Return one value per sample, none of them masked. A single column, of shape (n, 1), is taken, too.

    So many rows come before them.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        raise DataError("needs one value per sample, got several", source=source, column=column) from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
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
            row = before + int(masked[0]) + 1
            raise DataError(
                "the value is masked", source=source, row=row, column=column, hint="leave the sample out"
            )
    return array


def scores_from(
    array: NDArray[Any], source: str, column: str, before: int = 0
) -> tuple[NDArray[np.float64], int | None]:
    """Return scores as float64, exactly, and where the first missing one is, which becomes NaN.

    Decimals, of databases for instance, become the nearest float64, as the digits of a text do. So many rows
    come before them.
    """
    first_gap = None
    if array.dtype == object:
        values = array.tolist()
        gaps = [index for index, value in enumerate(values) if is_missing(value)]
        first_gap = gaps[0] if gaps else None
        for index in gaps:
            values[index] = math.nan
        array = one_per_sample([_without_decimal(value) for value in values], source, column)
    if array.dtype.kind not in "fiu":
        hint = "convert them to numbers before" if array.dtype.kind in "OUST" else ""
        what = "texts" if array.dtype.kind in "UST" else str(array.dtype)
        raise DataError(f"must be numbers, not {what}", source=source, column=column, hint=hint)
    with np.errstate(over="ignore", under="ignore"):
        converted = array.astype(np.float64)
    changed = _first_changed(array, converted)
    if changed is not None:
        raise DataError(
            "the score does not fit a float64 exactly",
            source=source,
            row=before + changed + 1,
            column=column,
            hint="convert the scores to float64 before, if that may make different ones equal",
        )
    return converted, first_gap


def single_precision(columns: Mapping[str, NDArray[Any]]) -> frozenset[str]:
    """Return the names of those columns that have fewer bits than a float64."""
    return frozenset(
        name for name, array in columns.items() if array.dtype.kind == "f" and array.dtype.itemsize < 8
    )


def bits_already(labels: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Numbers or bools that are all 0 or 1, which need no look at each."""
    if labels.dtype.kind not in "buif":
        return None
    ones = labels == 1
    return ones.view(np.uint8) if (ones | (labels == 0)).all() else None


def spellings_of(labels: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[object, ...]]:
    """Return the different labels, in order of appearance, and for every sample the place of its own."""
    if labels.dtype.kind in "buif":
        values, first, places = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return np.argsort(order)[places], tuple(values[order].tolist())
    known: dict[str, int] = {}
    found = [known.setdefault(spelt(value), len(known)) for value in labels.tolist()]
    return np.array(found, dtype=np.int64), tuple(known)


def _without_decimal(value: Any) -> Any:
    if not isinstance(value, Decimal):
        return value
    return math.nan if value.is_nan() else float(value)


def _first_changed(scores: NDArray[Any], converted: NDArray[np.float64]) -> int | None:
    """Return the first finite score, if any, that is another number as a float64."""
    if scores.dtype.kind == "f":
        changed = np.flatnonzero(np.isfinite(scores) & (converted.astype(scores.dtype) != scores)).tolist()
    else:
        large = np.flatnonzero(np.abs(converted) >= 2.0**53).tolist()
        changed = [index for index in large if int(converted[index]) != int(scores[index])]
    return changed[0] if changed else None
