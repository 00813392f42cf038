"""What an owner learns of a result, as vectors have it: numbers only."""

from __future__ import annotations

from typing import Any

from ppaurora.metrics.reading import ReleasedResult
from ppaurora.statistics.estimates import Estimate, Table
from tests.messages.vectors.file import Entry


def learnt(released: ReleasedResult) -> Entry:
    """Values by metric, of a table row by row; standard errors, how far a grid may have moved
    them, and how many positives, if that is told."""
    if released.suppressed:
        return {"suppressed": True}
    errors = {
        name: found.standard_error
        for name, found in released.metrics.items()
        if isinstance(found, Estimate) and found.standard_error is not None
    }
    bounds = {
        name: found.grid_bound
        for name, found in released.metrics.items()
        if isinstance(found, Estimate) and found.grid_bound is not None
    }
    return {
        "values": {name: _plain(found) for name, found in released.metrics.items()},
        **({"grid_bounds": bounds} if bounds else {}),
        **({"standard_errors": errors} if errors else {}),
        **({} if released.positives is None else {"positives": released.positives}),
    }


def _plain(found: Estimate | Table) -> Any:
    if isinstance(found, Estimate):
        return found.value
    return [{name: estimate.value for name, estimate in row.values.items()} for row in found]
