"""What is asked for, in public: metrics, under a policy, for everybody's numbers of samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from ppaurora.algorithms.curve import Quantity
from ppaurora.metrics.outputs import Form, Output
from ppaurora.metrics.sums import Fit, OwnerSum
from ppaurora.policy.rules import AUTO, EXACT, HIDDEN, MOST_DIGITS, Policy

if TYPE_CHECKING:
    from ppaurora.metrics.base import Area, Metric

T = TypeVar("T")

_MOST_RATE_DIGITS = 2  # where class counts are hidden

POSITIVES = Output("positives", form=Form.COUNT)


@dataclass(frozen=True)
class Query:
    """From it follow all that owners submit, the shape of every message, and the columns of a result."""

    metrics: tuple[Metric, ...]
    sizes: tuple[int, ...]
    policy: Policy
    confidence_level: float | None = None  # of intervals, if there are to be any
    granted: int | None = None  # decimals that were decided on inside; the reader of a result knows

    @property
    def samples(self) -> int:
        return sum(self.sizes)

    @property
    def decimals(self) -> int | None:
        """The most that a released number has; None if numbers are not rounded."""
        return self.policy.decimals(self.sizes) if self.granted is None else self.granted

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of decimals between which it is decided inside; none if numbers are not rounded."""
        if self.decimals is None:
            return ()
        return tuple(range(1, self.decimals + 1)) if self.policy.digits == AUTO else (self.decimals,)

    @property
    def interval(self) -> bool:
        return self.confidence_level is not None

    @property
    def tells_counts(self) -> bool:
        return self.policy.counts != HIDDEN

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Return the thresholds of all metrics together, in increasing order."""
        return tuple(sorted({one for metric in self.metrics for one in metric.thresholds()}))

    @property
    def close_thresholds(self) -> tuple[float, ...]:
        """Those for which the policy wants enough samples between them and the one before."""
        return self.thresholds[1:] if self.policy.minimum_per_cell > 1 else ()

    @property
    def most_rate_digits(self) -> int:
        """The most decimals of a fraction of few samples: more would tell how many there are."""
        return _MOST_RATE_DIGITS if self.policy.counts == HIDDEN else MOST_DIGITS

    @property
    def most_class_digits(self) -> int:
        """The most decimals of a fraction of a class; `auto` has looked at the class already."""
        return MOST_DIGITS if self.policy.digits == AUTO else self.most_rate_digits

    @property
    def needs_curve(self) -> bool:
        return any(metric.needs_curve for metric in self.metrics)

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        """Each once, whatever metrics share it."""
        return unique(total for metric in self.metrics for total in metric.sums())

    @property
    def fits(self) -> tuple[Fit, ...]:
        """What every owner's sums are to each other."""
        return unique(fit for metric in self.metrics for fit in metric.fits())

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Rows of the curve that all metrics need together, besides TP."""
        return unique(quantity for metric in self.metrics for quantity in metric.quantities(self))

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All numbers that are released, metric after metric, behind the number of positives if that is."""
        counts = (POSITIVES,) if self.tells_counts else ()
        return (*counts, *(output for metric in self.metrics for output in metric.outputs(self)))

    @property
    def needs_wide(self) -> bool:
        """Whether any number takes more than 64 bits on its way out."""
        plain = {*self.areas, *([POSITIVES] if self.policy.counts == EXACT else [])}
        return any(output not in plain for output in self.outputs)

    @property
    def areas(self) -> dict[Output, Area]:
        """Outputs that are released as the nearest float64, for which 64 bits are enough."""
        if self.decimals is not None:
            return {}
        return {area.outputs(self)[0]: cast("Area", area) for area in self.metrics if area.is_area}

    @property
    def needs_list_counts(self) -> bool:
        """Whether the positives of every owner's list are counted before the merge."""
        return self.policy.has_floors or bool(self.sums) or not self.needs_curve or len(self.levels) > 1

    def digits_of(self, output: Output) -> int | None:
        """Return how many decimals a number has; None if it is not rounded."""
        if output.form is Form.COUNT:
            return 0
        return None if self.decimals is None else self.digits_at(output, self.decimals)

    def digits_at(self, output: Output, level: int) -> int:
        """Return how many decimals a number has where numbers have so many."""
        return min(max(level + output.more_digits, 1), output.most_digits)


def unique(items: Iterable[T]) -> tuple[T, ...]:
    """Return every item once, in the order of first occurrence."""
    return tuple(dict.fromkeys(items))
