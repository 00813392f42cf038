"""Charts of an owner's own data, for its own eyes; nothing of them is sent."""

from __future__ import annotations

from ppaurora.check import DataCheck
from ppaurora.pages.charts import (
    Chart,
    own_precision_recall_curve,
    own_roc_curve,
    scores_by_class,
)
from ppaurora.statistics.areas import average_precision
from ppaurora.statistics.curves import precision_recall_points, roc_points


def pictures_of(check: DataCheck) -> tuple[Chart, ...]:
    """Scores by class; and the curves."""
    bins = check.histogram
    edges = [bins[0].low, *(one.high for one in bins)]
    shown = [scores_by_class(edges, [one.positives for one in bins], [one.negatives for one in bins])]
    if check.positives and check.negatives:
        weighted = check.counts.weighted
        area = "" if check.auroc.value is None else f"{check.auroc.value:.4f}"
        prevalence = check.positives / check.samples
        shown.append(own_roc_curve(*roc_points(*weighted), area=area))
        shown.append(
            own_precision_recall_curve(
                *precision_recall_points(*weighted),
                prevalence=prevalence,
                area=f"{average_precision(*weighted):.4f}",
            )
        )
    return tuple(shown)
