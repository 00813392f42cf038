"""Terms: which metrics, policies, floors and protocols go together."""

from __future__ import annotations

from typing import Any

import pytest

from ppaurora.agreement.terms import Job, Terms
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, metrics_named
from ppaurora.policy.rules import Floors, Policy
from ppaurora.protocols import Fast, GridProtocol, Paper


def test_a_job_that_breaks_a_public_rule_cannot_be_made() -> None:
    terms = Terms(metrics=metrics_named("auroc"))
    assert Job(terms=terms, sizes=(60, 50, 50))
    with pytest.raises(InputError, match="at least 3 owners, there are 2"):
        Job(terms=terms, sizes=(100, 100))
    with pytest.raises(InputError, match=r"more than 0\.5 of all samples"):
        Job(terms=terms, sizes=(1000, 50, 50))
    with pytest.raises(InputError, match="an owner has fewer than 20 samples"):
        Job(terms=terms, sizes=(20, 20, 19))


def test_floors_that_do_not_fit_the_metrics_are_a_problem() -> None:
    """A histogram tells counts; an owner that hides them leaves nothing to compute."""
    metrics = (METRICS["histogram"](),)
    terms = Terms(metrics=metrics, policy=Policy.exact(counts="rounded"))
    sizes = (100, 100, 100)
    assert terms.problem_with(sizes) == ""
    assert terms.problem_with(sizes, [Floors(counts="rounded")]) == ""
    problem = terms.problem_with(sizes, [Floors(counts="hidden")])
    assert problem.startswith("with owners' floors: the metric 'histogram' tells numbers of positives")


def test_floors_count_among_the_public_rules() -> None:
    terms = Terms(metrics=metrics_named("auroc"))
    sizes = (100, 100, 100)
    assert terms.problem_with(sizes) == ""
    for floors, says, can_become_right in (
        (Floors(minimum_owners=4), "at least 4 owners", False),
        (Floors(minimum_samples=301), "fewer than 301 samples in all", True),
        (Floors(largest_owner_fraction=0.3), "more than 0.3 of all samples", False),
        (Floors(largest_owner_fraction=0.34), "more than 0.34 of all samples", True),
    ):
        assert says in terms.problem_with((110, 95, 90), [Floors(), floors])
        awaiting = terms.problem_with(sizes[:2], [Floors(), floors], awaited=1)
        assert (awaiting == "") == can_become_right


def test_a_broken_rule_names_the_owner_and_who_demands_it() -> None:
    terms = Terms(metrics=metrics_named("auroc"))
    largest = terms.broken_rule((30, 220, 40))
    assert largest is not None
    assert (largest.place, largest.demanded_by) == (1, None)
    demanded = terms.broken_rule((100, 100, 120), [Floors(), Floors(largest_owner_fraction=0.35), Floors()])
    assert demanded is not None
    assert (demanded.place, demanded.demanded_by) == (2, 1)
    both = terms.broken_rule((30, 220, 40), [Floors(largest_owner_fraction=0.35), Floors(), Floors()])
    assert both == largest  # other floors would not be enough
    alone = terms.broken_rule((100,), [Floors(counts="hidden", epsilon=1.0)], awaited=2)
    assert alone is not None
    assert alone.demanded_by == 0
    assert terms.broken_rule((40, 30, 30), [Floors()] * 3) is None


def test_a_metric_that_tells_counts_needs_counts_that_are_not_hidden() -> None:
    telling = [metric for metric in METRICS.values() if metric.discloses_counts]
    assert [metric.name for metric in telling] == ["histogram"]
    for metric in telling:
        with pytest.raises(InputError, match="which the policy hides"):
            Terms(metrics=(metric(),), policy=Policy(counts="hidden"))
        for policy in (Policy(), Policy.exact()):
            assert Terms(metrics=(metric(),), policy=policy)


def test_a_cut_inside_of_a_bin_is_refused() -> None:
    """Its numbers less those at an edge are about the samples between, whom no floor counts."""
    sensitivity, bins = METRICS["sensitivity"], (0.0, 0.05, 0.5, 1.0)
    inside = (sensitivity(thresholds=(0.05, 0.1)), METRICS["reliability"](bins=bins))
    says = (
        r"'reliability' has 0\.1 inside of a bin, .* give 'reliability' the bins \[0, 0\.05, 0\.1, 0\.5, 1\]"
    )
    with pytest.raises(InputError, match=says):
        Terms(metrics=inside)
    with pytest.raises(InputError, match=r"'histogram' has 0\.05 inside of a bin"):
        Terms(metrics=(METRICS["histogram"](), METRICS["reliability"](bins=bins)))
    assert Terms(metrics=(sensitivity(thresholds=(-1.0, 0.05, 0.5)), METRICS["reliability"](bins=bins)))
    for policy in (Policy.exact(), Policy.private()):
        assert Terms(metrics=inside, policy=policy)
    floors = [Floors(minimum_per_cell=2)]
    assert "inside of a bin" in Terms(metrics=inside, policy=Policy.exact()).problem_with([50] * 3, floors)


@pytest.mark.parametrize("digits", [1, 3, 6])
def test_paper_cannot_round(digits: Any) -> None:
    says = "'paper' cannot round or draw noise inside the computation; its studies must say kind = 'exact'"
    with pytest.raises(InputError, match=says):
        Terms(metrics=metrics_named("auroc"), protocol=Paper(), policy=Policy.exact(digits=digits))
    assert Terms(metrics=metrics_named("auroc"), protocol=Fast(), policy=Policy.exact(digits=digits))
    for policy in (Policy.exact(counts="rounded"), Policy(), Policy.private()):
        with pytest.raises(InputError, match=says):
            Terms(metrics=metrics_named("auroc"), protocol=Paper(), policy=policy)
    assert Terms(metrics=metrics_named("auroc"), protocol=Paper(), policy=Policy.exact(counts="hidden"))


def test_paper_computes_areas_without_intervals_only() -> None:
    exact = Policy.exact(counts="hidden")
    with pytest.raises(
        InputError, match="the protocol 'paper' does not compute the metric 'brier'; use 'fast'"
    ):
        Terms(metrics=metrics_named("auroc", "brier"), protocol=Paper(), policy=exact)
    with pytest.raises(InputError, match="the protocol 'paper' does not compute intervals; use 'fast'"):
        Terms(metrics=metrics_named("auroc"), confidence_level=0.95, protocol=Paper(), policy=exact)


def test_people_are_told_how_a_grid_reads_scores() -> None:
    metrics = (METRICS["auroc"](),)
    alone = Terms(metrics=metrics, protocol=GridProtocol(low=-2.0, high=3.5, decimals=1))
    beside = Terms(metrics=metrics, protocol=Fast(grid=alone.protocol.grid))
    refused = "to 1 decimal; one below -2 or above 3.5 is refused"
    assert ("scores are read", refused) in alone.describe()
    assert ("scores are read", f"for the table beside the lists, {refused}") in beside.describe()
    assert Terms(metrics=metrics).reading() == []
