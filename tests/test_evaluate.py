"""`ppaurora.evaluate` from end to end: three parties in threads, against exact oracles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import ppaurora
from ppaurora import DataError, InputError, Report, UndefinedResultError
from ppaurora.channel.memory import memory_transports
from ppaurora.errors import UnsortedListError
from ppaurora.local.threads import run_in_threads
from ppaurora.owner import Prepared, Samples, combine, prepare, split
from ppaurora.party.job import Job
from ppaurora.party.run import Outcome, take_part
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.role import Role
from tests.support.bad_arrays import BAD_ARRAYS
from tests.support.bad_input import ONLY_PAPER, BadArrays, by_protocol
from tests.support.oracles import Sample, exact_aupr, exact_auroc, exact_average_precision
from tests.test_owner import LikeAPandasSeries

TOLERANCE = 1e-9
ALL_METRICS = ("auroc", "auroc_no_ties", "aupr", "ap")
GOOD = ([0, 1], [0.25, 0.75])

Owner = tuple[Sequence[int], Sequence[float]]

each_protocol = pytest.mark.parametrize("protocol", ["fast", "paper"])


def pooled(owners: Sequence[Owner]) -> list[Sample]:
    return [
        (float(score), int(label))
        for labels, scores in owners
        for label, score in zip(labels, scores, strict=True)
    ]


def defined(value: Fraction | None) -> Fraction:
    assert value is not None, "this test needs both classes"
    return value


def bounds_without_ties(samples: Sequence[Sample]) -> tuple[Fraction, Fraction]:
    """AUROC if every tie were resolved against the model, and in its favour."""
    positives = [score for score, label in samples if label]
    negatives = [score for score, label in samples if not label]
    worst = sum(p > n for p in positives for n in negatives)
    best = sum(p >= n for p in positives for n in negatives)
    pairs = len(positives) * len(negatives)
    return Fraction(worst, pairs), Fraction(best, pairs)


def check_values(report: Report, owners: Sequence[Owner]) -> None:
    """All metrics that the report has."""
    samples = pooled(owners)
    assert report.metrics
    if "auroc" in report.metrics:
        auroc = defined(exact_auroc(samples))
        if report.protocol == "fast":
            assert report.auroc == float(auroc), "not the nearest float64"
        assert abs(report.auroc - auroc) < TOLERANCE
    if "auroc_no_ties" in report.metrics:
        worst, best = bounds_without_ties(samples)
        assert float(worst) - TOLERANCE <= report.auroc_no_ties <= float(best) + TOLERANCE
        if report.protocol == "fast" and worst == best:
            assert report.auroc_no_ties == float(worst), "not the nearest float64"
    if "aupr" in report.metrics:
        assert abs(report.aupr - defined(exact_aupr(samples))) < TOLERANCE
    if "ap" in report.metrics:
        assert abs(report.ap - defined(exact_average_precision(samples))) < TOLERANCE


def random_owners(seed: int, sizes: Sequence[int], different_scores: int) -> list[Owner]:
    """Both classes, wherever they are."""
    random = np.random.default_rng(seed)
    owners = []
    for size in sizes:
        labels = random.integers(0, 2, size).tolist()
        owners.append((labels, (random.integers(0, different_scores, size) / different_scores).tolist()))
    owners[0][0][0], owners[-1][0][-1] = 1, 0
    return owners


# Values: fast


def neighbours(*scores: float) -> list[float]:
    """Each score, the one just below and the one just above."""
    return [
        float(value)
        for score in scores
        for value in (np.nextafter(score, -np.inf), score, np.nextafter(score, np.inf))
    ]


LARGEST = float(np.finfo(np.float64).max)
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
POOLS = {
    "all tied": [0.1],
    "two values": [-3.0, 7.5],
    "heavy ties": [-0.25, -0.0, 0.0, 0.25, 1.5],
    "float32 only": [k / 8 for k in range(-40, 40)],
    "negative": [-k / 997 for k in range(998)],
    "last bits": neighbours(0.1, -0.1, 1.0, -1e300, 0.0),
    "huge and tiny": [-LARGEST, -1e300, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-300, 2.0**60, 1e300, LARGEST],
    "many values": [k / 7 - 50 for k in range(1000)],
}


@st.composite
def any_owners(draw: st.DrawFn) -> list[Owner]:
    """2 to 5 owners of 1 to 40 samples; the model may be good, useless, or wrong nearly always."""
    few_floats = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=8)
    pool = sorted(draw(st.sampled_from(list(POOLS.values())) | few_floats))
    sizes = draw(st.lists(st.integers(1, 40), min_size=2, max_size=5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    skill = random.choice([0.0, 0.02, 0.3, 0.5, 0.8, 1.0])  # how often a sample is on its class's side
    owners: list[Owner] = []
    for size in sizes:
        labels = (random.random(size) < random.choice([0.0, 0.1, 0.5, 0.9, 1.0])).astype(int)
        upper_half = labels == (random.random(size) < skill)
        places = (random.random(size) + upper_half) / 2
        owners.append((labels.tolist(), [pool[int(place * len(pool))] for place in places]))
    return owners


@settings(max_examples=40, deadline=None)
@given(any_owners())
def test_fast_gives_the_nearest_float_of_auroc_and_the_other_metrics(owners: list[Owner]) -> None:
    exact = exact_auroc(pooled(owners))
    if exact is None:
        event("one class only")
        with pytest.raises(UndefinedResultError):
            ppaurora.evaluate(owners, metrics=ALL_METRICS)
        return
    event(f"auroc about {round(float(exact), 1)}")
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS)
    check_values(report, owners)
    assert list(report.metrics) == list(ALL_METRICS)
    assert report.openings == {}


def ranked(labels: str) -> list[float]:
    """Descending scores for labels in this order; samples in brackets are tied."""
    scores, score, tied = [], 0.0, False
    for character in labels:
        tied = character == "(" or (tied and character != ")")
        if character in "01":
            scores.append(score)
        score -= 0.0 if tied else 0.1
    return scores


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("1", "0", Fraction(1)),
        ("(1", "0)", Fraction(1, 2)),
        ("0" * 30, "1" * 9, Fraction(0)),
        ("0" * 149 + "(0", "1)" + "1" * 110, Fraction(1, 2 * 150 * 111)),
        ("0" * 149 + "1" * 110, "01", Fraction(110, 150 * 111)),
        ("1" * 149 + "(1", "0)" + "0" * 110, 1 - Fraction(1, 2 * 150 * 111)),
        ("1" * 7 + "0" * 10, "10", 1 - Fraction(10, 8 * 11)),
        ("(" + "01" * 33, "0" * 20 + "1" * 40 + ")", Fraction(1, 2)),
    ],
    ids=["one", "one half", "zero", "tiny by a tie", "small", "almost one", "below one", "all tied"],
)
def test_the_ends_of_the_scale(first: str, second: str, expected: Fraction) -> None:
    scores = ranked(first + second)
    labels = [[int(character) for character in part if character in "01"] for part in (first, second)]
    owners = [(labels[0], scores[: len(labels[0])]), (labels[1], scores[len(labels[0]) :])]
    assert exact_auroc(pooled(owners)) == expected
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS)
    check_values(report, owners)
    assert report.auroc == float(expected)


def test_hundreds_of_samples() -> None:
    owners = random_owners(3, (401, 64, 191), 10_000)
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS)
    check_values(report, owners)
    assert report.samples == 656


def test_any_subset_of_the_metrics_gives_the_same_values() -> None:
    owners = random_owners(11, (9, 20, 3), 12)
    together = ppaurora.evaluate(owners, metrics=ALL_METRICS).metrics
    for subset in [*((name,) for name in ALL_METRICS), ("ap", "auroc"), ("aupr", "ap", "auroc_no_ties")]:
        report = ppaurora.evaluate(owners, metrics=subset)
        assert list(report.metrics) == list(subset)
        assert report.metrics == {name: together[name] for name in subset}


@pytest.mark.parametrize("score", [5e-324, -5e-324, 0.1, -LARGEST])
def test_scores_that_differ_in_the_last_bit_stay_different(score: float) -> None:
    below = float(np.nextafter(score, 0.0))
    lower, higher = sorted((score, below))
    for positive, negative, expected in ((higher, lower, 1), (lower, higher, 0), (score, score, 0.5)):
        owners = [([1], [positive]), ([0], [negative])]
        assert exact_auroc(pooled(owners)) == expected
        assert ppaurora.evaluate(owners, metrics=["auroc"]).auroc == expected


# Values: paper


@pytest.mark.parametrize(
    ("sizes", "different_scores", "delta"),
    [
        ((1, 1), 50, 1),
        ((7, 12, 5), 6, 1),
        ((9, 4), 1, 1),
        ((1, 13, 2, 6), 40, 3),
        ((8, 8), 3, 5),
        ((3, 1, 1, 2, 4, 3), 8, 11),
    ],
)
def test_paper_gives_the_pooled_values_and_so_does_fast(
    sizes: tuple[int, ...], different_scores: int, delta: int
) -> None:
    owners = random_owners(sum(sizes), sizes, different_scores)
    paper = ppaurora.evaluate(owners, metrics=("auroc", "aupr", "ap"), protocol="paper", delta=delta)
    check_values(paper, owners)
    assert (paper.owners, paper.samples, paper.delta) == (len(sizes), sum(sizes), delta)
    fast = ppaurora.evaluate(owners, metrics=("auroc", "aupr", "ap"))
    check_values(fast, owners)
    assert (fast.owners, fast.samples, fast.protocol) == (len(sizes), sum(sizes), "fast")
    for name, value in fast.metrics.items():
        assert abs(value - paper.metrics[name]) < TOLERANCE


# Values: both


@each_protocol
def test_without_ties_both_auroc_agree(protocol: str) -> None:
    owners = [([1, 0, 1], [0.9, 0.3, 0.6]), ([0, 0, 1], [0.7, 0.1, 0.2])]
    report = ppaurora.evaluate(owners, metrics=("auroc_no_ties", "auroc"), protocol=protocol)
    check_values(report, owners)
    assert report.auroc_no_ties == report.auroc
    assert list(report.metrics) == ["auroc_no_ties", "auroc"]


@each_protocol
def test_an_owner_with_one_class_only_is_fine(protocol: str) -> None:
    owners = [([1, 1, 1], [0.5, 0.75, 0.25]), ([0, 0], [0.5, 0.125]), ([1], [0.5])]
    check_values(ppaurora.evaluate(owners, metrics=ALL_METRICS, protocol=protocol), owners)


@each_protocol
def test_minus_zero_ties_with_zero(protocol: str) -> None:
    owners = [([1], [-0.0]), ([0], [0.0])]
    assert ppaurora.evaluate(owners, metrics=["auroc"], protocol=protocol).auroc == 0.5


# Key widths

WIDE = 0.1  # not a float32
NARROW = float(np.float32(WIDE))


@pytest.mark.parametrize(
    ("scores", "asked", "got"),
    [
        (([0.5, NARROW], [-1e30, 3.0]), None, 64),
        (([0.5, NARROW], [-(2.0**100), 3.0]), None, 32),
        (([0.5, NARROW], [-(2.0**100), 3.0]), 32, 32),
        (([0.5, NARROW], [-(2.0**100), 3.0]), np.int64(64), 64),
        (([0.5, WIDE], [0.25, NARROW]), None, 64),
        (([0.5, NARROW], [0.25, WIDE]), None, 64),
        (([0.5, NARROW], [0.25, WIDE]), 64, 64),
    ],
)
def test_keys_are_as_wide_as_the_data_needs_or_as_asked_for(
    scores: tuple[list[float], list[float]], asked: Any, got: int
) -> None:
    owners = [([0, 1], scores[0]), ([1, 0], scores[1])]
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS, key_bits=asked)
    check_values(report, owners)
    assert json.loads(report.to_json())["key_bits"] == report.key_bits == got


def test_narrow_keys_give_the_same_values_for_less() -> None:
    owners = random_owners(5, (30, 70), 64)
    narrow, wide = (ppaurora.evaluate(owners, metrics=ALL_METRICS, key_bits=bits) for bits in (32, 64))
    assert narrow.metrics == wide.metrics
    check_values(narrow, owners)
    assert narrow.cost.bytes < wide.cost.bytes


def test_data_that_would_not_be_exact_is_refused() -> None:
    owners = [([0, 1], [0.5, NARROW]), ([0, 1, 0], [0.5, NARROW, WIDE])]
    with pytest.raises(DataError, match="owner 2, row 3, column 'y_score': the score is not a float32"):
        ppaurora.evaluate(owners, key_bits=32)


def test_paper_has_one_width() -> None:
    for key_bits in (None, 64):
        report = ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper", key_bits=key_bits)
        assert (report.auroc, report.key_bits) == (1.0, 64)
    with pytest.raises(InputError, match="the key width is for the protocol 'fast'"):
        ppaurora.evaluate([GOOD, GOOD], protocol="paper", key_bits=32)


# Lists that are not sorted


def run_on_lists(lists: Sequence[Sequence[int]], key_bits: int = 64) -> list[ResultShare]:
    """What the proxies make of keys as they are; the first record of each list is its only positive."""
    prepared = []
    for keys in lists:
        labels = np.zeros(len(keys), dtype=np.uint8)
        labels[0] = 1
        prepared.append(Prepared(np.array(keys, dtype=np.uint64), labels))
    return run_on_prepared(prepared, key_bits)


def run_on_prepared(lists: Sequence[Prepared], key_bits: int = 64) -> list[ResultShare]:
    job = Job(tuple(len(prepared.keys) for prepared in lists), ("auroc",), "fast", key_bits)
    shares = [split(prepared, "fast", key_bits) for prepared in lists]
    transports = memory_transports(Role, 20)

    def party(role: Role) -> Outcome:
        return take_part(transports[role], job, () if role.is_helper else [pair[role] for pair in shares])

    outcomes = run_in_threads(party, transports)
    assert [outcome.openings for outcome in outcomes] == [{}] * 3
    return [outcome.result for outcome in outcomes if outcome.result is not None]


def released(shares: Sequence[ResultShare]) -> list[list[int]]:
    """Mantissas and exponents of all that an owner gets to see: defined, auroc, a flag per owner."""
    rows: list[list[int]] = (shares[0].words + shares[1].words).tolist()
    return rows


def encoded_key(score: float, key_bits: int) -> int:
    samples = Samples("owner", np.array([score]), np.array([1], dtype=np.uint8))
    return int(prepare(samples, "fast", key_bits).keys[0])


def auroc_of(shares: Sequence[ResultShare], owners: int) -> float:
    names = [f"owner {number}" for number in range(1, owners + 1)]
    return combine(shares, ["auroc"], names)["auroc"]


HIGHEST = {bits: encoded_key(number, bits) for bits, number in ((32, LARGEST_FLOAT32), (64, LARGEST))}
LOWEST = {bits: encoded_key(-number, bits) for bits, number in ((32, LARGEST_FLOAT32), (64, LARGEST))}


def descending(size: int, key_bits: int = 64) -> list[int]:
    """Neighbours that differ in the last bit only, from the largest float's key down."""
    return list(range(HIGHEST[key_bits], HIGHEST[key_bits] - size, -1))


def swapped(keys: Sequence[int], place: int) -> list[int]:
    return [*keys[:place], keys[place + 1], keys[place], *keys[place + 2 :]]


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("place", [0, 40, 62, 63, 64, 128])
def test_two_neighbours_in_the_wrong_order_are_found(place: int, key_bits: int) -> None:
    keys = descending(130, key_bits)
    shares = run_on_lists([[5], swapped(keys, place), keys], key_bits)
    with pytest.raises(UnsortedListError) as caught:
        auroc_of(shares, 3)
    assert str(caught.value) == "owner 2: the list that was sent is not sorted; there is no result"
    assert caught.value.exit_code == 2
    assert released(shares) == [[0, 0, 1, 0, 1], [0] * 5], "more than the three owners' flags"


@pytest.mark.parametrize("key_bits", [32, 64])
def test_the_same_lists_in_order_pass(key_bits: int) -> None:
    keys = descending(130, key_bits)
    shares = run_on_lists([[LOWEST[key_bits]], keys, keys], key_bits)
    # Of three positives, two are above all negatives and one is below.
    assert auroc_of(shares, 3) == float(Fraction(2, 3))


@pytest.mark.parametrize("culprit", [1, 2, 3])
@pytest.mark.parametrize("others", [1, 64])
def test_the_owner_is_named(culprit: int, others: int) -> None:
    lists = [descending(others)] * 3
    lists[culprit - 1] = sorted(descending(7))
    shares = run_on_lists(lists)
    with pytest.raises(UnsortedListError, match=f"owner {culprit}: the list that was sent is not sorted"):
        auroc_of(shares, 3)


SORTED_LISTS = {
    "single records": [[1], [2]],
    "all tied": [[7] * 65, [7] * 64],
    "ties among others": [[9, 9, 4, 4, 4, 1, 1], [HIGHEST[64]] * 2 + [LOWEST[64]] * 70],
    "each begins above the end of the one before": [[6, 5], [8, 1], [9, 3, 2]],
    "each begins below the end of the one before": [[9, 8], [7, 6], [5, 4]],
    "ends at a word's end": [descending(64), descending(128)],
}


@pytest.mark.parametrize("lists", SORTED_LISTS.values(), ids=SORTED_LISTS.keys())
def test_sorted_lists_pass(lists: list[list[int]]) -> None:
    lists = [*lists, [3, 2]]
    samples = [(key, int(place == 0)) for keys in lists for place, key in enumerate(keys)]
    assert auroc_of(run_on_lists(lists), len(lists)) == float(defined(exact_auroc(samples)))


def test_one_class_and_not_sorted() -> None:
    """Whoever reads the result learns about the order, not the class."""
    messages = []
    for label in (0, 1):
        unsorted = Prepared(np.array([3, 4], dtype=np.uint64), np.array([label, label], dtype=np.uint8))
        shares = run_on_prepared([unsorted, unsorted])
        with pytest.raises(UnsortedListError) as caught:
            auroc_of(shares, 2)
        messages.append((str(caught.value), released(shares)))
    assert messages[0] == messages[1]
    assert messages[0][1] == [[0] * 4, [0] * 4]


@pytest.mark.parametrize("transport", ["memory", "tls"])
def test_an_owner_that_forgets_to_sort(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(samples: Samples, protocol: str, key_bits: int) -> Prepared:
        prepared = prepare(samples, protocol, key_bits)
        if samples.source == "owner 2":
            return Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy())
        return prepared

    monkeypatch.setattr("ppaurora.evaluation.prepare", forget)
    with pytest.raises(UnsortedListError, match="owner 2: the list that was sent is not sorted"):
        ppaurora.evaluate([GOOD, GOOD, GOOD], transport=transport, timeout=30)
    # Tied, it is sorted either way.
    tied = ([0, 1], [0.5, 0.5])
    assert ppaurora.evaluate([GOOD, tied, GOOD], metrics=["auroc"], transport="memory").auroc == float(
        defined(exact_auroc(pooled([GOOD, tied, GOOD])))
    )


# Containers


@pytest.mark.parametrize(
    ("y_true", "y_score", "pos_label"),
    [
        ([True, False, True], (1, 0, 0), None),
        (np.array([1.0, 0.0, 1.0]), np.array([1, 0, 0], np.float32), None),
        (LikeAPandasSeries(["TRUE", "false", "True"]), LikeAPandasSeries([1.0, 0.0, 0.0]), None),
        (["sick", "well", "sick"], np.array([1, 0, 0], np.longdouble), "sick"),
        ([7, 3, 7], [1, 0, -0.0], 7),
    ],
    ids=["truth and integers", "float32", "pandas", "pos_label and longdouble", "numbers as labels"],
)
def test_arrays_of_any_kind(y_true: Any, y_score: Any, pos_label: object) -> None:
    report = ppaurora.evaluate([(y_true, y_score), (y_true, y_score)], metrics=["auroc"], pos_label=pos_label)
    expected = exact_auroc([(1.0, 1), (0.0, 0), (0.0, 1)] * 2)
    assert report.auroc == expected == 0.75
    assert report.key_bits == 32


def test_owners_and_metrics_may_be_any_iterable_and_delta_a_numpy_integer() -> None:
    owners: Any = (owner for owner in (GOOD, [[1, 0], [0.5, 0.5]]))
    metrics: Any = iter(["auroc"])
    delta: Any = np.int64(3)
    report = ppaurora.evaluate(owners, metrics=metrics, protocol="paper", delta=delta)
    assert json.loads(report.to_json())["delta"] == 3
    check_values(report, [GOOD, ([1, 0], [0.5, 0.5])])


# Bad input


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_ARRAYS))
def test_bad_data_is_a_data_error_that_names_owner_row_and_column(case: BadArrays, protocol: str) -> None:
    owners: list[Any] = [([0, 1], [0.5, 0.5]), (case.y_true, case.y_score)]
    if case.pos_label is not None:
        owners[0] = ([case.pos_label], [0.5])
    with pytest.raises(DataError) as caught:
        ppaurora.evaluate(owners, pos_label=case.pos_label, protocol=protocol, key_bits=case.key_bits)
    error = caught.value
    assert (error.source, error.row, error.column) == ("owner 2", case.row, case.column)
    assert case.says in str(error)
    assert error.exit_code == 2


@pytest.mark.parametrize(
    "case", [case for case in BAD_ARRAYS if case.protocols == ONLY_PAPER], ids=lambda case: case.name
)
def test_fast_takes_what_only_paper_refuses(case: BadArrays) -> None:
    owners = [([1, 0], [0.25, 0.75]), (case.y_true, case.y_score)]
    check_values(ppaurora.evaluate(owners, metrics=["auroc"]), owners)


@pytest.mark.parametrize("delta", [2, 0, -1, -2, 100, 1.0, 2.5, "1", None, float("nan")])
def test_delta_must_be_odd_and_positive(delta: Any) -> None:
    with pytest.raises(InputError, match="delta must be an odd number, 1 or larger, not "):
        ppaurora.evaluate([GOOD, GOOD], protocol="paper", delta=delta)


@pytest.mark.parametrize("delta", [3, 5])
def test_delta_is_for_paper(delta: int) -> None:
    with pytest.raises(InputError, match="delta applies to the protocol 'paper' only"):
        ppaurora.evaluate([GOOD, GOOD], delta=delta)
    assert ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper", delta=delta).delta == delta


@pytest.mark.parametrize("key_bits", [0, 16, 33, 128, -64, True, 64.0, "64", float("nan"), [32]])
@each_protocol
def test_keys_have_32_or_64_bits(key_bits: Any, protocol: str) -> None:
    with pytest.raises(InputError, match=r"keys have 32 or 64 bits, not |the key width is for"):
        ppaurora.evaluate([GOOD, GOOD], protocol=protocol, key_bits=key_bits)


@pytest.mark.parametrize("owners", [[], [GOOD]])
def test_two_owners_at_least(owners: list[Any]) -> None:
    with pytest.raises(InputError, match=f"at least two owners are needed, got {len(owners)}"):
        ppaurora.evaluate(owners)


@pytest.mark.parametrize(
    "owner",
    [([0, 1],), ([0, 1], [0.5, 0.5], [1, 1]), 5, None, [1, 0, 1]],
    ids=["one array", "three arrays", "number", "nothing", "labels alone"],
)
def test_an_owner_is_two_arrays(owner: Any) -> None:
    with pytest.raises(InputError, match=r"owner 2: give two arrays, \(y_true, y_score\)"):
        ppaurora.evaluate([GOOD, owner])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"metrics": ["auroc", "f1"]}, "unknown metric 'f1'; there are: auroc, auroc_no_ties, aupr, ap"),
        ({"metrics": ["AUROC"]}, "unknown metric 'AUROC'"),
        ({"metrics": []}, "no metric asked for"),
        ({"metrics": ["aupr", "auroc", "aupr"]}, "the metric 'aupr' is asked for more than once"),
        ({"metrics": "auroc"}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": "auroc,aupr"}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": [["auroc"]]}, "metrics must be a list of names"),
        ({"metrics": None}, "metrics must be a list of names, for instance ['auroc', 'aupr']"),
        ({"metrics": 1}, "metrics must be a list of names"),
        ({"metrics": [None]}, "metrics must be a list of names"),
        ({"protocol": "quick"}, "unknown protocol 'quick'; there are: fast, paper"),
        ({"protocol": None}, "unknown protocol 'None'; there are: fast, paper"),
        ({"transport": "pigeon"}, "unknown transport 'pigeon'; there are: memory, tls"),
        ({"timeout": 0}, "the timeout must be above 0 and at most 1000000 seconds"),
        ({"timeout": -1.0}, "the timeout must be above 0"),
        ({"timeout": float("inf")}, "the timeout must be above 0"),
        ({"timeout": float("nan")}, "the timeout must be above 0"),
        ({"timeout": None}, "the timeout must be above 0"),
        ({"timeout": "60"}, "the timeout must be above 0"),
        ({"pos_label": ""}, "the positive label must be a value"),
    ],
)
def test_bad_arguments_are_input_errors(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        ppaurora.evaluate([GOOD, GOOD], **arguments)
    assert says in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("protocol", "metrics"),
    [
        *(("fast", metrics) for metrics in (("auroc",), ("aupr",), ("ap",), ("auroc_no_ties",), ALL_METRICS)),
        *(("paper", metrics) for metrics in (("auroc",), ALL_METRICS)),
    ],
)
def test_one_class_only_is_undefined_and_nobody_is_told_which(
    protocol: str, metrics: tuple[str, ...]
) -> None:
    messages = []
    for label in (0, 1):
        owners = [([label] * 3, [0.25, 0.5, 0.5]), ([label], [0.5])]
        with pytest.raises(UndefinedResultError) as caught:
            ppaurora.evaluate(owners, metrics=metrics, protocol=protocol)
        messages.append((str(caught.value), repr(caught.value), caught.value.args, vars(caught.value)))
    assert messages[0] == messages[1]
    assert messages[0][0] == "undefined: one class only"


# The report


@pytest.fixture(scope="module")
def report() -> Report:
    owners = [([0, 1, 0], [0.25, 0.75, 0.5]), ([1, 0, 0], [0.5, 0.5, 0.125])]
    return ppaurora.evaluate(owners, metrics=("auroc", "aupr"), protocol="paper", delta=3)


def test_json_has_every_field(report: Report) -> None:
    fields = json.loads(report.to_json())
    assert fields["metrics"] == {"auroc": report.auroc, "aupr": report.aupr}
    assert (fields["owners"], fields["samples"]) == (2, 6)
    assert (fields["protocol"], fields["delta"], fields["transport"]) == ("paper", 3, "memory")
    assert fields["openings"] == report.openings
    assert fields["key_bits"] == report.key_bits == 64
    assert set(fields) >= {
        "metrics",
        "owners",
        "samples",
        "protocol",
        "delta",
        "key_bits",
        "transport",
        "openings",
        "cost",
    }
    cost = fields["cost"]
    assert set(cost) >= {"seconds", "bytes", "rounds", "messages", "bytes_by_party", "bytes_by_step"}
    assert cost["seconds"] == report.cost.seconds > 0
    assert cost["bytes"] == report.cost.bytes > 0
    assert cost["rounds"] == report.cost.rounds > 0
    assert cost["messages"] == report.cost.messages > cost["rounds"]
    assert sum(cost["bytes_by_party"].values()) == sum(cost["bytes_by_step"].values()) == cost["bytes"]
    for by_party in ("bytes_by_party", "peak_bytes_by_party"):
        assert set(cost[by_party]) == {"proxy 0", "proxy 1", "helper"}
        assert all(count > 0 for count in cost[by_party].values())


def test_the_dictionary_is_a_copy(report: Report) -> None:
    report.to_dict()["metrics"]["auroc"] = 2.0
    report.to_dict()["cost"]["bytes"] = 0
    assert report.auroc <= 1.0
    assert report.cost.bytes > 0


@pytest.mark.parametrize("name", ["auroc_no_ties", "ap"])
def test_a_metric_that_was_not_asked_for(report: Report, name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(report, name)
    assert str(caught.value) == f"'{name}' was not asked for; this report has: auroc, aupr"
    assert not hasattr(report, name)


def test_fast_is_the_default_and_opens_nothing() -> None:
    report = ppaurora.evaluate([GOOD, GOOD, GOOD], metrics=ALL_METRICS)
    fields = json.loads(report.to_json())
    assert (fields["protocol"], fields["delta"], fields["key_bits"]) == ("fast", 1, 32)
    assert fields["metrics"] == {name: getattr(report, name) for name in ALL_METRICS}
    assert fields["openings"] == {}
    assert set(fields["cost"]["bytes_by_step"]) >= {"input", "order check", "merge", "ties", "division"}
    assert sum(fields["cost"]["bytes_by_step"].values()) == fields["cost"]["bytes"] > 0


def test_delta_above_one_opens_comparisons_and_says_so(report: Report) -> None:
    assert list(report.openings) == ["merge: which of two tops is larger"]
    assert all(count > 0 for count in report.openings.values())


def test_delta_one_opens_nothing() -> None:
    assert ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper", delta=1).openings == {}


@each_protocol
def test_progress_ends_at_the_total(protocol: str) -> None:
    seen: list[tuple[str, int, int]] = []
    ppaurora.evaluate(
        [GOOD, GOOD], metrics=["auroc"], protocol=protocol, progress=lambda *step: seen.append(step)
    )
    merging = [(done, total) for step, done, total in seen if step == "merge"]
    assert merging[-1] == (4, 4)
    assert merging == sorted(merging)


def test_an_error_in_the_callers_progress_function_is_the_callers() -> None:
    def broken(step: str, done: int, total: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], progress=broken, timeout=10)
