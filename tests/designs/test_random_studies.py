"""Every number that is released of random studies with a design, against independent exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import Estimate, Grid, Policy
from ppaurora.data.design import Model
from ppaurora.data.samples import Samples
from ppaurora.evaluation.designed import ONE_CLASS, DesignedResults, SliceResult
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Table
from tests.support.design_oracles import (
    PlainRow,
    Rows,
    benefits,
    brier_errors,
    less,
    mean_and_variance,
    observed_expected,
    paired_delong,
)
from tests.support.designs import LEVELS, ROUNDED, THRESHOLDS, DesignedStudy, rows_of, study_of
from tests.support.oracles import exact_auroc, exact_delong_variance
from tests.support.releases import half_away, root_half_away, to_multiple_of_five

PROBABILITIES = ("auroc", "brier", "observed_expected", "sensitivity", "net_benefit")
ANY_SCORES = ("auroc", "sensitivity", "specificity")
IN_STEPS = (
    2.0**-28
)  # sums of probabilities are rounded to steps of 2^-32; of their variances, roots lose half
NEAREST = 2.0**-49  # the computation in the clear cuts areas of lists after so many bits
KINDS = ("ordinary", "ties", "one class per owner", "identical", "separated", "unequal", "few")


def owners_of(kind: str, seed: int, *, negated: bool = False, decimals: int = 2) -> list[Samples]:
    """Return three or four owners' rows with two models and two variables, in which something is unusual."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    sizes = {"unequal": (1, 40, 3), "few": (3, 2, 2)}.get(kind, (12, 15, 9, 7)[: 3 + seed % 2])
    values = 4 if kind == "ties" else 10**decimals
    owners = []
    for place, size in enumerate(sizes):
        y_true = random.integers(0, 2, size)
        if kind == "one class per owner":
            y_true[:] = place % 2
        if place < 2:
            y_true[0] = place  # both classes are somewhere
        a, b = (
            np.clip(np.rint(random.normal(0.4 + better * y_true, 0.25) * values), 0, values) / values
            for better in (0.3, 0.15)
        )
        if kind == "identical":
            b = a
        if kind == "separated":
            a, b = np.where(y_true, 0.75, a / 2), np.where(y_true, 1.0, 0.0)
        scores = {"a": np.round(a, decimals), "b": np.round(b, decimals)}
        levels = {variable: random.integers(0, len(names), size) for variable, names in LEVELS.items()}
        owners.append(rows_of(f"owner {place}", y_true, scores, levels=levels, negated=negated))
    return owners


def plain(owners: Sequence[Samples]) -> list[PlainRow]:
    """Return all rows, one by one; of negated scores, the higher one is the more positive."""
    rows = []
    for owner in owners:
        assert owner.further is not None
        sign = -1 if owner.negated else 1
        further = owner.further
        rows += [
            PlainRow(
                {model: sign * float(own[place]) for model, own in further.scores.items()},
                int(owner.labels[place]),
                {variable: LEVELS[variable][int(own[place])] for variable, own in further.levels.items()},
            )
            for place in range(len(owner))
        ]
    return rows


class Expected:
    """How a released number must be: as exact as the policy lets it out."""

    def __init__(self, policy: Policy, *, exactly: bool, negated: bool) -> None:
        self.digits = policy.decimals
        self.negated = negated
        self.exactly = exactly

    def check(
        self,
        found: float | None,
        exact: Fraction | None,
        more_digits: int = 0,
        *,
        slack: float = 0.0,
        root: bool = False,
    ) -> None:
        """Compare a number with what it is, or with the square of what it is.

        Without slack it is the nearest float64, or the nearest decimal; half of one is rounded up.
        """
        if exact is None:
            assert found is None
            return
        assert found is not None
        wanted = math.sqrt(exact) if root else float(exact)
        if self.digits is None:
            if slack:
                off = abs(Fraction(found) ** 2 - exact) if root else abs(Fraction(found) - exact)
                assert off <= slack
            else:
                assert found == wanted if self.exactly else abs(found - wanted) < NEAREST
            return
        digits = self.digits + more_digits
        if slack:
            assert abs(found - wanted) <= 0.5 * 10**-digits + 2 * math.sqrt(slack) * root + slack
        else:
            rounded = root_half_away(exact, digits) if root else half_away(exact, digits)
            assert found == float(rounded)


def check_slice(found: SliceResult, rows: Rows, metrics: Sequence[str], expected: Expected) -> None:
    """Compare all metrics of a slice; without one of the classes there are none."""
    model = found.slice.model
    samples = [row.sample(model) for row in rows]
    area = exact_auroc(samples)
    assert not found.suppressed
    if area is None:
        assert found.auroc is None
        assert found["auroc"] == Estimate(None, note=ONE_CLASS)  # undefined, and not withheld
        return
    positives = sum(row.label for row in rows)
    auroc = found["auroc"]
    assert isinstance(auroc, Estimate)
    expected.check(auroc.value, area)
    expected.check(auroc.standard_error, exact_delong_variance(samples), 1, root=True)
    if found.slice.is_level and expected.digits is None:
        assert (found.positives, found.negatives) == (positives, len(rows) - positives)
    elif found.slice.is_level:
        counts = positives, len(rows) - positives
        assert (found.positives, found.negatives) == tuple(map(to_multiple_of_five, counts))
    for name in set(metrics) & {"sensitivity", "specificity"}:
        table = found[name]
        assert isinstance(table, Table)
        for threshold, row in zip(THRESHOLDS, table, strict=True):
            at = -threshold if expected.negated else threshold
            wanted = [
                (score >= at) == (name == "sensitivity")
                for score, label in samples
                if label == (name == "sensitivity")
            ]
            expected.check(_value(row.values[name]), Fraction(sum(wanted), len(wanted)))
    if "brier" in metrics:
        _check_probabilities(found, rows, expected)


def _value(estimate: Any) -> float | None:
    assert isinstance(estimate, Estimate)
    return estimate.value


def _check_probabilities(found: SliceResult, rows: Rows, expected: Expected) -> None:
    model = found.slice.model
    errors = brier_errors(rows, model)
    brier, ratio, benefit = (found[name] for name in ("brier", "observed_expected", "net_benefit"))
    assert isinstance(brier, Estimate)
    expected.check(brier.value, sum(errors, Fraction(0)) / len(rows), 1, slack=IN_STEPS)
    if len(rows) > 1:
        expected.check(brier.standard_error, mean_and_variance(errors)[1], 2, slack=IN_STEPS, root=True)
    assert isinstance(ratio, Estimate)
    value, log_variance = observed_expected(rows, model)
    expected.check(ratio.value, value, slack=IN_STEPS * float(value) ** 2)
    expected.check(ratio.standard_error, log_variance, 1, slack=64 * IN_STEPS, root=True)
    assert isinstance(benefit, Table)
    for threshold, row in zip(THRESHOLDS, benefit, strict=True):
        gains = benefits(rows, model, threshold)
        expected.check(_value(row.values["net_benefit"]), mean_and_variance(gains)[0], 1, slack=IN_STEPS)


def check_difference(
    found: Difference | None, exact: Fraction, variance: Fraction | None, expected: Expected, **how: Any
) -> None:
    """Compare a difference, its standard error and its test."""
    assert found is not None
    more = 1 if "slack" in how else 0
    expected.check(found.value, exact, more, **how)
    expected.check(found.standard_error, variance, more + 1, root=True, **how)
    if found.value == 0 and found.standard_error == 0:
        assert (found.z, found.p_value) == (0.0, 1.0)
    elif found.standard_error:
        assert found.value is not None
        assert found.z is not None
        assert found.z == pytest.approx(found.value / found.standard_error, abs=1e-12)
        assert found.p_value == pytest.approx(math.erfc(abs(found.z) / math.sqrt(2)), abs=1e-12)
    else:
        assert found.z is None


def check_study(found: DesignedResults, study: DesignedStudy, *, exactly: bool) -> None:
    """Compare everything that was released."""
    terms = study.job.terms
    rows = plain(study.owners)
    metrics = [metric.name for metric in terms.metrics]
    expected = Expected(terms.policy, exactly=exactly, negated=study.job.negated)
    assert [one.slice.model for one in found.wholes] == ["a", "b"]
    for whole in found.wholes:
        check_slice(whole, rows, metrics, expected)
    for variable, names in LEVELS.items():
        for model in ("a", "b"):
            levels = found.subgroups[variable].of(model)
            assert tuple(levels) == names
            for name, level in levels.items():
                inside = [row for row in rows if row.levels[variable] == name]
                check_slice(level, inside, metrics, expected)
    (comparison,) = found.comparisons
    check_difference(comparison.auroc, *paired_delong(rows, "a", "b"), expected)
    if "brier" not in metrics:
        return
    errors = less(brier_errors(rows, "a"), brier_errors(rows, "b"))
    check_difference(comparison.brier, *mean_and_variance(errors), expected, slack=IN_STEPS)
    assert comparison.net_benefit is not None
    for threshold, row in zip(THRESHOLDS, comparison.net_benefit, strict=True):
        gains = less(benefits(rows, "a", threshold), benefits(rows, "b", threshold))
        difference = row.values["net_benefit"]
        assert isinstance(difference, Difference)
        check_difference(difference, *mean_and_variance(gains), expected, slack=IN_STEPS)


def study(kind: str, seed: int, protocol: str, policy: Policy, *, negated: bool = False) -> DesignedStudy:
    """Return a random study, of probabilities or of scores that are lower for what is more positive."""
    return study_of(
        owners_of(kind, seed, negated=negated),
        protocol=protocol,
        metrics=ANY_SCORES if negated else PROBABILITIES,
        policy=policy,
    )


each_protocol = pytest.mark.parametrize("protocol", ["grid", "fast"])
each_policy = pytest.mark.parametrize("policy", [Policy.exact(), ROUNDED], ids=["exact", "rounded"])
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_protocol
@each_policy
@each_kind
def test_numbers_in_the_clear(kind: str, policy: Policy, protocol: str) -> None:
    for seed in range(2):
        one = study(kind, seed, protocol, policy)
        check_study(one.in_the_clear(), one, exactly=protocol == "grid")


@each_protocol
@each_policy
@pytest.mark.parametrize("kind", ["ordinary", "ties", "separated"])
def test_lower_scores_may_be_the_more_positive_ones(kind: str, policy: Policy, protocol: str) -> None:
    one = study(kind, 5, protocol, policy, negated=True)
    check_study(one.in_the_clear(), one, exactly=protocol == "grid")


@each_protocol
@pytest.mark.parametrize(("kind", "policy"), list(zip(KINDS, [Policy.exact(), ROUNDED] * 4, strict=False)))
def test_numbers_by_servers(kind: str, policy: Policy, protocol: str) -> None:
    one = study(kind, 2, protocol, policy)
    check_study(one.by_servers()[0], one, exactly=True)


@each_protocol
def test_negated_numbers_by_servers(protocol: str) -> None:
    one = study("ordinary", 3, protocol, Policy.exact(), negated=True)
    check_study(one.by_servers()[0], one, exactly=True)


@pytest.mark.long
@each_protocol
@each_policy
@each_kind
def test_many_numbers(kind: str, policy: Policy, protocol: str) -> None:
    for seed in range(100, 120):
        one = study(kind, seed, protocol, policy)
        check_study(one.in_the_clear(), one, exactly=protocol == "grid")
    for seed in range(200, 203):
        one = study(kind, seed, protocol, policy)
        check_study(one.by_servers()[0], one, exactly=True)


def beside_the_grid(owners: Sequence[Samples]) -> list[Samples]:
    """Return rows whose scores lie a little beside their values of the grid, towards one half."""
    moved = []
    for own in owners:
        assert own.further is not None
        scores = {
            model: np.where(one > 0.5, one - 0.003, one + 0.003) for model, one in own.further.scores.items()
        }
        moved.append(replace(own, scores=scores["a"], further=replace(own.further, scores=scores)))
    return moved


@pytest.mark.parametrize("kind", ["ordinary", "ties"])
def test_all_numbers_are_of_scores_as_the_grid_reads_them(kind: str) -> None:
    """What owners state of two models together fits their tables, though files have more decimals."""
    for seed in range(2):
        on_grid = study(kind, seed, "grid", Policy.exact())
        raw = replace(on_grid, owners=beside_the_grid(on_grid.owners))
        assert raw.in_the_clear() == on_grid.in_the_clear()
    check_study(raw.by_servers()[0], on_grid, exactly=True)


@each_protocol
def test_an_outcome_of_one_class_leaves_the_others(protocol: str) -> None:
    """Under a policy without floors; it is undefined itself."""
    owners = []
    for own in owners_of("ordinary", 1):
        assert own.further is not None
        labels = {"died": np.zeros_like(own.labels), "icu": own.labels}
        further = replace(own.further, labels=labels, levels={})
        owners.append(replace(own, labels=labels["died"], further=further))
    one = study_of(owners, protocol=protocol)
    found = one.in_the_clear()
    assert [whole.undefined for whole in found.wholes] == [ONE_CLASS, ONE_CLASS, "", ""]
    assert not any(whole.suppressed for whole in found.wholes)
    icu = found.wholes[2]["auroc"]
    assert isinstance(icu, Estimate)
    assert icu.value == pytest.approx(float(exact_auroc([row.sample("a") for row in in_icu(owners)]) or 0))


def in_icu(owners: Sequence[Samples]) -> list[PlainRow]:
    return plain([replace(own, labels=own.further.labels["icu"]) for own in owners if own.further])


@each_protocol
def test_identical_models_do_not_differ(protocol: str) -> None:
    (found,) = study("identical", 0, protocol, Policy.exact()).in_the_clear().comparisons
    for difference in (found.auroc, found.brier):
        assert difference is not None
        assert (difference.value, difference.z, difference.p_value) == (0.0, 0.0, 1.0)
    assert found.auroc is not None
    assert found.auroc.standard_error == 0


@each_protocol
def test_separated_classes_have_no_error(protocol: str) -> None:
    found = study("separated", 0, protocol, Policy.exact()).in_the_clear()
    for whole in found.wholes:
        auroc = whole["auroc"]
        assert isinstance(auroc, Estimate)
        assert (auroc.value, auroc.standard_error) == (1.0, 0.0)
    assert found.comparisons[0].auroc is not None
    assert found.comparisons[0].auroc.p_value == 1.0


@pytest.mark.parametrize("decimals", [1, 2])
@pytest.mark.parametrize("spacing", ["even", "log"])
def test_the_bound_on_the_error_holds_where_cells_are_coarse(decimals: int, spacing: Any) -> None:
    """Scores have three decimals, of which joint counts see 8 cells, or fewer decimals."""
    for seed in range(4):
        owners = owners_of("ordinary", seed, decimals=3)
        for protocol, grid in (("grid", Grid(decimals=3)), ("fast", Grid(decimals=decimals))):
            models = {name: Model(cells=8, spacing=spacing) for name in ("a", "b")}
            one = study_of(owners, protocol=protocol, grid=grid, models=models)
            (found,) = one.in_the_clear().comparisons
            exact, variance = paired_delong(plain(owners), "a", "b")
            assert variance is not None
            auroc = found.auroc
            assert auroc is not None
            assert auroc.value is not None
            assert auroc.standard_error is not None
            assert auroc.error_bound is not None
            assert auroc.value == pytest.approx(float(exact), abs=1e-15)
            off = abs(auroc.standard_error - math.sqrt(variance))
            assert 0 < off <= auroc.error_bound


@each_protocol
def test_protocols_fit_the_scores_of_all_models(protocol: Any) -> None:
    """Scores of the first model are float32 and probabilities, those of the second are neither."""
    owners = [([1, 0, 1, 0], {"a": [0.5, 0.25, 0.75, 0.75], "b": [17.3, 0.1, 40.2, 0.1]})] * 2
    report = ppaurora.evaluate(
        owners, comparisons="all", metrics=["auroc"], protocol=protocol, **_grid(protocol)
    )
    assert report.models["b"].auroc == 1.0
    found = report.comparison("a", "b").auroc
    assert found is not None
    assert found.value == 0.625 - 1.0


def _grid(protocol: str) -> dict[str, Any]:
    return {"grid": Grid(low=0, high=50, decimals=1)} if protocol == "fast" else {}


@each_protocol
def test_a_publication_has_the_same_numbers_rounded(protocol: str) -> None:
    """With all its floors, which this study meets."""
    random = np.random.default_rng(9)
    owners = []
    for place in range(4):
        y_true = random.integers(0, 2, 80)
        scores = {
            name: np.round(np.clip(random.normal(0.4 + 0.2 * y_true, 0.2), 0, 1), 2) for name in ("a", "b")
        }
        owners.append(rows_of(f"owner {place}", y_true, scores))
    one = study_of(owners, protocol=protocol, metrics=("auroc", "brier", "net_benefit"), policy=Policy())
    (found,) = one.in_the_clear().comparisons
    rows, expected = plain(owners), Expected(Policy(), exactly=True, negated=False)
    assert expected.digits == 3
    check_difference(found.auroc, *paired_delong(rows, "a", "b"), expected)
    errors = less(brier_errors(rows, "a"), brier_errors(rows, "b"))
    check_difference(found.brier, *mean_and_variance(errors), expected, slack=IN_STEPS)
