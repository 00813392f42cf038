"""Random studies on a grid: every number is that of the scores as they are read, in exact fractions.

`grid` computes precisions to 2^-31, rounded down, so AP and AUPR, which are means of precisions, are at most
so much below the exact ones. What a sample counts in a sum of probabilities is rounded to 2^-32, so a mean is
off by at most half of that. All other numbers are the float64 that is nearest to the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.data import Samples
from ppaurora.errors import UndefinedResultError
from ppaurora.metrics import Metric, find_metric
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.metrics.outputs import Output
from ppaurora.metrics.query import Query
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.testing.private import exact_integers
from tests.support import releases
from tests.support.oracles import exact_auroc, exact_delong_variance, variance
from tests.support.runs import watched_run, whole_result
from tests.support.tables import (
    GRIDS,
    GridStudy,
    grid_protocol,
    random_study,
    released_by_grid,
    run_in_the_clear,
    studies,
)

AT_THRESHOLDS = ("sensitivity", "specificity", "ppv", "npv", "f1", "accuracy")
RATES = {
    "partial_auroc": {"max_fpr": 0.125},
    "sensitivity_at_specificity": {"specificity": 0.75},
    "specificity_at_sensitivity": {"sensitivity": 0.7},
}
OF_PROBABILITIES = ("brier", "observed_expected", "calibration_in_the_large")
OF_SUMS = (*OF_PROBABILITIES, "reliability")
SMALL_GRIDS = [grid for grid in GRIDS if grid.cells <= 40]
PRECISION = Fraction(1, 2**31)
ROUNDED = Fraction(1, 2**53)  # to a float64 below 1
STEP = Fraction(1, 2**32)
LEVEL = 0.95

Asked = dict[str, tuple[float, ...]]

SEEDS_OF_THE_SHORT_FORM, SEEDS_OF_THE_CAMPAIGN = range(1), range(1, 8)
by_form = pytest.mark.parametrize(
    "seed",
    [
        *SEEDS_OF_THE_SHORT_FORM,
        *(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS_OF_THE_CAMPAIGN),
    ],
)
STUDIES_OF_A_SEED = 40


def cuts_of(study: GridStudy) -> tuple[float, ...]:
    """Thresholds and edges of bins: two values of the grid and, where there is room, one between values."""
    low, high = study.grid.low, study.grid.high
    return tuple(sorted({round(low + (high - low) * part, 6) for part in (0.25, 0.5, 0.75)}))


def asked_of(study: GridStudy) -> Asked:
    """By metric the numbers that the oracle takes: thresholds, edges of bins or the rate."""
    cuts = cuts_of(study)
    asked: Asked = dict.fromkeys(("auroc", "aupr", "ap", "youden_j"), ())
    asked |= {name: tuple(given.values()) for name, given in RATES.items()}
    asked |= dict.fromkeys(AT_THRESHOLDS, cuts)
    if study.of_probabilities:
        asked |= dict.fromkeys(OF_PROBABILITIES, ())
        asked |= {"net_benefit": cuts, "reliability": (0.0, *cuts, 1.0)}
    return asked


def metrics_of(study: GridStudy, asked: Sequence[str]) -> tuple[Metric, ...]:
    cuts = cuts_of(study)
    ends = (0.0, 1.0) if study.of_probabilities else (study.grid.low, study.grid.high)
    bins = {"bins": (ends[0], *cuts, ends[1])}
    settings: dict[str, Any] = {
        **RATES,
        **{name: {"thresholds": cuts} for name in (*AT_THRESHOLDS, "net_benefit")},
        "reliability": bins,
        "histogram": bins,
    }
    return tuple(find_metric(name)(**settings.get(name, {})) for name in asked)


def terms_of(study: GridStudy, policy: Policy, asked: Sequence[str], level: float | None = LEVEL) -> Terms:
    return Terms(
        metrics=metrics_of(study, asked),
        policy=policy,
        confidence_level=level,
        protocol=grid_protocol(study.grid),
    )


def numbers(found: Estimate | Table) -> list[float | None]:
    if isinstance(found, Estimate):
        return [found.value]
    counts = ("called_positive", "called_negative", "samples")
    return [estimate.value for row in found for name, estimate in row.values.items() if name not in counts]


def as_the_oracle_has_it(study: GridStudy, asked: Asked) -> Asked:
    """Where lower scores are the more positive ones, scores and thresholds are their negatives."""
    if not study.negated:
        return asked
    return {
        name: tuple(0.0 - one for one in given) if name in AT_THRESHOLDS else given
        for name, given in asked.items()
    }


def check_exact(study: GridStudy, released: ReleasedResult, asked: Asked) -> None:
    owners, pooled = study.plain(read=True), study.pooled(read=True)
    expected = releases.released(
        owners, Policy.exact(), as_the_oracle_has_it(study, asked), releases.each_in_steps
    )
    for name, exact in expected.items():
        for value, plain in zip(numbers(released.metrics[name]), exact, strict=True):
            if plain is None or value is None:
                assert value is None, name
                assert plain is None, name
            elif name in ("ap", "aupr"):
                assert -ROUNDED <= plain - Fraction(value) < PRECISION + ROUNDED, name
            else:
                assert value == float(plain), name
    assert released.positives == sum(label for _, label in pooled)
    check_standard_errors(study, released)
    check_certificate(study, released)


def check_standard_errors(study: GridStudy, released: ReleasedResult) -> None:
    pooled = study.pooled(read=True)
    auroc = released.metrics["auroc"]
    assert isinstance(auroc, Estimate)
    delong = exact_delong_variance(pooled)
    assert auroc.standard_error == (None if delong is None else math.sqrt(float(delong)))
    for name, each in (
        ("brier", [(Fraction(s) - y) ** 2 for s, y in pooled]),
        ("calibration_in_the_large", [y - Fraction(s) for s, y in pooled]),
    ):
        found = released.metrics.get(name)
        if isinstance(found, Estimate) and len(pooled) > 1:
            assert found.standard_error is not None
            assert abs(Fraction(found.standard_error) ** 2 - variance(each) / len(each)) < 4 * STEP


def check_certificate(study: GridStudy, released: ReleasedResult) -> None:
    """The nearest float64 to half of the pairs that share a value; which bounds what reading has changed."""
    read, raw = (exact_auroc(study.pooled(read=read)) for read in (True, False))
    assert read is not None
    assert raw is not None
    auroc = released.metrics["auroc"]
    assert isinstance(auroc, Estimate)
    tied = half_of_the_tied_pairs(study)
    assert auroc.grid_bound == float(tied)
    assert abs(read - raw) <= tied


def half_of_the_tied_pairs(study: GridStudy) -> Fraction:
    pooled = study.pooled(read=True)
    positives, negatives = ([s for s, y in pooled if y == label] for label in (1, 0))
    return Fraction(sum(positives.count(s) for s in negatives), 2 * len(positives) * len(negatives))


@by_form
def test_every_number_is_exact_on_the_scores_as_read(seed: int) -> None:
    there = 0
    for study in studies(seed, STUDIES_OF_A_SEED):
        asked = asked_of(study)
        terms = terms_of(study, Policy.exact(), tuple(asked))
        if not study.has_both_classes:
            with pytest.raises(UndefinedResultError):
                released_by_grid(terms, study.owners)
            continue
        there += 1
        check_exact(study, released_by_grid(terms, study.owners), asked)
    assert there > STUDIES_OF_A_SEED / 2


@by_form
def test_three_servers_release_the_same(seed: int) -> None:
    """Of small grids, under every kind of policy but a private one, whose noise differs."""
    few = 2 if seed in SEEDS_OF_THE_SHORT_FORM else 8
    random = np.random.default_rng(1000 + seed)
    for _ in range(few):
        study = random_study(random, SMALL_GRIDS[random.integers(len(SMALL_GRIDS))])
        policy = random_policy(random)
        terms = terms_of(study, policy, tuple(asked_of(study)))
        shares = [terms.share(own) for own in study.owners]
        run = watched_run(terms, shares, study.sizes, negated=study.negated)
        assert not run.openings
        assert (whole_result(terms, run) == run_in_the_clear(terms, study.owners)).all()


def random_policy(random: np.random.Generator) -> Policy:
    """Rounded, with floors and cells that fail now and then; or exact."""
    if random.random() < 0.2:
        return Policy.exact()
    per_cell = int(random.choice([1, 2, 5, 10]))
    return Policy.exact(
        digits=int(random.choice([1, 2, 3, 4])),
        counts=str(random.choice(["hidden", "rounded", "exact"])),
        minimum_positives=int(random.choice([0, 1, 5, 10])),
        minimum_negatives=int(random.choice([0, 1, 5, 10])),
        minimum_per_cell=per_cell,
        whole_tables=bool(per_cell > 1 and random.random() < 0.3),
    )


@by_form
def test_a_policy_lets_out_the_same_whether_lists_are_merged_or_tables_are_added(seed: int) -> None:
    """On scores as read, number by number; and what the policy's words say, where higher is more positive."""
    random = np.random.default_rng(2000 + seed)
    outcomes = set()
    for study in studies(3000 + seed, STUDIES_OF_A_SEED, largest=120):
        asked, policy = asked_of(study), random_policy(random)
        histogram = policy.counts != "hidden" and random.random() < 0.5
        names = (*asked, "histogram") if histogram else tuple(asked)
        terms = terms_of(study, policy, names)
        over_lists = msgspec.structs.replace(terms, protocol=Fast())
        merged = outcome(
            lambda: released_in_the_clear(over_lists.query(study.sizes, negated=study.negated), study.read)  # noqa: B023
        )
        added = outcome(lambda: released_by_grid(terms, study.owners))  # noqa: B023
        assert type(merged) is type(added)
        outcomes.add((type(added), isinstance(added, ReleasedResult) and added.suppressed))
        if not isinstance(added, ReleasedResult) or not isinstance(merged, ReleasedResult):
            continue
        assert (merged.suppressed, merged.positives) == (added.suppressed, added.positives)
        if policy.decimals is not None:
            check_equal(over_lists.query(study.sizes), merged, terms.query(study.sizes), added)
        if not (added.suppressed or study.negated or histogram):
            expected = releases.released(study.plain(read=True), policy, asked, releases.each_in_steps)
            check_released(policy, added, expected)
    assert {(ReleasedResult, False), (ReleasedResult, True)} <= outcomes


def outcome(run: Callable[[], ReleasedResult]) -> ReleasedResult | UndefinedResultError:
    try:
        return run()
    except UndefinedResultError as error:
        return error


def check_equal(merged: Query, of_lists: ReleasedResult, tabulated: Query, of_tables: ReleasedResult) -> None:
    """But the certificate, which lists do not have; sums of probabilities are rounded otherwise."""
    there = dict(zip(_places(merged), of_lists.values, strict=True))
    here = dict(zip(_places(tabulated), of_tables.values, strict=True))
    certificates = {place for place in here if place[1].name == "grid_bound"}
    assert here.keys() - there.keys() == certificates
    for place, value in there.items():
        assert (here[place] is None) == (value is None), place
        if place[0] not in OF_SUMS and value is not None:
            assert here[place] == value, place


def _places(query: Query) -> list[tuple[str, Output]]:
    """Return every output with its metric; bounds of the arithmetic do not tell them apart."""
    counts = [("", output) for output in query.outputs[: int(query.tells_counts)]]
    return counts + [
        (metric.name, replace(output, most_denominator=0))
        for metric in query.metrics
        for output in metric.outputs(query)
    ]


def check_released(
    policy: Policy, released: ReleasedResult, expected: dict[str, list[Fraction | None]]
) -> None:
    for name, exact in expected.items():
        digits = releases.decimals_of(policy, name)
        for value, plain in zip(numbers(released.metrics[name]), exact, strict=True):
            if plain is None or value is None:
                assert value is None, name
                assert plain is None, name
            elif digits is not None:
                assert value == float(releases.half_away(plain, digits)), name
            else:
                assert abs(Fraction(value) - plain) <= PRECISION, name


@by_form
def test_integers_of_a_private_study_are_those_of_the_scores_as_read(seed: int) -> None:
    """Before noise is added; whether one class is missing or not."""
    for study in studies(4000 + seed, STUDIES_OF_A_SEED):
        names: tuple[str, ...] = ("auroc", *AT_THRESHOLDS, "histogram")
        if study.of_probabilities:
            names += (*OF_PROBABILITIES, "net_benefit", "reliability")
        terms = terms_of(study, Policy.private(), names)
        words = run_in_the_clear(terms, study.owners)
        query = terms.query(study.sizes, negated=study.negated)
        found = words[0, 1 : 1 + len(query.outputs)].astype(np.int64).tolist()
        assert found == exact_integers(query.mechanisms, pooled(study.read))


def pooled(owners: Sequence[Samples]) -> Samples:
    scores, labels = (np.concatenate([getattr(one, of) for one in owners]) for of in ("scores", "labels"))
    return replace(owners[0], scores=scores, labels=labels)
