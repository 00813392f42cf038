"""Taking arrays: in any container and spelling, and refused with their place where they are wrong."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

from ppaurora.data import check_samples
from ppaurora.errors import DataError, InputError
from ppaurora.protocols import Protocol
from tests.support.bad_arrays import BAD_ARRAYS
from tests.support.bad_input import PLANTED, PLANTED_DIGITS, BadArrays, by_protocol
from tests.support.owners import LABELS, SCORES, LikeAPandasSeries, each_split
from tests.support.secrecy import everything_about, leaks

LONGDOUBLE_IS_WIDER = np.finfo(np.longdouble).nmant > 52


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_ARRAYS))
def test_bad_arrays_are_refused_and_the_place_is_named(case: BadArrays, protocol: Protocol) -> None:
    with pytest.raises(DataError) as caught:
        protocol.share(check_samples("owner 7", case.y_true, case.y_score, case.pos_label), ())
    error = caught.value
    assert (error.source, error.row, error.column) == ("owner 7", case.row, case.column)
    assert case.says in str(error)
    assert leaks(everything_about(error), [PLANTED_DIGITS, float(PLANTED)]) == []


@pytest.mark.skipif(not LONGDOUBLE_IS_WIDER, reason="longdouble is float64 on this machine")
@pytest.mark.parametrize("power", [-60, 5000])
def test_a_longdouble_is_not_rounded(power: int) -> None:
    scores = np.array([0.5, 0.5], np.longdouble)
    scores[1] += np.longdouble(2) ** power
    with pytest.raises(DataError, match="row 2, column 'y_score': the score does not fit a float64 exactly"):
        check_samples("owner 1", [0, 1], scores)


@pytest.mark.parametrize(
    "y_score",
    [
        SCORES,
        tuple(SCORES),
        np.array(SCORES),
        np.array(SCORES, np.float16),
        np.array(SCORES, np.float32),
        np.array(SCORES, np.longdouble),
        np.array(SCORES, ">f8"),
        np.array(SCORES, object),
        np.array([SCORES, SCORES]).T[:, 0],
        np.ma.array(SCORES),
        LikeAPandasSeries(SCORES),
        memoryview(array("d", SCORES)),
    ],
    ids=[
        "list",
        "tuple",
        "f8",
        "f2",
        "f4",
        "long",
        "big endian",
        "objects",
        "strided",
        "unmasked",
        "pandas",
        "view",
    ],
)
def test_scores_in_any_container(y_score: Any) -> None:
    samples = check_samples("owner 1", LABELS, y_score)
    assert samples.scores.tolist() == SCORES
    assert samples.scores.dtype == np.dtype("=f8")
    assert samples.labels.tolist() == LABELS


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_integer_scores(dtype: type) -> None:
    assert check_samples("owner 1", [1, 0, 1], np.array([0, 1, 1], dtype)).scores.tolist() == [0.0, 1.0, 1.0]


def test_a_float32_keeps_its_own_value() -> None:
    assert (
        check_samples("owner 1", [1], np.array([0.1], np.float32)).scores[0] == float(np.float32(0.1)) != 0.1
    )


@pytest.mark.parametrize(
    ("y_true", "pos_label"),
    [
        ([0, 1, 1], None),
        ([False, True, True], None),
        ([0.0, 1.0, 1.0], None),
        ([-0.0, 1.0, 1.0], None),
        (np.array([0, 1, 1], np.uint8), None),
        (np.array([0, 1, 1], np.float32), None),
        (np.array([0, 1, 1], np.longdouble), None),
        (np.array([False, True, True]), None),
        (["0", "1", "1.0"], None),
        (["false", "TRUE", " True "], None),
        ([0, True, "true"], None),
        (LikeAPandasSeries([0, 1, 1]), None),
        (LikeAPandasSeries(["no", "yes", "yes"]), "yes"),
        (["no", "yes", "Yes"], "YES"),
        ([-1, 1, 1], 1),
        ([1, 2, 2], 2),
        ([1, 2, 2], 2.0),
        ([1.0, 2.0, 2.0], "2"),
        ([1, 0, 0], 0),
        ([True, False, False], False),
        ([False, True, True], 1),
        ([0, 1, 1], True),
        (["false", "true", "true"], "1"),
        (["0.0", "1.0", "1"], "1"),
    ],
)  # fmt: skip
def test_labels_in_any_spelling(y_true: Any, pos_label: object) -> None:
    assert check_samples("owner 1", y_true, SCORES, pos_label).labels.tolist() == LABELS


@pytest.mark.parametrize("y_true", [[True, True], [1.0, 1.0], ["1", "1"], ["true", "1.0"]])
def test_an_owner_of_positives_only_is_not_turned_into_negatives(y_true: Any) -> None:
    assert check_samples("owner 1", y_true, [0.5, 0.5], pos_label=1).labels.tolist() == [1, 1]


@pytest.mark.parametrize("pos_label", ["", " ", "NA", float("nan")])
def test_the_positive_label_must_be_a_value(pos_label: object) -> None:
    with pytest.raises(InputError, match="the positive label must be a value"):
        check_samples("owner 1", ["", "NA"], [0.5, 0.5], pos_label)


@each_split
def test_what_the_caller_passed_stays_as_it_was(protocol: Protocol) -> None:
    y_true, y_score = np.array([1, 0, 1]), np.array([0.5, -0.0, 0.75])
    y_score.flags.writeable = False
    protocol.share(check_samples("owner 1", y_true, y_score), ())
    assert y_true.tolist() == [1, 0, 1]
    assert np.signbit(y_score).tolist() == [False, True, False]


SOME_SCORES = [0.0, -0.0, 1.5, -2.25, 5e-324, -5e-324, 1.7976931348623157e308]


def test_negating_is_exact_and_keeps_zero() -> None:
    given = check_samples("north", [1, 0, 1, 0, 1, 0, 1], SOME_SCORES)
    negated = given.negate()
    assert negated.negated
    assert not given.negated
    assert negated.scores.tolist() == [-score for score in SOME_SCORES]
    assert not np.signbit(negated.scores[:2]).any()
    assert negated.labels is given.labels
    assert (negated.source, negated.score_column, negated.row_of(3)) == ("north", "y_score", 4)


def test_the_scores_of_the_source_are_the_same_whichever_way_they_are_held() -> None:
    given = check_samples("north", [1, 0, 1, 0, 1, 0, 1], SOME_SCORES)
    for turned in (given, given.negate(), given.negate().negate(), given.negate().negate().negate()):
        assert turned.scores_of_source.tolist() == SOME_SCORES
    assert given.negate().negate().scores.tolist() == SOME_SCORES
    assert not given.negate().negate().negated
    assert given.scores_of_source is given.scores
