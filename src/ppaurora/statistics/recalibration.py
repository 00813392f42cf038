"""Logistic recalibration of probabilities, of data in the clear: what `glm` of R gives for logit(p)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROUNDS = 200
_LARGEST_STEP = 1.0
_SMALL_STEP = 1e-12
_FLAT = 1e-10  # information of a sample below which there is no root within reach

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of the model, with its standard error."""

    value: float
    standard_error: float


def recalibration_intercept(y_true: ArrayLike, y_score: ArrayLike) -> Coefficient | None:
    """Return a of logit(P(y = 1)) = a + logit(p); None if there is none, or a probability is 0 or 1."""
    return _fitted(y_true, y_score, with_slope=False)


def recalibration_slope(y_true: ArrayLike, y_score: ArrayLike) -> Coefficient | None:
    """Return b of logit(P(y = 1)) = a + b·logit(p); None if there is none, or a probability is 0 or 1."""
    return _fitted(y_true, y_score, with_slope=True)


def _fitted(y_true: ArrayLike, y_score: ArrayLike, *, with_slope: bool) -> Coefficient | None:
    """Maximise the likelihood by Newton's method, with steps that are not too long; the last coefficient."""
    y, p = np.asarray(y_true, dtype=np.float64), np.asarray(y_score, dtype=np.float64)
    if not len(y) or p.min() <= 0 or p.max() >= 1 or y.min() == y.max():
        return None
    x = np.log(p) - np.log1p(-p)
    columns = np.stack([np.ones_like(x), x] if with_slope else [np.ones_like(x)])
    offset = np.zeros_like(x) if with_slope else x
    found = np.zeros(len(columns))
    for _ in range(_ROUNDS):
        mean = expit(offset + found @ columns)
        information = (columns * (mean * (1 - mean))) @ columns.T
        if np.linalg.det(information / len(y)) < _FLAT:
            return None
        step = np.linalg.solve(information, columns @ (y - mean))
        found = found + step * min(1.0, _LARGEST_STEP / np.abs(step).max(initial=_SMALL_STEP))
        if np.abs(step).max() < _SMALL_STEP:
            return Coefficient(float(found[-1]), math.sqrt(np.linalg.inv(information)[-1, -1]))
    return None


def expit(u: Floats) -> Floats:
    """Return 1 / (1 + exp(-u))."""
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u >= 0, 1.0, small) / (1 + small))
