"""Several owners' data in one argument: a list of theirs, or a dict by their names."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from ppaurora.data.columns import Columns
from ppaurora.data.count_table import CountTable
from ppaurora.data.deriving import design_of_arrays, design_with
from ppaurora.data.design import Design
from ppaurora.data.grid import Grid
from ppaurora.data.pairs import parts_of
from ppaurora.data.reading import read_dataset
from ppaurora.data.samples import Samples
from ppaurora.data.tables import has_columns
from ppaurora.errors import InputError

_USUAL = Columns()
_PAIRS = "evaluate([(y_true_1, y_score_1), (y_true_2, y_score_2)])"
_TABLES = "evaluate([table_1, table_2], score='...', label='...')"


def samples_of(
    owners: Any,
    others: tuple[object, ...] = (),
    columns: Columns = _USUAL,
    grid: Grid | None = None,
    design: Design | None = None,
) -> list[Samples | CountTable]:
    """Return each owner's checked samples. What is not several owners' is refused with what to write instead.

    `others` are further arguments, as in `evaluate(y_true, y_score)`, the habit of scikit-learn. With a grid,
    an owner that has many samples has them counted on it; of a design that names columns, rows are kept.
    """
    _check_no_others(others)
    return _read_all(_named(owners), columns, grid, design)


def _own(
    name: str, data: Any, columns: Columns, grid: Grid | None, design: Design | None
) -> Samples | CountTable:
    if isinstance(data, CountTable):
        check_table(data, columns, design)
        return data
    is_file = isinstance(data, str | os.PathLike)
    read = read_dataset(data, columns, design=design, name=None if is_file else name, grid=grid)
    return read.samples(columns.pos_label)


def check_table(table: CountTable, columns: Columns, design: Design | None) -> None:
    """Refuse a table of counts where rows are needed."""
    if design is not None and not design.is_plain:
        raise InputError(f"{table.source}: is a table of counts, and the study needs the rows; give these")
    if columns.leave_out_missing or any(columns.stated.counts):
        raise InputError(
            f"{table.source}: is a table of counts, which cannot say what was left out; give the rows"
        )


def check_further(samples: Samples | CountTable, design: Design | None) -> None:
    """Refuse samples that were read for another study: without the columns that this one names."""
    if design is None or not design.names_columns:
        return
    further = None if isinstance(samples, CountTable) else samples.further
    has_all = further is not None and (
        set(further.scores) == set(design.models)
        and set(further.labels) == set(design.outcomes)
        and set(further.levels) == set(design.subgroups)
        and (further.patients is not None) == bool(design.patient)
        and (further.weights is not None) == (design.weight is not None)
    )
    if not has_all:
        raise InputError(
            f"{samples.source}: was read without the columns that the study names; give the table itself"
        )


def designed_samples(
    owners: Any,
    others: tuple[object, ...],
    columns: Columns,
    grid: Grid | None,
    fields: Mapping[str, Any],
) -> tuple[list[Samples | CountTable], Design]:
    """Return each owner's samples as `samples_of` does, and the design that the caller means.

    `fields` are those fields of a `Design` that the caller has given, None for others. Without, the design
    follows from the columns that are named, and from the keys of owners' dicts.
    """
    _check_no_others(others)
    each = [
        (name, tuple(data) if isinstance(data, Iterator) and not has_columns(data) else data)
        for name, data in _named(owners)
    ]
    arrays = [(name, parts_of(data, name)) for name, data in each if _is_arrays(data)]
    design = design_with(columns, fields, design_of_arrays(arrays, columns, fields))
    return _read_all(each, columns, grid, design), design


def _is_arrays(data: Any) -> bool:
    return not (isinstance(data, str | os.PathLike | Samples | CountTable) or has_columns(data))


def _check_no_others(others: tuple[object, ...]) -> None:
    if others:
        raise InputError(f"evaluate takes the owners in one list, a pair of arrays for each; write {_PAIRS}")


def _read_all(
    owners: Sequence[tuple[str, Any]], columns: Columns, grid: Grid | None, design: Design | None
) -> list[Samples | CountTable]:
    """Rows that were left out before are stated once, by the first owner: they are those of all."""
    later = structs.replace(columns, left_out={})
    return [
        _own(name, data, later if number else columns, grid, design)
        for number, (name, data) in enumerate(owners)
    ]


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
        some = list(itertools.islice(data, 2))
        return all(np.ndim(value) == 0 and not isinstance(value, Mapping) for value in some)
    except (TypeError, ValueError):  # no list at all, or one of lists of unequal lengths
        return False
