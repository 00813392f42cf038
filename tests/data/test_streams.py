"""Sources of any size: rows are counted chunk by chunk, and are judged as rows that are kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppaurora.data import (
    Columns,
    CountedDataset,
    CountTable,
    Dataset,
    Grid,
    read_data,
    read_dataset,
    tabulate,
)
from ppaurora.errors import DataError
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import ALL, PLANTED_DIGITS, BadFile
from tests.support.formats import FILES, IN_MEMORY
from tests.support.owners import written
from tests.support.secrecy import everything_about, leaks

GRID = Grid(decimals=2)
WIDE = Grid(low=-100.0, high=100.0, decimals=2)
SCORES = [0.25, 0.251, 0.75, 0.0, 1.0, 0.999, 0.5, 0.5]
DIED = ["no", "yes", "Yes", "no", "yes", "no", "no", "yes"]
COLUMNS: dict[str, Any] = {"risk": SCORES, "died": DIED}


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is counted, and a chunk has three."""
    monkeypatch.setattr("ppaurora.data.dataset.ROWS_KEPT", 0)
    for module in ("arrow", "tables", "text"):
        monkeypatch.setattr(f"ppaurora.data.{module}.ROWS_PER_CHUNK", 3)
    monkeypatch.setattr("ppaurora.data.tables._ROWS_AT_A_TIME", 3)


def counts(table: CountTable) -> tuple[list[int], list[int]]:
    return table.positives.tolist(), table.negatives.tolist()


def naive() -> tuple[list[int], list[int]]:
    """Count by the definition, one sample after another."""
    found = [0] * 101, [0] * 101
    for score, died in zip(SCORES, DIED, strict=True):
        found[died == "no"][round(score * 100)] += 1
    return found


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("form", FILES)
def test_every_kind_of_file_is_counted(form: str, tmp_path: Path) -> None:
    path = FILES[form](COLUMNS, tmp_path)
    table = tabulate(path, GRID, score="risk", label="died", pos_label="yes")
    assert counts(table) == naive()
    assert (len(table), table.source, table.grid) == (8, str(path), GRID)
    about = read_dataset(path, Columns(score="risk", label="died"), grid=GRID).description
    assert about == read_data(path, "risk", "died").description
    assert about.label_values == {"no": 4, "yes": 3, "Yes": 1}


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("form", IN_MEMORY)
def test_what_is_in_memory_is_counted(form: str) -> None:
    table = tabulate(
        IN_MEMORY[form](COLUMNS), GRID, score="risk", label="died", pos_label="yes", name="north"
    )
    assert (counts(table), table.source) == (naive(), "north")


def test_few_rows_are_kept_and_counted_in_the_end(tmp_path: Path) -> None:
    path = FILES["CSV"](COLUMNS, tmp_path)
    assert isinstance(read_dataset(path, Columns(score="risk", label="died"), grid=GRID), Dataset)
    assert counts(tabulate(path, GRID, score="risk", label="died", pos_label="yes")) == naive()


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(
    "case", [case for case in BAD_FILES if case.protocols == ALL], ids=lambda case: case.name
)
def test_what_is_refused_of_rows_is_refused_of_a_stream_in_the_same_words(
    case: BadFile, tmp_path: Path
) -> None:
    path, pos_label = written(tmp_path, case.content), case.options.get("pos_label")
    named: dict[str, Any] = {name: value for name, value in case.options.items() if name != "pos_label"}
    used = Columns(**named)

    with pytest.raises(DataError) as of_rows:
        read_dataset(path, used).samples(pos_label)
    with pytest.raises(DataError) as of_stream:
        read_dataset(path, used, grid=WIDE).samples(pos_label)
    assert str(of_stream.value) == str(of_rows.value)
    assert leaks(everything_about(of_stream.value), [PLANTED_DIGITS]) == []


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("form", ["CSV", "Parquet"])
def test_a_score_outside_of_the_grid_is_refused_with_its_place(form: str, tmp_path: Path) -> None:
    path = FILES[form]({"score": [0.5] * 6 + [1.2, 0.5], "label": [0, 1] * 4}, tmp_path)
    with pytest.raises(DataError) as caught:
        tabulate(path, GRID)
    assert (caught.value.row, caught.value.column) == (8 if form == "CSV" else 7, "score")
    assert "outside of the study's grid, from 0 to 1" in str(caught.value)
    assert "1.2" not in str(caught.value)


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(
    ("scores", "labels", "row", "says"),
    [
        ([0.5] * 4 + [None, 0.5], [0, 1] * 3, 5, "the score is missing"),
        ([0.5] * 4 + [float("inf"), 0.5], [0, 1] * 3, 5, "the score is infinite"),
        ([0.5] * 6, [0, 1, 0, 1, 0, None], 6, "the label is missing"),
        ([0.5] * 6, [0, 1, 0, 1, 2, 0], 5, "the label is neither 0 nor 1"),
    ],
)
def test_the_row_is_that_of_the_source_in_every_chunk(
    scores: list[Any], labels: list[Any], row: int, says: str
) -> None:
    cursor = IN_MEMORY["cursor"]({"score": scores, "label": labels})
    with pytest.raises(DataError, match=says) as caught:
        tabulate(cursor, GRID)
    assert caught.value.row == row


@pytest.mark.usefixtures("streams")
def test_a_number_that_does_not_fit_is_named_in_every_chunk() -> None:
    with pytest.raises(DataError, match="does not fit a float64 exactly") as caught:
        tabulate({"score": np.array([1, 2, 3, 4, 2**53 + 1]), "label": [0, 1, 0, 1, 1]}, WIDE)
    assert caught.value.row == 5


@pytest.mark.usefixtures("streams")
def test_ids_are_compared_while_rows_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppaurora.data.dataset.ROWS_KEPT", 6)
    ids = ["a", "b", "a", "c", "d", "e", "a", "a"]
    path = FILES["CSV"]({"id": ids, **COLUMNS}, tmp_path)
    read = read_dataset(path, Columns(score="risk", label="died", id="id"), grid=GRID)
    assert isinstance(read, CountedDataset)
    about = read.description
    assert (about.rows, about.duplicates, about.first_duplicate, about.ids_compared) == (8, 1, 4, 6)
    whole = read_dataset(path, Columns(score="risk", label="died", id="id")).description
    assert (whole.duplicates, whole.first_duplicate, whole.ids_compared) == (3, 4, 8)


@pytest.mark.usefixtures("streams")
def test_a_column_of_many_labels_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(DataError) as caught:
        tabulate({"score": [0.5] * 40, "label": list(range(40))}, GRID)
    assert (caught.value.row, caught.value.column) == (17, "label")
    assert "there are more than 16 different labels" in str(caught.value)


@pytest.mark.usefixtures("streams")
def test_scores_that_are_moved_are_counted() -> None:
    data = {"score": [0.25, 0.2501, 0.1 + 0.2, np.float32(0.7), 0.5], "label": [0, 1, 0, 1, 1]}
    read = read_dataset(data, Columns(), grid=GRID)
    assert isinstance(read, CountedDataset)
    assert read.moved == 2  # 0.2501, and 0.7 as a float32
    assert "2501" not in repr(read)


MEASURE = """
import pathlib, sys
import numpy as np, pyarrow as pa
from ppaurora.data import Grid, tabulate

rows, chunk = int(sys.argv[1]), 1 << 18
generator = np.random.default_rng(7)
scores = generator.random(chunk)
labels = (generator.random(chunk) < scores).astype(np.int8)
batch = pa.record_batch({"score": scores, "label": labels})
batches = (batch.slice(0, min(chunk, rows - start)) for start in range(0, rows, chunk))
table = tabulate(pa.RecordBatchReader.from_batches(batch.schema, batches), Grid(decimals=int(sys.argv[2])))
status = pathlib.Path("/proc/self/status").read_text()
print(len(table), int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is not told here")


def megabytes(rows: int, decimals: int) -> int:
    """Return the most memory that a process takes which counts so many rows."""
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, str(rows), str(decimals)], capture_output=True, text=True, check=True
    )
    counted, memory = map(int, told.stdout.split())
    assert counted == rows
    return memory


@linux_only
def test_an_owner_counts_twenty_million_rows_in_little_memory() -> None:
    assert megabytes(20_000_000, 4) < 300


@pytest.mark.long
@linux_only
def test_an_owner_counts_hundreds_of_millions_of_rows_in_little_memory() -> None:
    assert megabytes(200_000_000, 6) < 300
