"""Attacks simulate many studies at once: of each they publish what the release itself lets out."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.attacks.numbers import WITH_BRIER, numbers_of
from benchmarks.attacks.policy import published, releases
from ppaurora.agreement.examples import example_studies
from ppaurora.metrics import Query, metrics_named
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.policy.rules import Policy

SIZES = (200, 300, 250)


@pytest.mark.parametrize("policy", [Policy(), Policy(digits=2), Policy.exact(digits=3, counts="rounded")])
def test_simulated_releases_are_those_of_the_release(policy: Policy) -> None:
    query = Query(metrics_named("auroc", "brier"), SIZES, policy, 0.95)
    shown = []
    for prevalence in (0.02, 0.05, 0.3):
        for study in example_studies(query, prevalence, 4):
            found = released_in_the_clear(query, study)
            scores, labels = (np.concatenate([getattr(o, of) for o in study]) for of in ("scores", "labels"))
            numbers = numbers_of(scores[np.newaxis], labels[np.newaxis], 1 - labels[np.newaxis].astype(int))
            positives = np.array([[int(one.labels.sum()) for one in study]])
            released = releases(policy, positives, SIZES)
            assert bool(released[0]) is not found.suppressed
            shown.append(found.suppressed)
            if found.suppressed:
                continue
            row = published(policy, np.random.default_rng(1), numbers, WITH_BRIER, released)[0]
            positives_told, auroc, error, brier, _ = found.values
            expected = [auroc, error, brier, positives_told]
            assert row.tolist() == pytest.approx(expected, abs=1e-12)
    assert False in shown
    assert (True in shown) is policy.has_floors
