"""A private study costs hardly more than an exact one: at most 1.05 of the bytes, and 12 rounds more."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.channel.meter import Cost
from ppaurora.metrics import METRICS, Metric
from ppaurora.policy.rules import Policy
from tests.support.runs import samples_of, watched_run

OWNERS, SIZE = 8, 30
AUROC = METRICS["auroc"]()
CALIBRATION = tuple(METRICS[name]() for name in ("brier", "observed_expected", "reliability"))
AT_THRESHOLDS = tuple(METRICS[name](thresholds=(0.1, 0.2, 0.5)) for name in ("sensitivity", "specificity"))


def cost_of(policy: Policy, *metrics: Metric) -> Cost:
    rng = np.random.default_rng(1)
    terms = Terms(metrics=metrics, policy=policy)
    owners = [[(float(rng.random()), int(rng.integers(2))) for _ in range(SIZE)] for _ in range(OWNERS)]
    return watched_run(terms, [terms.share(samples_of(owner)) for owner in owners]).cost


@pytest.mark.parametrize("metrics", [(AUROC,), (AUROC, *AT_THRESHOLDS, *CALIBRATION)], ids=["auroc", "more"])
def test_a_private_study_costs_no_more(metrics: tuple[Metric, ...]) -> None:
    """With intervals, which only an exact study computes inside, it costs less still."""
    exact, private = (cost_of(policy, *metrics) for policy in (Policy.exact(), Policy.private()))
    assert private.bytes <= 1.05 * exact.bytes
    assert private.rounds <= exact.rounds + 12
