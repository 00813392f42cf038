"""Owners' sums of bins must fit each other, not only the list: every lie is found, and no honest owner is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ppaurora
from ppaurora import Policy, UnsortedListError
from ppaurora.data import Samples
from ppaurora.metrics import METRICS, Metric, Query
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    ExpectedIn,
    ListCounts,
    NegativesIn,
    OwnerSum,
    PositivesIn,
    SamplesIn,
    sums_of,
)
from ppaurora.protocols import lists
from ppaurora.sharing import RingShare
from ppaurora.sharing.shares import Words
from ppaurora.suites.cleartext import CLEARTEXT

BINS = (0.0, 0.25, 0.5, 0.75, 1.0)
RELIABILITY, HISTOGRAM = (METRICS[name](bins=BINS) for name in ("reliability", "histogram"))
POLICY = Policy.exact(minimum_positives=1, minimum_negatives=1, digits=1, counts="rounded")
SCORES = st.one_of(st.sampled_from(BINS), st.floats(0, 1))


@given(st.lists(st.tuples(SCORES, st.integers(0, 1)), min_size=1, max_size=40))
def test_any_list_fits(scored: list[tuple[float, int]]) -> None:
    scores, labels = zip(*scored, strict=True)
    samples = Samples("owner", np.array(scores), np.array(labels, dtype=np.uint8))
    metrics = (RELIABILITY, HISTOGRAM, METRICS["brier"](), METRICS["observed_expected"]())
    query = Query(metrics, (len(scored),), POLICY, 0.95)
    rows = [RingShare(CLEARTEXT, np.array([total])) for total in sums_of(samples, query.sums)]
    positives = RingShare(CLEARTEXT, np.array([sum(labels)], dtype=np.uint64))
    counts = ListCounts(np.array([len(scored)], dtype=np.uint64), positives)
    by_owner = dict(zip(query.sums, rows, strict=True))
    assert len(query.fits) == 2 + 2 * (len(BINS) - 1) + 2 + 3
    for fit in query.fits:
        assert fit.room(by_owner, counts).values.astype(np.int64)[0] >= 0


Lie = Callable[[OwnerSum, int, int], int]  # from a sum, what it is, and the number of samples
LIES: dict[str, tuple[Metric, Lie]] = {
    "all samples in every bin": (
        RELIABILITY,
        lambda total, true, size: size if isinstance(total, SamplesIn) else true,
    ),
    "all positives in every bin that has any": (
        RELIABILITY,
        lambda total, true, size: size // 2 if isinstance(total, PositivesIn) and true else true,
    ),
    "more positives than samples": (
        RELIABILITY,
        lambda total, true, size: 0 if isinstance(total, SamplesIn | ExpectedIn) else true,
    ),
    "more expected than samples": (
        RELIABILITY,
        lambda total, true, size: (
            size * STEPS_PER_ONE if isinstance(total, ExpectedIn) and total.bin.low == 0 else true
        ),
    ),
    "all negatives in every bin": (
        HISTOGRAM,
        lambda total, true, size: size // 2 if isinstance(total, NegativesIn) else true,
    ),
    "one positive twice": (
        HISTOGRAM,
        lambda total, true, size: (
            true + 1 if isinstance(total, PositivesIn) and total.bin.low == 0.25 else true
        ),
    ),
}


def evaluate(metric: Metric) -> ppaurora.Report:
    owner = ([1, 0] * 20, [0.1, 0.1, 0.9, 0.9] * 10)
    return ppaurora.evaluate([owner] * 3, metrics=[metric], policy=POLICY)


@pytest.mark.parametrize("lie", LIES)
def test_sums_that_no_list_gives_are_found(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metric, told = LIES[lie]
    assert not evaluate(metric).suppressed

    def lying(samples: Samples, wanted: Sequence[OwnerSum]) -> Words:
        true = sums_of(samples, wanted)
        if samples.source != "owner 2":
            return true
        lies = [told(total, int(sum_), len(samples)) for total, sum_ in zip(wanted, true, strict=True)]
        return np.array(lies, dtype=np.uint64)

    monkeypatch.setattr(lists, "sums_of", lying)
    with pytest.raises(UnsortedListError, match="owner 2: the list that was sent is not sorted, or its sums"):
        evaluate(metric)
