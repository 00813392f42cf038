"""The same table in every form in which an owner may have it."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tests.support.workbooks import workbook

Columns = Mapping[str, Sequence[Any]]


def csv_text(columns: Columns, delimiter: str = ",", sign: str = ".") -> str:
    """Floats with all their digits; nothing where there is None."""

    def written(value: object) -> str:
        return "" if value is None else str(value).replace(".", sign)

    rows = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "".join(delimiter.join(map(written, row)) + "\n" for row in rows)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _parquet(columns: Columns, folder: Path) -> Path:
    pyarrow.parquet.write_table(pa.table(dict(columns)), folder / "data.parquet", row_group_size=2)
    return folder / "data.parquet"


def _feather(columns: Columns, folder: Path) -> Path:
    pyarrow.feather.write_feather(pa.table(dict(columns)), folder / "data.feather", chunksize=2)
    return folder / "data.feather"


def _arrow_stream(columns: Columns, folder: Path) -> Path:
    table = pa.table(dict(columns))
    with pa.ipc.new_stream(folder / "data.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=2)
    return folder / "data.arrows"


def _npz(columns: Columns, folder: Path) -> Path:
    arrays: dict[str, Any] = {name: np.array(each) for name, each in columns.items()}
    np.savez_compressed(folder / "data.npz", **arrays)
    return folder / "data.npz"


def _excel(columns: Columns, folder: Path) -> Path:
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    return _written(folder / "data.xlsx", workbook({"Data": rows, "Notes": []}))


FILES: dict[str, Callable[[Columns, Path], Path]] = {
    "CSV": lambda columns, folder: _written(folder / "data.csv", csv_text(columns).encode()),
    "gzip": lambda columns, folder: _written(folder / "d.csv.gz", gzip.compress(csv_text(columns).encode())),
    "decimal commas": lambda columns, folder: _written(
        folder / "komma.csv", ("sep=;\r\n" + csv_text(columns, ";", ",")).encode("utf-16")
    ),
    "Parquet": _parquet,
    "Feather": _feather,
    "Arrow stream": _arrow_stream,
    "NumPy": _npz,
    "Excel": _excel,
}


def _nullable(frame: pd.DataFrame) -> pd.DataFrame:
    types = {"float64": "Float64", "int64": "Int64", "object": "string", "str": "string"}
    return frame.astype({name: types[str(kind)] for name, kind in frame.dtypes.items()})


def _query(columns: Columns) -> sqlite3.Cursor:
    cursor = sqlite3.connect(":memory:").cursor()
    cursor.execute(f"create table t ({', '.join(columns)})")
    marks = ", ".join("?" * len(columns))
    cursor.executemany(f"insert into t values ({marks})", zip(*columns.values(), strict=True))  # noqa: S608
    return cursor.execute("select * from t")


def _relation(columns: Columns) -> Any:
    return duckdb.connect().from_arrow(pa.table(dict(columns)))


IN_MEMORY: dict[str, Callable[[Columns], Any]] = {
    "dict": dict,
    "pandas": lambda columns: pd.DataFrame(dict(columns)),
    "pandas of Arrow": lambda columns: pa.table(dict(columns)).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with nullable types": lambda columns: _nullable(pd.DataFrame(dict(columns))),
    "Polars": lambda columns: pl.DataFrame(dict(columns)),
    "Arrow": lambda columns: pa.table(dict(columns)),
    "Arrow reader": lambda columns: pa.table(dict(columns)).to_reader(max_chunksize=2),
    "DuckDB relation": _relation,
    "cursor": _query,
}
