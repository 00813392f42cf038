"""The former home of `ppaurora.statistics.estimates`; it goes with the next version."""

from __future__ import annotations

import warnings
from typing import Any

from ppaurora.statistics import auroc, estimates


def __getattr__(name: str) -> Any:
    warnings.warn("ppaurora.estimates is now ppaurora.statistics.estimates", DeprecationWarning, stacklevel=2)
    return getattr(auroc if name == "delong_variance" else estimates, name)
