"""Files that are too large, without end, or none: answered quickly, and with little memory."""

from __future__ import annotations

import gzip
import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ppaurora.data import read_table
from ppaurora.errors import InputError
from tests.support.formats import FILES

COLUMNS: dict[str, list[Any]] = {"score": [0.5, 0.25], "label": [1, 0]}


PROCESS_IO = Path("/proc/self/io")


def bytes_read() -> int:
    """Return how much this process has read so far, from anywhere."""
    return int(PROCESS_IO.read_text().split()[1])


@pytest.mark.skipif(not PROCESS_IO.exists(), reason="this system does not tell what was read")
def test_ten_gigabytes_are_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    path.write_bytes(b"score,label\n0.5,1\n")
    os.truncate(path, 10 << 30)
    before = bytes_read()
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == (
        f"{path}: is larger than 4 GiB (keep only the columns of scores and labels, or save it as Parquet)"
    )
    assert bytes_read() - before < 1 << 26  # modules may be loaded


def test_what_unpacks_to_too_much_is_refused_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.data.reading.MOST_BYTES", 1000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"score,label\n" + b"0.5,1\n" * 200))
    with pytest.raises(InputError, match=r"is larger than 4 GiB \(keep only the columns"):
        read_table(path)


def test_a_line_without_end_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "line.csv"
    path.write_bytes(b"score,label\n" + b"1" * (1 << 25))
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == (
        f"{path}, row 2: the row is too long (look for ends of lines: there are none for long)"
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_device_without_end_is_not_taken_into_memory() -> None:
    with pytest.raises(InputError, match=r"^/dev/zero, row 1: is not UTF-8 text"):
        read_table(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("form", "says"),
    [("CSV", None), ("gzip", None), ("Parquet", "cannot be read from a pipe (give the file itself)")],
)
def test_a_pipe(form: str, says: str | None, tmp_path: Path) -> None:
    content = FILES[form](COLUMNS, tmp_path).read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    if says is None:
        assert read_table(pipe).scores.tolist() == COLUMNS["score"]
    else:
        with pytest.raises(InputError) as caught:
            read_table(pipe)
        assert str(caught.value) == f"{pipe}: {says}"
    writer.join(10)


def test_a_large_table_is_read_in_little_memory(tmp_path: Path) -> None:
    """Some forty bytes a row, of which the reader keeps 24; all rows as texts would be ten times that."""
    rows = 50_000
    path = tmp_path / "large.csv"
    path.write_text("patient,score,label\n" + "".join(f"p{n},{n / rows!r},{n % 2}\n" for n in range(rows)))
    tracemalloc.start()
    try:
        samples = read_table(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(samples) == rows
    assert peak < 80 * rows
