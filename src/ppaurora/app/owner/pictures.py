"""Charts of an owner's own data, for its own eyes; nothing of them is sent."""

from __future__ import annotations

from ppaurora.check import DataCheck
from ppaurora.data import Samples
from ppaurora.pages.charts import (
    Chart,
    own_precision_recall_curve,
    own_roc_curve,
    scores_by_class,
)
from ppaurora.statistics.areas import average_precision
from ppaurora.statistics.curves import precision_recall_points, roc_points


def pictures_of(check: DataCheck, samples: Samples) -> tuple[Chart, ...]:
    """Scores by class; and the curves, of samples whose higher scores are the more positive."""
    bins = check.histogram
    edges = [bins[0].low, *(one.high for one in bins)]
    shown = [scores_by_class(edges, [one.positives for one in bins], [one.negatives for one in bins])]
    if check.positives and check.negatives:
        labels, scores = samples.labels, samples.scores
        area = "" if check.auroc.value is None else f"{check.auroc.value:.4f}"
        prevalence = check.positives / check.samples
        shown.append(own_roc_curve(*roc_points(labels, scores), area=area))
        shown.append(
            own_precision_recall_curve(
                *precision_recall_points(labels, scores),
                prevalence=prevalence,
                area=f"{average_precision(labels, scores):.4f}",
            )
        )
    return tuple(shown)
