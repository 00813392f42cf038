"""Reading a table: as programs write it, and refused with its place where it is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ppaurora.data import read_table
from ppaurora.errors import DataError, InputError
from ppaurora.protocols import Fast, Paper, Protocol
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import GOOD_FILE, ONLY_PAPER, PLANTED_DIGITS, BadFile, by_protocol
from tests.support.owners import LABELS, SCORES, written
from tests.support.secrecy import everything_about, leaks


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_FILES))
def test_a_bad_file_is_refused_and_the_place_is_named(
    case: BadFile, protocol: Protocol, tmp_path: Path
) -> None:
    path = written(tmp_path, case.content)
    with pytest.raises(DataError) as caught:
        protocol.share(read_table(path, **case.options), ())
    error = caught.value
    assert (error.source, error.row, error.column) == (str(path), case.row, case.column)
    assert case.says in str(error)
    assert error.hint, "the message does not say what to do"
    where = [str(path)]
    where += [f"row {case.row}"] if case.row is not None else []
    where += [f"column '{case.column}'"] if case.column is not None else []
    assert str(error).startswith(", ".join(where) + ": ")
    assert leaks(everything_about(error), [PLANTED_DIGITS]) == []


GOOD_FILES = {
    "commas": b"score,label\n0.25,0\n0.75,1\n0.5,1\n",
    "semicolons": b"score;label\n0.25;0\n0.75;1\n0.5;1\n",
    "tabs": b"score\tlabel\n0.25\t0\n0.75\t1\n0.5\t1\n",
    "bars": b"score|label\n0.25|0\n0.75|1\n0.5|1\n",
    "byte order mark": b"\xef\xbb\xbfscore,label\n0.25,0\n0.75,1\n0.5,1\n",
    "mark before a quoted name": b'\xef\xbb\xbf"score","label"\r\n0.25,0\r\n0.75,1\r\n0.5,1\r\n',
    "CRLF": b"score,label\r\n0.25,0\r\n0.75,1\r\n0.5,1\r\n",
    "CR alone": b"score,label\r0.25,0\r0.75,1\r0.5,1\r",
    "no last end of line": b"score,label\n0.25,0\n0.75,1\n0.5,1",
    "blank lines": b"\n  \nscore,label\n\n0.25,0\n\n\t\n0.75,1\n0.5,1\n\n\n",
    "spaces": b" score , label \n 0.25 , 0 \n0.75,1\n 0.5, 1\n",
    "spaces that are not ASCII": "score;label\n\u00a00,25;0\u00a0\n0,75\u2009;1\n0,5;1\n".encode(),
    "everything quoted": b'"score","label"\n"0.25","0"\n"0.75","1"\n"0.5","1"\n',
    "ways to write a number": b"score,label\n+.25,0\n7.5E-1,1\n00.5000,1\n",
    "ways to write a label": b"score,label\n0.25,False\n0.75,TRUE\n0.5,1.0\n",
    "truth in any case": b"score,label\n0.25,fAlSe\n0.75,tRuE\n0.5,true\n",
    "other columns": b"label,name,score,score2\n0,a,0.25,9\n1,b,0.75,x\n1,c,0.5,\n",
    "nameless index column": b",score,label\n0,0.25,0\n1,0.75,1\n2,0.5,1\n",
    "quotes with delimiters and line breaks": (
        b'score,note,label\n0.25,"a, b",0\n0.75,"first\nsecond, ""so"" he said",1\n0.5,5" tall,1\n'
    ),
    "commas in a header between semicolons": b'"a, b, c";score;label\n-;0.25;0\n-;0.75;1\n-;0.5;1\n',
    "UTF-16, as Excel's Unicode text": "score\tlabel\r\n0.25\t0\r\n0.75\t1\r\n0.5\t1\r\n".encode("utf-16"),
    "UTF-16 of the other byte order": b"\xfe\xff"
    + "score,label\n0.25,0\n0.75,1\n0.5,1\n".encode("utf-16-be"),
    "gzip": gzip.compress(b"score,label\n0.25,0\n0.75,1\n0.5,1\n"),
    "gzip in two parts": gzip.compress(b"score,label\n0.25,0\n0.") + gzip.compress(b"75,1\n0.5,1\n"),
    "UTF-16 in gzip": gzip.compress("score,label\n0.25,0\n0.75,1\n0.5,1\n".encode("utf-16")),
    "decimal commas": b"score;label\n0,25;0\n,75;1\n5,0E-1;1\n",
    "decimal commas between tabs": b"score\tlabel\n0,25\t0\n0,75\t1\n0,5\t1\n",
    "decimal commas in labels too": b"score;label\n0,25;0,0\n0,75;1,0\n0,5;1,0\n",
    "whole numbers beside decimal commas": b"score;label;x\n25e-2;0;1.5\n0,75;1;2\n5e-1;1;1.2.3\n",
    "Excel's line": b"sep=;\r\nscore;label\r\n0,25;0\r\n0,75;1\r\n0,5;1\r\n",
    "Excel's line, quoted, after a mark": b'\xef\xbb\xbf"sep=,"\nscore,label\n0.25,0\n0.75,1\n0.5,1\n',
    "Excel's line and a delimiter of its own": b"SEP=^\nscore^label\n0.25^0\n0.75^1\n0.5^1\n",
    "Excel's line with a tab": b"sep=\t\nscore\tlabel\n0.25\t0\n0.75\t1\n0.5\t1\n",
    "a column of that name": b"sep=,score,label\n,0.25,0\n,0.75,1\n,0.5,1\n",
    "beyond ASCII": "Straße,score,label\nä,0.25,0\nß,0.75,1\n\u2028,0.5,1\n".encode(),
}


@pytest.mark.parametrize("content", GOOD_FILES.values(), ids=GOOD_FILES.keys())
def test_tables_as_programs_write_them(content: bytes, tmp_path: Path) -> None:
    samples = read_table(written(tmp_path, content))
    assert samples.scores.tolist() == SCORES
    assert samples.scores.dtype == np.float64
    assert samples.labels.tolist() == LABELS
    assert len(samples) == 3


def test_rows_are_the_lines_of_the_file_also_for_what_is_found_later(tmp_path: Path) -> None:
    content = b'score,label,note\n0.25,0,"a\nb\n"\n\n0.5,1,c\n1.5,1,d\n'
    samples = read_table(written(tmp_path, content))
    assert [samples.row_of(index) for index in range(3)] == [2, 6, 7]
    with pytest.raises(DataError, match=r"row 7, column 'score': the score is outside \[0, 1\]"):
        Paper().prepare(samples)


def test_the_row_of_a_score_that_is_not_a_float32(tmp_path: Path) -> None:
    samples = read_table(written(tmp_path, b"\nrisk,label\n0.5,0\n\n0.1,1\n0.2,1\n"), score="risk")
    with pytest.raises(DataError) as caught:
        Fast(key_bits=32).prepare(samples)
    assert (caught.value.row, caught.value.column) == (5, "risk")
    assert Fast(key_bits=64).prepare(samples).labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "case", [case for case in BAD_FILES if case.protocols == ONLY_PAPER], ids=lambda case: case.name
)
def test_fast_takes_any_finite_score_of_a_file(case: BadFile, tmp_path: Path) -> None:
    samples = read_table(written(tmp_path, case.content), **case.options)
    assert len(Fast(key_bits=64).prepare(samples).keys) == len(samples) == 3


def test_columns_by_any_name(tmp_path: Path) -> None:
    path = written(tmp_path, b"risk (%),dead,score\n0.5,yes,x\n0.25,no,y\n")
    samples = read_table(path, score="risk (%)", label="dead", pos_label="yes")
    assert samples.scores.tolist() == [0.5, 0.25]
    assert samples.labels.tolist() == [1, 0]


def test_score_and_label_must_be_two_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot both be column 'label'; name a column for each"):
        read_table(written(tmp_path, GOOD_FILE), score="label")


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_table(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read: No such file or directory"):
        read_table(tmp_path / "nowhere.csv")


def test_a_long_header_is_cut_short(tmp_path: Path) -> None:
    header = ",".join(f"gene{number}" for number in range(5000))
    with pytest.raises(DataError) as caught:
        read_table(written(tmp_path, f"{header}\n".encode()))
    assert "the file has: gene0, gene1, " in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


def test_decimals_become_the_nearest_float64(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    scores = [*rng.random(50).tolist(), 5e-324, 1 - 2**-53, 0.1, 1e-300]
    lines = "".join(f"{score!r},1\n" for score in scores)
    samples = read_table(written(tmp_path, f"score,label\n{lines}".encode()))
    assert samples.scores.tolist() == scores
