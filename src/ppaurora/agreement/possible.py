"""Which numbers of positives remain possible for whoever sees all released numbers together.

Numbers of samples are whole, so that a released number excludes some: not for every P is there a k with k/P
rounded to it. Numbers that share such counts are taken together:

- areas and rates are whole numbers of parts of P·N, P or N, each for itself;
- at a threshold, one pair of true and false positives must give all numbers;
- in bins, positives must add up to P while samples add up to all samples;
- one number of expected events must give both its ratio to P and its difference from P.

That is arithmetic alone, and not all of it: bins are not compared with thresholds, and histograms and smooth
curves are left out, so that fewer may remain. Who also knows how scores are distributed may find some of the
rest unlikely.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ppaurora.metrics import Metric, Query
from ppaurora.metrics.bins import Reliability
from ppaurora.metrics.calibration import CalibrationInTheLarge, ObservedToExpected
from ppaurora.metrics.facts import SampleClass
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.thresholds import AtThresholds
from ppaurora.policy.rules import HIDDEN
from ppaurora.statistics.confusion import Confusion
from ppaurora.statistics.intervals import half_unit

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MOST_TRIED = 300  # one by one; of more, so many that are spread evenly stand for all
_FLOAT64 = 2.0**-48  # how far a number that is not rounded may be from what it stands for
_TINY = 1e-9


@dataclass(frozen=True)
class Released:
    """A number that was not withheld."""

    metric: Metric
    output: Output
    value: float
    digits: int | None

    @property
    def half_step(self) -> float:
        """How far the number may be from what it was before it was rounded."""
        return max(abs(self.value), 1.0) * _FLOAT64 if self.digits is None else half_unit(self.digits)

    @property
    def steps(self) -> tuple[int, int]:
        """Return 1/step, and how many steps the number is."""
        per_one = 10 ** (self.digits or 0)
        return per_one, round(self.value * per_one)


def possible_positives(query: Query, values: Sequence[float | None]) -> int:
    """Return how many numbers of positives fit the values of all outputs; None is a withheld one."""
    found = _released(query, values)
    fitting = _counted(query, values)
    for one in found:
        fitting = fitting[_fits_alone(query, one, fitting)]
    fitting = fitting[_fits_expected_events(query, found, fitting)]
    thresholds, bins = list(_at_thresholds(query, found)), _bins(query, found)
    if len(fitting) > _MOST_TRIED:
        for forms in thresholds:
            low, high = _around(forms, query.samples)
            fitting = fitting[(low <= fitting) & (fitting <= high)]
    every = max(-(-len(fitting) // _MOST_TRIED), 1)
    tried = fitting[::every].tolist()
    left = sum(
        all(_has_whole_point(forms, p, query.samples - p) for forms in thresholds)
        and (bins is None or bins.can_hold(p))
        for p in tried
    )
    return min(left * every, len(fitting))


def _released(query: Query, values: Sequence[float | None]) -> list[Released]:
    components = [one for metric in query.metrics for one in metric.components()]
    outputs = [(metric, output) for metric in components for output in metric.outputs(query)]
    return [
        Released(metric, output, value, query.digits_of(output))
        for (metric, output), value in zip(outputs, values[query.tells_counts :], strict=True)
        if value is not None
    ]


def _counted(query: Query, values: Sequence[float | None]) -> Numbers:
    """Return the numbers that the released count stands for, and floors leave."""
    policy = query.policy
    most = query.samples - max(policy.minimum_negatives, 1)
    every = np.arange(max(policy.minimum_positives, 1), most + 1)
    told = values[0] if query.tells_counts else None
    return every if told is None else every[np.isin(every, _counts_behind(query, told))]


def _counts_behind(query: Query, released: float) -> range:
    """Return all counts that are released as this one."""
    slack = query.policy.count_step // 2
    return range(max(int(released) - slack, 0), int(released) + slack + 1)


# A fraction of pairs, or of a class


def _fits_alone(query: Query, one: Released, positives: Numbers) -> Mask:
    """Whether there is a whole number of parts, of all that there are, which is rounded to the number."""
    denominators = _parts(one, positives, query.samples - positives)
    if denominators is None:
        return np.ones(len(positives), dtype=np.bool_)
    if one.digits is None:
        parts = denominators.astype(np.float64)
        return np.asarray(np.abs(np.rint(one.value * parts) / parts - one.value) <= one.half_step)
    per_one, _ = one.steps
    first, last = _whole_numbers(one, np.minimum(denominators, per_one))  # of more parts there is always one
    return first <= last


def _parts(one: Released, positives: Numbers, negatives: Numbers) -> Numbers | None:
    metric = one.metric
    if one.output.form is not Form.QUOTIENT:  # a standard error, or a count
        return None
    if metric.parts_of_a_pair:
        return metric.parts_of_a_pair * positives * negatives
    by_class = {SampleClass.POSITIVES: positives, SampleClass.NEGATIVES: negatives}
    return None if metric.rate_of is None else by_class[metric.rate_of]


def _whole_numbers(one: Released, of: Numbers) -> tuple[Numbers, Numbers]:
    """Return the first and last k for which k / of is rounded to the number, half up: none if last < first.

    k / of is from 0 to 1; with S steps per one, it is j of them if (2·j - 1)·of <= 2·S·k < (2·j + 1)·of.
    """
    if one.digits is None:
        k = np.rint(one.value * of).astype(np.int64)
        return k, np.where(np.abs(k / of - one.value) <= one.half_step, k, k - 1)
    per_one, steps = one.steps
    first = -(-(2 * steps - 1) * of // (2 * per_one))
    last = ((2 * steps + 1) * of - 1) // (2 * per_one)
    return np.maximum(first, 0), np.minimum(last, of)


# Expected events


def _fits_expected_events(query: Query, found: Sequence[Released], positives: Numbers) -> Mask:
    """Whether some number E of expected events has the released P/E and P/n - E/n."""
    low, high = np.zeros(len(positives)), np.full(len(positives), float(query.samples))
    for one in found:
        if isinstance(one.metric, ObservedToExpected) and one.output.name == one.metric.name:
            low = np.maximum(low, positives / (one.value + one.half_step))
            if one.value > one.half_step:
                high = np.minimum(high, positives / (one.value - one.half_step))
        if isinstance(one.metric, CalibrationInTheLarge) and one.output.name == one.metric.name:
            low = np.maximum(low, positives - query.samples * (one.value + one.half_step))
            high = np.minimum(high, positives - query.samples * (one.value - one.half_step))
    return np.asarray(low <= high + _TINY * query.samples)


# All numbers at a threshold


@dataclass(frozen=True)
class AtLeast:
    """a·TP + b·FP + c·P + d·N >= least, in whole numbers."""

    coefficients: Sequence[int]
    least: int = 0


def _above(coefficients: Sequence[int], *, or_zero: bool = False) -> AtLeast:
    """Return that it is above zero: in lowest terms, at least one."""
    common = math.gcd(*coefficients) or 1
    return AtLeast([one // common for one in coefficients], least=int(not or_zero))


def _at_thresholds(query: Query, found: Sequence[Released]) -> Iterator[list[AtLeast]]:
    """Yield what is known of the counts at every threshold; of numbers that are not rounded, nothing here."""
    at = [one for one in found if isinstance(one.metric, AtThresholds) and one.digits is not None]
    for _, together in groupby(sorted(at, key=_threshold), key=_threshold):
        yield [form for one in together for form in _forms(query, one)]


def _threshold(one: Released) -> float:
    return dict(one.output.at)["threshold"]


def _forms(query: Query, one: Released) -> list[AtLeast]:
    """Write as inequalities which counts give the number: it is n/d, both linear in them, and d > 0."""
    metric, threshold = cast("AtThresholds", one.metric), _threshold(one)
    units = [Confusion(*(int(place == other) for other in range(4))) for place in range(4)]
    if one.output.form is Form.COUNT:
        behind, counted = _counts_behind(query, one.value), [metric.trials(unit) for unit in units]
        return [
            AtLeast(counted, behind.start),
            AtLeast([-part for part in counted], 1 - behind.stop),
        ]
    if one.output.name != metric.name:
        return []
    n, d = zip(*(metric.fraction(unit, threshold) for unit in units), strict=True)
    per_one, steps = one.steps
    low = [2 * per_one * a - (2 * steps - 1) * b for a, b in zip(n, d, strict=True)]
    high = [(2 * steps + 1) * b - 2 * per_one * a for a, b in zip(n, d, strict=True)]
    return [
        _above(low, or_zero=steps > 0),
        _above(high, or_zero=steps < 0),
        _above(d),
    ]


def _has_whole_point(forms: Sequence[AtLeast], p: int, n: int) -> bool:
    """Whether some TP up to P and FP up to N meet them all: for each TP, those FP are from one to another."""
    known = [(a, b, c * p + d * n - form.least) for form in forms for a, b, c, d in [form.coefficients]]
    first, last = 0, p
    for tp, fp, rest in known:
        if fp == 0 and tp > 0:
            first = max(first, -(rest // tp))
        elif fp == 0 and tp < 0:
            last = min(last, rest // -tp)
        elif fp == 0 and rest < 0:
            return False
    t = np.arange(first, last + 1, dtype=np.float64)
    low, high = np.zeros(len(t)), np.full(len(t), float(n))
    for tp, fp, rest in known:
        if fp > 0:
            low = np.maximum(low, np.ceil(-(tp * t + rest) / fp - _TINY))
        elif fp < 0:
            high = np.minimum(high, np.floor((tp * t + rest) / -fp + _TINY))
    return bool(np.any(low <= high))


def _around(forms: Sequence[AtLeast], samples: int) -> tuple[float, float]:
    """Return the least and the largest P of all fractional counts that meet them.

    They are a convex body in (TP, FP, P), which numbers of samples bound; P is extreme at corners, where
    three inequalities are equations.
    """
    sides = [(1, 0, 0, 0), (0, 1, 0, 0), (-1, 0, 1, 0), (0, -1, 0, 1)]  # of TP and FP
    every = {(*form.coefficients, form.least) for form in forms} | {(*side, 0) for side in sides}
    planes = np.array([(a, b, c - d, d * samples - least) for a, b, c, d, least in every], dtype=np.float64)
    planes /= np.abs(planes[:, :3]).max(axis=1, keepdims=True) + (planes[:, :3] == 0).all(axis=1)[:, None]
    corners = planes[np.array(list(combinations(range(len(planes)), 3)))]
    proper = np.abs(np.linalg.det(corners[:, :, :3])) > _TINY
    points = np.linalg.solve(corners[proper][:, :, :3], -corners[proper][:, :, 3:])[:, :, 0]
    inside = (points @ planes[:, :3].T + planes[:, 3] >= -1e-6 * samples).all(axis=1)
    found = points[inside, 2]
    return (float(found.min()) - 1, float(found.max()) + 1) if len(found) else (0.0, float(samples))


# Bins


@dataclass(frozen=True)
class BinSums:
    """How many positives bins may have together, by how many samples: bit k is set if k is possible."""

    samples: int
    positives: dict[int, int]
    complete: bool  # no bin was withheld

    def can_hold(self, p: int) -> bool:
        """Whether P fits; positives of a withheld bin are among the samples that are in no other."""
        if self.complete:
            return bool(self.positives.get(self.samples, 0) >> p & 1)
        outside = {held: self.samples - held for held in self.positives if held <= self.samples}
        return any(
            mask >> max(p - outside[held], 0) & ((1 << min(p, outside[held]) + 1) - 1)
            for held, mask in self.positives.items()
            if held in outside
        )


def _bins(query: Query, found: Sequence[Released]) -> BinSums | None:
    """Add up the bins of a reliability table whose numbers of samples are released; None without one."""
    table = next((metric for metric in query.metrics if isinstance(metric, Reliability)), None)
    if table is None or query.policy.counts == HIDDEN:
        return None
    own = {(one.output.at, one.output.name): one for one in found if one.metric is table}
    places = dict.fromkeys(output.at for output in table.outputs(query))
    sums, complete = {0: 1}, True
    for at in places:
        samples, observed = (own.get((at, name)) for name in ("samples", "observed"))
        if samples is None or observed is None:
            complete = False
            continue
        behind = np.array([held for held in _counts_behind(query, samples.value) if held])
        added: dict[int, int] = {}
        for held, first, last in zip(behind, *_whole_numbers(observed, behind), strict=True):
            for total, mask in sums.items():
                for k in range(int(first), int(last) + 1):
                    added[total + int(held)] = added.get(total + int(held), 0) | mask << k
        sums = added
    return BinSums(query.samples, sums, complete)
