"""Workbooks as Excel and other programs write them: read like text, judged by their cells' names."""

from __future__ import annotations

import io
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ppaurora.data import Columns, read_columns, read_data, read_dataset
from ppaurora.data.reading import read_sheets
from ppaurora.errors import DataError, InputError
from tests.support.secrecy import everything_about, leaks
from tests.support.workbooks import (
    DateCell,
    ErrorCell,
    FormulaCell,
    members_of,
    sheet_xml,
    workbook,
    written,
    zipped,
)

HEADER = ("score", "label")
TABLE = (HEADER, (0.25, 0), (0.75, 1))


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_data(path, **options).samples()
    return str(caught.value).removeprefix(str(path))


def test_a_workbook_as_pandas_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "data.xlsx"
    frame = pd.DataFrame({"score": [0.25, 0.7, None], "label": [True, False, True], "note": ["ü", None, "b"]})
    frame.to_excel(path, index=False, sheet_name="Ward 3")
    data = read_data(path)
    assert data.description.kind == "Excel, sheet 'Ward 3'"
    assert data.description.label_values == {"TRUE": 2, "FALSE": 1}
    assert (data.description.rows, data.description.first_incomplete) == (3, 4)


def test_rows_are_numbered_as_excel_does(tmp_path: Path) -> None:
    path = written(tmp_path / "d.xlsx", (), HEADER, (0.25, 0), (), (None, None), (None, 1))
    assert refusal(path).startswith(", row 6, column 'score': the score is missing (")


def test_numbers_that_are_texts_are_read_as_text_files_are(tmp_path: Path) -> None:
    path = written(tmp_path / "d.xlsx", HEADER, ("0,25", "0"), (" 0,75 ", "1"))
    data = read_data(path)
    assert data.samples().scores.tolist() == [0.25, 0.75]
    assert data.description.kind == "Excel, sheet 'Data', decimal commas"
    mixed = written(tmp_path / "e.xlsx", HEADER, (0.25, 0), ("0,75", 1))
    assert refusal(mixed).startswith(", row 3, column 'score': some scores have a decimal point")


def test_results_of_formulas_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "d.xlsx", HEADER, (FormulaCell("1/4", 0.25), 0), (0.5, 1))
    assert read_data(path).samples().scores.tolist() == [0.25, 0.5]


BAD_CELLS = {
    "an error": (
        (HEADER, (0.25, 0), (ErrorCell("#DIV/0!"), 1)),
        ", row 3, column 'score': cell A3 has the error #DIV/0! (correct the formula, or leave the row out)",
    ),
    "no value, as an error": (
        (HEADER, (0.25, ErrorCell("#N/A"))),
        ", row 2, column 'label': cell B2 has the error #N/A (correct the formula, or leave the row out)",
    ),
    "a date": (
        (HEADER, (DateCell(45000), 0)),
        ", row 2, column 'score': cell A2 holds a date or a time (Excel makes dates of numbers such as 3.14: "
        "format the column as text, and enter it again)",
    ),
    "a formula that nobody computed": (
        (HEADER, (0.25, 0), (None, 1), (FormulaCell("A2*2"), 1)),
        ", row 4, column 'score': cell A4 has a formula without a result (open the workbook in Excel, and "
        "save it)",
    ),
    "a boolean as a score": (
        (HEADER, (True, 0)),
        ", row 2, column 'score': the score is not a number (write digits and a decimal point, as in 0.25)",
    ),
}


@pytest.mark.parametrize("name", BAD_CELLS)
def test_bad_cells_are_named_as_excel_does(name: str, tmp_path: Path) -> None:
    rows, says = BAD_CELLS[name]
    assert refusal(written(tmp_path / "d.xlsx", *rows)) == says


def test_errors_in_other_columns_do_not_matter(tmp_path: Path) -> None:
    rows = ((*HEADER, "note"), (0.25, 0, ErrorCell("#REF!")), (0.5, 1, DateCell(45000)))
    assert len(read_data(written(tmp_path / "d.xlsx", *rows)).samples()) == 2


def test_cells_far_to_the_right_are_named(tmp_path: Path) -> None:
    header = ["label", *(f"c{number}" for number in range(30)), "score"]
    row = [0, *range(30), ErrorCell("#NUM!")]
    assert "cell AF2 has the error" in refusal(written(tmp_path / "d.xlsx", header, row))


def test_merged_cells_are_no_missing_values(tmp_path: Path) -> None:
    """With missing rows left out, those of one person would vanish."""
    rows = (HEADER, (0.25, 0), (0.5, 1), (0.75, None))
    path = written(tmp_path / "d.xlsx", *rows, merged=["D1:E1", "B3:B4"])
    with pytest.raises(DataError, match=r"cell B4 is merged with others \(unmerge them, and fill in"):
        read_dataset(path, Columns(leave_out_missing=True))
    path = written(tmp_path / "e.xlsx", *rows, merged=["D1:E1"])
    assert len(read_dataset(path, Columns(leave_out_missing=True)).samples()) == 2


def test_formulas_and_gaps_are_told_apart_in_every_row(tmp_path: Path) -> None:
    gaps = [(None, None, number) for number in range(50)]
    rows = ((*HEADER, "n"), *gaps, (0.5, 1, 1), (None, FormulaCell("A1"), 1))
    path = written(tmp_path / "d.xlsx", *rows)
    with pytest.raises(DataError, match="cell B53 has a formula without a result"):
        read_dataset(path, Columns(leave_out_missing=True))


def test_several_sheets_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "d.xlsx"
    path.write_bytes(workbook({"Ward 1": TABLE, "Empty": [], "Ward 2": [HEADER, (0.5, 1)]}))
    hint = "write --sheet 'Ward 1', in Python sheet='Ward 1', or another of them"
    assert refusal(path) == f": has several sheets: 'Ward 1', 'Ward 2' ({hint})"
    assert len(read_data(path, sheet="Ward 2").samples()) == 1
    assert refusal(path, sheet="Ward 3") == (
        ": there is no sheet 'Ward 3' (the workbook has: 'Ward 1', 'Empty', 'Ward 2')"
    )
    assert refusal(path, sheet="Empty") == ": is empty (the first row must name the columns)"
    assert read_sheets(path) == ("Ward 1", "Ward 2")
    assert read_columns(path, sheet="Ward 2") == HEADER


def test_a_text_file_has_no_sheets(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("score,label\n0.5,1\n")
    assert read_sheets(path) == ()
    assert len(read_data(path, sheet="Data").samples()) == 1


def compound(stream: str) -> bytes:
    """Return the beginning of a compound file with one stream, as far as anybody looks at it."""
    header = bytearray(512)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    header[30:32] = (9).to_bytes(2, "little")
    header[48:52] = (2).to_bytes(4, "little")
    return bytes(header) + bytes(2 * 512) + stream.encode("utf-16-le").ljust(512, b"\0")


OTHERS = {
    "a password": (
        compound("EncryptedPackage"),
        ": is protected by a password (remove the password in Excel, or save the sheet as CSV in UTF-8)",
    ),
    "before 2007": (
        compound("Workbook"),
        ": is an Excel workbook of an old format (.xls) (save it as an Excel workbook (.xlsx), or as CSV in "
        "UTF-8)",
    ),
    "binary": (
        zipped({"xl/workbook.bin": b""}),
        ": is a binary Excel workbook (.xlsb) (save it as an Excel workbook (.xlsx), or as CSV in UTF-8)",
    ),
    "OpenDocument": (
        zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}),
        ": is an OpenDocument spreadsheet (.ods) (save it as an Excel workbook (.xlsx), or as CSV in UTF-8)",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_spreadsheets_are_refused_with_what_to_do(name: str, tmp_path: Path) -> None:
    content, says = OTHERS[name]
    (tmp_path / "data").write_bytes(content)
    assert refusal(tmp_path / "data") == says


AGAIN = "open it in Excel and save it again, or save the sheet as CSV in UTF-8"
DAMAGED = f": looks like an Excel workbook, but is damaged or not whole ({AGAIN})"
ENTITIES = "<!DOCTYPE worksheet [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>"


def test_entities_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    members = members_of({"Data": sheet_xml(TABLE, before=ENTITIES)})
    for encoding in ("utf-8", "utf-16"):
        changed: dict[str, str | bytes] = dict(members)
        sheet = "xl/worksheets/sheet1.xml"
        changed[sheet] = f"<!--{'x' * 9000}-->{members[sheet]}".encode(encoding)
        (tmp_path / "d.xlsx").write_bytes(zipped(changed))
        assert refusal(tmp_path / "d.xlsx") == DAMAGED
    (tmp_path / "d.xlsx").write_bytes(zipped(members_of({"Data": sheet_xml(TABLE)})))
    assert len(read_data(tmp_path / "d.xlsx").samples()) == 2


def test_texts_that_would_fill_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d.xlsx"
    path.write_bytes(zipped({**members_of({"Data": sheet_xml(TABLE)}), "xl/bomb.xml": " " * 100_000}))
    assert len(read_data(path).samples()) == 2
    monkeypatch.setattr("ppaurora.data.excel._MOST_BYTES_KEPT", 50_000)
    assert "of texts (keep only the columns of scores and labels" in refusal(path)
    monkeypatch.setattr("ppaurora.data.excel.MOST_BYTES", 90_000)
    assert refusal(path).startswith(": is larger than 4 GiB")


def test_an_archive_that_lies_about_its_sizes_is_refused(tmp_path: Path) -> None:
    content = workbook({"Data": [HEADER, *[(0.5, 1)] * 2000]})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    lie = content.replace(size.to_bytes(4, "little"), (900).to_bytes(4, "little"))
    (tmp_path / "d.xlsx").write_bytes(lie)
    assert refusal(tmp_path / "d.xlsx") == DAMAGED


def test_a_stray_cell_far_away_costs_no_memory(tmp_path: Path) -> None:
    far = sheet_xml(TABLE).replace(
        "</sheetData>", '<row r="9000"><c r="XFD9000"><v>1</v></c></row></sheetData>'
    )
    path = tmp_path / "d.xlsx"
    path.write_bytes(zipped(members_of({"Data": far})))
    read_data(path, sheet="Data").samples()
    tracemalloc.start()
    try:
        assert len(read_data(path).samples()) == 2
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_rows_beyond_those_of_a_sheet_are_refused(tmp_path: Path) -> None:
    far = sheet_xml(TABLE).replace("</sheetData>", '<row r="99000000"><c><v>1</v></c></row></sheetData>')
    (tmp_path / "d.xlsx").write_bytes(zipped(members_of({"Data": far})))
    assert refusal(tmp_path / "d.xlsx") == DAMAGED


def test_a_missing_reader_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "d.xlsx", *TABLE)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError) as caught:
        read_data(path, name="north")
    assert str(caught.value) == (
        "north: an Excel workbook needs one more package; install it with: pip install 'ppaurora[excel]'"
    )


def test_no_refusal_quotes_a_value(tmp_path: Path) -> None:
    rows = (HEADER, ("patient73918", 0), (0.5, 1))
    with pytest.raises(DataError) as caught:
        read_data(written(tmp_path / "d.xlsx", *rows))
    assert leaks(everything_about(caught.value), ["73918"]) == []
