"""What owners read of the columns of a release: what can be, and nothing that cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.io.models import checked, to_builtins
from ppaurora.metrics import METRICS, Metric, Query
from ppaurora.metrics.reading import ReleasedResult, column_count, read_release
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import ResultShare
from ppaurora.statistics.estimates import Estimate, Table

Column = tuple[int, int]

SIZES = (40, 30, 30)
OWNERS = ("north", "harbour", "valley")
YES, NO = (1, 0), (0, 0)
ALL_FIT = [YES] * len(OWNERS)
UNFIT = "^the parts of the result do not belong together$"


def asked_for(*metrics: Metric, level: float | None = None, **rules: Any) -> Query:
    policy = checked(Policy, {**to_builtins(Policy.exact()), "counts": "hidden", **rules})
    return Query(metrics, SIZES, policy, level)


def read(query: Query, columns: Sequence[Column], checked_owners: Sequence[str] = OWNERS) -> ReleasedResult:
    """Negative numbers are modulo 2^64, as parts are."""
    assert len(columns) == column_count(query, len(checked_owners)), "this test gives the wrong columns"
    words = np.array([[number % 2**64 for number in column] for column in columns], dtype=np.uint64)
    return read_release(words.T, query, checked_owners)


def value_of(released: ReleasedResult, name: str) -> float | None:
    found = released.metrics[name]
    assert isinstance(found, Estimate)
    return found.value


@dataclass(frozen=True)
class OneNumber:
    """Something asked for that has one number; some columns that can be, and what they say, and some that
    cannot be. The flag that a conditional number has follows."""

    query: Query
    good: dict[Column, float]
    bad: list[Column]

    @property
    def name(self) -> str:
        return self.query.metrics[0].name

    @property
    def flag(self) -> list[Column]:
        return [YES] if self.query.outputs[0].conditional else []


AUROC, BRIER = METRICS["auroc"](), METRICS["brier"]()
RATIO, GAP = METRICS["observed_expected"](), METRICS["calibration_in_the_large"]()
TOO_LARGE = [(2**63 - 1, 0), (2**62, 0), (1, 301), (1, 2**63), (0, 2**64 - 1)]
NUMBERS = {
    "an area": OneNumber(
        asked_for(AUROC),
        {(3 << 50, 52): 0.75, (0, 0): 0.0, (1, 0): 1.0, (1 << 52, 52): 1.0, (1, 60): 2.0**-60},
        [((1 << 52) + 1, 52), (2, 0), (2**53 - 1, 52), (-1, 0), (-1, 52), (-(1 << 52), 52), *TOO_LARGE],
    ),
    "a float": OneNumber(
        asked_for(BRIER),
        {(1, 2): 0.25, (2**53 - 1, 53): 1 - 2.0**-53, (1, 0): 1.0},
        [(2**53 + 1, 53), (2, 0), (-1, 2), *TOO_LARGE],
    ),
    "a float that is scaled": OneNumber(
        asked_for(RATIO),
        {(1, 7): 1.0, (25, 5): 100.0, (1, 8): 0.5},
        [(26, 5), ((25 << 40) + 1, 45), (1, 0), (-1, 7), *TOO_LARGE],
    ),
    "a signed float": OneNumber(
        asked_for(GAP),
        {(1, 1): 0.5, (-1, 1): -0.5, (-1, 0): -1.0, (1, 0): 1.0},
        [(2, 0), (-2, 0), (-(2**53) - 1, 53), *TOO_LARGE, (-(2**63), 0)],
    ),
    "a rounded number": OneNumber(
        asked_for(AUROC, digits=2),
        {(0, 0): 0.0, (1, 0): 0.01, (99, 0): 0.99, (100, 0): 1.0},
        [(101, 0), (-1, 0), (50, 1), (0, 1), *TOO_LARGE],
    ),
    "a rounded number above one": OneNumber(
        asked_for(RATIO, digits=3),
        {(0, 0): 0.0, (100_000, 0): 100.0, (1234, 0): 1.234},
        [(100_001, 0), (-1, 0), (1, 1), *TOO_LARGE],
    ),
    "a signed rounded number": OneNumber(
        asked_for(GAP, digits=1),
        {(-100, 0): -1.0, (-3, 0): -0.03, (100, 0): 1.0},  # one decimal more, as its scale is small
        [(101, 0), (-101, 0), (-3, 1), *TOO_LARGE],
    ),
}
GOOD = [(name, column) for name, one in NUMBERS.items() for column in one.good]
BAD = [(name, column) for name, one in NUMBERS.items() for column in one.bad]


@pytest.mark.parametrize(("name", "column"), GOOD)
def test_a_number_is_read(name: str, column: Column) -> None:
    one = NUMBERS[name]
    released = read(one.query, [YES, column, *one.flag, *ALL_FIT])
    assert value_of(released, one.name) == one.good[column]
    assert (released.suppressed, released.positives) == (False, None)


@pytest.mark.parametrize(("name", "column"), BAD)
def test_a_number_that_cannot_be_is_refused(name: str, column: Column) -> None:
    one = NUMBERS[name]
    with pytest.raises(ProtocolError, match=UNFIT):
        read(one.query, [YES, column, *one.flag, *ALL_FIT])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_where_there_is_no_result_is_refused(name: str) -> None:
    one = NUMBERS[name]
    for column in (column for column in one.good if column != (0, 0)):
        for flag in ([YES], [NO]) if one.flag else ([],):
            with pytest.raises(ProtocolError, match=UNFIT):
                read(one.query, [NO, column, *flag, *ALL_FIT])
    with pytest.raises(UndefinedResultError, match=r"^undefined: one class only$"):
        read(one.query, [NO, NO, *([NO] if one.flag else []), *ALL_FIT])


FLAGS = [(2, 0), (-1, 0), (1, 1), (0, 1), (1, 2**63), (2**63, 0), (2**64 - 1, 2**64 - 1)]


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_are_0_or_1(flag: Column) -> None:
    auroc = asked_for(AUROC)
    columns = [YES, (1, 1), *ALL_FIT]
    assert value_of(read(auroc, columns), "auroc") == 0.5
    for place in (0, 2, 3, 4):
        with pytest.raises(ProtocolError, match=UNFIT):
            read(auroc, [*columns[:place], flag, *columns[place + 1 :]])
    conditional = asked_for(RATIO)
    for value in ((1, 7), NO):
        with pytest.raises(ProtocolError, match=UNFIT):
            read(conditional, [YES, value, flag, *ALL_FIT])


@pytest.mark.parametrize("floor", [0, 1])
def test_what_is_withheld_or_undefined_by_itself_has_no_value(floor: int) -> None:
    """Where the policy has no rule that could withhold it, it is undefined."""
    query = asked_for(RATIO, AUROC, minimum_positives=floor)
    columns = [YES, NO, (1, 1), NO, *ALL_FIT]
    released = read(query, columns)
    assert released.metrics["observed_expected"] == Estimate(None, suppressed=bool(floor))
    assert value_of(released, "auroc") == 0.5
    assert not released.suppressed
    for value in ((1, 7), (1, 0), (0, 1), (-1, 0)):
        with pytest.raises(ProtocolError, match=UNFIT):
            read(query, [YES, value, *columns[2:]])


def test_nothing_is_there_by_itself_where_there_is_no_result() -> None:
    with pytest.raises(ProtocolError, match=UNFIT):
        read(asked_for(RATIO), [NO, NO, YES, *ALL_FIT])
    with pytest.raises(ProtocolError, match=UNFIT):
        read(asked_for(RATIO, minimum_positives=1), [NO, NO, YES, *ALL_FIT])


# Counts


@pytest.mark.parametrize("positives", [0, 1, 50, 100])
def test_exact_counts(positives: int) -> None:
    released = read(asked_for(AUROC, counts="exact"), [YES, (positives, 0), (1, 1), *ALL_FIT])
    assert released.positives == positives


@pytest.mark.parametrize("positives", [(-1, 0), (101, 0), (50, 1), (2**63, 0), (2**32, 0)])
def test_exact_counts_that_cannot_be(positives: Column) -> None:
    with pytest.raises(ProtocolError, match=UNFIT):
        read(asked_for(AUROC, counts="exact"), [YES, positives, (1, 1), *ALL_FIT])


@pytest.mark.parametrize("steps", [0, 1, 20])
def test_rounded_counts(steps: int) -> None:
    released = read(asked_for(AUROC, counts="rounded"), [YES, (steps, 0), (1, 1), *ALL_FIT])
    assert released.positives == 5 * steps


@pytest.mark.parametrize("steps", [(-1, 0), (21, 0), (4, 1), (2**62, 0)])
def test_rounded_counts_that_cannot_be(steps: Column) -> None:
    with pytest.raises(ProtocolError, match=UNFIT):
        read(asked_for(AUROC, counts="rounded"), [YES, steps, (1, 1), *ALL_FIT])


# Standard errors


@pytest.mark.parametrize(
    ("rules", "column", "expected"),
    [({}, (1, 8), 2.0**-4), ({}, (0, 0), 0.0), ({"digits": 2}, (62, 0), 0.062), ({"digits": 2}, (0, 0), 0.0)],
)
def test_a_standard_error_is_a_root_and_has_one_digit_more(
    rules: dict[str, Any], column: Column, expected: float
) -> None:
    query = asked_for(AUROC, level=0.95, **rules)
    value = (75, 0) if rules else (3, 2)
    found = read(query, [YES, value, column, YES, *ALL_FIT]).metrics["auroc"]
    assert isinstance(found, Estimate)
    assert (found.value, found.standard_error) == (0.75, expected)
    missing = read(query, [YES, value, NO, NO, *ALL_FIT]).metrics["auroc"]
    assert isinstance(missing, Estimate)
    assert (missing.value, missing.standard_error, missing.interval) == (0.75, None, None)
    assert "fewer than two" in missing.note


@pytest.mark.parametrize(
    ("rules", "column"),
    [({}, (-1, 8)), ({}, (2, 0)), ({}, (-(2**62), 62)), ({"digits": 2}, (1001, 0)), ({"digits": 2}, (-1, 0))],
)
def test_a_standard_error_that_cannot_be(rules: dict[str, Any], column: Column) -> None:
    with pytest.raises(ProtocolError, match=UNFIT):
        read(asked_for(AUROC, level=0.95, **rules), [YES, NO, column, YES, *ALL_FIT])


# Tables


def test_a_table_is_read_row_by_row() -> None:
    ppv = METRICS["ppv"](thresholds=[0.25, 0.75])
    query = asked_for(ppv, counts="exact", level=0.9)
    columns = [YES, (40, 0), (1, 1), (60, 0), NO, (3, 0), YES, YES, NO, YES, *ALL_FIT]
    released = read(query, columns)
    table = released.metrics["ppv"]
    assert isinstance(table, Table)
    assert [row.at for row in table] == [{"threshold": 0.25}, {"threshold": 0.75}]
    assert [row["called_positive"].value for row in table] == [60, 3]
    assert table[0]["ppv"].value == 0.5
    assert table[0]["ppv"].method == "Wilson"
    assert table[1]["ppv"] == Estimate(None)
    for place, column in ((4, (1, 1)), (5, (101, 0)), (3, (-1, 0)), (9, (2, 0)), (8, (0, 1))):
        with pytest.raises(ProtocolError, match=UNFIT):
            read(query, [*columns[:place], column, *columns[place + 1 :]])


# Owners' flags, and results that are not there


def test_an_owner_whose_submission_does_not_fit_is_told_before_anything_else() -> None:
    for rules in ({}, {"minimum_positives": 10}):
        query = asked_for(AUROC, **rules)
        for flags, culprit in (((0, 1, 1), "north"), ((1, 0, 0), "harbour"), ((1, 1, 0), "valley")):
            with pytest.raises(UnsortedListError) as caught:
                read(query, [NO, NO, *((flag, 0) for flag in flags)])
            assert str(caught.value) == (
                f"{culprit}: the list that was sent is not sorted, or its sums do not fit it; "
                "there is no result"
            )


@pytest.mark.parametrize("rule", ["minimum_positives", "minimum_negatives"])
def test_with_floors_a_result_that_is_not_there_is_suppressed(rule: str) -> None:
    metrics = (AUROC, RATIO, METRICS["ppv"](thresholds=[0.5]))
    query = asked_for(*metrics, level=0.95, counts="rounded", **{rule: 1})
    columns = [NO] * (column_count(query, 3) - 3)
    released = read(query, [*columns, *ALL_FIT])
    assert released.suppressed
    assert released.positives is None
    assert list(released.metrics) == ["auroc", "observed_expected", "ppv"]
    for found in released.metrics.values():
        shown = [found] if isinstance(found, Estimate) else [e for row in found for e in row.values.values()]
        assert shown
        assert set(shown) == {Estimate(None, suppressed=True)}
    with pytest.raises(UndefinedResultError):
        read(asked_for(*metrics, level=0.95, counts="rounded"), [*columns, *ALL_FIT])


def test_columns_of_a_protocol_that_checks_no_lists() -> None:
    assert value_of(read(asked_for(AUROC), [YES, (1, 1)], ()), "auroc") == 0.5
    with pytest.raises(ProtocolError, match=UNFIT):
        read(asked_for(AUROC), [NO, (1, 1)], ())


# Parts


EVERYTHING = asked_for(
    AUROC, GAP, RATIO, METRICS["ppv"](thresholds=[0.5]), METRICS["histogram"](), level=0.95, counts="exact"
)


def parts(columns: Sequence[Column]) -> list[ResultShare]:
    words = np.array(columns, dtype=np.uint64).T
    mask = Stream.fresh().words(words.shape)
    return [ResultShare(mask), ResultShare(words - mask)]


def everything() -> list[Column]:
    """Zeros are numbers that can be, and what is conditional is there."""
    conditional = sum(output.conditional for output in EVERYTHING.outputs)
    return [YES, *[NO] * len(EVERYTHING.outputs), *[YES] * (conditional + len(OWNERS))]


def test_parts_that_do_not_belong_together_are_refused() -> None:
    one, other = parts(everything()), parts(everything())
    for fitting in (one, other):
        assert value_of(Fast().combine(fitting, EVERYTHING, OWNERS), "auroc") == 0
    for pair in ([one[0], other[1]], [other[0], one[1]], [one[0], one[0]], [one[1], one[1]]):
        with pytest.raises(ProtocolError, match=UNFIT):
            Fast().combine(pair, EVERYTHING, OWNERS)


def test_a_flag_that_a_server_flips_is_noticed() -> None:
    """Without its flag a number is not there, and without a result no number is."""
    columns = everything()
    columns[2:4] = [(1, 1), (1, 4)]  # AUROC and its standard error, behind the positives
    first, second = parts(columns)
    assert value_of(Fast().combine([first, second], EVERYTHING, OWNERS), "auroc") == 0.5
    for flag in (0, 1 + len(EVERYTHING.outputs)):
        changed = first.words.copy()
        changed[0, flag] -= np.uint64(1)
        with pytest.raises(ProtocolError, match=UNFIT):
            Fast().combine([ResultShare(changed), second], EVERYTHING, OWNERS)


@pytest.mark.parametrize("count", [1, -1, 5, -5])
def test_too_few_or_too_many_columns_are_refused(count: int) -> None:
    columns = [*everything(), *[YES] * count] if count > 0 else everything()[:count]
    with pytest.raises(ProtocolError, match="each server must give one part of every flag"):
        Fast().combine(parts(columns), EVERYTHING, OWNERS)


def test_the_sizes_of_what_is_asked_for() -> None:
    """One column for the result, one for every number, one more for what is conditional, one per owner."""
    assert column_count(asked_for(AUROC), 3) == 1 + 1 + 3
    assert column_count(asked_for(AUROC, counts="exact"), 3) == 1 + 2 + 3
    assert column_count(asked_for(AUROC, level=0.95), 0) == 1 + 2 + 1
    ppv = METRICS["ppv"](thresholds=[0.2, 0.5])
    assert column_count(asked_for(ppv), 2) == 1 + 2 + 2 + 2
    assert column_count(asked_for(ppv, counts="rounded"), 2) == 1 + 1 + 4 + 4 + 2
    assert column_count(EVERYTHING, 3) == len(everything())
