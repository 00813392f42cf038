"""Several owners' data in one argument: a list of theirs, or a dict by their names."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ppaurora.data.columns import Columns
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.reading import read_dataset
from ppaurora.data.samples import Samples
from ppaurora.data.tables import has_columns
from ppaurora.errors import InputError

_USUAL = Columns()
_PAIRS = "evaluate([(y_true_1, y_score_1), (y_true_2, y_score_2)])"
_TABLES = "evaluate([table_1, table_2], score='...', label='...')"


def samples_of(
    owners: Any, others: tuple[object, ...] = (), columns: Columns = _USUAL, grid: Grid | None = None
) -> list[Samples | CountTable]:
    """Return each owner's checked samples. What is not several owners' is refused with what to write instead.

    `others` are further arguments, as in `evaluate(y_true, y_score)`, the habit of scikit-learn. With a grid,
    an owner that has many samples has them counted on it.
    """
    if others:
        raise InputError(f"evaluate takes the owners in one list, a pair of arrays for each; write {_PAIRS}")
    return [_own(name, data, columns, grid) for name, data in _named(owners)]


def _own(name: str, data: Any, columns: Columns, grid: Grid | None) -> Samples | CountTable:
    if isinstance(data, CountTable):
        return data
    is_file = isinstance(data, str | os.PathLike)
    return read_dataset(data, columns, name=None if is_file else name, grid=grid).samples(columns.pos_label)


def _named(owners: Any) -> list[tuple[str, Any]]:
    if isinstance(owners, str | os.PathLike):
        raise InputError("evaluate takes a list of owners; write evaluate([path_1, path_2])")
    if isinstance(owners, Mapping):
        if owners and all(_is_flat(data) for data in owners.values()):
            raise InputError(f"a dict names owners, and this one names columns; write {_TABLES}")
        return [(str(name), data) for name, data in owners.items()]
    if has_columns(owners):
        raise InputError(f"evaluate takes a list of owners, and this is one table; write {_TABLES}")
    if not isinstance(owners, Iterable):
        raise InputError(f"evaluate takes a list of owners; write {_PAIRS}")
    each = list(owners)
    if len(each) == 2 and all(map(_is_flat, each)):
        raise InputError(f"these are two arrays of one owner, not two owners; write {_PAIRS}")
    return [(f"owner {number}", data) for number, data in enumerate(each, start=1)]


def _is_flat(data: Any) -> bool:
    """Return whether values follow one another where two arrays or a table are expected."""
    if isinstance(data, str | os.PathLike | Iterator) or has_columns(data):
        return False
    try:
        return all(np.ndim(value) == 0 for value in itertools.islice(data, 2))
    except (TypeError, ValueError):  # no list at all, or one of lists of unequal lengths
        return False
