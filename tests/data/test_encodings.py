"""Texts in code pages: read where nothing depends on the page, asked about where something does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.data import Columns, read_columns, read_data, read_dataset
from ppaurora.data.encodings import WINDOWS
from ppaurora.errors import DataError, InputError

GERMAN = "Größe;Risiko;Ergebnis;Müller\r\n1;0,25;nein;ä\r\n2;0,75;ja;ß\r\n"


def in_page(folder: Path, text: str, encoding: str = "cp1252") -> Path:
    path = folder / "data.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_table_of_german_excel_is_read_where_what_is_needed_is_ascii(tmp_path: Path) -> None:
    data = read_data(in_page(tmp_path, GERMAN), "Risiko", "Ergebnis", id="Müller")
    assert data.samples("ja").scores.tolist() == [0.25, 0.75]
    assert data.description.kind == "text, semicolons between values, decimal commas"
    assert data.description.columns == ("Gr\ufffd\ufffde", "Risiko", "Ergebnis", "Müller")


def test_a_column_that_is_named_is_found_in_its_code_page(tmp_path: Path) -> None:
    path = in_page(tmp_path, "Größe,label\n0.25,0\n0.75,1\n")
    assert read_data(path, "Größe").samples().scores.tolist() == [0.25, 0.75]
    path = in_page(tmp_path, "оценка,label\n0.25,0\n", "cp1251")
    assert read_data(path, "оценка").samples().scores.tolist() == [0.25]


def test_a_column_that_two_code_pages_name_differently_is_asked_about(tmp_path: Path) -> None:
    """The byte 0xE8 is è in Western Europe, and č in Central Europe: here both names are there."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xe8,\xc3\xa8,label\n0.25,0.75,0\n")  # the second is è in UTF-8
    assert read_data(path, "è").samples().scores.tolist() == [0.75]
    path.write_bytes(b"\xe8x,label\n0.25,0\n")
    with pytest.raises(DataError, match=r"some names are not UTF-8 .* or name its code page"):
        read_data(path, "é")


def test_a_guessed_column_that_is_not_there_may_be_one_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such column") as caught:
        read_data(in_page(tmp_path, GERMAN))
    assert "where names are not readable, save it as CSV in UTF-8, or name its code page" in caught.value.hint
    with pytest.raises(DataError) as caught:
        read_data(in_page(tmp_path, GERMAN.replace("ö", "oe").replace("ü", "ue")), encoding="cp1252")
    assert "code page" not in caught.value.hint


def test_labels_in_a_code_page_need_its_name(tmp_path: Path) -> None:
    path = in_page(tmp_path, "score,label\n0.25,não\n0.75,sim\n")
    with pytest.raises(DataError, match="row 2, column 'label': the text is not UTF-8") as caught:
        read_data(path)
    assert "--encoding cp1252, in Python encoding='cp1252'" in caught.value.hint
    data = read_data(path, encoding="cp1252")
    assert data.description.label_values == {"não": 1, "sim": 1}


def test_patients_are_told_apart_without_reading_them(tmp_path: Path) -> None:
    path = in_page(tmp_path, "id,score,label\nMüller,0.25,0\nMäller,0.5,0\nMüller,0.75,1\n")
    assert read_data(path, id="id").description.duplicates == 1


@pytest.mark.parametrize("encoding", [*WINDOWS, "latin-1", "ISO-8859-15", "utf-16-le", "shift_jis"])
def test_what_is_named_is_used(encoding: str, tmp_path: Path) -> None:
    path = in_page(tmp_path, "score,label\n0.25,a\n0.75,b\n", encoding)
    assert len(read_data(path, encoding=encoding).samples("b")) == 2


def test_a_mark_counts_more_than_what_is_named(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        path = in_page(tmp_path, "score,label\n0.25,ö\n0.75,ä\n", encoding)
        assert set(read_data(path, encoding="cp1252").description.label_values) == {"ö", "ä"}


def test_bytes_that_a_code_page_lacks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"score,label\n0.25,\x81\n")
    with pytest.raises(DataError, match="row 2: is not cp1252 text"):
        read_data(path, encoding="cp1252")


@pytest.mark.parametrize("encoding", ["klingon", "base64", "idna", "unicode_escape", "", 7])
def test_an_encoding_that_is_none_is_refused(encoding: str) -> None:
    with pytest.raises(InputError, match=r"^encoding: is none that is known; usual ones are cp1252 \(West"):
        Columns(encoding=encoding)


def test_names_to_choose_from_can_be_shown_and_found_again(tmp_path: Path) -> None:
    path = in_page(tmp_path, GERMAN)
    names = read_columns(path)
    assert names[0].encode() == "Gr\ufffd\ufffde".encode()
    read_dataset(path, Columns(score=names[1], label=names[2]))
    assert read_columns(path, encoding="cp1252")[0] == "Größe"


def test_percentages_are_read_with_the_agreement_of_their_owner(tmp_path: Path) -> None:
    path = in_page(tmp_path, "score;label\n12,5 %;0\n7%;1\n 100,0\xa0%;1\n;0\n".replace("\xa0", ""))
    with pytest.raises(DataError, match=r"row 2, column 'score': the score has a percent sign \(if 12.5% me"):
        read_data(path)
    data = read_data(path, percent=True)
    assert data.description.kind.endswith("decimal commas, percentages read as hundredths")
    assert data.description.first_incomplete == 5
    assert read_dataset(path, Columns(percent=True, leave_out_missing=True)).samples().scores.tolist() == [
        0.125,
        0.07,
        1.0,
    ]


def test_every_percentage_is_the_nearest_float64(tmp_path: Path) -> None:
    rows = "".join(f"{number / 10}%,1\n" for number in range(1001))
    scores = read_data(in_page(tmp_path, "score,label\n" + rows), percent=True).samples().scores.tolist()
    assert scores == [float(f"0.{number:03}") for number in range(1000)] + [1.0]


@pytest.mark.parametrize("percent", [False, True])
def test_scores_with_and_without_percent_signs_are_refused(percent: bool, tmp_path: Path) -> None:
    path = in_page(tmp_path, "score,label\n0.125,0\n12.5%,1\n")
    with pytest.raises(DataError, match="row 3, column 'score': some scores have a percent sign, and others"):
        read_data(path, percent=percent)


def test_a_file_without_percent_signs_stays_as_it_is(tmp_path: Path) -> None:
    path = in_page(tmp_path, "score,label\n0.125,0\n12.5,1\n")
    assert read_data(path, percent=True).samples().scores.tolist() == [0.125, 12.5]


@pytest.mark.parametrize("text", ["%", "1e2%", "nan%", "1%%", "inf%"])
def test_what_is_no_percentage_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the score is not a number"):
        read_data(in_page(tmp_path, f"score,label\n{text},0\n"), percent=True)
