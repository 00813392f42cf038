"""What each mistake in data is answered with, word by word: what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
import io
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ppaurora.data import read_data
from ppaurora.errors import InputError
from tests.support.bad_input import GOOD_FILE
from tests.support.formats import FILES

COLUMNS: dict[str, list[Any]] = {"score": [0.5, 0.25], "label": [1, 0]}


def bytes_of(form: str, folder: Path) -> bytes:
    return FILES[form](COLUMNS, folder).read_bytes()


def zipped(name: str, content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, content)
    return made.getvalue()


def saved(**arrays: Any) -> bytes:
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def one_array() -> bytes:
    made = io.BytesIO()
    np.save(made, np.array([0.5, 0.25]))
    return made.getvalue()


COPY = "copy or write it again"
SAVEZ = 'numpy.savez("data.npz", score=scores, label=labels)'
MISSING = (
    "correct it at the source, or leave the row out: evaluate, check and submit do so, and count it, with "
    "--leave-out-missing, in Python leave_out_missing=True; never make up a value"
)
# What the file holds, options, and the message after the file's name.
FILE_MESSAGES: dict[str, tuple[bytes | Callable[[Path], bytes], dict[str, Any], str]] = {
    "a wrong name": (
        b"risk,dead\n0.5,1\n",
        {"score": "riks", "label": "dead"},
        ", row 1, column 'riks': there is no such column (the file has: risk, dead; did you mean "
        "--score risk, in Python score='risk'?)",
    ),
    "a wrong name for labels": (
        b"score,Outcome\n0.5,1\n",
        {"label": "outcome"},
        ", row 1, column 'outcome': there is no such column (the file has: score, Outcome; did you mean "
        "--label Outcome, in Python label='Outcome'?)",
    ),
    "a name with a space": (
        b"risk score;label\n0.5;1\n",
        {"score": "risk-score"},
        ", row 1, column 'risk-score': there is no such column (the file has: risk score, label; did you "
        "mean --score 'risk score', in Python score='risk score'?)",
    ),
    "no name is near": (
        b"p,label\n0.5,1\n",
        {},
        ", row 1, column 'score': there is no such column (the file has: p, label; write "
        "--score COLUMN, in Python score='COLUMN')",
    ),
    "a wrong name for ids": (
        GOOD_FILE,
        {"id": "patients"},
        ", row 1, column 'patients': there is no such column (the file has: patient, score, label; did you "
        "mean --id patient, in Python id='patient'?)",
    ),
    "both decimal signs": (
        b"score;label\n0.5;1\n0,25;0\n",
        {},
        ", row 3, column 'score': some scores have a decimal point, and others a comma (write a point, not a "
        "comma, in all of them)",
    ),
    "both decimal signs, the comma first": (
        b"score;label\n0,5;1\n0.25;0\n",
        {},
        ", row 3, column 'score': some scores have a decimal point, and others a comma (write a point, not a "
        "comma, in all of them)",
    ),
    "thousands": (
        b"score;label\n1.234,5;1\n",
        {},
        ", row 2, column 'score': the score is not a number (write digits and one decimal comma)",
    ),
    "decimal commas between commas": (
        b'score,label\n"0,5",1\n',
        {},
        ", row 2, column 'score': the score is not a number (write a point, not a comma)",
    ),
    "scores as text": (
        b"score,label\nhigh,1\n",
        {},
        ", row 2, column 'score': the score is not a number (write digits and a decimal point, as in 0.25)",
    ),
    "three labels": (
        b"score,label\n0.5,died\n0.5,alive\n0.5,lost\n",
        {"pos_label": "died"},
        ", row 4, column 'label': a second label that is not the positive one (check the spelling of labels "
        "and positive label, or map the labels to two)",
    ),
    "three labels, the positive one not named": (
        b"score,label\n0.5,1\n0.5,0\n0.5,2\n",
        {},
        ", row 4, column 'label': the label is neither 0 nor 1 (use 0/1 or true/false, or name the positive "
        "label with --pos-label, in Python pos_label)",
    ),
    "half a gzip": (
        gzip.compress(GOOD_FILE)[:-9],
        {},
        ": is compressed by gzip, and damaged or not whole (copy or pack it again)",
    ),
    "a damaged gzip": (
        b"\x1f\x8b\x08\0\0\0\0\0\0\0damaged",
        {},
        ": is compressed by gzip, and damaged or not whole (copy or pack it again)",
    ),
    "a gzip of another sum": (
        gzip.compress(GOOD_FILE)[:-8] + b"\0" * 8,
        {},
        ": is compressed by gzip, and damaged or not whole (copy or pack it again)",
    ),
    "only the mark of gzip": (
        b"\x1f\x8b",
        {},
        ": is compressed by gzip, and damaged or not whole (copy or pack it again)",
    ),
    "an empty gzip": (gzip.compress(b""), {}, ": is empty (the first row must name the columns)"),
    "a gzip of no text": (
        gzip.compress(b"score,label\n\xff\x01\n"),
        {},
        ", row 2: is not UTF-8 text (save the table as CSV in UTF-8)",
    ),
    "a row in gzip": (
        gzip.compress(b"score,label\n0.5,1\n,0\n"),
        {},
        f", row 3, column 'score': the score is missing ({MISSING})",
    ),
    "a row in UTF-16": (
        "score,label\n\n0.5,1\n0.5,\n".encode("utf-16"),
        {},
        f", row 4, column 'label': the label is missing ({MISSING})",
    ),
    "a row below Excel's line": (
        b"sep=;\nscore;label\n0,5;1\n0,5;NA\n",
        {},
        f", row 4, column 'label': the label is missing ({MISSING})",
    ),
    "Excel's line alone": (b"sep=;\r\n", {}, ": is empty (the first row must name the columns)"),
    "Windows' encoding": (
        "score,label\n0.5,nö\n".encode("cp1252"),
        {},
        ", row 2, column 'label': the text is not UTF-8, and reads differently in different code pages (save "
        "it as CSV in UTF-8, or name its code page, in Western Europe --encoding cp1252, in Python "
        "encoding='cp1252'; Central Europe cp1250, Cyrillic cp1251, Greek cp1253, Turkish cp1254, Baltic "
        "cp1257)",
    ),
    "a picture": (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        {},
        ": is a picture, not a table (export the table as CSV in UTF-8)",
    ),
    "half a Parquet": (
        lambda folder: bytes_of("Parquet", folder)[:-20],
        {},
        f": looks like Parquet, but is damaged or not whole ({COPY})",
    ),
    "Parquet with damaged pages": (
        lambda folder: b"PAR1" + b"\xff" * 60 + bytes_of("Parquet", folder)[64:],
        {},
        f": looks like Parquet, but is damaged or not whole ({COPY})",
    ),
    "half a Feather": (
        lambda folder: bytes_of("Feather", folder)[:-20],
        {},
        f": looks like an Arrow file, but is damaged or not whole ({COPY})",
    ),
    "half an Arrow stream": (
        lambda folder: bytes_of("Arrow stream", folder)[:-80],
        {},
        f": looks like an Arrow stream, but is damaged or not whole ({COPY})",
    ),
    "nothing like Arrow": (
        b"\xff\xff\xff\xff\x7f\xff\xff\xff",
        {},
        f": looks like an Arrow stream, but is damaged or not whole ({COPY})",
    ),
    "a wrong name in Parquet": (
        lambda folder: bytes_of("Parquet", folder),
        {"score": "scores"},
        ", column 'scores': there is no such column (the file has: score, label; did you mean "
        "--score score, in Python score='score'?)",
    ),
    "half an archive": (
        saved(score=[0.5], label=[1])[:-30],
        {},
        ": looks like a zip archive, but is damaged or not whole (copy it again)",
    ),
    "arrays without names": (
        saved(score=[0.5, 0.25], y=[1, 0]),
        {},
        ", column 'label': there is no such column (the file has: score, y; write --label COLUMN, in Python "
        "label='COLUMN')",
    ),
    "Python objects": (
        saved(score=np.array([0.5, None], object), label=[1, 0]),
        {},
        ": has an array that cannot be read: it holds Python objects, or is damaged (save numbers or texts, "
        f"as in {SAVEZ})",
    ),
    "arrays of other lengths": (
        saved(score=[0.5, 0.25], label=[1]),
        {},
        ": label has 1 values, score has 2",
    ),
    "probabilities of both classes": (
        saved(score=[[0.5, 0.5], [0.25, 0.75]], label=[1, 0]),
        {},
        ", column 'score': needs one value per sample, got an array of shape (2, 2) (of a classifier's "
        "probabilities take the column of the positive class)",
    ),
    "texts in an archive": (
        saved(score=["0.5", "0.25"], label=[1, 0]),
        {},
        ", column 'score': must be numbers, not texts (convert them to numbers before)",
    ),
    "one array": (
        one_array(),
        {},
        f": is one NumPy array, and has no columns (save both with their names: {SAVEZ})",
    ),
    "a zipped table": (
        zipped("data.csv", GOOD_FILE),
        {},
        ": is a zip archive, not a table (unpack it, or pack the table with gzip)",
    ),
    "a workbook": (
        zipped("xl/workbook.xml", b"<workbook/>"),
        {},
        ": looks like an Excel workbook, but is damaged or not whole (open it in Excel and save it again, or "
        "save the sheet as CSV in UTF-8)",
    ),
    "an old workbook": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        {},
        ": is an Excel workbook of an old format (.xls) (save it as an Excel workbook (.xlsx), or as CSV in "
        "UTF-8)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILE_MESSAGES)
def test_what_a_bad_file_is_answered_with(name: str, tmp_path: Path) -> None:
    content, options, says = FILE_MESSAGES[name]
    path = tmp_path / "data"
    path.write_bytes(content if isinstance(content, bytes) else content(tmp_path))
    pos_label = options.get("pos_label")
    with pytest.raises(InputError) as caught:
        read_data(path, **{key: value for key, value in options.items() if key != "pos_label"}).samples(
            pos_label
        )
    assert str(caught.value) == f"{path}{says}"
    assert caught.value.__cause__ is None


# What is given in memory, options, and the message.
MEMORY_MESSAGES: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "a wrong name in a frame": (
        lambda: pd.DataFrame(COLUMNS),
        {"score": "scores"},
        "north, column 'scores': there is no such column (the data has: score, label; did you mean "
        "score='score'?)",
    ),
    "no name is near": (
        lambda: pl.DataFrame({"p": [0.5], "y": [1]}),
        {},
        "north, column 'score': there is no such column (the data has: p, y; write score='COLUMN')",
    ),
    "an empty frame": (
        lambda: pd.DataFrame({"score": [], "label": []}),
        {},
        "north: has no samples (leave this owner out)",
    ),
    "an empty table": (
        lambda: pa.table({"score": pa.array([], pa.float64()), "label": pa.array([], pa.int8())}),
        {},
        "north: has no samples (leave this owner out)",
    ),
    "texts": (
        lambda: pd.DataFrame({"score": ["high", "low"], "label": [1, 0]}),
        {},
        "north, column 'score': must be numbers, not texts (convert them to numbers before)",
    ),
    "dates": (
        lambda: pd.DataFrame({"score": pd.to_datetime(["2020-01-01"]), "label": [1]}),
        {},
        "north, column 'score': must be numbers, not datetime64[us]",
    ),
    "a lazy frame": (
        lambda: pl.DataFrame(COLUMNS).lazy(),
        {},
        "north: the frame is lazy; give what it computes: frame.collect()",
    ),
    "a cursor before its query": (
        lambda: sqlite3.connect(":memory:").cursor(),
        {},
        "north: the cursor has no rows to give; execute a SELECT with it first",
    ),
    "columns of other lengths": (
        lambda: {"score": [0.5], "label": [1, 0]},
        {},
        "north: label has 2 values, score has 1",
    ),
    "one column for both": (
        lambda: COLUMNS,
        {"score": "label"},
        "score and label cannot both be column 'label'; name a column for each",
    ),
    "ids that are scores": (
        lambda: COLUMNS,
        {"id": "score"},
        "score and id cannot both be column 'score'; name a column for each",
    ),
    "ids of arrays": (
        lambda: ([1, 0], [0.5, 0.25]),
        {"id": "patient"},
        "north, column 'patient': there is no such column (the data has: y_true, y_score; write id='COLUMN')",
    ),
    "a number": (
        lambda: 5,
        {},
        "north: give two arrays, (y_true, y_score), a data frame, or a file",
    ),
    "a column alone": (
        lambda: pl.Series([0.5, 0.25, 0.75]),
        {},
        "north: give two arrays, (y_true, y_score), a data frame, or a file",
    ),
    "a name that is none": (lambda: COLUMNS, {"score": 3}, "score: give the name of a column, a text"),
}  # fmt: skip


@pytest.mark.parametrize("name", MEMORY_MESSAGES)
def test_what_bad_data_in_memory_is_answered_with(name: str) -> None:
    make, options, says = MEMORY_MESSAGES[name]
    with pytest.raises(InputError) as caught:
        read_data(make(), name="north", **options)
    assert str(caught.value) == says
