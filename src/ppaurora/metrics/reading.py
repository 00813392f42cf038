"""The owner's side of a release: from columns put together to estimates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.metrics.base import Counts
from ppaurora.metrics.numbers import Way, scale_bits, way_of
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.query import Query
from ppaurora.sharing.shares import Words
from ppaurora.statistics.estimates import Estimate, Table

_MOST_BITS = 300


@dataclass(frozen=True)
class ReleasedResult:
    """The result as owners get it."""

    metrics: dict[str, Estimate | Table]
    positives: int | None = None  # where the policy lets it out
    suppressed: bool = False  # a rule on secret counts failed
    epsilon: float | None = None  # of a private study
    values: tuple[float | None, ...] = ()  # every output of the query, in their order; None: withheld


def column_count(query: Query, checked: int) -> int:
    """Return how many columns there are, with so many owners' lists checked."""
    conditional = sum(output.conditional for output in query.outputs)
    return 1 + len(query.outputs) + conditional + checked


def read_release(words: Words, query: Query, checked: Sequence[str]) -> ReleasedResult:
    """Read a release from the columns put together. `checked` names the owners, where lists are checked.

    Servers must not be told how this ends: one that spoiled its part could learn from it.
    """
    mantissas = words[0].astype(np.int64).tolist()
    exponents = words[1].tolist()
    outputs = query.outputs
    released = mantissas[0]
    columns = list(zip(mantissas, exponents, strict=True))
    values, rest = columns[1 : 1 + len(outputs)], columns[1 + len(outputs) :]
    there = iter(rest[: len(rest) - len(checked)])
    in_order = [mantissa for mantissa, _ in rest[len(rest) - len(checked) :]]
    if query.policy.is_private:
        shown = []
    else:
        shown = [
            _shown(query, output, value, released, next(there)[0] if output.conditional else released)
            for output, value in zip(outputs, values, strict=True)
        ]
    if any(mantissa not in (0, 1) or exponent for mantissa, exponent in (columns[0], *rest)):
        raise ProtocolError(_UNFIT)
    for name, flag in zip(checked, in_order, strict=True):
        if not flag:
            raise UnsortedListError(f"{name}: {_what_does_not_fit(query)}; there is no result")
    if query.policy.is_private:
        return _with_noise(query, values, released)
    if not released and not query.policy.has_floors:
        raise UndefinedResultError("undefined: one class only")
    return _in_metrics(query, shown, suppressed=not released)


def _what_does_not_fit(query: Query) -> str:
    """Return what an owner learns of a submission that does not fit."""
    if query.tabulated:
        return "the table that was sent does not add up to the number of samples that was stated"
    beside = "its sums" if query.grid is None else "its sums or its table"
    return f"the list that was sent is not sorted, or {beside} do not fit it"


_UNFIT = "the parts of the result do not belong together"


def _with_noise(query: Query, columns: Sequence[tuple[int, int]], released: int) -> ReleasedResult:
    """Read the integers of a private study, which only a submission that does not fit withholds."""
    if not released or any(exponent for _, exponent in columns):
        raise ProtocolError(_UNFIT)
    mechanisms, integers = query.mechanisms, [mantissa for mantissa, _ in columns]
    noisy = NoisyRelease.of(
        query.samples,
        mechanisms,
        rates(query.policy, mechanisms),
        integers,
        negated=query.negated,
        grid=query.grid,
    )
    metrics = {metric.name: metric.read_noisy(noisy, query.confidence_level) for metric in query.metrics}
    return ReleasedResult(
        metrics, noisy.positives(), epsilon=query.policy.epsilon, values=tuple(map(float, integers))
    )


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
        return mantissa * query.policy.count_step
    if way is Way.GRID:
        return mantissa / float(10 ** (query.digits_of(output) or 0))
    value = math.ldexp(mantissa, (scale_bits(output) if way is Way.FLOAT else 0) - exponent)
    return math.sqrt(value) if output.form is Form.ROOT else value


def _is_possible(query: Query, output: Output, way: Way, magnitude: int, exponent: int) -> bool:
    """Return whether it is at most the highest there is; in whole numbers, so that rounding hides nothing."""
    if output.form is Form.COUNT:
        step = query.policy.count_step
        return magnitude * step <= query.samples + step // 2
    if way is Way.GRID:
        steps: int = 10 ** (query.digits_of(output) or 0)
        return magnitude <= output.highest * steps
    scale = scale_bits(output) if way is Way.FLOAT else 0
    return magnitude << scale <= output.highest_ratio << exponent


def _in_metrics(query: Query, shown: list[float | None], *, suppressed: bool) -> ReleasedResult:
    values: Iterator[float | None] = iter(shown)
    positives = next(values) if query.tells_counts else None
    counts = Counts(query.samples, None if positives is None else int(positives))
    metrics = {
        metric.name: metric.read([next(values) for _ in metric.outputs(query)], query, counts)
        for metric in query.metrics
    }
    return ReleasedResult(metrics, counts.positives, suppressed, values=tuple(shown))
