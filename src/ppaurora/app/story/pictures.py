"""The example's numbers as pictures and tables."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.app.story.example import ExampleResult
from ppaurora.app.story.hospitals import Hospital
from ppaurora.pages.charts import Chart, IntervalRow, intervals
from ppaurora.statistics.estimates import Estimate

_DECIMALS = 3


def in_words(estimate: Estimate) -> str:
    """Value and interval: as released, or with three decimals of what nobody rounded."""
    if estimate.value is None:
        return estimate.shown()
    is_rounded = estimate.digits is not None
    value = estimate.shown() if is_rounded else f"{estimate.value:.{_DECIMALS}f}"
    bounds = estimate.shown_bounds()
    if estimate.interval is None or bounds is None:
        return value
    low, high = bounds if is_rounded else (f"{bound:.{_DECIMALS}f}" for bound in estimate.interval)
    return f"{value} ({low} to {high})"


def alone_chart(hospitals: Sequence[Hospital]) -> Chart:
    return intervals(
        [_row(hospital.title, hospital.auroc, own=True) for hospital in hospitals],
        title="AUROC of each hospital alone",
        caption="A dot is the value on a hospital's own patients; the line is where the true value may be "
        "(95 % confidence interval). The fewer patients, the longer the line.",
    )


def compared_chart(hospitals: Sequence[Hospital], outcome: ExampleResult) -> Chart:
    rows = [_row(f"{hospital.title} alone", hospital.auroc, own=True) for hospital in hospitals]
    rows.append(_row("All three together", outcome.auroc, own=False))
    return intervals(
        rows,
        title="AUROC alone and together",
        caption="What each hospital knows alone, and what all three know now. The line of all together is "
        "the shortest, and no hospital has shown a patient to anybody.",
    )


def _row(label: str, estimate: Estimate, *, own: bool) -> IntervalRow:
    return IntervalRow(label, estimate.value or 0.0, estimate.interval, in_words(estimate), own)
