"""The owner's side of a release: from columns put together to estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ppaurora.data.slices import Slice
from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.metrics.base import Counts, Metric
from ppaurora.metrics.extras.study import released_parts
from ppaurora.metrics.numbers import Way, scale_bits, way_of
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.query import NEGATIVES, POSITIVES, Query
from ppaurora.sharing.shares import Words
from ppaurora.sharing.spans import spans
from ppaurora.statistics.estimates import Estimate, Table

_MOST_BITS = 300


@dataclass(frozen=True)
class ReleasedPart:
    """The numbers of one slice as owners get them, or of the extras of an outcome."""

    query: Query
    metrics: dict[str, Estimate | Table]
    positives: int | None = None  # where the policy lets it out
    negatives: int | None = None  # likewise, where the number of samples is secret
    suppressed: bool = False  # a rule on secret counts failed
    values: tuple[float | None, ...] = ()  # every output of the query, in their order; None: withheld
    noisy: NoisyRelease | None = None  # of a private study

    @property
    def slice(self) -> Slice:
        return self.query.slice


@dataclass(frozen=True)
class ReleasedResult:
    """The result as owners get it: the numbers of all slices, one after the other."""

    parts: tuple[ReleasedPart, ...]
    epsilon: float | None = None  # of a private study

    @property
    def metrics(self) -> dict[str, Estimate | Table]:
        """The metrics of the first slice; a plain study has no other."""
        return self.parts[0].metrics

    @property
    def positives(self) -> int | None:
        return self.parts[0].positives

    @property
    def suppressed(self) -> bool:
        return self.parts[0].suppressed

    @property
    def values(self) -> tuple[float | None, ...]:
        return self.parts[0].values


def column_count(query: Query, checked: int) -> int:
    """Return how many columns there are, with so many owners' submissions checked."""
    return sum(map(_columns_of, released_parts(query))) + checked


def _columns_of(query: Query) -> int:
    return 1 + len(query.outputs) + sum(output.conditional for output in query.outputs)


def read_release(words: Words, query: Query, checked: Sequence[str]) -> ReleasedResult:
    """Read a release from the columns put together. `checked` names the owners, where lists are checked.

    Servers must not be told how this ends: one that spoiled its part could learn from it.
    """
    queries = released_parts(query)
    columns = list(zip(words[0].astype(np.int64).tolist(), words[1].tolist(), strict=True))
    places = spans(map(_columns_of, queries))
    fitting = columns[places[-1].stop :]
    found = [_read_columns(columns[place], part) for place, part in zip(places, queries, strict=True)]
    if any(mantissa not in (0, 1) or exponent for mantissa, exponent in fitting):
        raise ProtocolError(_UNFIT)
    for name, (flag, _) in zip(checked, fitting, strict=True):
        if not flag:
            raise UnsortedListError(f"{name}: {_what_does_not_fit(query)}; there is no result")
    policy = query.policy
    wholes = [
        one
        for part, one in zip(queries, found, strict=True)
        if not (part.slice.is_level or part.is_of_extras)
    ]
    if not (policy.is_private or policy.has_floors or any(one.released for one in wholes)):
        raise UndefinedResultError("undefined: one class only")
    epsilon = policy.epsilon if policy.is_private else None
    parts = tuple(_part(part, numbers) for part, numbers in zip(queries, found, strict=True))
    return ReleasedResult(parts, epsilon)


@dataclass(frozen=True)
class _Numbers:
    """The columns of one part: whether it is released, and its outputs."""

    released: int
    values: list[tuple[int, int]]
    shown: list[float | None]


def _read_columns(columns: Sequence[tuple[int, int]], query: Query) -> _Numbers:
    outputs = query.outputs
    values, flags = columns[1 : 1 + len(outputs)], columns[1 + len(outputs) :]
    released, there = columns[0][0], iter(flags)
    shown: list[float | None] = []
    if not query.policy.is_private:
        shown = [
            _shown(query, output, value, released, next(there)[0] if output.conditional else released)
            for output, value in zip(outputs, values, strict=True)
        ]
    if any(mantissa not in (0, 1) or exponent for mantissa, exponent in (columns[0], *flags)):
        raise ProtocolError(_UNFIT)
    return _Numbers(released, list(values), shown)


def _part(query: Query, numbers: _Numbers) -> ReleasedPart:
    if query.policy.is_private:
        return _with_noise(query, numbers.values, numbers.released)
    return _in_metrics(query, numbers.shown, suppressed=not numbers.released and query.withholds)


def _what_does_not_fit(query: Query) -> str:
    """Return what an owner learns of a submission that does not fit."""
    if query.design is not None:
        lists = "" if query.tabulated else "lists are not sorted, or "
        return f"{lists}tables and sums that were sent do not fit each other, or the numbers of rows"
    if query.tabulated:
        return "the table that was sent does not add up to the number of samples that was stated"
    beside = "its sums" if query.grid is None else "its sums or its table"
    return f"the list that was sent is not sorted, or {beside} do not fit it"


_UNFIT = "the parts of the result do not belong together"


def _with_noise(query: Query, columns: Sequence[tuple[int, int]], released: int) -> ReleasedPart:
    """Read the integers of a private study, which only a submission that does not fit withholds."""
    if not released or any(exponent for _, exponent in columns):
        raise ProtocolError(_UNFIT)
    integers = [mantissa for mantissa, _ in columns]
    noisy = NoisyRelease.of(
        None if query.sizes_are_secret else query.samples,
        query.mechanisms,
        query.rates,
        integers,
        negated=query.negated,
        grid=query.grid,
        rows_per_person=query.rows_per_patient,
    )
    metrics = (
        {}
        if query.is_of_extras
        else {metric.name: metric.read_noisy(noisy, _level(metric, query)) for metric in query.metrics}
    )
    positives = noisy.positives()
    negatives = None
    if query.sizes_are_secret and positives is not None:
        negatives = max(noisy.samples - positives, 0)
    return ReleasedPart(query, metrics, positives, negatives, values=tuple(map(float, integers)), noisy=noisy)


def _level(metric: Metric, query: Query) -> float | None:
    """Return the level of a metric's interval; none where it would take rows of one person for several."""
    return query.confidence_level if query.rows_per_patient == 1 or metric.allows_clusters else None


def _shown(query: Query, output: Output, column: tuple[int, int], released: int, there: int) -> float | None:
    """Return a number; None if it was withheld. Nothing that cannot be is taken."""
    mantissa, exponent = column
    way = way_of(query, output)
    if there > released or (not there and (mantissa or exponent)):
        raise ProtocolError(_UNFIT)
    if exponent > _MOST_BITS or (mantissa < 0 and not output.keeps_sign):
        raise ProtocolError(_UNFIT)
    if not there:
        return None
    if way in (Way.GRID, Way.TALLY) and exponent:
        raise ProtocolError(_UNFIT)
    if not _is_possible(query, output, way, abs(mantissa), exponent):
        raise ProtocolError(_UNFIT)
    return _value(query, output, way, mantissa, exponent)


def _value(query: Query, output: Output, way: Way, mantissa: int, exponent: int) -> float:
    if output.form is Form.COUNT:
        return mantissa * query.count_step
    if way is Way.GRID:
        return mantissa / float(10 ** (query.digits_of(output) or 0))
    value = math.ldexp(mantissa, (scale_bits(output) if way is Way.FLOAT else 0) - exponent)
    return math.sqrt(value) if output.form is Form.ROOT else value


def _is_possible(query: Query, output: Output, way: Way, magnitude: int, exponent: int) -> bool:
    """Return whether it is at most the highest there is; in whole numbers, so that rounding hides nothing."""
    if output.form is Form.COUNT:
        step = query.count_step
        return magnitude * step <= max(query.samples, output.highest) + step // 2
    if way is Way.GRID:
        steps: int = 10 ** (query.digits_of(output) or 0)
        return magnitude <= output.highest * steps
    scale = scale_bits(output) if way is Way.FLOAT else 0
    return magnitude << scale <= output.highest_ratio << exponent


def _in_metrics(query: Query, shown: list[float | None], *, suppressed: bool) -> ReleasedPart:
    """Read the metrics of a slice; extras, which have none, are read from their values."""
    values: Iterator[float | None] = iter(shown)
    by_class = {output: next(values) for output in query.class_counts} if not query.is_of_extras else {}
    positives, negatives = (
        None if (count := by_class.get(output)) is None else int(count) for output in (POSITIVES, NEGATIVES)
    )
    counts = Counts(query.samples, positives)
    if query.sizes_are_secret:
        fewest = None
        if positives is not None and negatives is not None:
            fewest = sum(query.least_count(count, 1) for count in (positives, negatives))
        counts = Counts(fewest, positives, negatives)
    metrics: dict[str, Estimate | Table] = {}
    if not query.is_of_extras:
        metrics = {
            metric.name: metric.read([next(values) for _ in metric.outputs(query)], query, counts)
            for metric in query.metrics
        }
    return ReleasedPart(query, metrics, positives, negatives, suppressed, tuple(shown))
