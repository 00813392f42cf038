"""Progress: one measure of work over a whole run, known in advance, from what is public only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.channel.meter import Cost
from ppaurora.metrics import Query, metrics_named
from ppaurora.metrics.names import MetricName
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Protocol
from ppaurora.protocols.fast import Fast
from ppaurora.protocols.paper import Paper
from ppaurora.session import Work, throttled, weight
from ppaurora.session import progress as progress_module

Report = tuple[str, int, int]
PROTOCOLS = {"fast": Fast(), "paper": Paper(), "paper, delta 3": Paper(delta=3)}
SIZES = (40, 7, 90, 1)


def query(metrics: Sequence[str], sizes: Sequence[int]) -> Query:
    return Query(metrics_named(*metrics), tuple(sizes), Policy.exact())


def reports_of(
    protocol: Protocol, sizes: Sequence[int], seed: int = 0, metrics: Sequence[MetricName] = ("auroc", "aupr")
) -> list[Report]:
    random = np.random.default_rng(seed)
    owners = [(random.integers(0, 2, size), random.random(size).round(1 + seed)) for size in sizes]
    owners[sizes.index(max(sizes))][0][:2] = 0, 1
    reports: list[Report] = []
    name: Any = protocol.name
    ppaurora.evaluate(
        owners,
        metrics=metrics,
        protocol=name,
        progress=lambda *report: reports.append(report),
        **protocol.settings(),
    )
    return reports


@pytest.fixture
def every_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_REPORTS", 0.0)


@pytest.mark.usefixtures("every_report")
@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("metrics", [("auroc", "aupr"), ("auroc_no_ties",), ("youden_j", "ap")])
def test_it_starts_at_nothing_grows_and_ends_at_the_total(name: str, metrics: tuple[MetricName, ...]) -> None:
    protocol = PROTOCOLS[name]
    reports = reports_of(protocol, SIZES, metrics=metrics)
    steps, done, totals = zip(*reports, strict=True)
    assert set(totals) == {sum(protocol.work(query(metrics, SIZES)).values())}
    assert list(done) == sorted(done)
    assert (done[0], done[-1]) == (0, totals[0])
    assert steps[0] == "input"
    assert steps[done.index(totals[0])] == "division"
    assert steps[-1] == "release"


@pytest.mark.usefixtures("every_report")
@pytest.mark.parametrize("metrics", [("brier",), ("brier", "auroc")])
def test_owners_sums_are_work_with_or_without_a_merge(metrics: tuple[MetricName, ...]) -> None:
    reports = reports_of(Fast(), SIZES, metrics=metrics)
    assert {total for _, _, total in reports} == {sum(Fast().work(query(metrics, SIZES)).values())}
    assert reports[-1][1] == reports[-1][2]
    assert ("merge" in {step for step, _, _ in reports}) == ("auroc" in metrics)


@pytest.mark.usefixtures("every_report")
@pytest.mark.parametrize("name", ["fast", "paper"])
def test_it_depends_on_sizes_alone(name: str) -> None:
    protocol = PROTOCOLS[name]
    first, second = (reports_of(protocol, SIZES, seed) for seed in (1, 2))
    assert first == second
    assert reports_of(protocol, (41, *SIZES[1:])) != first
    assert len(first) > 20


@pytest.mark.usefixtures("every_report")
def test_after_openings_too_the_total_depends_on_sizes_alone() -> None:
    """When a merge ends may depend on what was opened, so not every report does."""
    first, second = (reports_of(PROTOCOLS["paper, delta 3"], SIZES, seed) for seed in (1, 2))
    assert first[-1] == second[-1]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_steps_that_are_weighed_are_those_of_the_run(name: str) -> None:
    protocol = PROTOCOLS[name]
    reported = {step for step, _, _ in reports_of(protocol, SIZES)}
    assert set(protocol.work(query(("auroc", "aupr"), SIZES))) <= reported
    assert all(value > 0 for value in protocol.work(query(("auroc", "aupr"), SIZES)).values())


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("sizes", [(2, 1), (1, 2, 1), (64, 64)])
def test_small_lists(name: str, sizes: tuple[int, ...]) -> None:
    _, done, total = reports_of(PROTOCOLS[name], sizes)[-1]
    assert done == total


@pytest.mark.parametrize("samples", [12_500, 125_000])
def test_the_weights_follow_the_bytes_of_a_large_run(samples: int) -> None:
    """Of a step's declared bytes; what is added for rounds and for the start stays small."""
    weights = Fast().work(query(("auroc", "aupr"), [samples] * 8))
    whole = sum(weights.values())
    assert 0.75 < weights["merge"] / whole < 0.9
    assert weights["division"] < 0.03 * whole
    assert weights["input"] < 0.04 * whole


def test_work_is_the_sum_of_its_steps_whatever_their_order() -> None:
    reports: list[Report] = []
    work = Work({"merge": 90, "division": 10}, lambda *report: reports.append(report))
    work("merge", 0, 3)
    work("merge", 1, 3)
    work("division", 1, 2)
    work("merge", 3, 3)
    work("merge", 2, 3)  # never back
    work("tea", 1, 2)  # no part of the work
    work("division", 1, 1)
    assert reports == [
        ("merge", 0, 100),
        ("merge", 30, 100),
        ("division", 35, 100),
        ("merge", 95, 100),
        ("tea", 95, 100),
        ("division", 100, 100),
    ]


def test_a_step_without_a_total_does_no_harm() -> None:
    reports: list[Report] = []
    work = Work({"merge": 5}, lambda *report: reports.append(report))
    work("merge", 0, 0)
    assert reports == [("merge", 0, 5)]


def test_a_round_weighs_as_much_as_some_bytes() -> None:
    assert weight(Cost(3, 1000, 2), 50) == 1100


def test_throttling_keeps_new_steps_and_ends() -> None:
    now = 0.0
    reports: list[Report] = []
    report = throttled(lambda *one: reports.append(one), lambda: now)
    for time, step, done in [(1.0, "a", 0), (1.01, "a", 1), (1.02, "b", 2), (1.13, "b", 3), (1.14, "b", 9)]:
        now = time
        report(step, done, 9)
    assert reports == [("a", 0, 9), ("b", 2, 9), ("b", 3, 9), ("b", 9, 9)]
