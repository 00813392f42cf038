"""Named columns of any origin, part after part, and the rows that two or three of them make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.arrays import one_per_sample, scores_from, single_precision, spellings_of
from ppaurora.data.chunks import ROWS_PER_CHUNK, Chunk, Reading
from ppaurora.data.columns import Columns, Role
from ppaurora.data.design import Design
from ppaurora.data.labels import spelt
from ppaurora.errors import DataError, InputError, PpauroraError

_ROWS_AT_A_TIME = 10_000

# From names of columns to parts of these columns, which anything may be that NumPy makes arrays of.
Parts = Callable[[Sequence[str]], Iterable[Sequence[Any]]]


@dataclass(frozen=True)
class NamedColumns:
    """The names of columns, and a way to get those that are asked for, part after part."""

    kind: str
    names: Sequence[str]
    parts: Parts
    is_file: bool = False


def rows_of(table: NamedColumns, source: str, used: Columns, design: Design | None = None) -> Reading:
    """Read the columns of a score, a label, a design and ids: of equal lengths, scores as numbers."""
    used.find(table.names, source, is_file=table.is_file)
    spellings: dict[str, int] = {}
    codes: dict[Role, dict[str, int]] = {role: {} for role in used.further if role.option != "score"}
    single: set[str] = set()
    return Reading(
        source=source,
        columns=tuple(table.names),
        used=used,
        kind=lambda: table.kind,
        spellings=spellings,
        chunks=_chunks(table, source, used, spellings, codes, single),
        is_empty=DataError("has no samples", source=source, hint="leave this owner out"),
        design=design,
        codes=codes,
        single_precision=single,
    )


def _chunks(
    table: NamedColumns,
    source: str,
    used: Columns,
    spellings: dict[str, int],
    codes: Mapping[Role, dict[str, int]],
    single: set[str],
) -> Iterator[Chunk]:
    named, before, (score, label), ids_role = used.named, 0, used.first, Role("id")
    for part in table.parts(list(named.values())):
        columns = {
            role: one_per_sample(values, source, name, before)
            for (role, name), values in zip(named.items(), part, strict=True)
        }
        rows = len(columns[label])
        single |= single_precision({named[one]: columns[one] for one in columns if one.option == "score"})
        for role, values in columns.items():
            if len(values) != rows:
                problem = f"{used.label} has {rows} values, {named[role]} has {len(values)}"
                raise DataError(problem, source=source)
        for start in range(0, rows, ROWS_PER_CHUNK):
            some = {role: values[start : start + ROWS_PER_CHUNK] for role, values in columns.items()}
            scores, first_gap = scores_from(some[score], source, used.score, before + start)
            ids = [spelt(value) for value in some[ids_role].tolist()] if ids_role in some else ()
            further = {
                role: _places(some[role], codes[role])
                if role in codes
                else scores_from(some[role], source, name, before + start)[0]
                for role, name in used.further.items()
            }
            yield Chunk(scores, _places(some[label], spellings), None, first_gap, ids, further)
        before += rows


def _places(labels: NDArray[Any], spellings: dict[str, int]) -> NDArray[np.int64]:
    """Return where each label stands among the spellings, which get those that are new."""
    here, values = spellings_of(labels)
    places = [spellings.setdefault(spelt(value), len(spellings)) for value in values]
    return np.array(places, dtype=np.int64)[here]


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
    return NamedColumns(kind, list(map(str, keys)), lambda names: [[data[key_of[name]] for name in names]])


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

    def parts(names: Sequence[str]) -> Iterator[Sequence[Any]]:
        places = [header.index(name) for name in names]
        while True:
            with running_query(source):
                rows = cursor.fetchmany(_ROWS_AT_A_TIME)
                columns = [[row[place] for row in rows] for place in places]
            if not rows:
                return
            yield columns

    return NamedColumns("query", header, parts)


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
