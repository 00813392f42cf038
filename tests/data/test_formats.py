"""The same data in any format and any library's hands is the same samples."""

from __future__ import annotations

import decimal
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.data import read_data
from ppaurora.data.chunks import MOST_ROWS
from ppaurora.errors import DataError, InputError
from tests.support.formats import FILES, IN_MEMORY, Columns
from tests.support.owners import LABELS, SCORES
from tests.support.secrecy import everything_about, leaks

GOOD: Columns = {"patient": ["a", "b", "c"], "score": SCORES, "label": LABELS}
WORDS: Columns = {"score": SCORES, "label": ["well", "sick", "sick"]}
FORMATS = [*FILES, *IN_MEMORY]


def given_as(form: str, columns: Columns, folder: Path) -> Any:
    return FILES[form](columns, folder) if form in FILES else IN_MEMORY[form](columns)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_samples(form: str, tmp_path: Path) -> None:
    data = read_data(given_as(form, GOOD, tmp_path), id="patient")
    samples = data.samples()
    assert samples.scores.tolist() == SCORES
    assert samples.labels.tolist() == LABELS
    assert (str(samples.scores.dtype), str(samples.labels.dtype)) == ("float64", "uint8")
    about = data.description
    assert set(about.columns) == set(GOOD)
    assert (about.rows, about.incomplete, about.duplicates) == (3, 0, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_labels_may_be_words_in_every_format(form: str, tmp_path: Path) -> None:
    data = read_data(given_as(form, WORDS, tmp_path))
    assert data.description.label_values == {"well": 1, "sick": 2}
    assert data.samples("sick").labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "NumPy"])
@pytest.mark.parametrize(
    ("gap", "says"),
    [
        ({"score": [0.5, None, 0.25]}, "the score is missing"),
        ({"label": [0, None, 1]}, "the label is missing"),
    ],
    ids=["score", "label"],
)
def test_a_gap_is_counted_and_refused_in_every_format(
    form: str, gap: Columns, says: str, tmp_path: Path
) -> None:
    data = read_data(given_as(form, {**GOOD, **gap}, tmp_path))
    assert data.description.incomplete == 1
    with pytest.raises(DataError, match=says) as caught:
        data.samples()
    assert caught.value.row == data.description.first_incomplete
    assert caught.value.column == next(iter(gap))


@pytest.mark.parametrize("form", FORMATS)
def test_a_wrong_name_is_answered_with_the_nearest_in_every_format(form: str, tmp_path: Path) -> None:
    columns: Columns = {"patient": ["a"], "risk_score": [0.5], "label": [1]}
    with pytest.raises(DataError) as caught:
        read_data(given_as(form, columns, tmp_path), score="riskscore")
    options = "--score risk_score, in Python " if form in FILES else ""
    assert f"no such column (the {'file' if form in FILES else 'data'} has: patient, " in str(caught.value)
    assert f"did you mean {options}score='risk_score'?)" in str(caught.value)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, 1])),
        min_size=1,
        max_size=8,
    )
)
def test_no_score_changes_on_its_way_through_any_format(rows: list[tuple[float, int]]) -> None:
    scores, labels = map(list, zip(*rows, strict=True))
    columns: Columns = {"score": scores, "label": labels}
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMATS:
            samples = read_data(given_as(form, columns, Path(folder))).samples()
            assert samples.scores.tobytes() == np.array(scores).tobytes(), form
            assert samples.labels.tolist() == labels, form


def test_a_null_is_not_the_first_category() -> None:
    labels = pa.chunked_array([pa.array(["sick", None, "well"]).dictionary_encode()])
    table = pa.table({"score": [0.1, 0.2, 0.3], "label": labels})
    data = read_data(table)
    assert data.description.label_values == {"sick": 1, "well": 1}
    assert data.description.first_incomplete == 2
    with pytest.raises(DataError, match="row 2, column 'label': the label is missing"):
        data.samples("sick")
    for frame in (pl.from_arrow(table), table.to_pandas()):
        assert read_data(frame).description.first_incomplete == 2


@pytest.mark.parametrize(
    "score",
    [
        pa.array([0.25, 0.75], pa.float16()),
        pa.array([0.25, 0.75], pa.float32()),
        pa.array([decimal.Decimal("0.25"), decimal.Decimal("0.75")]),
        pa.array([0.25, 0.75]).dictionary_encode(),
        pa.compute.run_end_encode(pa.array([0.25, 0.75])),
    ],
    ids=lambda score: str(score.type),
)
def test_scores_of_any_type_of_number(score: Any, tmp_path: Path) -> None:
    table = pa.table({"score": score, "label": [False, True]})
    assert read_data(table).samples().scores.tolist() == [0.25, 0.75]


def test_decimals_of_a_database_become_the_nearest_float64() -> None:
    relation = duckdb.sql("select 0.1::decimal(9, 3) as score, true as label union all select 0.3, false")
    assert read_data(relation).samples().scores.tolist() == [0.1, 0.3]
    cursor = duckdb.connect().execute("select 0.1::decimal(9, 3) as score, true as label")
    assert read_data(cursor).samples().scores.tolist() == [0.1]
    some = [decimal.Decimal("0.1"), decimal.Decimal("NaN"), decimal.Decimal("sNaN")]
    assert read_data({"score": some, "label": [0, 1, 1]}).description.incomplete == 2


class BrokenCursor:
    """Of a database that fails in the middle, and quotes what it has read."""

    description = (("score",), ("label",))

    def fetchmany(self, size: int) -> list[Any]:
        raise RuntimeError("cannot convert patient73918")


def test_a_query_that_fails_is_answered_without_quoting_its_rows() -> None:
    relation = duckdb.sql("select ('patient73918' || range)::double as score, 1 as label from range(3)")
    for query in (relation, BrokenCursor()):
        with pytest.raises(InputError) as caught:
            read_data(query, name="north")
        assert re.fullmatch(
            r"north: the rows cannot be fetched \(\w+\); run the query by itself to see why",
            str(caught.value),
        )
        assert leaks(everything_about(caught.value), ["73918"]) == []


def test_labels_that_are_bytes_are_texts() -> None:
    table = pa.table({"score": [0.5, 0.25], "label": [b"sick", b"well"]})
    data = read_data(table)
    assert data.description.label_values == {"sick": 1, "well": 1}
    assert data.samples("sick").labels.tolist() == [1, 0]


def test_a_frame_may_have_numbers_for_names_and_columns_twice() -> None:
    frame = pd.DataFrame([[0.5, 1, 3, 3]], columns=[0, 1, "x", "x"])
    assert read_data(frame, "0", "1").samples().scores.tolist() == [0.5]
    with pytest.raises(DataError, match="there are 2 columns of that name"):
        read_data(frame, "x", "1")


def test_the_index_of_a_frame_does_not_matter() -> None:
    frame = pd.DataFrame({"score": SCORES, "label": LABELS}, index=[7, 7, -1])
    assert read_data(frame).samples().scores.tolist() == SCORES


def test_a_structured_array() -> None:
    rows = np.array([(0.25, 0), (0.75, 1)], dtype=[("score", "f8"), ("label", "i4")])
    data = read_data(rows)
    assert data.description.kind == "structured array"
    assert data.samples().labels.tolist() == [0, 1]


def test_only_columns_that_are_wanted_are_fetched() -> None:
    relation = duckdb.sql("select 0.5 as score, 1 as label, [1, 2] as bulky, {'a': 1} as nested")
    assert read_data(relation).samples().scores.tolist() == [0.5]


@pytest.mark.parametrize("form", ["Parquet", "Feather", "Arrow stream", "Arrow", "DuckDB relation"])
def test_a_missing_reader_is_named_with_the_command_that_installs_it(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = given_as(form, GOOD, tmp_path)
    for module in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as caught:
        read_data(data, name="north")
    what = {
        "Parquet": "a Parquet file",
        "Feather": "an Arrow file",
        "Arrow stream": "an Arrow stream",
        "Arrow": "a Table",
        "DuckDB relation": "a DuckDBPyRelation",
    }[form]
    assert str(caught.value) == (
        f"north: {what} needs one more package; install it with: pip install 'ppaurora[arrow]'"
    )


def test_frames_and_text_need_no_further_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [
        given_as(form, GOOD, tmp_path) for form in ("CSV", "gzip", "NumPy", "pandas", "Polars", "cursor")
    ]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for source in sources:
        assert read_data(source).samples().scores.tolist() == SCORES


def test_a_table_holds_as_many_rows_as_the_computation() -> None:
    assert MOST_ROWS == MOST_SAMPLES


def test_a_table_with_too_many_rows_is_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = given_as("Parquet", GOOD, tmp_path)
    monkeypatch.setattr("ppaurora.data.arrow.MOST_ROWS", 2)
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", None)
    with pytest.raises(DataError, match="3 rows are too many; the computation holds 1,073,741,824 samples"):
        read_data(path)
    monkeypatch.setattr("ppaurora.data.numpy_files.MOST_ROWS", 1)
    with pytest.raises(DataError, match="rows are too many"):
        read_data(given_as("NumPy", GOOD, tmp_path))
