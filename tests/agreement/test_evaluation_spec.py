"""What a study evaluates: how scores are read, and until when they are taken."""

from __future__ import annotations

import datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.agreement.evaluation_spec import Deadline, EvaluationSpec
from ppaurora.data import Samples
from ppaurora.errors import DataError, InputError
from ppaurora.protocols import Fast

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCORES = st.lists(st.one_of(FINITE, st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0])), min_size=1)


def samples(scores: list[float]) -> Samples:
    places = np.arange(len(scores))
    return Samples("scores.csv", np.array(scores), (places % 2).astype(np.uint8), places + 2, "risk")


@given(SCORES)
def test_lower_scores_are_turned_round_exactly(scores: list[float]) -> None:
    """As sorting by the exact numbers says: what is lower comes first, and what is equal stays equal."""
    given_ = samples(scores)
    read = EvaluationSpec(score_direction="lower").read(given_)
    assert [Fraction(score) for score in read.scores.tolist()] == [-Fraction(score) for score in scores]
    assert not np.signbit(read.scores[given_.scores == 0]).any()
    keys = Fast().encode(read).tolist()
    for one, one_key in zip(scores, keys, strict=True):
        for other, other_key in zip(scores, keys, strict=True):
            assert (one_key > other_key) == (Fraction(one) < Fraction(other))
    prepared = Fast().prepare(read)
    order = sorted(range(len(scores)), key=lambda place: Fraction(scores[place]))
    assert prepared.labels.tolist() == [int(given_.labels[place]) for place in order]
    assert read.labels is given_.labels
    assert (read.source, read.score_column, read.row_of(0)) == ("scores.csv", "risk", 2)


def test_higher_scores_of_any_kind_stay_as_they_are() -> None:
    given_ = samples([-3.5, 1e300, -0.0])
    assert EvaluationSpec().read(given_) is given_


def test_probabilities_are_checked_by_place_and_not_quoted() -> None:
    evaluated = EvaluationSpec(score_scale="probability")
    good = samples([0.0, 1.0, -0.0, 0.5])
    assert evaluated.read(good) is good
    for bad in (-5e-324, float(np.nextafter(1.0, 2.0)), 31337.0):
        with pytest.raises(
            DataError, match=r"outside \[0, 1\] \(the study evaluates probabilities\)"
        ) as caught:
            evaluated.read(samples([0.5, 0.25, bad, 7.0]))
        assert (caught.value.source, caught.value.row, caught.value.column) == ("scores.csv", 4, "risk")
        assert repr(bad) not in str(caught.value)


def test_a_probability_cannot_fall() -> None:
    with pytest.raises(InputError, match="probability of the other class"):
        EvaluationSpec(score_scale="probability", score_direction="lower")


def at(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("until", "last", "over"),
    [
        ("2026-12-31", "2026-12-31T23:59:59.999+00:00", "2027-01-01T00:00:00+00:00"),
        ("2024-02-28", "2024-02-28T23:59:59+00:00", "2024-02-29T00:00:00+00:00"),
        ("2026-12-31T18:00:00Z", "2026-12-31T17:59:59+00:00", "2026-12-31T18:00:00+00:00"),
        ("2026-12-31T18:00:00.5+02:00", "2026-12-31T16:00:00.4+00:00", "2026-12-31T16:00:00.5+00:00"),
    ],
)
def test_a_date_counts_to_its_end_and_a_time_to_the_second(until: str, last: str, over: str) -> None:
    evaluated = EvaluationSpec(submissions_until=Deadline.from_plain(until))
    assert evaluated.takes_submissions(at(last))
    assert not evaluated.takes_submissions(at(over))
    assert until in evaluated.too_late


def test_without_a_date_submissions_are_always_taken() -> None:
    assert EvaluationSpec().takes_submissions(1e12)


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "2026-13-01", "2026-12-31T18:00:00", "2026-12-31 18:00:00Z", "20261231", "9999-12-31"],
)
def test_dates_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected a date such as"):
        Deadline.from_plain(text)
