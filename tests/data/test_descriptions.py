"""What a person is shown of the data before it is sent, complete or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ppaurora.data import read_data
from ppaurora.errors import DataError
from tests.support.owners import written

TABLE = b"""patient;risk;died
a;0,25;No
b;;yes
a;0,5;yes
c;nan;no

;0,75;
;0,75;No
"""


def test_a_file_is_described(tmp_path: Path) -> None:
    path = written(tmp_path, TABLE)
    about = read_data(path, score="risk", label="died", id="patient").description
    assert about.source == str(path)
    assert about.kind == "text, semicolons between values, decimal commas"
    assert about.columns == ("patient", "risk", "died")
    assert (about.score_column, about.label_column, about.id_column) == ("risk", "died", "patient")
    assert about.rows == 6
    assert (about.incomplete, about.first_incomplete) == (3, 3)
    assert about.label_values == {"No": 2, "yes": 2, "no": 1}
    assert list(about.label_values) == ["No", "yes", "no"]
    assert (about.duplicates, about.first_duplicate) == (1, 4)


def test_what_is_in_memory_is_described_alike() -> None:
    frame = pd.DataFrame({"id": [1, 2, 1, 1], "score": [0.5, np.nan, 0.5, 0.25], "label": [True, False] * 2})
    about = read_data(frame, id="id", name="north").description
    assert (about.source, about.kind, about.columns) == ("north", "data frame", ("id", "score", "label"))
    assert (about.rows, about.incomplete, about.first_incomplete) == (4, 1, 2)
    assert about.label_values == {"True": 2, "False": 2}
    assert (about.duplicates, about.first_duplicate) == (2, 3)


def test_a_pair_of_arrays_is_described_under_the_names_that_scikit_learn_has() -> None:
    data = read_data(([1.0, 0.0, 1.0], [0.5, 0.25, 0.75]))
    about = data.description
    assert (about.kind, about.columns) == ("arrays", ("y_true", "y_score"))
    assert (about.score_column, about.label_column, about.id_column) == ("y_score", "y_true", None)
    assert about.label_values == {"1.0": 2, "0.0": 1}
    assert data.samples().labels.tolist() == [1, 0, 1]
    assert data.samples(0).labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "y_true",
    [[[1], [0], [1]], np.array([[True], [False], [True]]), pd.DataFrame({"y": [1, 0, 1]})],
    ids=["lists", "array", "frame"],
)
def test_a_single_column_is_an_array(y_true: object) -> None:
    samples = read_data((y_true, np.array([[0.5], [0.25], [0.75]]))).samples()
    assert samples.labels.tolist() == [1, 0, 1]
    assert samples.scores.tolist() == [0.5, 0.25, 0.75]


def test_three_labels_are_described_and_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"score,label\n0.5,died\n0.25,alive\n0.75,lost\n0.5,alive\n")
    data = read_data(path)
    assert data.description.label_values == {"died": 1, "alive": 2, "lost": 1}
    with pytest.raises(DataError, match="row 4, column 'label': a second label that is not the positive"):
        data.samples("died")


def test_a_description_does_not_print_what_only_its_owner_may_see(tmp_path: Path) -> None:
    data = read_data(written(tmp_path, b"score,label\n0.7391826,died73918\n0.25,alive73918\n"))
    assert "73918" not in f"{data!r} {data.description!r} {data.samples('died73918')!r}"


def test_the_first_of_several_mistakes_in_labels_is_told(tmp_path: Path) -> None:
    data = read_data(written(tmp_path, b"score,label\n0.5,0\n0.25,x\n0.75,\n0.5,1\n"))
    with pytest.raises(DataError, match="row 3, column 'label': the label is neither 0 nor 1"):
        data.samples()
