"""The former home of `ppaurora.statistics.estimates`; it goes with the next version."""

from __future__ import annotations

import warnings
from typing import Any

from ppaurora.statistics import auroc, estimates, intervals


def __getattr__(name: str) -> Any:
    warnings.warn("ppaurora.estimates is now ppaurora.statistics.estimates", DeprecationWarning, stacklevel=2)
    home = next((room for room in (estimates, intervals) if hasattr(room, name)), auroc)
    return getattr(home, name)
