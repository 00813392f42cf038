"""What is asked for, in public: metrics, under a policy, for everybody's numbers of samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, cast

from ppaurora.algorithms.curve import MOST_SAMPLES, Quantity
from ppaurora.data.design import Design
from ppaurora.data.grid import Grid
from ppaurora.data.slices import WHOLE, Slice
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.private.mechanism import Mechanism, MechanismName
from ppaurora.metrics.private.table import SamplesBetween, TableMechanism, beside_threshold
from ppaurora.metrics.sums import Fit, OwnerSum
from ppaurora.policy.rules import EXACT, HIDDEN, MOST_DIGITS, Policy

if TYPE_CHECKING:
    from ppaurora.metrics.base import Area, Metric

T = TypeVar("T")

_MOST_RATE_DIGITS = 2  # where class counts are hidden

POSITIVES = Output("positives", form=Form.COUNT)
NEGATIVES = Output("negatives", form=Form.COUNT)


@dataclass(frozen=True)
class Query:
    """From it follow all that owners submit, the shape of every message, and the columns of a result."""

    metrics: tuple[Metric, ...]
    sizes: tuple[int, ...]
    policy: Policy
    confidence_level: float | None = None  # of intervals, if there are to be any
    negated: bool = False  # whether lower scores are the more positive ones
    grid: Grid | None = None  # of the table that owners submit, if they do
    tabulated: bool = False  # whether everything is computed from that table, and no list is submitted
    slice: Slice = WHOLE  # of the study that the metrics are about
    # Whether numbers of samples are secret, as those of a level and of weighted samples are; `sizes` then
    # bound them.
    sizes_are_secret: bool = False
    most_weight: int = 1  # that a row may have, where rows have weights
    rows_per_patient: int = 1  # that there may be, where the study names patients
    design: Design | None = None  # of a study that has one; then this is the query of all its slices

    @property
    def samples(self) -> int:
        """Return how many samples there are in all; at most, where sizes are secret."""
        return sum(self.sizes)

    @property
    def most_samples(self) -> int:
        """How many samples the arithmetic is made for: of a table, whatever their number is."""
        return MOST_SAMPLES if self.tabulated else self.samples

    @property
    def interval(self) -> bool:
        """Whether standard errors are computed inside; with noise they follow from what is released."""
        return self.confidence_level is not None and not self.policy.is_private

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What a private study releases, of each kind once, whatever metrics share it."""
        found: dict[MechanismName, Mechanism] = {}
        for metric in self.metrics if self.policy.is_private else ():
            mechanism = metric.mechanism()
            if mechanism is not None:
                found[mechanism.name] = found.get(mechanism.name, mechanism) | mechanism
        if self.policy.is_private and self.sizes_are_secret:  # counts of the classes, in any case
            counts = TableMechanism(())
            found[counts.name] = found.get(counts.name, counts) | counts
        return tuple(found[name] for name in sorted(found))

    @property
    def rates(self) -> list[tuple[Fraction, ...]]:
        """The rates of the noise of a private study, mechanism by mechanism."""
        return rates(self.policy, self.mechanisms, of_level=self.slice.is_level)

    @property
    def is_of_extras(self) -> bool:
        """Whether it asks for extras: comparisons, sites, rows left out, standard errors over clusters."""
        return False

    @property
    def tells_counts(self) -> bool:
        return self.policy.counts != HIDDEN

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Return the thresholds of all metrics together, in increasing order."""
        return tuple(sorted({one for metric in self.metrics for one in metric.thresholds()}))

    @property
    def beside_thresholds(self) -> dict[float, tuple[SamplesBetween, ...]]:
        """By threshold, what separates it from the edges of bins, of every metric that has some.

        Owners submit it whatever the policy: others' floors may make it stricter afterwards.
        """
        mechanisms = [metric.mechanism() for metric in self.metrics if metric.edges()]
        tables = [one.cuts for one in mechanisms if isinstance(one, TableMechanism)]
        return {
            threshold: unique(part for edges in tables for part in beside_threshold(threshold, edges))
            for threshold in (self.thresholds if tables else ())
        }

    @property
    def withholds_cells(self) -> bool:
        """Return whether single numbers are withheld that few samples are behind."""
        return self.policy.withholds_cells

    @property
    def withholds(self) -> bool:
        """Return whether rules on secret counts may withhold numbers; else what has no value is undefined."""
        return self.policy.withholds

    @property
    def least_per_cell(self) -> int:
        """Return how many samples must be behind a number; more than all and one more are the same.

        Where patients have several rows, or rows have weights, it is what no fewer people can have.
        """
        least = self.policy.minimum_per_cell * self.most_weight * self.rows_per_patient
        return min(least, self.samples + 1)

    @property
    def most_rate_digits(self) -> int:
        """The most decimals of a fraction of few samples: more would tell how many there are."""
        return _MOST_RATE_DIGITS if self.policy.counts == HIDDEN else MOST_DIGITS

    @property
    def needs_curve(self) -> bool:
        return any(metric.needs_curve for metric in self.metrics)

    @property
    def needs_table(self) -> bool:
        """Whether a metric takes the pooled table itself; with noise, mechanisms take its place."""
        return not self.policy.is_private and any(metric.needs_table for metric in self.metrics)

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        """Each once, whatever metrics share it."""
        if self.policy.is_private:
            return tuple(total for mechanism in self.mechanisms for total in mechanism.sums)
        of_metrics = (total for metric in self.metrics for total in metric.sums(self))
        return unique((*of_metrics, *(part for parts in self.beside_thresholds.values() for part in parts)))

    @property
    def submitted_sums(self) -> tuple[OwnerSum, ...]:
        """Those that owners submit: all, unless they follow from a table."""
        return () if self.tabulated else self.sums

    @property
    def fits(self) -> tuple[Fit, ...]:
        """What every owner's sums are to each other."""
        if self.tabulated:
            return ()
        if self.policy.is_private:
            return tuple(fit for mechanism in self.mechanisms for fit in mechanism.fits)
        return unique(fit for metric in self.metrics for fit in metric.fits(self))

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Rows of the curve that all metrics need together, besides TP."""
        return unique(quantity for metric in self.metrics for quantity in metric.quantities(self))

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All numbers that are released, metric after metric, behind the number of positives if that is.

        Of a private study, they are the integers of its mechanisms.
        """
        if self.policy.is_private:
            integers = (one for mechanism in self.mechanisms for one in mechanism.coordinates)
            return tuple(Output(one.name, form=Form.COUNT, signed=True) for one in integers)
        return (*self.class_counts, *(output for metric in self.metrics for output in metric.outputs(self)))

    @property
    def class_counts(self) -> tuple[Output, ...]:
        """Numbers of samples by class that are released; where all samples are public, one tells both."""
        if not self.tells_counts:
            return ()
        return (POSITIVES, NEGATIVES) if self.sizes_are_secret else (POSITIVES,)

    @property
    def needs_wide(self) -> bool:
        """Whether any ratio takes more than 64 bits on its way out."""
        if self.policy.is_private:
            return False
        plain = {*self.areas, *(self.class_counts if self.policy.counts == EXACT else ())}
        return any(output not in plain for output in self.outputs)

    @property
    def areas(self) -> dict[Output, Area]:
        """Outputs that are released as the nearest float64, for which 64 bits are enough."""
        if self.policy.decimals is not None or self.tabulated:
            return {}
        return {area.outputs(self)[0]: cast("Area", area) for area in self.metrics if area.is_area}

    @property
    def needs_list_counts(self) -> bool:
        """Whether the positives of every owner's list are counted before the merge."""
        needed = self.withholds or bool(self.sums) or self.grid is not None
        return needed or not self.needs_curve

    @property
    def count_step(self) -> int:
        """Return what counts of samples and of rows are multiples of."""
        return self.policy.count_step

    def digits_of(self, output: Output) -> int | None:
        """Return how many decimals a number has; None if it is not rounded."""
        if output.form is Form.COUNT:
            return 0
        decimals = self.policy.decimals
        return None if decimals is None else min(decimals + output.more_digits, output.most_digits)

    def least_count(self, released: float, floor: int) -> int:
        """Return the smallest number of samples for which a released count may stand, given a floor on it.

        There is at least one, else there would be no number of which it is the count.
        """
        return max(int(released) - self.policy.count_step // 2, floor, 1)


def unique(items: Iterable[T]) -> tuple[T, ...]:
    """Return every item once, in the order of first occurrence."""
    return tuple(dict.fromkeys(items))
