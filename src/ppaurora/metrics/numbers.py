"""From secret ratios to the numbers that are released: rounded to the policy's grid, or to a float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from ppaurora.metrics.base import Area, Denominator
from ppaurora.metrics.evidence import EvaluatedPart, Found
from ppaurora.metrics.outputs import Form, Output, Ratio
from ppaurora.metrics.query import NEGATIVES, POSITIVES, Query
from ppaurora.policy.rules import COUNT_STEP
from ppaurora.sharing.shares import RingShare, WideShare, concat, stack
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite

_LARGE_DENOMINATOR = 1 << 196  # above which numbers are rounded apart from those that have many steps


class Way(Enum):
    """How a ratio becomes a number."""

    AREA = auto()  # the nearest float64, in 64 bits
    FLOAT = auto()  # the nearest float64, in wide integers
    GRID = auto()  # rounded to a multiple of a public step
    TALLY = auto()  # a count as it is


def way_of(query: Query, output: Output) -> Way:
    if output.form is Form.COUNT:
        return Way.TALLY if query.count_step == 1 else Way.GRID
    if query.policy.decimals is not None:
        return Way.GRID
    return Way.AREA if output in query.areas else Way.FLOAT


@dataclass(frozen=True)
class _Number:
    """An output of a part, and where the part has it."""

    part: EvaluatedPart
    place: int
    output: Output

    @property
    def query(self) -> Query:
        return self.part.query

    @property
    def way(self) -> Way:
        return way_of(self.query, self.output)

    @property
    def ratio(self) -> Ratio:
        return self.part.ratios[self.place]

    @property
    def count(self) -> RingShare:
        """Return the count that it is, as a list of one."""
        if self.output is POSITIVES:
            return self.part.found.positives
        return self.part.found.negatives if self.output is NEGATIVES else self.ratio.counted.sum()


def numbers(suite: Suite, parts: Sequence[EvaluatedPart]) -> list[RingShare]:
    """Rows (mantissa, exponent) of every part, a column for every output; all parts in the same rounds.

    There are no ratios where none is needed.
    """
    everything = [
        _Number(part, place, output) for part in parts for place, output in enumerate(part.query.outputs)
    ]
    ways = [(one.way, one.output.most_denominator > _LARGE_DENOMINATOR) for one in everything]
    columns, order = [], []
    for way, is_large in dict.fromkeys(ways):
        places = [place for place, one in enumerate(ways) if one == (way, is_large)]
        chosen = [everything[place] for place in places]
        order += places
        if way is Way.AREA:
            columns.append(_areas(suite, chosen))
        elif way is Way.TALLY:
            counts = concat([one.count for one in chosen])
            columns.append(stack([counts, counts * 0]))
        else:
            columns.append(_on_the_grid(suite, chosen) if way is Way.GRID else _nearest_floats(suite, chosen))
    values = concat(columns).take(np.argsort(order))
    return [values[place] for place in spans(len(part.query.outputs) for part in parts)]


def _areas(suite: Suite, chosen: Sequence[_Number]) -> RingShare:
    areas = [one.query.areas[one.output] for one in chosen]
    samples = max(one.query.most_samples for one in chosen)
    return suite.rounded_quotients(
        concat([one.part.found.secrets[area][0] for one, area in zip(chosen, areas, strict=True)]),
        concat([_of_area(one.part.found, area) for one, area in zip(chosen, areas, strict=True)]),
        [area.shift(samples) for area in areas],
        bound=max(samples * samples // 4, samples),
        leading_zeros=2 * samples.bit_length(),
    )


def _of_area(found: Found, area: Area) -> RingShare:
    return found.positives if area.denominator is Denominator.POSITIVES else found.class_product


def _on_the_grid(suite: Suite, chosen: Sequence[_Number]) -> RingShare:
    """k steps are the number rounded half away from zero: for 1/S a step, S·n/d >= k - 1/2 is

        2·S·n + d >= k·2d

    and S·sqrt(n/d) >= k - 1/2 is 4·S²·n - d >= k²·4d - k·4d. A negative number is rounded without its sign.
    """
    outputs, ratios = [one.output for one in chosen], [one.ratio for one in chosen]
    signs, magnitudes = _without_signs(suite, outputs, ratios)
    most = max(_most_steps(one.query, one.output) for one in chosen)
    bound = max(_grid_bound(one.query, one.output, most) for one in chosen)
    grids = [
        _grid(one.output, magnitude, _denominator(one.ratio), _steps_per_one(one.query, one.output))
        for one, magnitude in zip(chosen, magnitudes, strict=True)
    ]
    reach, slope, curvature = (concat(parts) for parts in zip(*grids, strict=True))
    taken = suite.grid_steps(reach, slope, curvature, most, bound)
    taken = _with_signs(suite, taken, signs, outputs)
    return stack([taken, taken * 0])


def _grid(output: Output, n: WideShare, d: WideShare, steps: int) -> tuple[WideShare, WideShare, WideShare]:
    """Reach, slope and curvature of n / d in so many steps per one."""
    if output.form is Form.COUNT:
        return n * 2 + COUNT_STEP, n * 0 + 2 * COUNT_STEP, n * 0
    if output.form is Form.ROOT:
        return n * (4 * steps * steps) - d, d * -4, d * 4
    return n * (2 * steps) + d, d * 2, d * 0


def _steps_per_one(query: Query, output: Output) -> int:
    return int(10 ** (query.digits_of(output) or 0))


def _most_steps(query: Query, output: Output) -> int:
    if output.form is Form.COUNT:
        return max(query.most_samples, output.highest) // COUNT_STEP + 1
    return output.highest * _steps_per_one(query, output)


def _grid_bound(query: Query, output: Output, most: int) -> int:
    """Above all that is compared with each other for up to so many steps."""
    denominator = largest_denominator(query, output)
    return (4 * most * most if output.form is Form.ROOT else 2 * most + 1) * denominator + 1


def largest_denominator(query: Query, output: Output) -> int:
    """Return the largest denominator; by default that of an area, and of a sum in steps of 2^-34."""
    return output.most_denominator or max(query.most_samples, 2) ** 2 << 34


def _nearest_floats(suite: Suite, chosen: Sequence[_Number]) -> RingShare:
    """Divide each over a power of two that makes it at most 1. Of a root, its square is released."""
    outputs, ratios = [one.output for one in chosen], [one.ratio for one in chosen]
    signs, magnitudes = _without_signs(suite, outputs, ratios)
    denominators = [
        _denominator(ratio) * (1 << scale_bits(output)) for output, ratio in zip(outputs, ratios, strict=True)
    ]
    bound = 1 + max(largest_denominator(one.query, one.output) << scale_bits(one.output) for one in chosen)
    zeros = max(leading_zeros(one.query) for one in chosen)
    quotients = suite.wide_quotients(concat(magnitudes), concat(denominators), zeros, bound=bound)
    mantissas, exponents = quotients.rows()
    return stack([_with_signs(suite, mantissas, signs, outputs), exponents])


def scale_bits(output: Output) -> int:
    return (output.highest_ratio - 1).bit_length()


def leading_zeros(query: Query) -> int:
    """Return those of the smallest number that is not 0, over what makes the largest at most 1.

    A variance of AUROC is at least 1 / (4·P²·N²·(P - 1)(N - 1)), others are over their largest denominator.
    """
    bits = query.most_samples.bit_length()
    roots = [output for output in query.outputs if output.form is Form.ROOT]
    of_roots = [largest_denominator(query, one).bit_length() + scale_bits(one) for one in roots]
    return max([64 + 2 * bits, *of_roots])


def _denominator(ratio: Ratio) -> WideShare:
    if isinstance(ratio.denominator, int):
        return ratio.numerator * 0 + ratio.denominator
    return ratio.denominator


def _without_signs(
    suite: Suite, outputs: Sequence[Output], ratios: Sequence[Ratio]
) -> tuple[RingShare | None, list[WideShare]]:
    """1 for each signed output whose ratio is negative; and magnitudes of all."""
    magnitudes = [ratio.numerator for ratio in ratios]
    signed = [place for place, output in enumerate(outputs) if output.signed]
    if not signed:
        return None, magnitudes
    negative, positive = suite.absolute(concat([magnitudes[place] for place in signed]))
    for number, place in enumerate(signed):
        magnitudes[place] = positive[number]
    return negative, magnitudes


def _with_signs(
    suite: Suite, values: RingShare, negative: RingShare | None, outputs: Sequence[Output]
) -> RingShare:
    """x becomes x - 2·x·[negative], where it keeps its sign."""
    signed = [(place, output) for place, output in enumerate(outputs) if output.signed]
    kept = [(number, place) for number, (place, output) in enumerate(signed) if output.keeps_sign]
    if negative is None or not kept:
        return values
    flags, places = (np.array(some) for some in zip(*kept, strict=True))
    chosen = values.take(places)
    return values.put(places, chosen - suite.mul(negative.take(flags), chosen) * 2)
