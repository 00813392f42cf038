"""Why a column was not taken: told for every column, in every format, without a value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ppaurora.data.reading import read_candidates
from tests.support.formats import FILES, Columns

ROWS = 30
COLUMNS: Columns = {
    "number": list(range(1000, 1000 + ROWS)),
    "ward": [["surgery", "icu", "er"][row % 3] for row in range(ROWS)],
    "risk": [row / 40 for row in range(ROWS)],
    "died": [row % 2 for row in range(ROWS)],
    "alive": [["ja", "nein"][row % 2] for row in range(ROWS)],
    "centre": [7] * ROWS,
}
EXPECTED = {
    "number": (
        "every row has another whole number, as identifiers do",
        "more than two different values",
    ),
    "ward": ("not a number at row 2", "more than two different values"),
    "risk": ("", "more than two different values"),
    "died": ("only two different values", ""),
    "alive": ("not a number at row 2", ""),
    "centre": ("all values are equal", "all values are equal"),
}


@pytest.mark.parametrize("form", FILES)
def test_every_column_is_judged_in_every_format(form: str, tmp_path: Path) -> None:
    found = read_candidates(FILES[form](COLUMNS, tmp_path))
    first = {"decimal commas": 3, "CSV": 2, "gzip": 2, "Excel": 2}.get(form, 1)
    expected = {
        name: tuple(reason.replace("row 2", f"row {first}") for reason in reasons)
        for name, reasons in EXPECTED.items()
    }
    assert {one.name: (one.not_scores, one.not_labels) for one in found} == expected


def test_gaps_percentages_and_decimal_commas_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("a;b;c\n0,5;5 %;\nNA;7%;\n1e-3;9%;.\n,25;;NA\n")
    (a, b, c) = read_candidates(path)
    assert (a.not_scores, b.not_scores) == ("", "")
    assert c.in_words == "no scores: it has no values; no labels: it has no values"


def test_no_reason_quotes_a_value(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("a,b\nsecret73918,0.73918\nx,0.5\ny,0.1\n")
    assert "73918" not in str(read_candidates(path))


def test_a_file_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, a=np.array([{}, {}]), b=[1, 2])
    assert read_candidates(path) == ()
    path.write_text('a,b\n"1,2\n')
    assert read_candidates(path) == ()
