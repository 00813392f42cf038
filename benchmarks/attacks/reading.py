"""An attacker that learns to read published numbers, by rehearsing on studies that it makes up itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.attacks.policy import Bools, Floats, Ints
from benchmarks.environment import not_installed


class LabelReader:
    """Guesses a label, 0 or 1, from what was published.

    Of a straight rule and one made of many steps it keeps the one that does better on half of the
    rehearsals after learning from the other half.
    """

    def __init__(self, rehearsed: Floats, labels: Bools) -> None:
        half = len(labels) // 2
        scored = []
        for make in (_straight_rule, _rule_of_steps):
            model = _fitted(make(), rehearsed[:half], labels[:half])
            scored.append((float((_guesses(model, rehearsed[half:]) == labels[half:]).mean()), make))
        self.rehearsed_rate, best = max(scored, key=lambda one: one[0])
        self._model = _fitted(best(), rehearsed, labels)

    def guesses(self, rows: Floats) -> Bools:
        return _guesses(self._model, rows)


class CountReader:
    """Guesses a number from what was published."""

    def __init__(self, rehearsed: Floats, counts: Ints) -> None:
        self._model = _fitted(_curve_of_steps(), rehearsed, counts)

    def guesses(self, rows: Floats) -> Floats:
        found: Floats = self._model.predict(rows)
        return found


def _fitted(model: Any, rows: Floats, targets: Any) -> Any:
    if len(np.unique(targets)) < 2:
        raise ValueError("rehearsals must have both outcomes")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # comes with scikit-learn

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a column never varies is no news
        return model.fit(rows, targets)


def _guesses(model: Any, rows: Floats) -> Bools:
    guesses: Bools = model.predict(rows).astype(bool)
    return guesses


def _straight_rule() -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise not_installed("attackers learn with scikit-learn") from None
    return make_pipeline(StandardScaler(), LogisticRegression())


def _rule_of_steps() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, learning_rate=0.1, random_state=0)


def _curve_of_steps() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=150, max_leaf_nodes=16, learning_rate=0.1, random_state=0)
