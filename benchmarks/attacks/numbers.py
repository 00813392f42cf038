"""The numbers that a study publishes, of many studies at once, in the clear."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.attacks.policy import ERRORS, NEGATIVES, POSITIVES, SPREAD, STANDARD_ERROR, Floats
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.roc import Auroc

# What a study may publish together.
AUROC_ALONE = (Auroc.name,)
WITH_BRIER = (Auroc.name, STANDARD_ERROR, Brier.name)
IN_WORDS = {AUROC_ALONE: "AUROC", WITH_BRIER: "AUROC, SE, Brier"}


def numbers_of(scores: Floats, positives: NDArray[Any], negatives: NDArray[Any]) -> dict[str, Floats]:
    """A row per study. A column is a score, and how many positives and negatives have it; scores differ.

    With b = TP_prev + TP and c = FP_prev + FP at every score, descending:

        A = sum dFP·b     Q = sum dFP·b²     C1 = sum dTP·c     C2 = sum dTP·c²
        AUROC = A / 2PN
        SE² = [(P·C2 - C1²)/(P-1) + (N·Q - A²)/(N-1)] / 4P²N²     (DeLong)
    """
    order = np.argsort(-scores, axis=1)
    d_tp, d_fp = (
        np.take_along_axis(counts, order, axis=1).astype(float) for counts in (positives, negatives)
    )
    tp, fp = d_tp.cumsum(axis=1), d_fp.cumsum(axis=1)
    p, n = tp[:, -1], fp[:, -1]
    b, c = 2 * tp - d_tp, 2 * fp - d_fp
    a, q = (d_fp * b).sum(axis=1), (d_fp * b * b).sum(axis=1)
    c1, c2 = (d_tp * c).sum(axis=1), (d_tp * c * c).sum(axis=1)
    of_positives, of_negatives = (1 - scores) ** 2, scores**2
    errors = (positives * of_positives + negatives * of_negatives).sum(axis=1)
    squares = (positives * of_positives**2 + negatives * of_negatives**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = ((p * c2 - c1**2) / (p - 1) + (n * q - a**2) / (n - 1)) / (2 * p * n) ** 2
        return {
            Auroc.name: a / (2 * p * n),
            STANDARD_ERROR: np.sqrt(np.maximum(variance, 0)),
            Brier.name: errors / (p + n),
            POSITIVES: p,
            NEGATIVES: n,
            ERRORS: errors,
            SPREAD: errors - squares,
        }
