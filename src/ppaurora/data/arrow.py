"""Parquet, Arrow files, and whatever hands its columns over as an Arrow stream; needs the extra `arrow`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

from ppaurora.data.chunks import MOST_ROWS, ROWS_PER_CHUNK, too_many
from ppaurora.data.tables import NamedColumns, Parts, running_query
from ppaurora.errors import DataError, MissingPackageError, PpauroraError

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
_BUFFER_BYTES = 1 << 20  # of a column: else all of a row group's would be in memory


def parquet_table(file: BinaryIO, source: str) -> NamedColumns:
    parquet = needed_module("pyarrow.parquet", "a Parquet file", source)
    with undamaged("Parquet", source):
        opened = parquet.ParquetFile(
            file, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
        )
        names, rows = opened.schema_arrow.names, opened.metadata.num_rows
    if rows > MOST_ROWS:
        raise too_many(source, rows)

    def parts(wanted: Sequence[str]) -> Iterator[Sequence[Any]]:
        def batches() -> Any:
            return opened.iter_batches(ROWS_PER_CHUNK, columns=list(wanted), use_threads=False)

        return _parts(wanted, batches, partial(undamaged, "Parquet", source))

    return NamedColumns("Parquet", names, parts, is_file=True)


def file_table(file: BinaryIO, source: str) -> NamedColumns:
    """Arrow's own file, which Feather is as well."""
    ipc = needed_module("pyarrow.ipc", "an Arrow file", source)
    whole = partial(undamaged, "an Arrow file", source)
    with whole():
        opened = ipc.open_file(file)
        names = opened.schema.names

    def batches() -> Iterator[Any]:
        return (opened.get_batch(number) for number in range(opened.num_record_batches))

    return NamedColumns("Arrow", names, _named_parts(names, batches, whole), is_file=True)


def stream_file_table(file: BinaryIO, source: str) -> NamedColumns:
    ipc = needed_module("pyarrow.ipc", "an Arrow stream", source)
    whole = partial(undamaged, "an Arrow stream", source)
    with whole():
        opened = ipc.open_stream(file)
        names = opened.schema.names
    return NamedColumns("Arrow", names, _named_parts(names, lambda: opened, whole), is_file=True)


def stream_table(data: Any, source: str) -> NamedColumns:
    """Read by Arrow's PyCapsule interface: tables, readers, relations of DuckDB, results of ADBC."""
    pyarrow = needed_module("pyarrow", f"a {type(data).__name__}", source)
    running = partial(running_query, source)
    with running():
        opened = pyarrow.RecordBatchReader.from_stream(data)
        names = opened.schema.names
    return NamedColumns("Arrow", names, _named_parts(names, lambda: opened, running))


def _named_parts(header: Sequence[str], batches: Callable[[], Any], guard: Callable[[], Any]) -> Parts:
    """Return a way to get columns by their names, batch by batch; of each only what is wanted."""
    return lambda names: _parts([header.index(name) for name in names], batches, guard)


def _parts(
    places: Sequence[int | str], batches: Callable[[], Any], guard: Callable[[], Any]
) -> Iterator[Sequence[Any]]:
    """Get columns by their places or names, batch by batch; `guard` answers what goes wrong meanwhile."""
    with guard():
        opened = iter(batches())
    while True:
        with guard():
            batch = next(opened, None)
            if batch is None:
                return
            columns = [_plain(batch.column(place)) for place in places]
        yield columns


def _plain(column: Any) -> Any:
    """Return a column as a NumPy array, with None or NaN where there is no value."""
    import pyarrow

    column.validate(full=True)  # offsets of a damaged file lead anywhere in memory
    if isinstance(column.type, pyarrow.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # as it is, a null would become the first category
    return column.to_numpy(zero_copy_only=False)


@contextmanager
def undamaged(kind: str, source: str, hint: str = "copy or write it again") -> Iterator[None]:
    """Damage shows as errors of many kinds, and what they say may quote the file."""
    try:
        yield
    except PpauroraError:
        raise
    except Exception:
        raise damaged(kind, source, hint) from None


def damaged(kind: str, source: str, hint: str) -> DataError:
    return DataError(f"looks like {kind}, but is damaged or not whole", source=source, hint=hint)


def needed_module(name: str, what: str, source: str, extra: str = "arrow") -> Any:
    """Import what an extra brings."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingPackageError(
            f"{source}: {what} needs one more package; install it with: pip install 'ppaurora[{extra}]'"
        ) from None
