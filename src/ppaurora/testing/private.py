"""A private study's integers in the clear, before noise is added: for tests and audits of the noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppaurora.data.samples import Samples
from ppaurora.metrics.private.mechanism import Ingredients, Mechanism
from ppaurora.metrics.sums import sums_of
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite


def exact_integers(mechanisms: Sequence[Mechanism], samples: Samples) -> list[int]:
    """Return the integers of all mechanisms, one after the other, as if one owner had all samples."""

    def share(value: int) -> RingShare:
        return RingShare(CLEARTEXT, np.array([value], dtype=np.uint64))

    found: list[int] = []
    for mechanism in mechanisms:
        totals = dict(zip(mechanism.sums, map(share, sums_of(samples, mechanism.sums).tolist()), strict=True))
        positives = share(int(samples.labels.sum()))
        area = share(twice_the_pairs_in_order(samples))
        given = Ingredients(len(samples), len(samples), positives, totals, area)
        found += mechanism.integers(CleartextSuite(), given).values.astype(np.int64).tolist()
    return found


def twice_the_pairs_in_order(samples: Samples) -> int:
    """Return how many pairs of unlike class are in order, twice; ties count once."""
    negatives = np.sort(samples.scores[samples.labels == 0])
    positives = samples.scores[samples.labels == 1]
    below = negatives.searchsorted(positives, "left") + negatives.searchsorted(positives, "right")
    return int(below.sum())
