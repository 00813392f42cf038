"""Files of the wrong kind, and values that are none."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zipfile

import numpy as np

from tests.cli.bad_inputs.row import GOOD, Place, Row, data, file
from tests.support.workbooks import workbook


def zipped(name: str, content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, content)
    return made.getvalue()


def saved(**arrays: object) -> bytes:
    made = io.BytesIO()
    np.savez(made, **arrays)  # type: ignore[arg-type]
    return made.getvalue()


def one_array() -> bytes:
    made = io.BytesIO()
    np.save(made, np.array([0.5, 0.25]))
    return made.getvalue()


def ten_gigabytes(place: Place) -> None:
    """Of which the disk holds only the header."""
    path = place.folder / "data.csv"
    path.write_bytes(GOOD)
    os.truncate(path, 10 << 30)


def without_pyarrow(place: Place) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        place.patch.setitem(sys.modules, name, None)


WRONG_KINDS = [
    Row(
        "an Excel workbook that is damaged",
        (file("data.xlsx", zipped("xl/workbook.xml", b"")),),
        "check data.xlsx",
        "ppaurora: data.xlsx: looks like an Excel workbook, but is damaged or not whole (open it in Excel "
        "and save it again, or save the sheet as CSV in UTF-8)",
    ),
    Row(
        "a workbook of several sheets",
        (file("data.xlsx", workbook({"A": [("score", "label")], "B": [("score", "label")]})),),
        "check data.xlsx",
        "ppaurora: data.xlsx: has several sheets: 'A', 'B' (write --sheet A, in Python sheet='A', or another "
        "of them)",
    ),
    Row(
        "an encoding that is none",
        (file("data.csv", "score,label\n0.5,1\n"),),
        "check data.csv --encoding klingon",
        "ppaurora: encoding: is none that is known; usual ones are cp1252 (Western Europe), cp1250 (Central "
        "Europe), cp1251 (Cyrillic), cp1253 (Greek), cp1254 (Turkish), cp1257 (Baltic)",
    ),
    Row(
        "an old workbook",
        (file("data.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"),),
        "check data.xls",
        "ppaurora: data.xls: is an Excel workbook of an old format (.xls) (save it as an Excel workbook "
        "(.xlsx), or as CSV in UTF-8)",
    ),
    Row(
        "a PDF",
        (file("data.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"),),
        "check data.pdf",
        "ppaurora: data.pdf: is a PDF, not a table (export the table as CSV in UTF-8)",
    ),
    Row(
        "a picture",
        (file("data.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),),
        "check data.png",
        "ppaurora: data.png: is a picture, not a table (export the table as CSV in UTF-8)",
    ),
    Row(
        "a web page",
        (file("data.csv", "<!DOCTYPE html>\n<html><body>Log in</body></html>\n"),),
        "check data.csv",
        "ppaurora: data.csv: is a web page, not a table (export the table as CSV in UTF-8)",
    ),
    Row(
        "a zip archive",
        (file("data.zip", zipped("data.csv", GOOD)),),
        "check data.zip",
        "ppaurora: data.zip: is a zip archive, not a table (unpack it, or pack the table with gzip)",
    ),
    Row(
        "half a zip archive",
        (file("data.zip", zipped("data.csv", GOOD)[:90]),),
        "check data.zip",
        "ppaurora: data.zip: looks like a zip archive, but is damaged or not whole (copy it again)",
    ),
    Row(
        "half a gzip",
        (file("data.csv.gz", gzip.compress(GOOD)[:-9]),),
        "check data.csv.gz",
        "ppaurora: data.csv.gz: is compressed by gzip, and damaged or not whole (copy or pack it again)",
    ),
    Row(
        "half a Parquet",
        (file("data.parquet", b"PAR1" + bytes(40)),),
        "check data.parquet",
        "ppaurora: data.parquet: looks like Parquet, but is damaged or not whole (copy or write it again)",
    ),
    Row(
        "Parquet without pyarrow",
        (file("data.parquet", b"PAR1" + bytes(40)), without_pyarrow),
        "check data.parquet",
        "ppaurora: data.parquet: a Parquet file needs one more package; install it with: pip "
        "install 'ppaurora[arrow]'",
    ),
    Row(
        "one NumPy array",
        (file("data.npy", one_array()),),
        "check data.npy",
        "ppaurora: data.npy: is one NumPy array, and has no columns (save both with their names: "
        'numpy.savez("data.npz", score=scores, label=labels))',
    ),
    Row(
        "Python objects",
        (file("data.npz", saved(score=np.array([0.5, None]), label=[1, 0])),),
        "check data.npz",
        "ppaurora: data.npz: has an array that cannot be read: it holds Python objects, or is "
        'damaged (save numbers or texts, as in numpy.savez("data.npz", score=scores, label=labels))',
    ),
    Row(
        "a folder",
        (file("data/a.csv", GOOD),),
        "check data",
        "Usage: ppaurora check [OPTIONS] DATA\n"
        "Try 'ppaurora check --help' for help.\n"
        "\n"
        "Error: Invalid value for 'DATA': File 'data' is a directory.",
    ),
    Row(
        "no such file", (), "check data.csv", "ppaurora: data.csv: cannot be read: No such file or directory"
    ),
    Row(
        "10 GB",
        (ten_gigabytes,),
        "check data.csv",
        "ppaurora: data.csv: is larger than 4 GiB (keep only the columns of scores and labels, or "
        "save it as Parquet)",
    ),
    Row(
        "an empty file",
        (file("data.csv", b""),),
        "check data.csv",
        "ppaurora: data.csv: is empty (the first row must name the columns)",
    ),
    Row(
        "a header only",
        (file("data.csv", b"score,label\n"),),
        "check data.csv",
        "ppaurora: data.csv: has a header but no samples (is it the right file? Without samples, leave "
        "it out)",
    ),
    Row(
        "no header",
        (file("data.csv", b"0.5,1\n0.25,0\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 1, column 'score': there is no such column (the first row must "
        "name the columns; this one holds values)",
    ),
    Row(
        "UTF-32",
        (file("data.csv", GOOD.decode().encode("utf-32")),),
        "check data.csv",
        "ppaurora: data.csv, row 1: is not UTF-8 text (save the table as CSV in UTF-8)",
    ),
    Row(
        "Latin-1",
        (file("data.csv", "score,label\n0.5,sí\n".encode("latin-1")),),
        "check data.csv",
        "ppaurora: data.csv, row 2, column 'label': the text is not UTF-8, and reads differently in "
        "different code pages (save it as CSV in UTF-8, or name its code page, in Western Europe --encoding "
        "cp1252, in "
        "Python encoding='cp1252'; Central Europe cp1250, Cyrillic cp1251, Greek cp1253, Turkish cp1254, "
        "Baltic cp1257)",
    ),
]

WRONG_VALUES = [
    Row(
        "three label values",
        (file("data.csv", "score,label\n0.5,1\n0.2,0\n0.3,2\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 4, column 'label': the label is neither 0 nor 1 (use 0/1 or "
        "true/false, or name the positive label with --pos-label, in Python pos_label)",
    ),
    Row(
        "three label values, one named",
        (file("data.csv", "score,label\n0.5,died\n0.2,alive\n0.3,lost\n"),),
        "check data.csv --pos-label died",
        "ppaurora: data.csv, row 4, column 'label': a second label that is not the positive one "
        "(check the spelling of labels and positive label, or map the labels to two)",
    ),
    Row(
        "words as labels",
        (file("data.csv", "score,label\n0.5,died\n0.2,alive\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 2, column 'label': the label is neither 0 nor 1 (use 0/1 or "
        "true/false, or name the positive label with --pos-label, in Python pos_label)",
    ),
    Row(
        "a positive label that is not there",
        (file("data.csv", "score,label\n0.5,died\n0.2,alive\n"),),
        "check data.csv --pos-label dead",
        "ppaurora: data.csv, row 3, column 'label': a second label that is not the positive one "
        "(check the spelling of labels and positive label, or map the labels to two)",
    ),
    Row(
        "scores as text",
        (file("data.csv", "score,label\nhigh,1\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 2, column 'score': the score is not a number (write digits and a "
        "decimal point, as in 0.25)",
    ),
    Row(
        "percentages",
        (file("data.csv", "score,label\n50%,1\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 2, column 'score': the score has a percent sign (if 12.5% means "
        "0.125, add --percent, in Python percent=True; else remove the signs)",
    ),
    Row(
        "decimal commas between commas",
        (file("data.csv", 'score,label\n"0,5",1\n'),),
        "check data.csv",
        "ppaurora: data.csv, row 2, column 'score': the score is not a number (write a point, not a comma)",
    ),
    Row(
        "two decimal signs",
        (file("data.csv", "score;label\n0.5;1\n0,25;0\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 3, column 'score': some scores have a decimal point, and others a "
        "comma (write a point, not a comma, in all of them)",
    ),
    Row(
        "NaN",
        (file("data.csv", "score,label\n0.5,1\nnan,0\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 3, column 'score': the score is missing (NaN) (correct it at "
        "the source, or leave the row out: evaluate, check and submit do so, and count it, with "
        "--leave-out-missing, in Python leave_out_missing=True; never make up a value)",
    ),
    Row(
        "infinity",
        (file("data.csv", "score,label\n0.5,1\ninf,0\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 3, column 'score': the score is infinite (every score must be a "
        "finite number: correct it where it is computed, or leave the row out)",
    ),
    Row(
        "a missing score",
        (file("data.csv", "score,label\n0.5,1\n,0\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 3, column 'score': the score is missing (correct it at the "
        "source, or leave the row out: evaluate, check and submit do so, and count it, with "
        "--leave-out-missing, in Python leave_out_missing=True; never make up a value)",
    ),
    Row(
        "a missing label",
        (file("data.csv", "score,label\n0.5,1\n0.5,NA\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 3, column 'label': the label is missing (correct it at the "
        "source, or leave the row out: evaluate, check and submit do so, and count it, with "
        "--leave-out-missing, in Python leave_out_missing=True; never make up a value)",
    ),
    Row(
        "a ragged row",
        (file("data.csv", "score,label\n0.5,1\n0,5,1\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 3: values in the row: 3, columns in the header: 2 (look for a "
        "decimal comma, a delimiter inside a value, or a value left out)",
    ),
    Row(
        "a quotation mark left open",
        (file("data.csv", 'score,label\n"0.5,1\n0.5,1\n'),),
        "check data.csv",
        "ppaurora: data.csv, row 2: cannot be taken apart into values: unexpected end of data "
        "(look for a quotation mark too many or too few)",
    ),
    Row(
        "two columns of a name",
        (file("data.csv", "score,label,score\n0.5,1,1\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 1, column 'score': there are 2 columns of that name (rename all but one)",
    ),
    Row(
        "a column that is nearly there",
        (file("data.csv", "risk_score,label\n0.5,1\n"),),
        "check data.csv --score riskscore",
        "ppaurora: data.csv, row 1, column 'riskscore': there is no such column (the file has: "
        "risk_score, label; did you mean --score risk_score, in Python score='risk_score'?)",
    ),
    Row(
        "a column that is not there",
        (file("data.csv", "p,label\n0.5,1\n"),),
        "check data.csv",
        "ppaurora: data.csv, row 1, column 'score': there is no such column (the file has: p, "
        "label; write --score COLUMN, in Python score='COLUMN')",
    ),
    Row(
        "one column for both",
        (data,),
        "check data.csv --label score",
        "ppaurora: score and label cannot both be column 'score'; name a column for each",
    ),
    Row(
        "no column of ids",
        (data,),
        "check data.csv --id patient",
        "ppaurora: data.csv, row 1, column 'patient': there is no such column (the file has: "
        "score, label; write --id COLUMN, in Python id='COLUMN')",
    ),
    Row(
        "a study without a kit",
        (data,),
        "check data.csv --study trial",
        "ppaurora: --study names one of a kit's studies: also give the kit, with --kit",
    ),
]

ROWS = [*WRONG_KINDS, *WRONG_VALUES]
