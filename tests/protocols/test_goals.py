"""The figures to reach. Bytes and rounds are exact, so they are tested; `bench` measures times."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.algorithms.merge import plan
from ppaurora.sharing.planes import LANES, word_count
from ppaurora.suites.bitsliced import costs as bitsliced
from ppaurora.suites.cecilia import costs as cecilia
from ppaurora.suites.network import comparators, half_for, strides
from tests.support.repository import ROOT

RESULTS = ROOT / "benchmarks/results/scale.json"


def test_eight_owners_of_a_thousand() -> None:
    random = np.random.default_rng(8)
    owners = [(random.random(1000) < 0.4, random.normal(size=1000)) for _ in range(8)]
    report = ppaurora.evaluate(owners, metrics=("auroc", "aupr"))
    assert report.parameters == {"key_bits": 64}
    assert report.cost.bytes <= 18e6
    assert report.cost.rounds <= 280
    assert sum(report.cost.rounds_by_step.values()) == report.cost.rounds
    assert sum(report.cost.bytes_by_step.values()) == report.cost.bytes
    assert report.cost.rounds_by_step["merge"] == 5 * (11 + 12 + 13)


def test_the_merge_of_a_million() -> None:
    """As declared per layer: all merges of a level run in the same layers."""
    total, layers = 0, 0
    for size, merges in ((125_000, 4), (250_000, 2), (500_000, 1)):
        words = word_count(size)
        half = half_for(words, words)
        for stride in strides(half * LANES, half * LANES - size, half * LANES + size):
            if stride >= LANES:
                pairs = len(comparators(half, stride // LANES, half - words, half + words))
            else:
                pairs = -(-2 * words // 2)
            cost = bitsliced.exchange(64, merges * pairs)
            total += cost.bytes
            layers += 1
            assert cost.rounds == 5
    assert layers == 18 + 19 + 20
    assert total < 1.9e9


def test_the_papers_merge_of_three_times_1024() -> None:
    """At most 500 MB, where the paper's traffic for the whole is 793."""
    total = 0
    for merge in plan([1024, 1024, 1024]):
        first, second = (1024, 1024) if merge.size == 2048 else (2048, 1024)
        while second:
            total += cecilia.exchange(second).bytes
            first -= 1
            first, second = max(first, second), min(first, second)
    assert total <= 440e6


def saved(**wanted: Any) -> dict[str, Any]:
    runs = json.loads(RESULTS.read_text())["runs"]
    rows: list[dict[str, Any]] = [row for run in runs for row in run["measurements"]]
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


@pytest.mark.parametrize(
    ("samples", "network", "most"),
    [
        (8_000, "loopback", {"seconds": 0.8, "bytes": 18e6, "rounds": 600}),
        (8_000, "10 ms", {"seconds": 5.0}),
        (1_000_000, "loopback", {"seconds": 40.0, "bytes": 3.1e9, "rounds": 800}),
    ],
)
def test_the_saved_measurements_reach_the_goals(samples: int, network: str, most: dict[str, float]) -> None:
    row = saved(samples=samples, owners=8, transport="tls", network=network)
    for name, limit in most.items():
        assert row[name] <= limit, name
    assert max(row["peak_bytes"].values()) <= 1e9
