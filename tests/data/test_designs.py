"""Data of studies with a design: all columns that it names are read, and mistakes are told by their place."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ppaurora.data import (
    Columns,
    CountTable,
    Dataset,
    Design,
    Grid,
    Samples,
    read_dataset,
    samples_of,
    tabulate,
)
from ppaurora.data import designed_samples as designed
from ppaurora.data.design import Model, Outcome, SampleWeight, Subgroup
from ppaurora.data.further import LeftOut
from ppaurora.data.owners import check_further
from ppaurora.data.slices import Slice
from ppaurora.errors import DataError, InputError
from ppaurora.io.models import to_builtins
from tests.support.formats import FILES

DESIGN = Design(
    models={"new": Model(column="risk_2"), "old": Model(column="risk_1")},
    comparisons=(("new", "old"),),
    outcomes={"died": Outcome(), "icu": Outcome(column="intensive")},
    subgroups={"sex": Subgroup(levels=("f", "m")), "ward": Subgroup(column="unit", levels=("1", "2", "3"))},
    patient="pid",
    weight=SampleWeight(column="times", most=9),
)
TABLE: dict[str, list[Any]] = {
    "risk_1": [0.25, 0.5, 0.75, 0.125, 0.5],
    "risk_2": [0.5, 0.5, 1.0, 0.25, 0.0],
    "died": [0, 1, 1, 0, 1],
    "intensive": [1, 1, 0, 0, 0],
    "sex": ["m", "f", "f", "m", "f"],
    "unit": [3, 1, 1, 2, 3],
    "pid": ["zoe", "ann", "zoe", "eve", "ann"],
    "times": [1, 2, 9, 1, 3],
}


def text_of(table: dict[str, list[Any]], folder: Path) -> Path:
    path = folder / "north.csv"
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    path.write_text("\n".join([",".join(table), *rows]) + "\n")
    return path


def with_value(column: str, row: int, value: Any) -> dict[str, list[Any]]:
    """The table with another value in one row, counted from 1."""
    values = list(TABLE[column])
    values[row - 1] = value
    return TABLE | {column: values}


def in_sqlite(table: dict[str, list[Any]]) -> sqlite3.Cursor:
    cursor = sqlite3.connect(":memory:").cursor()
    cursor.execute(f"CREATE TABLE t ({', '.join(table)})")
    places = ", ".join("?" for _ in table)
    cursor.executemany(f"INSERT INTO t VALUES ({places})", list(zip(*table.values(), strict=True)))  # noqa: S608
    return cursor.execute("SELECT * FROM t")


def as_parts(table: dict[str, list[Any]]) -> tuple[Any, ...]:
    further = {"sex": table["sex"], "ward": table["unit"], "patient": table["pid"], "weight": table["times"]}
    labels = {"died": table["died"], "icu": table["intensive"]}
    return labels, {"old": table["risk_1"], "new": table["risk_2"]}, further


FORMS: dict[str, Callable[[dict[str, list[Any]], Path], Any]] = {
    **FILES,
    "text": text_of,
    "a dict": lambda table, _: table,
    "pandas": lambda table, _: pd.DataFrame(table),
    "pandas with floats": lambda table, _: pd.DataFrame(table).astype({"unit": float, "times": float}),
    "pandas with categories": lambda table, _: pd.DataFrame(table).astype({"sex": "category"}),
    "polars": lambda table, _: pl.DataFrame(table),
    "a cursor": lambda table, _: in_sqlite(table),
    "arrays": lambda table, _: as_parts(table),
}


def read(data: Any, design: Design = DESIGN, **columns: Any) -> Samples:
    return read_dataset(data, Columns(**columns), design=design, name="north").samples()


@pytest.mark.parametrize("form", FORMS)
def test_all_columns_are_read(form: str, tmp_path: Path) -> None:
    samples = read(FORMS[form](TABLE, tmp_path))
    further = samples.further
    assert further is not None
    assert {name: scores.tolist() for name, scores in further.scores.items()} == {
        "new": TABLE["risk_2"],
        "old": TABLE["risk_1"],
    }
    assert {name: labels.tolist() for name, labels in further.labels.items()} == {
        "died": TABLE["died"],
        "icu": TABLE["intensive"],
    }
    assert further.levels["sex"].tolist() == [1, 0, 0, 1, 0]
    assert further.levels["ward"].tolist() == [2, 0, 0, 1, 2]
    assert further.patients is not None
    assert further.patients.tolist() == [0, 1, 0, 2, 1]
    assert further.weights is not None
    assert further.weights.tolist() == TABLE["times"]
    assert further.left_out == LeftOut()
    assert samples.scores.tolist() == TABLE["risk_2"]  # of the first model by name
    assert samples.labels.tolist() == TABLE["died"]
    check_further(samples, DESIGN)


def test_slices_are_those_rows() -> None:
    samples = read(TABLE)
    women = samples.of(Slice("old", "icu", "sex", "f"), ("f", "m"))
    assert women.scores.tolist() == [0.5, 0.75, 0.5]
    assert women.labels.tolist() == [1, 0, 0]
    assert [women.row_of(index) for index in range(3)] == [2, 3, 5]


def test_owners_call_columns_otherwise() -> None:
    renamed = {"id" if name == "pid" else name.upper(): values for name, values in TABLE.items()}
    samples = read(
        renamed,
        scores={"old": "RISK_1", "new": "RISK_2"},
        labels={"died": "DIED", "icu": "INTENSIVE"},
        groups={"sex": "SEX", "ward": "UNIT"},
        patient="id",
        weight="TIMES",
    )
    assert samples.further is not None
    assert samples.further.scores["old"].tolist() == TABLE["risk_1"]
    about = read_dataset(TABLE, Columns(), design=DESIGN).description
    assert about.used == {
        "score new": "risk_2",
        "score old": "risk_1",
        "label died": "died",
        "label icu": "intensive",
        "group sex": "sex",
        "group ward": "unit",
        "patient": "pid",
        "weight": "times",
    }


BAD: dict[str, tuple[str, Any, str]] = {
    "a missing score": (
        "risk_1",
        None,
        "column 'risk_1': the score is missing (correct it at the source, or leave",
    ),
    "a missing score of the first": (
        "risk_2",
        None,
        "column 'risk_2': the score is missing (correct it at the source, or leave",
    ),
    "an infinite score": ("risk_1", float("inf"), "column 'risk_1': the score is infinite"),
    "a missing label": (
        "intensive",
        None,
        "column 'intensive': the label is missing (correct it at the source, or leave",
    ),
    "a third label": ("intensive", 77, "column 'intensive': the label is neither 0 nor 1"),
    "a level nobody knows": ("sex", "secret", "column 'sex': the level is not one of the study's: 'f', 'm'"),
    "a level in capitals": ("sex", "F", "column 'sex': the level is not one of the study's: 'f', 'm'"),
    "a missing level": (
        "sex",
        None,
        "column 'sex': the level is missing (every row needs a level: leave the row out",
    ),
    "half a level": ("unit", 1.5, "column 'unit': the level is not one of the study's: '1', '2', '3'"),
    "a missing patient": (
        "pid",
        None,
        "column 'pid': the patient is missing (every row needs one: leave the row out",
    ),
    "a missing weight": (
        "times",
        None,
        "column 'times': the weight is missing (every row needs one: leave the row out",
    ),
    "no weight": (
        "times",
        0,
        "column 'times': the weight is not a whole number from 1 to 9 (weights say how often a row counts, "
        "at most as often as the study allows: multiply fractions by one number for all owners, and round; ",
    ),
    "a weight above the most": ("times", 77, "column 'times': the weight is not a whole number from 1 to 9"),
    "half a weight": ("times", 1.5, "column 'times': the weight is not a whole number from 1 to 9"),
    "a negative weight": ("times", -77, "column 'times': the weight is not a whole number from 1 to 9"),
}


@pytest.mark.parametrize("form", ["text", "Parquet", "pandas", "a cursor"])
@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_told_by_their_place_and_not_their_value(case: str, form: str, tmp_path: Path) -> None:
    column, value, said = BAD[case]
    write = next(made for name, made in FORMS.items() if name.casefold() == form.casefold())
    is_text = form == "text"
    table = with_value(column, 3, "" if value is None and is_text else value)
    data = write(table, tmp_path)
    with pytest.raises(DataError) as caught:
        read(data)
    assert str(caught.value).startswith(f"north, row {4 if is_text else 3}, {said}")
    assert "77" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_unknown_columns_are_answered_with_near_ones(tmp_path: Path) -> None:
    path = text_of({"riks_1" if name == "risk_1" else name: some for name, some in TABLE.items()}, tmp_path)
    with pytest.raises(DataError) as caught:
        read_dataset(path, Columns(), design=DESIGN)
    assert "row 1, column 'risk_1': there is no such column" in str(caught.value)
    assert "--score old=riks_1, in Python score={'new': 'risk_2', 'old': 'riks_1'}?" in str(caught.value)
    with pytest.raises(DataError, match=r"did you mean patient='pid'\?"):
        read(TABLE, patient="pids")
    with pytest.raises(InputError, match="score new and score old cannot both be column 'risk_1'"):
        read(TABLE, scores={"new": "risk_1"})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"scores": {"a": "x"}}, "score a: the study has no such model; there are: new, old"),
        ({"labels": {"x": "x"}}, "label x: the study has no such outcome; there are: died, icu"),
        ({"groups": {"age": "x"}}, "group age: the study has no such variable; there are: sex, ward"),
        ({"scores": "risk"}, "score: give a dict from the study's names to names of columns"),
        ({"score": "x"}, "score x: say which model it is for; the study names new, old: write score={"),
        ({"label": "x"}, "label x: say which outcome it is for; the study names died, icu: write label={"),
        ({"scores": {"old": 3}}, "score old: give the name of a column, a text"),
        (
            {"left_out": {"lost": 3}},
            "left_out: give numbers of rows by reason; the reasons are: missing_s",
        ),
        ({"left_out": {"excluded": -3}}, "left_out excluded: give a whole number of rows, from 0 to"),
        ({"left_out": {"excluded": True}}, "left_out excluded: give a whole number of rows, from 0 to"),
    ],
)
def test_names_that_the_study_does_not_have(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(TABLE, **columns)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"scores": {"a": "score"}}, "score a: the study has no such model; it names none"),
        ({"labels": {"a": "label"}}, "label a: the study has no such outcome; it names none"),
        ({"groups": {"a": "label"}}, "group a: the study has no such variable; it names none"),
        ({"patient": "id"}, "patient: the study has no such column; leave patient out"),
        ({"weight": "id"}, "weight: the study has no such column; leave weight out"),
    ],
)
def test_a_plain_study_takes_no_further_columns(columns: dict[str, Any], said: str) -> None:
    plain = {"score": [0.5, 0.25], "label": [1, 0]}
    with pytest.raises(InputError) as caught:
        read_dataset(plain, Columns(**columns))
    assert str(caught.value) == said
    assert read_dataset(plain, Columns(), design=Design()).samples().further is None


GAPS = TABLE | {
    "risk_1": [0.25, None, 0.75, 0.125, 0.5],
    "died": [0, None, 1, None, 1],
    "intensive": [1, 1, 0, 0, None],
}


@pytest.mark.parametrize("form", ["text", "Parquet", "pandas", "a cursor", "a dict"])
def test_rows_that_lack_something_are_left_out_and_counted(form: str, tmp_path: Path) -> None:
    write = next(made for name, made in FORMS.items() if name.casefold() == form.casefold())
    blank = {name: ["" if value is None else value for value in values] for name, values in GAPS.items()}
    data = write(blank if form == "text" else GAPS, tmp_path)
    columns = Columns(leave_out_missing=True, left_out={"excluded": 12, "missing_label": 4})
    dataset = read_dataset(data, columns, design=DESIGN)
    samples = dataset.samples()
    assert samples.further is not None
    # Row 2 lacks a score and a label: it counts once, by its score. Row 4 lacks a label, and so does row 5.
    assert samples.further.left_out == LeftOut(missing_score=1, missing_label=4 + 2, excluded=12)
    assert samples.scores.tolist() == [0.5, 1.0]
    assert samples.further.scores["old"].tolist() == [0.25, 0.75]
    assert [samples.row_of(index) for index in (0, 1)] == ([2, 4] if form == "text" else [1, 3])
    assert samples.further.patients is not None
    assert samples.further.patients.tolist() == [0, 0]
    assert (dataset.description.rows, dataset.description.incomplete) == (5, 3)
    assert "missing_score" not in repr(samples) + repr(samples.further) + repr(dataset)


def test_a_row_that_stays_needs_all_else() -> None:
    table = GAPS | {"pid": ["zoe", None, None, "eve", "ann"]}
    with pytest.raises(DataError, match="row 3, column 'pid': the patient is missing"):
        read(table, leave_out_missing=True)
    assert len(read(GAPS | {"pid": ["zoe", None, "zoe", None, None]}, leave_out_missing=True)) == 2
    infinite = GAPS | {"risk_2": [float("inf"), 0.5, 1.0, 0.25, 0.0]}
    with pytest.raises(DataError, match="row 1, column 'risk_2': the score is infinite"):
        read(infinite, leave_out_missing=True)
    nothing = GAPS | {"risk_2": [None] * 5}
    with pytest.raises(DataError, match="every row lacks a score or a label"):
        read(nothing, leave_out_missing=True)


def test_rows_are_left_out_of_plain_studies_too(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("score,label\n0.5,yes\nNA,no\n0.25,\n0.75,no\n")
    with pytest.raises(DataError, match="row 3, column 'score': the score is missing"):
        read_dataset(path, Columns()).samples("yes")
    dataset = read_dataset(path, Columns(leave_out_missing=True), grid=Grid(decimals=2))
    samples = dataset.samples("yes")
    assert isinstance(samples, Samples)
    assert (samples.scores.tolist(), samples.labels.tolist()) == ([0.5, 0.75], [1, 0])
    assert samples.further is not None
    assert samples.further.left_out == LeftOut(1, 1, 0)
    assert dataset.description.label_values == {"yes": 1, "no": 2}


def test_a_million_rows_and_a_grid_are_kept_for_a_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppaurora.data.dataset.ROWS_KEPT", 2)
    grid = Grid(decimals=3)
    assert isinstance(read_dataset(TABLE, Columns(), design=DESIGN, grid=grid), Dataset)
    plain = {"score": TABLE["risk_1"], "label": TABLE["died"]}
    assert not isinstance(read_dataset(plain, Columns(), design=Design(), grid=grid), Dataset)
    of_sites = read_dataset(plain, Columns(), design=Design(sites=True), grid=grid).samples()
    assert isinstance(of_sites, Samples)
    assert of_sites.further is None


def test_many_chunks_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(11)
    rows = 1000
    table: dict[str, list[Any]] = {
        "risk_1": random.random(rows).round(3).tolist(),
        "risk_2": random.random(rows).round(3).tolist(),
        "died": random.integers(0, 2, rows).tolist(),
        "intensive": random.integers(0, 2, rows).tolist(),
        "sex": random.choice(["f", "m"], rows).tolist(),
        "unit": random.integers(1, 4, rows).tolist(),
        "pid": [f"p{number}" for number in random.integers(0, 300, rows).tolist()],
        "times": random.integers(1, 10, rows).tolist(),
    }
    path = text_of(table, tmp_path)
    whole = read(table)
    for module in ("text", "tables"):
        monkeypatch.setattr(f"ppaurora.data.{module}.ROWS_PER_CHUNK", 64)
    codes: dict[str, int] = {}
    patients = [codes.setdefault(name, len(codes)) for name in table["pid"]]
    for samples in (whole, read(table), read(path), read(in_sqlite(table))):
        assert samples.further is not None
        assert whole.further is not None
        assert samples.further.patients is not None
        assert samples.further.patients.tolist() == patients
        for one, other in zip(samples.further.arrays, whole.further.arrays, strict=True):
            assert np.array_equal(one, other)


def test_decimal_commas_are_read_in_every_column_of_scores(tmp_path: Path) -> None:
    path = tmp_path / "north.csv"
    path.write_text("risk_1;risk_2;label\n1;0,5\n".replace("1;0,5", "1;0,5;1") + "0,25;1;0\n")
    design = Design(models={"a": Model(column="risk_1"), "b": Model(column="risk_2")})
    dataset = read_dataset(path, Columns(), design=design)
    assert dataset.description.kind == "text, semicolons between values, decimal commas"
    further = dataset.samples().further
    assert further is not None
    assert [scores.tolist() for scores in further.scores.values()] == [[1, 0.25], [0.5, 1]]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (([1, 0], [0.5, 0.25]), "north: y_score: give a dict of arrays, one for every model: 'a', 'b'"),
        (([1, 0], {"a": [0.5, 0.25]}), "north: y_score: has nothing for the model 'b'; give 'a', 'b'"),
        (({"x": [1, 0]}, {"a": [1, 0]}), "north: y_true: the study names no outcomes; give one array"),
        (([1, 0], {"a": [1, 0], "b": [1, 0]}, [1, 0]), "north: give two arrays, (y_true, y_score)"),
        (([1, 0], {"a": [1, 0], "b": [1]}), """north: y_true has 2 values, y_score["b"] has 1"""),
        (
            ([1, 0], {"a": [1, 0], "b": [1, None]}),
            """north, row 2, column 'y_score["b"]': the score is""",
        ),
    ],
)
def test_arrays_that_do_not_fit_the_study(data: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(data, Design(models={"a": Model(), "b": Model()}))
    assert str(caught.value).startswith(said)


def test_a_level_is_spelt_as_the_study_spells_it() -> None:
    design = Design(subgroups={"dose": Subgroup(levels=("1", "1.0", "none"))})
    table = {"score": [0.5] * 4, "label": [1, 0, 1, 0], "dose": ["1", "1.0", "none", " 1.00"]}
    further = read(table, design).further
    assert further is not None
    assert further.levels["dose"].tolist() == [0, 1, 2, 0]


def test_samples_that_were_read_for_another_study_are_refused() -> None:
    plain = read_dataset(([1, 0], [0.5, 0.25]), Columns()).samples()
    with pytest.raises(InputError, match="was read without the columns that the study names"):
        check_further(plain, DESIGN)
    check_further(plain, Design())
    table = tabulate(([1, 0], [0.5, 0.25]), Grid(decimals=2), name="north")
    assert samples_of([table], design=Design()) == [table]
    with pytest.raises(InputError, match="north: is a table of counts, and the study needs the rows"):
        samples_of([table], design=DESIGN)
    with pytest.raises(InputError, match="north: is a table of counts, which cannot say what was left out"):
        samples_of([table], columns=Columns(left_out={"excluded": 1}))


def test_a_design_follows_from_arrays() -> None:
    first, second = as_parts(TABLE), as_parts(with_value("sex", 1, "x"))
    owners, design = designed([first, second], (), Columns(), None, {"comparisons": "all"})
    assert to_builtins(design) == to_builtins(
        Design(
            models={"old": Model(), "new": Model()},
            comparisons=(("new", "old"),),
            outcomes={"died": Outcome(), "icu": Outcome()},
            subgroups={"sex": Subgroup(levels=("f", "m", "x")), "ward": Subgroup(levels=("1", "2", "3"))},
            patient="patient",
            weight=SampleWeight(most=9),
        )
    )
    assert [len(one) for one in owners] == [5, 5]
    assert isinstance(owners[1], Samples)
    assert owners[1].further is not None
    assert owners[1].further.levels["sex"].tolist() == [2, 0, 0, 1, 0]


def test_a_design_follows_from_names_of_columns() -> None:
    columns = Columns(
        scores={"a": "risk_1", "b": "risk_2"},
        label="died",
        groups={"gender": "sex"},
        weight="times",
        left_out={"excluded": 3},
    )
    fields = {"subgroups": {"gender": {"levels": ["f", "m"]}}, "weight": {"most": 20}, "sites": None}
    owners, design = designed(iter([TABLE, pd.DataFrame(TABLE)]), (), columns, None, fields)
    assert (list(design.models), design.left_out, design.sites) == (["a", "b"], True, False)
    assert design.weight == SampleWeight(column="times", most=20)
    stated = [one.further.left_out.excluded for one in owners if isinstance(one, Samples) and one.further]
    assert stated == [3, 0]  # of all owners together, said once
    with pytest.raises(InputError, match="group gender: say which levels it has: --levels gender=LEVEL"):
        designed([TABLE], (), columns, None, {})


def test_plain_owners_have_a_plain_design() -> None:
    owners, design = designed(
        [([1, 0], [0.5, 0.25]), zip([1, 0], [1, 0], strict=True)], (), Columns(), None, {}
    )
    assert design.is_plain
    assert [one.further for one in owners if not isinstance(one, CountTable)] == [None, None]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (([1, 0], {"a": [1, 0], "c": [1, 0]}), "owner 2: its scores have other names than those of owner 1"),
        (([1, 0], [1, 0]), "owner 2: its scores have other names than those of owner 1"),
        (({"x": [1, 0]}, {"a": [1, 0], "b": [1, 0]}), "owner 2: its labels have other names than"),
        (
            ([1, 0], {"a": [1, 0], "b": [1, 0]}, {"s": [1, 0]}),
            "owner 2: its further columns have other",
        ),
    ],
)
def test_owners_name_the_same_models(second: Any, said: str) -> None:
    first = ([1, 0], {"a": [0.5, 0.25], "b": [1, 0]})
    with pytest.raises(InputError) as caught:
        designed([first, second], (), Columns(), None, {})
    assert str(caught.value).startswith(said)


def test_owners_by_name_may_have_dicts_of_labels_and_scores() -> None:
    labels, scores, _ = as_parts(TABLE)
    owners, design = designed({"north": (labels, scores)}, (), Columns(), None, {})
    assert (owners[0].source, list(design.outcomes)) == ("north", ["died", "icu"])
