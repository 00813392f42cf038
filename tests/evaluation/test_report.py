"""What a report says of a run, and what is said while it runs."""

from __future__ import annotations

import json

import pytest

import ppaurora
from ppaurora import Report
from ppaurora.io.models import to_builtins
from ppaurora.metrics.names import MetricName
from ppaurora.policy.rules import Policy
from ppaurora.protocols.names import ProtocolName
from tests.support.evaluations import ALL_METRICS, GOOD, each_protocol


@pytest.fixture(scope="module")
def report() -> Report:
    owners = [([0, 1, 0], [0.25, 0.75, 0.5]), ([1, 0, 0], [0.5, 0.5, 0.125])]
    return ppaurora.evaluate(owners, metrics=("auroc", "aupr"), protocol="paper", delta=3)


def test_json_has_every_field(report: Report) -> None:
    fields = json.loads(report.to_json())
    assert {name: one["value"] for name, one in fields["metrics"].items()} == {
        "auroc": report.auroc,
        "aupr": report.aupr,
    }
    assert fields["metrics"] == {name: found.to_dict() for name, found in report.metrics.items()}
    assert (fields["positives"], fields["suppressed"]) == (report.positives, report.suppressed) == (2, False)
    assert fields["policy"] == to_builtins(report.policy) == to_builtins(Policy.exact())
    assert (fields["owners"], fields["samples"]) == (2, 6)
    assert (fields["protocol"], fields["transport"]) == ("paper", "memory")
    assert fields["parameters"] == report.parameters == {"delta": 3}
    assert fields["openings"] == report.openings
    assert set(fields) == {
        "metrics",
        "positives",
        "suppressed",
        "policy",
        "owners",
        "samples",
        "protocol",
        "parameters",
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
    report.to_dict()["metrics"]["auroc"]["value"] = 2.0
    report.to_dict()["policy"]["digits"] = 1
    report.to_dict()["cost"]["bytes"] = 0
    report.to_dict()["parameters"]["delta"] = 5
    assert report.auroc <= 1.0
    assert report.policy == Policy.exact()
    assert report.cost.bytes > 0
    assert report.parameters == {"delta": 3}


@pytest.mark.parametrize("name", ["auroc_no_ties", "ap"])
def test_a_metric_that_was_not_asked_for(report: Report, name: MetricName) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(report, name)
    assert str(caught.value) == f"'{name}' was not asked for; this report has: auroc, aupr"
    assert not hasattr(report, name)
    with pytest.raises(KeyError, match=f"'{name}' was not asked for; this report has: auroc, aupr"):
        report[name]


def test_fast_is_the_default_and_opens_nothing() -> None:
    report = ppaurora.evaluate([GOOD, GOOD, GOOD], metrics=ALL_METRICS)
    fields = json.loads(report.to_json())
    assert (fields["protocol"], fields["parameters"]) == ("fast", {"key_bits": 32})
    values = {name: one["value"] for name, one in fields["metrics"].items()}
    assert values == {name: getattr(report, name) for name in ALL_METRICS}
    assert fields["openings"] == {}
    assert set(fields["cost"]["bytes_by_step"]) >= {"input", "order check", "merge", "ties", "division"}
    assert sum(fields["cost"]["bytes_by_step"].values()) == fields["cost"]["bytes"] > 0


def test_delta_above_one_opens_comparisons_and_says_so(report: Report) -> None:
    assert list(report.openings) == ["merge: which of two tops is larger"]
    assert all(count > 0 for count in report.openings.values())


def test_delta_one_opens_nothing() -> None:
    assert ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper", delta=1).openings == {}


@each_protocol
def test_progress_ends_at_the_total(protocol: ProtocolName) -> None:
    seen: list[tuple[str, int, int]] = []
    ppaurora.evaluate(
        [GOOD, GOOD], metrics=["auroc"], protocol=protocol, progress=lambda *step: seen.append(step)
    )
    (total,) = {total for _, _, total in seen}
    work = [done for _, done, _ in seen]
    assert work[-1] == total
    assert work == sorted(work)
    assert "merge" in {step for step, _, _ in seen}


def test_an_error_in_the_callers_progress_function_is_the_callers() -> None:
    def broken(step: str, done: int, total: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], progress=broken, timeout=60)
