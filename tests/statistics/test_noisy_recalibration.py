"""A recalibration from noisy counts, where a grid leaves hardly any cells."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.data import Samples
from ppaurora.metrics import find_metric
from ppaurora.policy.rules import Policy
from ppaurora.protocols import GridProtocol
from ppaurora.statistics.estimates import Estimate
from tests.support.tables import released_by_grid

NAMES = ("calibration_intercept", "calibration_slope")


@pytest.mark.parametrize(
    ("decimals", "values", "told"),
    [(0, (0.0, 1.0), []), (1, (0.0, 0.1), []), (1, (0.5, 0.6), list(NAMES))],
    ids=["no cell", "one cell", "two cells"],
)
def test_a_private_study_is_read_whose_grid_has_few_values(
    decimals: int, values: tuple[float, float], told: list[str]
) -> None:
    """What has no number says so, and keeps nobody from reading the others."""
    protocol = GridProtocol(low=min(values), high=max(values), decimals=decimals)
    terms = Terms(
        metrics=tuple(find_metric(name)() for name in NAMES), policy=Policy.private(8.0), protocol=protocol
    )
    scores = np.tile(values, 2000)
    labels = (np.arange(len(scores)) % 20 < 20 * np.clip(scores, 0.1, 0.9)).astype(np.uint8)
    released = released_by_grid(terms, [Samples(name, scores, labels) for name in ("north", "south")])
    found = {name: released.metrics[name] for name in NAMES}
    assert all(isinstance(one, Estimate) and bool(one.note) for one in found.values())
    assert [
        name for name, one in found.items() if isinstance(one, Estimate) and one.value is not None
    ] == told
