"""A server's memory grows with the samples by what it has to keep of each, and no more."""

from __future__ import annotations

import numpy as np

import ppaurora

MOST_BYTES_PER_SAMPLE = 220  # about 100 as measured; a record alone has 16


def peaks(samples_per_owner: int) -> dict[str, int]:
    """Of server processes, eight owners, the metrics that need most."""
    random = np.random.default_rng(samples_per_owner)
    owners = []
    for _ in range(8):
        scores = random.random(samples_per_owner)
        owners.append((random.random(samples_per_owner) < scores, scores))
    report = ppaurora.evaluate(owners, metrics=("auroc", "aupr"), transport="tls")
    return dict(report.cost.peak_bytes_by_party)


def test_a_server_needs_few_bytes_for_a_sample() -> None:
    """Both sizes fill the buffers of the connections and the chunks under way, whose size is fixed."""
    smaller, larger = peaks(25_000), peaks(50_000)
    assert set(larger) == {"proxy 0", "proxy 1", "helper"}
    for party, peak in larger.items():
        assert (peak - smaller[party]) / (8 * 25_000) < MOST_BYTES_PER_SAMPLE, party
