"""The same numbers on the owner's own samples alone, computed here and sent nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ppaurora.data import Samples, ScoreCounts
from ppaurora.metrics import Metric
from ppaurora.metrics.roc import Auroc
from ppaurora.pages.report.numbers import Number, numbers_of, settings_of
from ppaurora.statistics.auroc import LEVEL
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.statistics.histogram import histogram

_DECIMALS = 3


@dataclass(frozen=True)
class OwnFacts:
    """What the owner's own data gives: counts, numbers, and in words how sure they are."""

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
    """Compute them on samples as the study reads them: a higher score is the more positive one."""
    numbers = own_numbers(own_values(metrics, samples, level), metrics)
    return OwnFacts(
        source=samples.source.replace("\\", "/").rsplit("/", 1)[-1],
        samples=len(samples),
        submitted=submitted,
        positives=int(samples.labels.sum()),
        numbers=numbers,
        words=_in_words(samples, numbers, {one.key: one for one in pooled}),
        bins=tuple(
            (bin_.low, bin_.high, bin_.positives, bin_.negatives)
            for bin_ in histogram(ScoreCounts.of(samples))
        ),
    )


def own_values(
    metrics: Iterable[Metric], samples: Samples, level: float | None
) -> dict[str, Estimate | Table]:
    """Compute the metrics; for one class alone, only how well probabilities fit is defined."""
    has_both = 0 < samples.labels.sum() < len(samples)
    return {
        metric.name: metric.on_own_data(samples, LEVEL if level is None else level)
        for metric in metrics
        if has_both or metric.of_probabilities
    }


def own_numbers(values: Mapping[str, Estimate | Table], metrics: Sequence[Metric]) -> tuple[Number, ...]:
    """Return the values as a report has them: nobody rounds them, so they have as many decimals each."""
    return numbers_of(values, settings_of(metrics), _DECIMALS)


def _in_words(samples: Samples, numbers: Iterable[Number], pooled: dict[Any, Number]) -> str:
    """Return how uncertain a small test set is: the width of its interval beside that of all together."""
    positives = int(samples.labels.sum())
    said = f"{len(samples):,} samples, {positives:,} positive and {len(samples) - positives:,} negative"
    own = next((one for one in numbers if one.metric == Auroc.name), None)
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
