"""Private against pooled values: data of the paper's kind, both protocols, few samples and many."""

from __future__ import annotations

import pytest

from benchmarks import correctness


def test_data_sets_are_of_the_papers_kind() -> None:
    tied, untied, small = correctness.scored_sets()
    assert (len(tied.labels), len(small.labels)) == (191, 54)
    assert tied.tied > 100
    assert untied.tied == small.tied == 0
    assert 0 < len(untied.labels) < len(tied.labels)
    for scored in (tied, untied, small):
        assert sum(len(labels) for labels, _ in scored.split()) == len(scored.labels)
        assert "auroc_no_ties" in scored.metrics or scored.tied


def test_correctness_rows_compare_private_and_pooled() -> None:
    small = correctness.scored_sets()[-1]
    rows = list(correctness.compare(small))
    assert [(row["protocol"], row["metric"]) for row in rows] == [
        (protocol, metric) for protocol in ("paper", "fast") for metric in small.metrics
    ]
    for row in rows:
        assert row["private"] == pytest.approx(row["pooled"], abs=1e-9)
    assert correctness.correctness_table(rows).markdown().count("\n") == 1 + len(small.metrics)


def test_few_samples_vary_more_than_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correctness, "DRAWS", 40)
    rows = correctness.stability()
    widths = [row["high"] - row["low"] for row in rows]
    assert widths[0] > 3 * widths[-3]
    assert widths[-1] == 0
