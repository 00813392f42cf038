"""Named columns of any origin, and the dataset that is made of two or three of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppaurora.data.arrays import one_per_sample, scores_from, spellings_of
from ppaurora.data.columns import Columns
from ppaurora.data.dataset import Dataset, Repeats, dataset_of
from ppaurora.data.labels import spelt
from ppaurora.errors import DataError, InputError, PpauroraError

MOST_ROWS = 1 << 30  # what the computation holds
_ROWS_AT_A_TIME = 10_000

# From names of columns to the columns, which anything may be that NumPy makes an array of.
Fetch = Callable[[Sequence[str]], Sequence[Any]]


@dataclass(frozen=True)
class NamedColumns:
    """The names of columns, and a way to get those that are asked for."""

    kind: str
    names: Sequence[str]
    fetch: Fetch
    is_file: bool = False


def dataset_from(table: NamedColumns, source: str, used: Columns) -> Dataset:
    """Make a dataset of two columns, and ids if they are wanted: of equal lengths, scores as numbers."""
    named = used.named
    used.find(table.names, source, is_file=table.is_file)
    fetched = table.fetch(list(named.values()))
    columns = {
        option: one_per_sample(values, source, name)
        for (option, name), values in zip(named.items(), fetched, strict=True)
    }
    rows = len(columns["label"])
    for option, values in columns.items():
        if len(values) != rows:
            problem = f"{used.label} has {rows} values, {named[option]} has {len(values)}"
            raise DataError(problem, source=source)
    if not rows:
        raise DataError("has no samples", source=source, hint="leave this owner out")
    if rows > MOST_ROWS:
        raise too_many(source, rows)
    scores, first_gap = scores_from(columns["score"], source, used.score)
    labels, spellings = spellings_of(columns["label"])
    repeats = Repeats()
    for row, value in enumerate(columns["id"].tolist() if "id" in columns else (), start=1):
        repeats.add(spelt(value), row)
    return dataset_of(
        source,
        table.kind,
        table.names,
        used,
        scores=scores,
        first_gap=first_gap,
        labels=labels,
        spellings=spellings,
        rows=None,
        repeats=repeats,
    )


def too_many(source: str, rows: int) -> DataError:
    return DataError(
        f"{rows:,} rows are too many; the computation holds {MOST_ROWS:,} samples",
        source=source,
        hint="is it the right table?",
    )


def has_columns(data: Any) -> bool:
    """Return whether it is a table in memory, of whatever library: neither a single column nor a list."""
    return any(recognises(data) for recognises, _ in _KINDS)


def table_in_memory(data: Any, source: str) -> NamedColumns | None:
    """Return the columns of a table in memory; None if it has no named ones."""
    return next((read(data, source) for recognises, read in _KINDS if recognises(data)), None)


@contextmanager
def running_query(source: str) -> Iterator[None]:
    """A query runs when its rows are fetched; what a database says about its failure may quote them."""
    try:
        yield
    except PpauroraError:
        raise
    except Exception as error:
        failure = type(error).__name__
        raise InputError(
            f"{source}: the rows cannot be fetched ({failure}); run the query by itself to see why"
        ) from None


def _by_name(kind: str, data: Any, keys: Sequence[Any]) -> NamedColumns:
    """Names need not be texts: a frame's may be numbers."""
    key_of = {str(key): key for key in keys}
    return NamedColumns(kind, list(map(str, keys)), lambda names: [data[key_of[name]] for name in names])


def _stream_table(data: Any, source: str) -> NamedColumns:
    from ppaurora.data.arrow import stream_table

    return stream_table(data, source)


def _lazy(data: Any, source: str) -> NamedColumns:
    raise InputError(f"{source}: the frame is lazy; give what it computes: frame.collect()")


def _query_table(cursor: Any, source: str) -> NamedColumns:
    """Return the columns of a query's answer, by Python's interface of databases (DB-API, PEP 249)."""
    if not cursor.description:
        raise InputError(f"{source}: the cursor has no rows to give; execute a SELECT with it first")
    header = [str(column[0]) for column in cursor.description]

    def fetch(names: Sequence[str]) -> Sequence[Any]:
        places = [header.index(name) for name in names]
        columns: list[list[Any]] = [[] for _ in names]
        with running_query(source):
            while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
                for column, place in zip(columns, places, strict=True):
                    column.extend(row[place] for row in rows)
        return columns

    return NamedColumns("query", header, fetch)


# How each is recognised, and read. The first that fits: pandas' frames speak Arrow too, DuckDB's relations
# have columns. A single column may speak Arrow, and then knows `to_numpy`.
_KINDS: list[tuple[Callable[[Any], bool], Callable[[Any, str], NamedColumns]]] = [
    (lambda data: isinstance(data, Mapping), lambda data, _: _by_name("named arrays", data, list(data))),
    (
        lambda data: isinstance(data, np.ndarray) and data.dtype.names is not None,
        lambda data, _: _by_name("structured array", data, data.dtype.names),
    ),
    (
        lambda data: hasattr(data, "to_numpy") and hasattr(data, "columns"),  # pandas, Polars, and their like
        lambda data, _: _by_name("data frame", data, list(data.columns)),
    ),
    (lambda data: hasattr(data, "__arrow_c_stream__") and not hasattr(data, "to_numpy"), _stream_table),
    (lambda data: hasattr(data, "description") and hasattr(data, "fetchmany"), _query_table),
    (lambda data: hasattr(data, "collect") and hasattr(data, "lazy"), _lazy),
]
