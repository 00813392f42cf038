"""Owners in any form: pairs, tables, files, by name; and what is written instead where they are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ppaurora
from ppaurora.errors import InputError
from tests.support.formats import FILES, IN_MEMORY, Columns

Y = [[1, 0, 1, 0], [0, 1, 0]]
P = [[0.9, 0.4, 0.7, 0.2], [0.3, 0.6, 0.6]]
AUROC = 0.9583333333333334
TABLES: list[Columns] = [{"y": y, "p": p} for y, p in zip(Y, P, strict=True)]
PAIRS = list(zip(Y, P, strict=True))


def auroc(owners: Any, **options: Any) -> Any:
    return ppaurora.evaluate(owners, metrics=["auroc"], **options).auroc


@pytest.mark.parametrize("form", IN_MEMORY)
def test_a_table_per_owner(form: str) -> None:
    assert auroc([IN_MEMORY[form](table) for table in TABLES], score="p", label="y") == AUROC
    named = {name: IN_MEMORY[form](table) for name, table in zip("ab", TABLES, strict=True)}
    assert auroc(named, score="p", label="y") == AUROC


@pytest.mark.parametrize("form", FILES)
def test_a_file_per_owner(form: str, tmp_path: Path) -> None:
    paths = []
    for name, table in zip("ab", TABLES, strict=True):
        (tmp_path / name).mkdir()
        paths.append(FILES[form](table, tmp_path / name))
    assert auroc(paths, score="p", label="y") == AUROC
    assert auroc([str(path) for path in paths], score="p", label="y") == AUROC


@pytest.mark.parametrize(
    "owners",
    [
        PAIRS,
        tuple(PAIRS),
        iter(PAIRS),
        dict(zip("ab", PAIRS, strict=True)),
        [list(pair) for pair in PAIRS],
        [np.array(pair) for pair in PAIRS],
        [zip(*zip(*pair, strict=True), strict=True) for pair in PAIRS],
        [(np.array(y)[:, None], np.array(p)[:, None]) for y, p in PAIRS],
        [(pl.Series(y), pl.Series(p)) for y, p in PAIRS],
        [(pd.Series(y), pd.DataFrame({"p": p})) for y, p in PAIRS],
        [PAIRS[0], {"label": Y[1], "score": P[1]}],
    ],
    ids=[
        "list",
        "tuple",
        "iterator",
        "dict",
        "lists",
        "arrays",
        "zip",
        "columns",
        "Polars",
        "pandas",
        "mixed",
    ],
)
def test_pairs_in_any_container(owners: Any) -> None:
    assert auroc(owners) == AUROC


def test_errors_tell_the_names_of_owners() -> None:
    with pytest.raises(InputError, match="south, row 2, column 'y_score': the score is missing"):
        auroc({"north": PAIRS[0], "south": ([1, 0], [0.5, None])})
    with pytest.raises(InputError, match="south, row 1, column 'p': the score is missing"):
        auroc({"north": TABLES[0], "south": {"y": [1], "p": [None]}}, score="p", label="y")


WRITE_PAIRS = "write evaluate([(y_true_1, y_score_1), (y_true_2, y_score_2)])"
WRITE_TABLES = "write evaluate([table_1, table_2], score='...', label='...')"
TWO_ARRAYS = f"these are two arrays of one owner, not two owners; {WRITE_PAIRS}"
MISTAKES: dict[str, tuple[Any, str]] = {
    "two arrays in a list": ([Y[0], P[0]], TWO_ARRAYS),
    "two arrays in a tuple": ((np.array(Y[0]), np.array(P[0])), TWO_ARRAYS),
    "two arrays of two": ([[1, 0], [0.5, 0.25]], TWO_ARRAYS),
    "two series": ([pd.Series(Y[0]), pd.Series(P[0])], TWO_ARRAYS),
    "two series of Polars": ([pl.Series(Y[0]), pl.Series(P[0])], TWO_ARRAYS),
    "an array of two rows": (np.array([Y[0], P[0]]), TWO_ARRAYS),
    "labels as words": ((["sick", "well"], [0.5, 0.25]), TWO_ARRAYS),
    "one frame": (
        pd.DataFrame(TABLES[0]),
        f"evaluate takes a list of owners, and this is one table; {WRITE_TABLES}",
    ),
    "columns by name": (TABLES[0], f"a dict names owners, and this one names columns; {WRITE_TABLES}"),
    "one file": ("data.csv", "evaluate takes a list of owners; write evaluate([path_1, path_2])"),
    "a number": (5, f"evaluate takes a list of owners; {WRITE_PAIRS}"),
    "nothing": (None, f"evaluate takes a list of owners; {WRITE_PAIRS}"),
    "labels alone": (Y[0], "owner 1: give two arrays, (y_true, y_score), a data frame, or a file"),
    "a wrong name": (
        [{"score": [0.5], "y": [1]}] * 2,
        "owner 1, column 'label': there is no such column (the data has: score, y; write label='COLUMN')",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_no_list_of_owners_is_answered_with_what_to_write(name: str) -> None:
    owners, says = MISTAKES[name]
    with pytest.raises(InputError) as caught:
        ppaurora.evaluate(owners)
    assert str(caught.value) == says


def test_labels_and_scores_as_two_arguments() -> None:
    with pytest.raises(InputError) as caught:
        ppaurora.evaluate(Y[0], P[0])  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"evaluate takes the owners in one list, a pair of arrays for each; {WRITE_PAIRS}"
    )
