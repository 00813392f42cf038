"""Submissions of studies with a design: the same rows are recognised in any order, and others are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppaurora.data import Columns, Design, Grid, Samples, check_samples, read_dataset, tabulate
from ppaurora.data.design import Model, Outcome, SampleWeight, Subgroup
from ppaurora.errors import InputError
from ppaurora.owner.outbox import Fingerprint
from ppaurora.owner.prepared import OwnData
from ppaurora.owner.study import Study
from tests.support.checks import designed_kit

DESIGN = Design(
    models={"a": Model(), "b": Model()},
    outcomes={"died": Outcome(), "icu": Outcome()},
    subgroups={"sex": Subgroup(levels=("f", "m"))},
    patient="pid",
    weight=SampleWeight(),
)
SALT = b"salt"
Table = dict[str, list[Any]]


def drawn(rows: int, seed: int = 4) -> Table:
    """Few different values, so that many rows are alike."""
    random = np.random.default_rng(seed)
    return {
        "a": random.integers(0, 3, rows).tolist(),
        "b": random.integers(0, 2, rows).tolist(),
        "died": random.integers(0, 2, rows).tolist(),
        "icu": random.integers(0, 2, rows).tolist(),
        "sex": random.choice(["f", "m"], rows).tolist(),
        "pid": random.integers(0, rows // 3, rows).tolist(),
        "weight": random.integers(1, 3, rows).tolist(),
    }


def print_of(table: Table, **columns: Any) -> Fingerprint:
    samples = read_dataset(table, Columns(**columns), design=DESIGN).samples()
    return Fingerprint.of(samples, SALT)


def reordered(table: Table, seed: int) -> Table:
    order = np.random.default_rng(seed).permutation(len(table["a"]))
    return {name: [values[place] for place in order] for name, values in table.items()}


def multiset(table: Table) -> list[list[tuple[Any, ...]]]:
    """Which rows belong together, by definition: patients without their names, in one order."""
    others = [values for name, values in table.items() if name != "pid"]
    patients: dict[Any, list[tuple[Any, ...]]] = {}
    for patient, *row in zip(table["pid"], *others, strict=True):
        patients.setdefault(patient, []).append(tuple(row))
    return sorted(sorted(rows) for rows in patients.values())


def test_rows_in_another_order_and_patients_of_other_names_are_the_same() -> None:
    table = drawn(60)
    expected = print_of(table)
    for seed in range(20):
        assert print_of(reordered(table, seed)) == expected
    assert print_of(table | {"pid": [f"p{100 - name}" for name in table["pid"]]}) == expected


def test_prints_differ_exactly_where_the_rows_of_patients_do() -> None:
    """Tables of so few values are often the same; whether they are, a naive comparison says."""
    tables = [drawn(3, seed) | {name: [0, 0, 0] for name in ("b", "died", "icu")} for seed in range(60)]
    tables = [table | {"pid": [seed % 2, seed // 2 % 2, 0]} for seed, table in enumerate(tables)]
    same = different = 0
    for one in tables:
        for other in tables:
            is_same = multiset(one) == multiset(other)
            assert (print_of(one) == print_of(other)) is is_same
            same, different = same + is_same, different + (not is_same)
    assert same > len(tables)
    assert different


@pytest.mark.parametrize("column", list(drawn(9)))
def test_every_column_counts(column: str) -> None:
    table = drawn(60)
    values = list(table[column])
    others: Table = {"a": [77], "pid": [77], "sex": ["f", "m"], "weight": [1, 2]}
    other = others.get(column, [0, 1])
    values[7] = next(value for value in other if value != values[7])
    assert print_of(table | {column: values}) != print_of(table)


def test_rows_left_out_count() -> None:
    table = drawn(60)
    assert print_of(table, left_out={"excluded": 3}) != print_of(table)
    assert print_of(table, leave_out_missing=True) == print_of(table)


def test_plain_samples_are_recognised_as_before() -> None:
    samples = check_samples("north", [1, 0, 1], [0.5, -0.0, 0.25])
    order = np.array([2, 1, 0])
    other = Samples("north", samples.scores[order] + 0.0, samples.labels[order])
    assert Fingerprint.of(samples, SALT) == Fingerprint.of(other, SALT)
    left_none_out = read_dataset(([1, 0, 1], [0.5, 0.0, 0.25]), Columns(leave_out_missing=True)).samples()
    assert left_none_out.further is not None
    assert Fingerprint.of(left_none_out, SALT) == Fingerprint.of(samples, SALT)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (check_samples("north", [1, 0], [0.5, 0.25]), "north: was read without the columns that the study"),
        (
            read_dataset(([1, 0], [0.5, 0.25]), Columns(), name="north"),
            "north: was read without the columns that the study names; give the table itself",
        ),
        (tabulate(([1, 0], [0.5, 0.25]), Grid(decimals=2), name="north"), "north: is a table of counts, and"),
    ],
)
def test_data_that_was_read_for_another_study_is_refused(data: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        OwnData.read("north", data, None, Columns(), None, DESIGN)
    assert str(caught.value).startswith(said)


GRIDS = """
[models.a]
grid = { low = 0.0, high = 1.0, decimals = 3 }

[models.b]
grid = { low = 0.0, high = 1.0, decimals = 3 }
"""


def test_a_study_takes_arrays_by_model(tmp_path: Path) -> None:
    study = Study(designed_kit(tmp_path, 'comparisons = [["a", "b"]]', GRIDS))
    died = [0, 1] * 30
    found = study.check(died, {"a": np.linspace(0, 1, 60), "b": np.linspace(1, 0, 60)})
    assert found.design is not None
    assert [one.slice.model for one in found.design.slices] == ["a", "b"]
    frame = {"x": np.linspace(0, 1, 60), "y": np.linspace(1, 0, 60), "died": died}
    same = study.check(frame, score={"a": "x", "b": "y"}, label="died")
    assert same.design is not None
    assert same.design.differences == found.design.differences
    assert (found.refusal, same.refusal) == ("", "")
    assert [concern.text.partition(":")[0] for concern in found.warnings] == [
        "the local AUROC of model b is below 0.5, perhaps by chance"
    ]


def test_a_private_study_refuses_a_patient_with_too_many_rows(tmp_path: Path) -> None:
    study = Study(designed_kit(tmp_path, 'patient = "pid"', GRIDS, rows_per_person=2))
    died, scores = [0, 1] * 30, {"a": np.linspace(0, 1, 60), "b": np.linspace(1, 0, 60)}
    two = study.check((died, scores, {"patient": [place // 2 for place in range(60)]}))
    assert two.refusal == ""
    three = study.prepare((died, scores, {"patient": [place // 3 for place in range(60)]}))
    assert "more rows than the study's policy protects (rows_per_person = 2)" in three.check.refusal
    with pytest.raises(InputError, match="more rows than the study's policy protects"):
        study.send(three)


def test_columns_are_named_by_model_as_evaluate_takes_them(tmp_path: Path) -> None:
    study = Study(designed_kit(tmp_path, 'comparisons = [["a", "b"]]', GRIDS))
    frame = {"x": np.linspace(0, 1, 60), "risk_b": np.linspace(1, 0, 60), "died": [0, 1] * 30}
    with pytest.raises(InputError) as caught:
        study.check(frame, score={"a": "x", "b": "risc_b"}, label="died")
    assert str(caught.value).endswith("did you mean score={'a': 'x', 'b': 'risk_b'}?)")
    with pytest.raises(InputError) as caught:
        study.check(frame, score="x", label="died")
    said = "score x: say which model it is for; the study names a, b: write score={'a': 'COLUMN', 'b': 'b'}"
    assert str(caught.value) == said
    wrong: Any = {"scores": {"a": "x", "b": "risk_b"}}
    with pytest.raises(TypeError, match="unexpected keyword argument 'scores'; there are: score, label"):
        study.check(frame, **wrong)
