"""What an interval covers of a normal error with one that is spread evenly, as rounding makes it."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def covered(reach: float, deviation: float, slack: float) -> float:
    """Return how likely the sum of both errors is within the reach, over the middles of many small steps."""
    errors = slack * ((np.arange(1000) + 0.5) / 500 - 1)
    if deviation == 0:
        return float(np.clip(reach / slack, 0, 1))
    normal = NormalDist(sigma=deviation).cdf
    return float(np.mean([normal(reach - error) - normal(-reach - error) for error in errors]))
