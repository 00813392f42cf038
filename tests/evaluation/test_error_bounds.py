"""The bound of a paired standard error holds for released numbers, which are rounded."""

from __future__ import annotations

import numpy as np
import pytest

import ppaurora
from ppaurora.statistics.differences import Difference


def difference(seed: int, policy: ppaurora.Policy) -> Difference:
    """Return the difference of two models of made-up owners, whose scores share coarse cells."""
    random = np.random.default_rng(seed)
    owners = []
    for size in (60, 50, 70):
        died = random.random(size) < 0.4
        both = {
            name: (random.normal(size=size) + by * died).round(2) for name, by in (("a", 1.2), ("b", 0.6))
        }
        owners.append((died, both))
    report = ppaurora.evaluate(
        owners,
        comparisons=[("a", "b")],
        models={name: {"cells": 32} for name in ("a", "b")},
        metrics=["auroc"],
        confidence_level=0.95,
        policy=policy,
        protocol="grid",
        low=-5,
        high=6,
        decimals=2,
    )
    found = report.comparison("a", "b").auroc
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_contains_what_rounding_hides(seed: int) -> None:
    exact, rounded = (difference(seed, policy) for policy in (ppaurora.Policy.exact(), ppaurora.Policy()))
    assert exact.standard_error is not None
    assert exact.error_bound is not None
    assert rounded.standard_error is not None
    assert rounded.error_bound is not None
    assert rounded.standard_error == round(exact.standard_error, 4)
    assert rounded.error_bound == pytest.approx(round(exact.error_bound, 3) + 0.0005 + 0.00005, abs=1e-9)
    furthest = exact.error_bound + abs(rounded.standard_error - exact.standard_error)
    assert furthest <= rounded.error_bound
