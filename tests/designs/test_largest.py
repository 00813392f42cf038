"""Variances at the largest sizes, where sums are near the limits of the arithmetic, from made-up counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora import Estimate, Grid, Policy
from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.data.design import Model
from ppaurora.data.layout import MOST_PRODUCTS, ClusterBlock, JointBlock, Layout, TableBlock
from ppaurora.evaluation.designed import DesignedResults
from ppaurora.local.threads import run_in_threads
from ppaurora.metrics import metrics_named
from ppaurora.metrics.extras.study import StudyInputs, release_study
from ppaurora.metrics.extras.variances import MOST_CLUSTERED
from ppaurora.metrics.reading import read_release
from ppaurora.session import no_progress
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from tests.support.designs import ROUNDED, protocol_named
from tests.support.releases import half_away, root_half_away

Integers = NDArray[np.int64]
Row = tuple[int, int, int]  # the values of models a and b, and the label
VALUES = 4

GRID = Grid(low=0.0, high=VALUES - 1.0, decimals=0)


def terms_of(policy: Policy, *, clustered: bool, cells: int = VALUES) -> Terms:
    """Return the terms of two models on four values each, that are counted jointly in so many cells."""
    return Terms(
        metrics=tuple(metrics_named("auroc")),
        confidence_level=0.95,
        protocol=protocol_named("grid", GRID),
        limits=Limits(samples_per_owner=MOST_SAMPLES),
        policy=policy,
        models={"a": Model(cells=cells), "b": Model(cells=cells)},
        comparisons=(("a", "b"),),
        patient="patient" if clustered else "",
    )


@dataclass(frozen=True)
class Patients:
    """So many patients who have the same rows."""

    times: int
    rows: Mapping[Row, int]  # how often each


def submitted(layout: Layout, owner: Sequence[Patients], *, clustered: bool) -> NDArray[np.uint32]:
    """Return an owner's counts without going through its samples."""
    parts = []
    for block in layout.blocks:
        found: Any
        if isinstance(block, TableBlock):
            found = np.zeros((2, VALUES), dtype=np.int64)
            for some in owner:
                for (a, b, label), count in some.rows.items():
                    found[1 - label, a if block.slice.model == "a" else b] += some.times * count
        elif isinstance(block, JointBlock):
            found = np.zeros(block.shape, dtype=np.int64)
            models = [one.model for one in (block.pair.a, block.pair.b)]
            for some in owner:
                if clustered:
                    found += some.times * np.outer(
                        _in_cells(some, models[0], block.first), _in_cells(some, models[1], block.second)
                    )
                    continue
                for (a, b, label), count in some.rows.items():
                    if label == block.first:
                        cell = tuple(layout.cells_of(m).of_value[v] for m, v in (("a", a), ("b", b)))
                        found[cell] += some.times * count
        else:
            assert isinstance(block, ClusterBlock)
            having = [sum(some.times for some in owner if _has(some, label)) for label in (1, 0)]
            found = np.array([*having, sum(some.times for some in owner)])
        assert found.max() < 1 << 32
        parts.append(found.ravel())
    return np.concatenate(parts).astype(np.uint32)


def _in_cells(some: Patients, model: str, label: int) -> Integers:
    found = np.zeros(VALUES, dtype=np.int64)
    for (a, b, own), count in some.rows.items():
        if own == label:
            found[a if model == "a" else b] += count
    return found


def _has(some: Patients, label: int) -> bool:
    return any(own == label for _, _, own in some.rows)


def released(
    owners: Sequence[Sequence[Patients]],
    policy: Policy,
    *,
    clustered: bool,
    cells: int = VALUES,
    on_shares: bool = False,
) -> DesignedResults:
    """Return what is released of such counts."""
    terms = terms_of(policy, clustered=clustered, cells=cells)
    sizes = tuple(sum(some.times * sum(some.rows.values()) for some in owner) for owner in owners)
    job = Job(terms=terms, sizes=sizes)
    counts = [submitted(terms.layout, owner, clustered=clustered) for owner in owners]
    names = [f"owner {place}" for place in range(len(owners))]
    query = job.query
    if on_shares:
        protocol, no_words = terms.protocol, np.zeros(0, dtype=np.uint64)
        shares = [protocol.share_parts([], no_words, own) for own in counts]
        inputs = dict(zip(protocol.input_servers, zip(*shares, strict=True), strict=True))
        outcomes = run_in_threads(job, inputs, no_progress, 120)
        parts = [outcomes[server].parts[0] for server in protocol.result_servers]
        return DesignedResults.of(protocol.combine(parts, query, names), query)
    share = RingShare(CLEARTEXT, np.stack(counts).astype(np.uint64))
    columns = release_study(CleartextSuite(), query, StudyInputs({}, {}, {}, share, None))
    return DesignedResults.of(read_release(columns.values, query, names), query)


# Definitions, by kinds of rows and of patients


def _placements(
    owners: Sequence[Sequence[Patients]], models: str
) -> tuple[dict[Row, Fraction], int, int, Fraction]:
    """Return every kind of row's placement, or its difference; positives, negatives, and the area."""
    rows: dict[Row, int] = {}
    for some in (some for owner in owners for some in owner):
        for row, count in some.rows.items():
            rows[row] = rows.get(row, 0) + some.times * count

    def won(positive: Row, negative: Row) -> Fraction:
        wins = [
            Fraction((positive[place] > negative[place]) + (positive[place] >= negative[place]), 2)
            for place in ("ab".index(model) for model in models)
        ]
        return wins[0] - wins[1] if len(wins) > 1 else wins[0]

    p, n = (sum(count for row, count in rows.items() if row[2] == label) for label in (1, 0))
    found = {}
    for row in rows:
        others = [(other, count) for other, count in rows.items() if other[2] != row[2]]
        total = sum(
            (count * (won(row, other) if row[2] else won(other, row)) for other, count in others), Fraction(0)
        )
        found[row] = total / (n if row[2] else p)
    area = sum((count * found[row] for row, count in rows.items() if row[2]), Fraction(0)) / p
    return found, p, n, area


def delong(owners: Sequence[Sequence[Patients]], models: str) -> tuple[Fraction, Fraction]:
    """Return the area, or the difference of two, and its variance over single rows."""
    placements, p, n, area = _placements(owners, models)
    squares = {1: Fraction(0), 0: Fraction(0)}
    for some in (some for owner in owners for some in owner):
        for row, count in some.rows.items():
            squares[row[2]] += some.times * count * (placements[row] - area) ** 2
    return area, squares[1] / (p * (p - 1)) + squares[0] / (n * (n - 1))


def obuchowski(owners: Sequence[Sequence[Patients]], models: str) -> tuple[Fraction, Fraction]:
    """Return the same over patients."""
    placements, p, n, area = _placements(owners, models)
    x_x = y_y = x_y = Fraction(0)
    having, patients = {1: 0, 0: 0}, 0
    for some in (some for owner in owners for some in owner):
        x, y = (
            sum(
                (count * (placements[row] - area) for row, count in some.rows.items() if row[2] == label),
                Fraction(0),
            )
            for label in (1, 0)
        )
        x_x, y_y, x_y = x_x + some.times * x * x, y_y + some.times * y * y, x_y + some.times * x * y
        patients += some.times
        for label in (1, 0):
            having[label] += some.times * _has(some, label)
    i_p, i_n, i = having[1], having[0], patients
    return area, (
        Fraction(i_p, i_p - 1) * x_x / p**2
        + Fraction(i_n, i_n - 1) * y_y / n**2
        + Fraction(2 * i, i - 1) * x_y / (p * n)
    )


def check(found: DesignedResults, policy: Policy, exact: Mapping[str, tuple[Fraction, Fraction]]) -> None:
    """Compare both areas and their difference; their standard errors, too."""
    estimates = {
        "a": found.whole("a")["auroc"],
        "b": found.whole("b")["auroc"],
        "ab": found.comparisons[0].auroc,
    }
    for models, estimate in estimates.items():
        area, variance = exact[models]
        assert isinstance(estimate, Estimate)
        if policy.decimals is None:
            assert (estimate.value, estimate.standard_error) == (float(area), math.sqrt(variance))
            continue
        assert estimate.value == float(half_away(area, policy.decimals))
        assert estimate.standard_error == float(root_half_away(variance, policy.decimals + 1))


def single(rows: Mapping[Row, int]) -> list[Patients]:
    """Return rows that are all independent."""
    return [Patients(count, {row: 1}) for row, count in rows.items()]


HALF, QUARTER = MOST_SAMPLES // 2, MOST_SAMPLES // 4
LARGEST: dict[str, list[dict[Row, int]]] = {
    "opposite models": [{(3, 0, 1): HALF}, {(0, 3, 0): HALF}],
    "half opposite": [
        {(3, 0, 1): QUARTER // 2, (0, 3, 1): QUARTER // 2, (3, 0, 0): QUARTER // 2, (0, 3, 0): QUARTER // 2},
    ]
    * 2,
    "all tied": [{(2, 2, 1): QUARTER, (2, 2, 0): QUARTER}] * 2,
    "two positives": [
        {(3, 1, 1): 1, (1, 3, 1): 1, (2, 2, 0): HALF - 2},
        {(0, 3, 0): QUARTER, (3, 3, 0): QUARTER},
    ],
    "two negatives": [
        {(3, 1, 0): 1, (1, 3, 0): 1, (2, 2, 1): HALF - 2},
        {(0, 3, 1): QUARTER, (3, 3, 1): QUARTER},
    ],
    "uneven": [
        {(3, 2, 1): 123_456_789, (1, 0, 0): 234_567_891, (0, 3, 1): 77_777_777},
        {(2, 2, 0): 345_678_912, (0, 1, 1): 98_765_432, (3, 1, 0): 193_495_023},
    ],
}

each_policy = pytest.mark.parametrize("policy", [Policy.exact(), ROUNDED], ids=["exact", "rounded"])


@each_policy
@pytest.mark.parametrize("kind", LARGEST)
def test_a_thousand_million_samples(kind: str, policy: Policy) -> None:
    owners = [single(rows) for rows in LARGEST[kind]]
    exact = {models: delong(owners, models) for models in ("a", "b", "ab")}
    check(released(owners, policy, clustered=False), policy, exact)


@pytest.mark.parametrize("kind", LARGEST)
def test_a_thousand_million_samples_in_coarse_cells(kind: str) -> None:
    owners = [single(rows) for rows in LARGEST[kind]]
    found = released(owners, Policy.exact(), clustered=False, cells=2).comparisons[0].auroc
    difference, variance = delong(owners, "ab")
    assert found is not None
    assert found.value == float(difference)
    assert found.standard_error is not None
    assert found.error_bound is not None
    assert abs(found.standard_error - math.sqrt(variance)) <= found.error_bound < 2


def test_these_are_the_largest_numbers_of_samples() -> None:
    for owners in LARGEST.values():
        samples = sum(sum(rows.values()) for rows in owners)
        assert 0.99 * MOST_SAMPLES < samples <= MOST_SAMPLES


@each_policy
def test_a_thousand_million_samples_on_shares(policy: Policy) -> None:
    owners = [single(rows) for rows in LARGEST["half opposite"]]
    exact = {models: delong(owners, models) for models in ("a", "b", "ab")}
    check(released(owners, policy, clustered=False, on_shares=True), policy, exact)


EIGHTH = MOST_CLUSTERED // 8
LARGEST_CLUSTERED: dict[str, list[list[Patients]]] = {
    # Every row is a patient: the most patients that there can be.
    "single rows": [single({(3, 0, 1): EIGHTH, (0, 3, 1): EIGHTH, (3, 0, 0): EIGHTH, (0, 3, 0): EIGHTH})] * 2,
    "pairs": [
        [Patients(EIGHTH, {(3, 0, 1): 1, (0, 3, 0): 1}), Patients(EIGHTH, {(1, 2, 1): 1, (2, 1, 0): 1})]
    ]
    * 2,
    # As many products as an owner may have: 2^10 patients with 128 rows of either class.
    "many rows": [
        [
            Patients(512, {(3, 0, 1): 128, (0, 3, 0): 128}),
            Patients(512, {(0, 3, 1): 128, (3, 0, 0): 128}),
        ]
    ]
    * 2,
    "one class each": [
        [Patients(1024, {(3, 0, 1): 127, (1, 1, 1): 1}), Patients(1024, {(0, 3, 0): 100, (2, 2, 0): 28})]
    ]
    * 2,
    "two patients": [
        [Patients(1, {(3, 0, 1): 1, (0, 3, 1): 4000, (1, 1, 0): 4000}), *single({(0, 2, 0): EIGHTH * 3})],
        [Patients(1, {(1, 3, 1): 4000, (2, 1, 0): 4000}), *single({(3, 1, 0): EIGHTH * 4})],
    ],
}


@each_policy
@pytest.mark.parametrize("kind", LARGEST_CLUSTERED)
def test_half_a_million_rows_of_patients(kind: str, policy: Policy) -> None:
    owners = LARGEST_CLUSTERED[kind]
    exact = {models: obuchowski(owners, models) for models in ("a", "b", "ab")}
    check(released(owners, policy, clustered=True), policy, exact)


@each_policy
def test_half_a_million_rows_of_patients_on_shares(policy: Policy) -> None:
    owners = LARGEST_CLUSTERED["many rows"]
    exact = {models: obuchowski(owners, models) for models in ("a", "b", "ab")}
    check(released(owners, policy, clustered=True, on_shares=True), policy, exact)


def test_these_are_the_most_rows_and_products_of_patients() -> None:
    rows = {
        kind: sum(some.times * sum(some.rows.values()) for owner in owners for some in owner)
        for kind, owners in LARGEST_CLUSTERED.items()
    }
    assert all(0.8 * MOST_CLUSTERED < count <= MOST_CLUSTERED for count in rows.values())
    layout = terms_of(Policy.exact(), clustered=True).layout
    owner = LARGEST_CLUSTERED["many rows"][0]
    counts = submitted(layout, owner, clustered=True)
    products = [
        int(counts[place].sum()) for block, place in layout.places.items() if isinstance(block, JointBlock)
    ]
    assert max(products) == MOST_PRODUCTS


def test_the_definitions_are_the_same_for_single_rows() -> None:
    """A control of the oracles, on few samples."""
    few: dict[Row, int] = {(3, 0, 1): 3, (0, 3, 1): 2, (2, 1, 0): 4, (0, 2, 0): 5}
    for models in ("a", "b", "ab"):
        assert delong([single(few)], models) == obuchowski([single(few)], models)
    assert delong([single({(3, 0, 1): 1, (1, 0, 1): 1, (2, 0, 0): 1, (0, 0, 0): 1})], "a") == (
        Fraction(3, 4),
        Fraction(1, 8),
    )
