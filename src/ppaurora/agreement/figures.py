"""What the numbers of a study tell at a prevalence, in figures, from simulated studies of its sizes.

They are released in the clear, by the computation that real ones go through. From all numbers that leave it
is then computed which numbers of positives remain possible, and how well someone who knows everything else
tells one person's label.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from ppaurora.agreement.examples import FEWEST, Study, example_studies, with_other_label
from ppaurora.agreement.possible import possible_positives
from ppaurora.metrics import Query
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.parts import parts_of
from ppaurora.metrics.private.auroc import AurocMechanism
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.policy.rules import EXACT, HIDDEN, Policy
from ppaurora.statistics.estimates import Estimate, Row
from ppaurora.statistics.noisy import reach

_MEDIAN, _HIGHEST = 0.5, 1.0  # ranks of the person whose label is guessed
_MOST_SAMPLES = 20_000  # of all studies together, unless one alone has more
LARGEST = 40_000  # samples of a study; a larger one is made smaller
_DRAWS = 4000  # of noise
CERTAINTY = 0.95  # with which a noisy count is said to be right

Values = Sequence[float | None]


@dataclass(frozen=True)
class Figures:
    """What a study's numbers tell, typically."""

    released: bool  # whether there mostly is a result
    widths: Mapping[str, float]  # of intervals, by what they are of
    left: float  # numbers of positives that remain possible; with noise, how far off a count may be
    at_median: float  # how often someone who knows everything else tells the label at the median score,
    at_highest: float  # and at the highest one


def of_first_model(query: Query) -> Query:
    """Return what is asked for of a study's first model and outcome, over all samples; each counts once."""
    return dataclasses.replace(parts_of(query)[0], sizes=query.sizes, sizes_are_secret=False)


def figures_at(prevalence: float, query: Query, studies: int) -> Figures:
    """Return medians and means over so many studies, or fewer if they are large.

    Those of a study with a design are of its first model and outcome, over all samples. Where one label
    decides whether there are both classes, there is no result to speak of.
    """
    query = of_first_model(query)
    if query.samples < 2 * FEWEST:
        return Figures(released=False, widths={}, left=query.samples - 1, at_median=1.0, at_highest=1.0)
    if query.samples > LARGEST:
        sizes = tuple(max(size * LARGEST // query.samples, 1) for size in query.sizes)
        query = dataclasses.replace(query, sizes=sizes)
    count = max(min(studies, _MOST_SAMPLES // query.samples), 1)
    made = list(example_studies(query, prevalence, count))
    # Intervals with noise take long, and are about as wide in every study.
    plain = dataclasses.replace(query, confidence_level=None) if query.policy.is_private else query
    results = [released_in_the_clear(plain, study) for study in made]
    released = [result for result in results if not result.suppressed]
    with_intervals = released if plain == query else [released_in_the_clear(query, made[0])]
    intervals = [dict(_intervals(query, result)) for result in with_intervals]
    left = _off_by if query.policy.is_private else possible_positives
    at_median, at_highest = _successes(plain, made, results)
    return Figures(
        released=2 * len(released) > count,
        widths={
            name: median(own[name] for own in intervals if name in own)
            for name in dict.fromkeys(name for own in intervals for name in own)
        },
        left=median(left(query, result.values) for result in released) if released else query.samples - 1,
        at_median=at_median,
        at_highest=at_highest,
    )


def _intervals(query: Query, result: ReleasedResult) -> Iterator[tuple[str, float]]:
    """Yield what there are intervals of, and their widths."""
    for metric in query.metrics:
        found = result.metrics[metric.name]
        rows = [Row({}, {metric.name: found})] if isinstance(found, Estimate) else found
        for row in rows:
            at = "".join(f" at {value:g}" for value in row.at.values())
            for interval in (one.interval for one in row.values.values() if one.interval is not None):
                yield f"{metric.title}{at}", interval[1] - interval[0]


def _successes(
    query: Query, studies: Sequence[Study], results: Sequence[ReleasedResult]
) -> tuple[float, float]:
    """Return how often someone who knows everything else tells the labels of two people.

    Two data sets are possible, and equally likely. If what is released differs, the attacker knows which it
    was, and guesses otherwise; with noise, it takes the likelier one.
    """
    policy = query.policy
    if policy.counts == EXACT and not policy.is_private:  # the number of positives tells it
        told = fmean(0.5 if result.suppressed else 1.0 for result in results)
        return told, told
    apart = _apart_by_noise if policy.is_private else _apart_by_rounding
    exact = dataclasses.replace(query, policy=_unrounded(policy))
    if exact != query:
        results = [released_in_the_clear(exact, study) for study in studies]
    at_median, at_highest = (
        fmean(
            (1 + apart(query, result.values, released_in_the_clear(exact, other).values)) / 2
            for result, other in zip(results, (with_other_label(one, rank) for one in studies), strict=True)
        )
        for rank in (_MEDIAN, _HIGHEST)
    )
    return at_median, at_highest


def _unrounded(policy: Policy) -> Policy:
    """Return the policy that withholds the same, and rounds nothing; one with noise rounds nothing anyway."""
    if policy.is_private:
        return policy
    return Policy.exact(
        minimum_positives=policy.minimum_positives,
        minimum_negatives=policy.minimum_negatives,
        minimum_per_cell=policy.minimum_per_cell,
        whole_tables=policy.whole_tables,
        counts=HIDDEN if policy.counts == HIDDEN else EXACT,
    )


def _apart_by_rounding(query: Query, before: Values, after: Values) -> float:
    """Return how likely two data sets are told apart, of whose numbers it is known what they were unrounded.

    A number that moves by x is rounded otherwise with probability x/step: where it lies between two steps is
    as good as random, and independent of the others.
    """
    alike = 1.0
    for output, x, y in zip(query.outputs, before, after, strict=True):
        if x is None or y is None:
            alike *= x is y
        elif x != y:
            step = _step(query, output)
            alike *= max(1 - abs(x - y) / step, 0.0) if step else 0.0
    return 1 - alike


def _step(query: Query, output: Output) -> float:
    """Return what a released number is a multiple of; 0 if it is not rounded."""
    if output.form is Form.COUNT:
        return query.policy.count_step
    digits = query.digits_of(output)
    return 0 if digits is None else 10.0**-digits


def _apart_by_noise(query: Query, before: Values, after: Values) -> float:
    """Return how far apart the distributions of two data sets' noisy integers are, in total variation.

    With noise of rates r, the likelihood of x under the one over that under the other is exp(loss), where
    loss = sum of r·(|x - after| - |x - before|); so it is the mean of what 1/likelihood falls short of 1.
    """
    every_rate = [float(rate) for own in rates(query.policy, query.mechanisms) for rate in own]
    random = np.random.default_rng(query.samples)
    loss = np.zeros(_DRAWS)
    for rate, x, y in zip(every_rate, before, after, strict=True):
        moved = (y or 0) - (x or 0)
        if moved:
            first, second = (np.floor(random.exponential(1 / rate, _DRAWS)) for _ in range(2))
            noise = first - second  # of geometric variables
            loss += rate * (np.abs(noise - moved) - np.abs(noise))
    return float(np.maximum(1 - np.exp(-loss), 0).mean())


def _off_by(query: Query, values: Values) -> float:
    """Return how far off the best noisy count of positives, or of the smaller class, is with CERTAINTY."""
    integers = [int(value or 0) for value in values]
    own, noise = query.mechanisms, rates(query.policy, query.mechanisms)
    noisy = NoisyRelease.of(query.samples, own, noise, integers, negated=False)
    told = [*noisy.counts_of_positives(), *noisy.numbers.get(AurocMechanism.name, ())[1:]]
    return min((float(reach(0.0, one.noise, CERTAINTY)) for one in told), default=math.inf)
