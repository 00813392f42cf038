"""Values of `grid`: every metric by itself, up to 2^30 samples, the certificate, and others' software."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ppaurora
from ppaurora.agreement.terms import Limits, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.data import Samples
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Metric
from ppaurora.metrics.outputs import Form
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.policy.rules import Policy
from ppaurora.sharing.shares import RingShare, WideShare
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.suites.base import GRID_BOUND, SIGNIFICAND_BITS, WIDE_BOUND
from tests.support.oracles import defined, exact_auroc
from tests.support.proc import figures_of_proc
from tests.support.releases import half_away, root_half_away
from tests.support.runs import combined, watched_run
from tests.support.tables import (
    Counted,
    GridStudy,
    WithoutNoise,
    grid_protocol,
    released_by_grid,
    run_in_the_clear,
    studies,
)

GRID = Grid(decimals=1)
CELLS = GRID.cells
EVERY_ONE = {name: kind.sample() for name, kind in METRICS.items() if kind.uses_ends}
ALL = tuple(EVERY_ONE.values())
CLOSE_ROOT = 1e-6  # of equations that are solved by counting sign tests: no rational number is released


def terms_for(metrics: Sequence[Metric], policy: Policy, grid: Grid = GRID) -> Terms:
    return Terms(
        metrics=tuple(metrics),
        policy=policy,
        confidence_level=0.95,
        protocol=grid_protocol(grid),
        limits=Limits(samples_per_owner=MOST_SAMPLES),
    )


def a_study() -> list[Samples]:
    random = np.random.default_rng(5)
    owners = []
    for number, size in enumerate((70, 90, 60)):
        labels = random.integers(0, 2, size).astype(np.uint8)
        scores = np.clip(random.random(size) * 0.7 + 0.3 * labels, 0, 1)
        owners.append(Samples(f"owner {number + 1}", scores, labels))
    return owners


# Every metric by itself


@pytest.mark.parametrize("digits", [3, "exact"])
def test_every_metric_alone_is_what_it_is_among_all(digits: int | str) -> None:
    """It brings all that it needs; here in the clear."""
    policy = Policy.exact(digits=digits)
    together = released_by_grid(terms_for(ALL, policy), a_study())
    for name, metric in EVERY_ONE.items():
        alone = released_by_grid(terms_for([metric], policy), a_study())
        assert alone.metrics[name] == together.metrics[name], name


def test_areas_alone_by_three_servers() -> None:
    for name in ("ap", "youden_j", "partial_auroc"):
        terms = terms_for([EVERY_ONE[name]], Policy.exact(), Grid(low=0.0, high=1.0, decimals=0))
        owners = a_study()
        sizes = [len(own) for own in owners]
        run = watched_run(terms, [terms.share(own) for own in owners], sizes)
        assert combined(terms, run, sizes).metrics == released_by_grid(terms, owners).metrics


def test_an_area_as_if_no_scores_were_equal_is_refused() -> None:
    with pytest.raises(InputError, match="has no meaning where equal scores are counted together"):
        terms_for([METRICS["auroc_no_ties"]()], Policy.exact())


# At the largest size

HALF = MOST_SAMPLES // 2
LARGEST: dict[str, list[tuple[int, int]]] = {  # positives and negatives, from the highest value on
    "as good as perfect": [(HALF - 1, 0), (0, 1), (1, 0), (0, HALF - 1)],
    "perfect": [(0, 0), (HALF, 0), (0, 0), (0, HALF)],
    "reversed but for one": [(0, HALF - 1), (HALF, 0), (0, 1)],
    "halves": [(HALF // 2, 0), (0, HALF), (HALF // 2, 0)],
    "thirds": [(0, MOST_SAMPLES // 6), (2 * MOST_SAMPLES // 3, 0), (0, MOST_SAMPLES // 6)],
    "one tie": [(HALF, HALF)],
    "mixed": [(HALF // 8 + k, HALF // 8 - 3 * k) for k in range(8)],
    "rare positives": [(10, MOST_SAMPLES // 2), (5, 0), (10, MOST_SAMPLES // 3)],
    "two positives": [(1, 3), (0, MOST_SAMPLES // 2), (1, MOST_SAMPLES // 3)],
}


def largest_tables(groups: Sequence[tuple[int, int]], owners: int = 3) -> list[CountTable]:
    """Such tie groups at the highest values of the grid, divided among owners, unequally."""
    positives, negatives = (np.zeros(CELLS, dtype=np.int64) for _ in range(2))
    for place, (of_positives, of_negatives) in enumerate(groups):
        positives[CELLS - 1 - place], negatives[CELLS - 1 - place] = of_positives, of_negatives
    tables = []
    for owner in range(owners - 1):
        own = [counts // (owner + 2) for counts in (positives, negatives)]
        positives, negatives = positives - own[0], negatives - own[1]
        tables.append(table(owner, own[0], own[1]))
    return [*tables, table(owners, positives, negatives)]


def table(owner: int, positives: NDArray[np.int64], negatives: NDArray[np.int64]) -> CountTable:
    return CountTable(f"owner {owner}", GRID, positives.astype(np.uint32), negatives.astype(np.uint32))


class Checked(WithoutNoise):
    """Asks of every number what a suite that computes in secret takes for granted."""

    def is_positive(self, x: RingShare) -> RingShare:
        assert all(abs(number) < 1 << 62 for number in x.values.astype(np.int64).tolist())
        return super().is_positive(x)

    def shift_right(self, x: RingShare, bits: int) -> RingShare:
        assert (x.values < 1 << 63).all()
        return super().shift_right(x, bits)

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        assert bound < 1 << 61
        assert (numerator.values <= denominator.values).all()
        assert (denominator.values <= bound).all()
        return super().div(numerator, denominator, bits, bound)

    def grid_steps(
        self, reach: WideShare, slope: WideShare, curvature: WideShare, most: int, bound: int = GRID_BOUND
    ) -> RingShare:
        half = 1 << (reach.ring.bits - 1)
        ends, slopes, curvatures = (
            [(number ^ half) - half for number in part.values.tolist()] for part in (reach, slope, curvature)
        )
        for end, a, b in zip(ends, slopes, curvatures, strict=True):
            assert abs(end) <= bound
            assert abs(most * a + most * most * b) <= bound
        return super().grid_steps(reach, slope, curvature, most, bound)

    def wide_quotients(
        self,
        numerator: WideShare,
        denominator: WideShare,
        leading_zeros: int,
        significant_bits: int = SIGNIFICAND_BITS,
        bound: int = WIDE_BOUND,
    ) -> RingShare:
        assert bound <= 1 << 230
        for n, d in zip(numerator.values.tolist(), denominator.values.tolist(), strict=True):
            assert 0 <= n <= d < bound
            assert n == 0 or (n << leading_zeros) >= d
        return super().wide_quotients(numerator, denominator, leading_zeros, significant_bits, bound)


AT_THE_LARGEST = tuple(
    EVERY_ONE[name]
    for name in (
        *("auroc", "ap", "aupr", "youden_j", "partial_auroc", "sensitivity_at_specificity"),
        *("specificity_at_sensitivity", "sensitivity", "accuracy", "brier", "calibration_in_the_large"),
    )
)


@pytest.mark.parametrize("what", LARGEST)
def test_a_billion_samples_in_exact_fractions(what: str) -> None:
    """Every number stays within what the arithmetic is made for; AUROC and DeLong's variance are exact."""
    tables = largest_tables(LARGEST[what])
    counted = Counted.of(tables)
    assert 8 * 10**8 < counted.p + counted.n <= MOST_SAMPLES
    exact = released_by_grid(terms_for(AT_THE_LARGEST, Policy.exact()), tables, suite=Checked)
    check_largest(exact, counted)
    rounded = released_by_grid(terms_for(AT_THE_LARGEST, Policy.exact(digits=3)), tables, suite=Checked)
    auroc = estimate_of(rounded, "auroc")
    assert auroc.value == float(half_away(counted.auroc(), 3))
    assert auroc.standard_error == float(root_half_away(counted.delong_variance(), 4))
    assert auroc.grid_bound == pytest.approx(float(half_away(counted.tied(), 3)) + 0.0005, rel=1e-12)
    assert estimate_of(rounded, "youden_j").value == float(half_away(counted.youden(), 3))


SPREAD = [(40_000 + 800 * k, 50_000 - 700 * k) for k in range(CELLS)]  # less than 2^20 samples
POLICIES = (Policy.exact(), Policy.exact(digits=6), Policy.publication())


@pytest.mark.parametrize("policy", POLICIES, ids=["exact", "6 digits", "publication"])
def test_every_metric_of_a_billion_samples_is_that_of_a_thousandth_of_them(policy: Policy) -> None:
    """Of a table with 1,024 times the counts, all but counts and standard errors are the same numbers: none
    has become too large on its way."""
    few, many = (
        largest_tables([(times * p, times * n) for p, n in SPREAD], owners=4) for times in (1, 1 << 10)
    )
    assert sum(map(len, many)) > 0.94 * MOST_SAMPLES
    for name, metric in EVERY_ONE.items():
        terms = terms_for([metric], policy)
        of_few, of_many = (released_by_grid(terms, tables, suite=Checked) for tables in (few, many))
        query = terms.query([len(own) for own in few])
        outputs = zip(query.outputs, of_few.values, of_many.values, strict=True)
        for output, one, other in outputs:
            assert (one is None) == (other is None), name
            if output.form is Form.QUOTIENT and metric.needs_table:
                assert one == pytest.approx(other, abs=CLOSE_ROOT), name
            elif output.form is Form.QUOTIENT:
                assert one == other, name


def check_largest(released: ReleasedResult, counted: Counted) -> None:
    auroc = estimate_of(released, "auroc")
    assert auroc.value == float(counted.auroc())
    assert auroc.standard_error == math.sqrt(float(counted.delong_variance()))
    assert auroc.grid_bound == float(counted.tied())
    assert estimate_of(released, "youden_j").value == float(counted.youden())
    ap = estimate_of(released, "ap").value
    assert ap is not None
    assert abs(Fraction(ap) - counted.average_precision()) <= Fraction(1, 2**31)
    assert released.positives == counted.p


def estimate_of(released: ReleasedResult, name: str) -> Estimate:
    found = released.metrics[name]
    assert isinstance(found, Estimate)
    return found


@pytest.mark.parametrize("what", ["mixed", "as good as perfect"])
def test_three_servers_compute_a_billion_samples(what: str) -> None:
    metrics = [EVERY_ONE[name] for name in ("auroc", "ap", "youden_j")]
    terms, tables = terms_for(metrics, Policy.exact()), largest_tables(LARGEST[what])
    sizes = [len(one) for one in tables]
    run = watched_run(terms, [terms.share(one) for one in tables], sizes)
    check_largest(combined(terms, run, sizes), Counted.of(tables))


@pytest.mark.parametrize("what", LARGEST)
def test_private_integers_of_a_billion_samples(what: str) -> None:
    """2·T - M and M, in steps of 1/64, where T is what the smaller class of M samples wins."""
    tables = largest_tables(LARGEST[what])
    counted = Counted.of(tables)
    words = run_in_the_clear(terms_for([EVERY_ONE["auroc"]], Policy.private()), tables, suite=Checked)
    smaller = min(counted.p, counted.n)
    won = math.floor(64 * counted.auroc() * smaller + Fraction(1, 2))
    assert words[0, 1:3].astype(np.int64).tolist() == [2 * won - 64 * smaller, 64 * smaller]


# The certificate


@pytest.mark.parametrize("sign", [1, -1])
def test_the_certificate_is_tight(sign: int) -> None:
    """All positives of a value were above all its negatives before scores were read, or all were below."""
    labels = np.array([1, 0] * 20, dtype=np.uint8)
    near = np.where(labels == 1, 0.01, -0.01) * sign
    study = GridStudy(GRID, tuple(Samples(f"owner {n}", 0.5 + near, labels) for n in (1, 2)))
    auroc = estimate_of(released_by_grid(terms_for(ALL[:1], Policy.exact()), study.owners), "auroc")
    raw = defined(exact_auroc(study.pooled(read=False)))
    assert (auroc.value, auroc.grid_bound, raw) == (0.5, 0.5, Fraction(1 + sign, 2))


def test_without_pairs_that_share_a_value_nothing_is_lost() -> None:
    labels = np.arange(11) % 2
    report = ppaurora.evaluate(
        [(labels, np.arange(11) / 10), (labels[:2], [0.15, 0.84])],
        metrics=["auroc"],
        protocol="grid",
        decimals=2,
    )
    found = report["auroc"]
    assert isinstance(found, Estimate)
    assert found.grid_bound == 0


def one_pair_in_a_value() -> GridStudy:
    """Of 3 x 5 pairs one shares a value, and was in order: half of a pair is 1/30, which is rounded down."""
    first = Samples("owner 1", np.array([0.51, 0.49, 0.9]), np.array([1, 0, 1], dtype=np.uint8))
    labels = np.array([1, 0, 0, 0, 0], dtype=np.uint8)
    return GridStudy(GRID, (first, Samples("owner 2", np.array([1.0, 0.1, 0.2, 0.3, 0.4]), labels)))


def test_a_rounded_certificate_is_not_below_the_exact_one() -> None:
    """A released bound has its own rounding added, so that it bounds what reading has done to AUROC."""
    policy = Policy.exact(digits=2)
    for study in (one_pair_in_a_value(), *studies(77, 30, largest=120)):
        if not study.has_both_classes:
            continue
        released = released_by_grid(terms_for(ALL[:1], policy, study.grid), study.owners)
        bound = estimate_of(released, "auroc").grid_bound
        read, raw = (defined(exact_auroc(study.pooled(read=read))) for read in (True, False))
        assert bound is not None
        assert abs(read - raw) <= Fraction(bound)


# Other people's software, on the scores as read


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_references_on_the_scores_as_read(seed: int) -> None:
    """scikit-learn's, as each metric names it; and pROC's area, variance and interval."""
    random = np.random.default_rng(seed)
    grid = Grid(decimals=2)
    labels = random.integers(0, 2, 240)
    raw = np.clip(random.normal(0.45 + 0.1 * labels, 0.2), 0.02, 0.98)  # at 0 and 1 logits are not finite
    owners = [
        Samples(f"owner {number}", scores, own.astype(np.uint8))
        for number, (own, scores) in enumerate(
            zip(np.split(labels, [50, 130]), np.split(raw, [50, 130]), strict=True), 1
        )
    ]
    read = np.concatenate([grid.read(one).scores for one in owners])
    released = released_by_grid(terms_for(ALL, Policy.exact(), grid), owners)
    for name, metric in EVERY_ONE.items():
        close = CLOSE_ROOT if metric.needs_table else 1e-9
        compare(released.metrics[name], metric.reference(labels, read), name, close)
    auroc, proc = estimate_of(released, "auroc"), figures_of_proc(labels.tolist(), read.tolist())
    assert auroc.value == pytest.approx(proc.auroc, abs=1e-12)
    assert proc.variance is not None
    assert auroc.standard_error == pytest.approx(math.sqrt(proc.variance), rel=1e-10)
    assert auroc.interval == pytest.approx(proc.interval, abs=1e-10)


def compare(found: Estimate | Table, reference: Any, name: str, close: float) -> None:
    if isinstance(found, Estimate):
        assert found.value == pytest.approx(reference, abs=close), name
        return
    for row, expected in zip(found, reference, strict=True):
        for number, value in expected.items():
            there = row.values[number].value
            if there is None:
                assert value is None or math.isnan(value), (name, number)
            else:
                assert there == pytest.approx(value, abs=close), (name, number)


def test_owners_of_both_directions_are_refused() -> None:
    """Of tables, which nobody negates on the way. Of negated ones nothing is a probability."""
    up, down = (CountTable.of(own, GRID) for own in a_study()[:2])
    with pytest.raises(InputError, match="lower scores are the more positive ones at some owners only"):
        ppaurora.evaluate([up, down.negate()], metrics=["auroc"], protocol="grid")
    with pytest.raises(InputError, match="takes probabilities"):
        ppaurora.evaluate([up.negate(), down.negate()], metrics=["brier"], protocol="grid")
    upright = ppaurora.evaluate([up, down], metrics=["auroc"], protocol="grid")
    upside_down = ppaurora.evaluate([up.negate(), down.negate()], metrics=["auroc"], protocol="grid")
    assert upright.auroc + upside_down.auroc == pytest.approx(1, abs=1e-15)


def test_float32_and_float64_owners_have_the_same_ties() -> None:
    """0.7 as a float32 is not 0.7; on a grid it is."""
    scores, labels = np.array([0.7, 0.7, 0.3, 0.7]), [1, 0, 0, 1]
    mixed, alike = (
        ppaurora.evaluate([(labels, own), (labels, scores)], metrics=["auroc"], protocol="grid", decimals=3)
        for own in (scores.astype(np.float32), scores)
    )
    assert mixed.auroc == alike.auroc == 0.75
