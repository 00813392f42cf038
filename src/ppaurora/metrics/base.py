"""What a metric is: one class that says everything about it, and how it is computed on shares."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar, Self

import msgspec

from ppaurora.algorithms.curve import MOST_SAMPLES, Curve, Finish, Quantity
from ppaurora.algorithms.pooled_table import PooledTable
from ppaurora.data.samples import Samples
from ppaurora.errors import MissingPackageError, MisuseError
from ppaurora.io.models import StrictModel, checked, to_builtins
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts, SampleClass
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.private.mechanism import Mechanism
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import find_metric
from ppaurora.metrics.sums import STEPS_PER_ONE, Fit, OwnerSum
from ppaurora.sharing.shares import RingShare, WideShare
from ppaurora.statistics.estimates import Estimate, Table, normal_estimate
from ppaurora.statistics.intervals import UNIT, Interval, half_unit, proportion_interval
from ppaurora.suites.base import Suite


class NoParameters(StrictModel):
    """The parameters of a metric that has none."""


class Metric(ABC):
    """One thing to compute, with its parameters. Public in all its parts.

    Help texts, the sample plan, reports and documents derive from it.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # as it stands in a sentence
    unit: ClassVar[str]  # what it is a number of
    description: ClassVar[str]  # what it is, in a few words
    definition: ClassVar[str]  # the same on pooled data in the clear, as people know it
    Parameters: ClassVar[type[StrictModel]] = NoParameters
    sample_parameters: ClassVar[Mapping[str, Any]] = {}  # of one that has no default ones, for examples
    of_probabilities: ClassVar[bool] = False  # whether it makes sense for probabilities only
    is_fraction: ClassVar[bool] = True  # from 0 to 1, as most are, which a chart can show side by side
    figure: ClassVar[Figure | None] = None  # the chart of a report that shows it
    has_own_table: ClassVar[bool] = False  # of its places, which others need not share
    line_title: ClassVar[str] = ""  # by which pROC prints it in a line of its own, with its interval
    # What it discloses.
    discloses_counts: ClassVar[bool] = False  # class counts, so it is for policies that allow them
    rate_of: ClassVar[SampleClass | None] = None  # it is a fraction of this class
    parts_of_a_pair: ClassVar[int] = 0  # it is a whole number of such parts, over all P·N pairs; 0: it is not
    allows_clusters: ClassVar[bool] = False  # whether its interval allows for patients with several rows
    by_level: ClassVar[bool] = False  # whether it is computed for levels of subgroups as well
    # How it is computed.
    is_area: ClassVar[bool] = False
    needs_curve: ClassVar[bool] = False  # the merged list; else owners' sums are enough
    needs_table: ClassVar[bool] = False  # the pooled table itself, so that the study must have a grid
    # Whether it is computed once the curve has kept only ends of tie groups; then `begin` must not wait for
    # anything, so that all such metrics share a round.
    at_ends: ClassVar[bool] = True
    uses_ends: ClassVar[bool] = True  # whether it needs to know where tie groups end at all
    most_samples: ClassVar[int] = MOST_SAMPLES

    def __init__(self, **parameters: Any) -> None:
        plain = {
            name: value.tolist() if hasattr(value, "tolist") else value for name, value in parameters.items()
        }
        self.parameters = checked(self.Parameters, plain, self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and (self.name, self.parameters) == (other.name, other.parameters)

    def __hash__(self) -> int:
        return hash((self.name, self.parameters))

    def __repr__(self) -> str:
        return f"<Metric {self}>"

    def __str__(self) -> str:
        """Name and parameters, for people."""
        shown = ", ".join(f"{name} {_in_words(value)}" for name, value in self.settings().items())
        return f"{self.name} ({shown})" if shown else self.name

    @classmethod
    def sample(cls) -> Self:
        """Return one with parameters as an example has them."""
        return cls(**cls.sample_parameters)

    def settings(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return dict(to_builtins(self.parameters))

    def chosen(self) -> dict[str, Any]:
        """Return the parameters by name that are not the default ones."""
        fields = {field.name: field.default for field in msgspec.structs.fields(self.Parameters)}
        return {
            name: value
            for name, value in self.settings().items()
            if getattr(self.parameters, name) != fields[name]
        }

    def to_plain(self) -> Any:
        """Return its name; with its parameters, if it has any."""
        settings = self.settings()
        return {"name": self.name, **settings} if settings else self.name

    @classmethod
    def from_plain(cls, plain: Any) -> Metric:
        """Read a metric from its name, or from a table with a name and parameters."""
        if isinstance(plain, str):
            plain = {"name": plain}
        if not isinstance(plain, dict):
            raise ValueError("a metric is a name, or a table with a name and its parameters")  # noqa: TRY004
        parameters = dict(plain)
        return find_metric(parameters.pop("name", None))(**parameters)

    # What is public

    @abstractmethod
    def reference(self, y_true: Any, y_score: Any) -> Any:
        """The same on pooled data in the clear, by the library that people know: a number, or a list of
        rows as `Table` has them."""

    @abstractmethod
    def sensitivity_to_one_person(self, public: PublicCounts) -> float | None:
        """Return how far replacing one person by another, with any score and label, may move its numbers.

        It bounds each value on pooled data before rounding, over all samples that meet the public floors
        before and after; standard errors, and whether a number is withheld, are not covered. None if there is
        no useful bound. A private study has its own bounds, those of its mechanisms.
        """

    def on_own_data(self, samples: Samples, level: float) -> Estimate | Table:
        """Compute it on one owner's samples in the clear, with an interval where there is one.

        Both classes are there, unless it is of probabilities.
        """
        return Estimate(float(self.reference(samples.labels, samples.scores)))

    def outputs(self, query: Query) -> tuple[Output, ...]:
        """Return the numbers that are released."""
        return (Output(self.name),)

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        """Return what every owner sums up and submits beside its list."""
        return ()

    def fits(self, query: Query) -> tuple[Fit, ...]:
        """Return how these sums are related to each other, in any list."""
        return ()

    def components(self) -> tuple[Metric, ...]:
        """Return the metrics whose outputs, one after the other, are its own: by default only itself."""
        return (self,)

    def thresholds(self) -> tuple[float, ...]:
        """Public ones at which it has numbers, in increasing order."""
        return ()

    def edges(self) -> tuple[float, ...]:
        """Public ones of bins in which it has numbers, in increasing order."""
        return ()

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        """Rows of the curve, besides TP."""
        return ()

    def mechanism(self) -> Mechanism | None:
        """Return what a private study releases with noise for it; None if nothing good is known."""
        return None

    # On shares

    def begin(self, curve: Curve, query: Query) -> Callable[[], list[RingShare]]:
        """Secrets that the formula needs besides counts and owners' sums, each a list of one below 2^64.

        Where a party has several workers, each gives a part of every secret, and these are added up.
        """
        return list

    def from_table(self, suite: Suite, table: PooledTable, query: Query) -> list[RingShare]:
        """Secrets that the formula needs of the pooled table, each a list of one below 2^64."""
        raise MisuseError(f"the metric '{self.name}' takes no table")

    @abstractmethod
    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        """Return one ratio for every output."""

    # For people

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Estimate | Table:
        """Return what its released numbers, in the order of its outputs, say. None: not released."""
        (value,) = values
        return plain_estimate(value, self.outputs(query)[0], query)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Estimate | Table:
        """Return what the integers of its mechanism say, with intervals of a level that include the noise."""
        raise MisuseError(f"the metric '{self.name}' has no mechanism")


@dataclass(frozen=True)
class Counts:
    """Numbers of samples that the release tells: all of them, and by class where the policy allows it."""

    samples: int | None  # at least, where that is secret; None if nothing tells it
    positives: int | None = None
    released_negatives: int | None = None  # where the number of all samples is secret

    @property
    def negatives(self) -> int | None:
        """Rounded positives may be more than all samples."""
        if self.samples is None or self.released_negatives is not None:
            return self.released_negatives
        return None if self.positives is None else max(self.samples - self.positives, 0)


class Denominator(Enum):
    """What an area is divided by; each is computed once for all areas."""

    POSITIVES = "P"
    CLASS_PRODUCT = "P·N"


class Area(Metric):
    """numerator / (denominator·2^shift), from 0 to 1, of the curve."""

    is_area = True
    needs_curve = True
    needs: ClassVar[tuple[Quantity, ...]] = ()
    denominator: ClassVar[Denominator]

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        return self.needs

    @abstractmethod
    def numerator(self, curve: Curve) -> Finish:
        """Begin to compute the numerator on shares; the call that is returned finishes it."""

    def shift(self, samples: int) -> int:
        return 0

    def begin(self, curve: Curve, query: Query) -> Callable[[], list[RingShare]]:
        finish = self.numerator(curve)
        return lambda: [finish()]

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        return [Ratio(secrets[0], self.secret_denominator(evidence))]

    def secret_denominator(self, evidence: Evidence) -> WideShare:
        by_kind = {
            Denominator.POSITIVES: evidence.positives,
            Denominator.CLASS_PRODUCT: evidence.class_product,
        }
        return by_kind[self.denominator] * (1 << self.shift(evidence.query.most_samples))


def plain_estimate(value: float | None, output: Output, query: Query) -> Estimate:
    """Return a released number as an estimate without an interval."""
    if value is None:
        return Estimate(None, suppressed=query.withholds)
    return Estimate(value, digits=query.digits_of(output))


def largest_variance_denominator(samples: int) -> int:
    """Return that of the variance of a mean or of a ratio of means, of sums in steps: n³·2^64."""
    return samples**3 * STEPS_PER_ONE**2


def mean_estimate(
    value: float | None, error: float | None, output: Output, query: Query, within: Interval = UNIT
) -> Estimate:
    """Return a released mean with the interval that its standard error gives, if there is one."""
    level = query.confidence_level
    if value is None or error is None or level is None:
        return plain_estimate(value, output, query)
    error_digits = query.digits_of(standard_error(output, 0))
    return normal_estimate(value, error, level, query.digits_of(output), error_digits, within=within)


def wilson_estimate(value: float | None, trials: int | None, output: Output, query: Query) -> Estimate:
    """Return a released proportion of at least so many samples, with Wilson's interval if they are known."""
    level, digits = query.confidence_level, query.digits_of(output)
    if value is None or trials is None or level is None:
        return plain_estimate(value, output, query)
    return Estimate(
        value,
        digits=digits,
        interval=proportion_interval(value, trials, level, slack=half_unit(digits)),
        method="Wilson",
        confidence_level=level,
    )


def check_growing(name: str, numbers: Sequence[float], what: str = "") -> None:
    """Raise ValueError unless a parameter has finite numbers, each larger than the one before."""
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name}: must be finite numbers")
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        raise ValueError(f"{name}: {what}must be in increasing order, each once")


def _in_words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def scikit_learn(function: str) -> Callable[..., Any]:
    """Return a function of sklearn.metrics, loaded when it is first called: it takes a second."""

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            import sklearn.metrics
        except ImportError:
            raise MissingPackageError("references are scikit-learn's: pip install 'ppaurora[demo]'") from None
        return getattr(sklearn.metrics, function)(*arguments, **options)

    return call
