"""Parquet, Arrow files, and whatever hands its columns over as an Arrow stream; needs the extra `arrow`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

from ppaurora.data.tables import MOST_ROWS, NamedColumns, running_query, too_many
from ppaurora.errors import DataError, MissingPackageError, PpauroraError

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"


def parquet_table(file: BinaryIO, source: str) -> NamedColumns:
    parquet = _module("pyarrow.parquet", "a Parquet file", source)
    with _whole("Parquet", source):
        opened = parquet.ParquetFile(file, page_checksum_verification=True)
        names, rows = opened.schema_arrow.names, opened.metadata.num_rows
    if rows > MOST_ROWS:
        raise too_many(source, rows)

    def fetch(names: Sequence[str]) -> Sequence[Any]:
        with _whole("Parquet", source):
            table = opened.read(columns=list(names))
            return [_plain(table.column(name)) for name in names]

    return NamedColumns("Parquet", names, fetch, is_file=True)


def file_table(file: BinaryIO, source: str) -> NamedColumns:
    """Arrow's own file, which Feather is as well."""
    ipc = _module("pyarrow.ipc", "an Arrow file", source)
    whole = partial(_whole, "an Arrow file", source)
    with whole():
        opened = ipc.open_file(file)
        names = opened.schema.names

    def batches() -> Iterator[Any]:
        return (opened.get_batch(number) for number in range(opened.num_record_batches))

    return NamedColumns("Arrow", names, _fetch(names, batches, whole, source), is_file=True)


def stream_file_table(file: BinaryIO, source: str) -> NamedColumns:
    ipc = _module("pyarrow.ipc", "an Arrow stream", source)
    whole = partial(_whole, "an Arrow stream", source)
    with whole():
        opened = ipc.open_stream(file)
        names = opened.schema.names
    return NamedColumns("Arrow", names, _fetch(names, lambda: opened, whole, source), is_file=True)


def stream_table(data: Any, source: str) -> NamedColumns:
    """Read by Arrow's PyCapsule interface: tables, readers, relations of DuckDB, results of ADBC."""
    pyarrow = _module("pyarrow", f"a {type(data).__name__}", source)
    running = partial(running_query, source)
    with running():
        opened = pyarrow.RecordBatchReader.from_stream(data)
        names = opened.schema.names
    return NamedColumns("Arrow", names, _fetch(names, lambda: opened, running, source))


def _fetch(
    header: Sequence[str], batches: Callable[[], Any], guard: Callable[[], Any], source: str
) -> Callable[[Sequence[str]], Sequence[Any]]:
    """Batch by batch, of each only what is wanted; `guard` answers what goes wrong meanwhile."""
    import pyarrow

    def fetch(names: Sequence[str]) -> Sequence[Any]:
        places, rows = [header.index(name) for name in names], 0
        chunks: list[list[Any]] = [[] for _ in names]
        with guard():
            for batch in batches():
                rows += batch.num_rows
                if rows > MOST_ROWS:
                    raise too_many(source, rows)
                for found, place in zip(chunks, places, strict=True):
                    found.append(batch.column(place))
            return [_plain(pyarrow.chunked_array(found)) if found else [] for found in chunks]

    return fetch


def _plain(column: Any) -> Any:
    """Return a column as a NumPy array, with None or NaN where there is no value."""
    import pyarrow

    column.validate(full=True)  # offsets of a damaged file lead anywhere in memory
    if isinstance(column.type, pyarrow.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # as it is, a null would become the first category
    return column.to_numpy()


@contextmanager
def _whole(kind: str, source: str) -> Iterator[None]:
    """Damage shows as errors of many kinds, and what they say may quote the file."""
    try:
        yield
    except PpauroraError:
        raise
    except Exception:
        raise DataError(
            f"looks like {kind}, but is damaged or not whole", source=source, hint="copy or write it again"
        ) from None


def _module(name: str, what: str, source: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingPackageError(
            f"{source}: {what} needs one more package; install it with: pip install 'ppaurora[arrow]'"
        ) from None
