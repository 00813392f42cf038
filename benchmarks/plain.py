"""The same metrics in plain text: scikit-learn on the pooled data, as reference and as yardstick."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.environment import not_installed
from benchmarks.synthetic import Owner
from ppaurora.errors import PpauroraError
from ppaurora.evaluation.report import Report
from ppaurora.metrics import find_metric

TOLERANCE = 1e-9


class WrongResultError(PpauroraError):
    """A measured run gave another number than scikit-learn on the pooled data."""


def checked_difference(what: str, report: Report, expected: Mapping[str, float]) -> float:
    """The largest difference between the two; too large a one is an error, not a measurement."""
    difference = max(abs(float(getattr(report, name)) - value) for name, value in expected.items())
    if difference > TOLERANCE:
        raise WrongResultError(f"{what}: differs from the pooled value by {difference:.1e}")
    return difference


def pooled(owners: Sequence[Owner], metrics: Sequence[str]) -> tuple[dict[str, float], float]:
    """The metrics on everyone's samples together, by their references, and the seconds they took."""
    labels, scores = (np.concatenate(column) for column in zip(*owners, strict=True))
    try:
        importlib.import_module("sklearn.metrics")  # loading it is not a part of computing
    except ImportError:
        raise not_installed("benchmarks compare with scikit-learn") from None
    start = time.perf_counter()
    values = {name: float(find_metric(name)().reference(labels, scores)) for name in metrics}
    return values, time.perf_counter() - start
