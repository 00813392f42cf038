"""The same numbers on the owner's own samples alone, computed here and sent nowhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppaurora.data import Samples
from ppaurora.metrics import Metric
from ppaurora.pages.report.numbers import Number, number_of, title_of
from ppaurora.statistics.areas import area_under_precision_recall, average_precision, youden_j
from ppaurora.statistics.auroc import LEVEL, auroc_estimate
from ppaurora.statistics.calibration import brier_score, calibration_in_the_large, observed_to_expected
from ppaurora.statistics.estimates import Estimate, ap_logit_interval, wilson_interval
from ppaurora.statistics.histogram import histogram

_DECIMALS = 3
_RATES = {"sensitivity": 1, "specificity": 0}  # of which class


@dataclass(frozen=True)
class OwnFacts:
    """Of the owner's own data: counts, numbers, and in words how sure they are."""

    source: str
    samples: int
    submitted: int  # as the receipt has it
    positives: int
    numbers: tuple[Number, ...]
    words: str
    bins: tuple[tuple[float, float, int, int], ...]  # scores: from, to, positives, negatives

    @property
    def negatives(self) -> int:
        return self.samples - self.positives

    @property
    def fits(self) -> bool:
        """Whether as many were submitted."""
        return self.samples == self.submitted


def own_facts(
    samples: Samples, metrics: Sequence[Metric], level: float | None, submitted: int, pooled: Iterable[Number]
) -> OwnFacts:
    """Of samples as the study reads them: a higher score is the more positive one."""
    confidence = LEVEL if level is None else level
    numbers = tuple(one for metric in metrics for one in _numbers(metric, samples, confidence))
    return OwnFacts(
        source=samples.source.replace("\\", "/").rsplit("/", 1)[-1],
        samples=len(samples),
        submitted=submitted,
        positives=int(samples.labels.sum()),
        numbers=numbers,
        words=_in_words(samples, numbers, {one.key: one for one in pooled}),
        bins=tuple((bin_.low, bin_.high, bin_.positives, bin_.negatives) for bin_ in histogram(samples)),
    )


def _numbers(metric: Metric, samples: Samples, level: float) -> list[Number]:
    """Nothing of a metric that is not computed here."""
    labels = samples.labels
    if 0 < labels.sum() < len(labels) or metric.of_probabilities:
        if metric.thresholds():
            return _at_thresholds(metric, samples, level)
        if metric.name == "reliability":
            return _in_bins(metric, samples)
    compute = _ONE_NUMBER.get(metric.name)
    if compute is None or not 0 < labels.sum() < len(labels):
        return []
    return [_number(compute(samples, level), metric.name, metric.name, {})]


def _at_thresholds(metric: Metric, samples: Samples, level: float) -> list[Number]:
    """With Wilson's interval of what is a proportion of a class."""
    found = []
    for threshold, row in zip(
        metric.thresholds(), metric.reference(samples.labels, samples.scores), strict=True
    ):
        value = float(row[metric.name])
        estimate = Estimate(None, note="no samples")
        if math.isfinite(value):
            estimate = Estimate(value)
            if metric.name in _RATES:
                trials = int(np.count_nonzero(samples.labels == _RATES[metric.name]))
                interval = wilson_interval(round(value * trials), trials, level)
                estimate = Estimate(value, interval=interval, method="Wilson", confidence_level=level)
        found.append(_number(estimate, metric.name, metric.name, {"threshold": threshold}))
    return found


def _in_bins(metric: Metric, samples: Samples) -> list[Number]:
    edges = metric.settings()["bins"]
    rows = metric.reference(samples.labels, samples.scores)
    return [
        _number(
            Estimate(None, note="no samples in this bin") if math.isnan(value) else Estimate(value),
            metric.name,
            name,
            {"low": low, "high": high},
        )
        for low, high, row in zip(edges, edges[1:], rows, strict=False)
        for name, value in row.items()
    ]


def _number(estimate: Estimate, metric: str, name: str, at: dict[str, float]) -> Number:
    return number_of(estimate, metric, name, title_of(name), at, decimals=_DECIMALS)


def _ap(samples: Samples, level: float) -> Estimate:
    value = average_precision(samples.labels, samples.scores)
    interval = ap_logit_interval(value, int(samples.labels.sum()), level)
    return Estimate(value, interval=interval, method="logit (Boyd, Eng, Page 2013)", confidence_level=level)


def _plain(compute: Callable[[Any, Any], Any]) -> Callable[[Samples, float], Estimate]:
    return lambda samples, level: Estimate(float(compute(samples.labels, samples.scores)))


def _observed_expected(samples: Samples, level: float) -> Estimate:
    found = observed_to_expected(samples.labels, samples.scores)
    return Estimate(found, note="undefined: no events expected" if found is None else "")


_ONE_NUMBER: dict[str, Callable[[Samples, float], Estimate]] = {
    "auroc": lambda samples, level: auroc_estimate(samples.labels, samples.scores, level),
    "ap": _ap,
    "aupr": _plain(area_under_precision_recall),
    "youden_j": _plain(youden_j),
    "brier": _plain(brier_score),
    "observed_expected": _observed_expected,
    "calibration_in_the_large": _plain(calibration_in_the_large),
}


def _in_words(samples: Samples, numbers: Iterable[Number], pooled: dict[Any, Number]) -> str:
    """How uncertain a small test set is: the width of its interval beside that of all together."""
    positives = int(samples.labels.sum())
    said = f"{len(samples):,} samples, {positives:,} positive and {len(samples) - positives:,} negative"
    own = next((one for one in numbers if one.metric == "auroc"), None)
    if own is None or own.width is None:
        return f"Your own data alone: {said}. They give no interval for AUROC."
    width, alone = own.width, f"Your own data alone ({said}) give an AUROC of {own.text}"
    if not width:
        return f"{alone}: an interval of zero width, by DeLong's method, says nothing about the uncertainty."
    sentence = (
        f"{alone}: an interval {width:.3f} wide. By chance alone, the value may be off by half of that."
    )
    together = pooled.get(own.key)
    if together is None or together.width is None or not 0 < together.width < width:
        return sentence
    return (
        f"{sentence} All institutions together give {together.text}: an interval {together.width:.2g} wide, "
        f"{width / together.width:.1f} times narrower."
    )
