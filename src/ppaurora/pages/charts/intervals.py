"""Values from 0 to 1 with their intervals: the pooled ones, and the owner's own."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.pages.charts.drawing import Chart
from ppaurora.pages.charts.forest import ForestRow, forest

IntervalRow = ForestRow


def intervals(rows: Sequence[IntervalRow], *, title: str, caption: str) -> Chart:
    """Draw intervals of numbers from 0 to 1; there must be one at least."""
    return forest(rows, title=title, caption=caption)
