"""Simulated studies, to show what a plan would release. Nobody's data, and the same every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ppaurora.data.samples import Samples
from ppaurora.metrics import Query

SEPARATION = 1.19  # of the classes, in standard deviations: an AUROC of 0.8
_SEED = 2023
FEWEST = 2  # samples of a class

Study = list[Samples]


def example_studies(query: Query, prevalence: float, count: int) -> Iterator[Study]:
    """Yield so many studies of a query's sizes, as they come at a prevalence.

    A marker is normal in both classes and higher in positives; scores are the risks that follow from it. Of a
    query whose thresholds or bins are no probabilities, or whose grid goes beyond 0 and 1, they are spread
    evenly over these. They are as the study reads them.
    """
    random = np.random.default_rng([_SEED, query.samples, round(prevalence * 1000)])
    n = query.samples
    for _ in range(count):
        positives = int(np.clip(random.binomial(n, prevalence), FEWEST, n - FEWEST))
        labels = random.permutation(np.arange(n) < positives).astype(np.uint8)
        marker = random.normal(size=n) + SEPARATION * labels
        odds = np.log(prevalence / (1 - prevalence)) + SEPARATION * (marker - SEPARATION / 2)
        scores = _spread_over(_cuts(query), 1 / (1 + np.exp(-odds)))
        if query.tabulated and query.grid is not None:
            scores = query.grid.values[np.clip(query.grid.nearest(scores), 0, query.grid.cells - 1)]
        ends = np.cumsum(query.sizes)[:-1]
        owners = zip(np.split(scores, ends), np.split(labels, ends), strict=True)
        yield [Samples("example", *owner) for owner in owners]


def with_other_label(study: Study, rank: float) -> Study:
    """Return the study in which one person has the other label: whose score is above this fraction of all."""
    scores = np.concatenate([one.scores for one in study])
    person = int(np.argsort(scores, kind="stable")[round(rank * (len(scores) - 1))])
    changed = list(study)
    for owner, one in enumerate(study):
        if person < len(one):
            labels = one.labels.copy()
            labels[person] ^= 1
            changed[owner] = Samples(one.source, one.scores, labels)
            break
        person -= len(one)
    return changed


def _cuts(query: Query) -> Sequence[float]:
    """Return all thresholds and edges of bins, and the ends of the grid if there is one."""
    ends = () if query.grid is None else (query.grid.low, query.grid.high)
    edges = (edge for metric in query.metrics for edge in metric.edges())
    return sorted({*query.thresholds, *edges, *ends})


def _spread_over(cuts: Sequence[float], risks: np.ndarray) -> np.ndarray:
    if not cuts or (cuts[0] >= 0 and cuts[-1] <= 1):
        return risks
    ranks = risks.argsort().argsort() / len(risks)
    return np.interp(ranks, np.linspace(0, 1, len(cuts) + 2), [cuts[0] - 1, *cuts, cuts[-1] + 1])
