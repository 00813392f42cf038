"""What an evaluation returns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ppaurora.channel.servers import Server
from ppaurora.data.grid import Grid
from ppaurora.errors import MissingPackageError
from ppaurora.evaluation.designed import (
    Comparison,
    DesignedResults,
    SitesResult,
    SliceResult,
    SubgroupResult,
)
from ppaurora.io.models import to_builtins
from ppaurora.metrics import METRICS
from ppaurora.metrics.names import MetricAttributes, MetricName
from ppaurora.metrics.roc import Auroc
from ppaurora.party.run import RunOutcome
from ppaurora.policy.rules import Policy
from ppaurora.policy.sentences import privacy_of
from ppaurora.protocols import find_protocol
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Estimate, Row, Table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class RunCost:
    """What the computation cost once the servers were connected.

    Attributes
    ----------
    seconds
        The time of the slowest server.
    bytes
        What all servers sent, including frame headers but not the overhead of TLS.
    rounds
        The longest chain of messages in which each had to wait for the one before.
    messages
        The total number of frames sent.
    bytes_by_party, peak_bytes_by_party
        What each server sent, and the most memory that it held, by the server's name. Where servers are
        threads of one process, each has the memory of the whole process.
    bytes_by_step, rounds_by_step
        The same by step of the computation, such as "merge" and "division".
    inside_bytes
        What workers of one server sent each other, over all servers; it is included in no other figure.

    Examples
    --------
    >>> import ppaurora
    >>> owners = [([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]), ([0, 1, 0], [0.3, 0.6, 0.6])]
    >>> cost = ppaurora.evaluate(owners).cost
    >>> list(cost.bytes_by_party)
    ['proxy 0', 'proxy 1', 'helper']
    >>> sum(cost.bytes_by_party.values()) == cost.bytes
    True
    """

    seconds: float
    bytes: int
    rounds: int
    messages: int
    bytes_by_party: dict[str, int]
    peak_bytes_by_party: dict[str, int]
    bytes_by_step: dict[str, int]
    rounds_by_step: dict[str, int]
    inside_bytes: int = 0

    @classmethod
    def of(cls, servers: type[Server], outcomes: Mapping[Server, RunOutcome]) -> RunCost:
        meters = [outcome.meter for outcome in outcomes.values()]
        by_step: Counter[str] = Counter()
        for meter in meters:
            by_step.update({step: cost.bytes for step, cost in meter.steps.items()})
        return cls(
            seconds=max(outcome.seconds for outcome in outcomes.values()),
            bytes=sum(meter.bytes for meter in meters),
            rounds=max(meter.rounds for meter in meters),
            messages=sum(meter.messages for meter in meters),
            bytes_by_party={server.title: outcomes[server].meter.bytes for server in servers},
            peak_bytes_by_party={server.title: outcomes[server].peak_bytes for server in servers},
            bytes_by_step=dict(by_step),
            rounds_by_step={
                step: max(meter.steps[step].rounds for meter in meters if step in meter.steps)
                for step in by_step
            },
            inside_bytes=sum(meter.inside_bytes for meter in meters),
        )


WITHHELD = "withheld"  # what people read for a number that the policy withholds

_Part = TypeVar("_Part")


class _ByName(dict[str, _Part]):
    """Parts of a result by name; a name that is not there is answered with those that are."""

    def __init__(self, parts: Mapping[str, _Part], problem: str, names: str) -> None:
        super().__init__(parts)
        self._problem, self._names = problem, names

    def __missing__(self, name: str) -> _Part:
        there = ", ".join(filter(None, self)) or "none"
        raise KeyError(f"'{name}' {self._problem}; {self._names}: {there}")


class MetricValues(MetricAttributes):
    """Metrics by name: `report["auroc"]` is an estimate with its interval, `report.auroc` its value.

    A metric that has a number for each of several thresholds or bins is a table, both ways.
    """

    metrics: dict[str, Estimate | Table]
    positives: int | None
    suppressed: bool
    policy: Policy
    results: DesignedResults

    @property
    def models(self) -> dict[str, SliceResult]:
        """Return the numbers of every model by its name; of the first outcome, if there are several."""
        wholes = self.results.wholes
        models = {one.slice.model: one for one in wholes if one.slice.outcome == wholes[0].slice.outcome}
        return _ByName(models, "is not a model of this report", "models")

    @property
    def outcomes(self) -> dict[str, SliceResult]:
        """Return the numbers of every outcome by its name; of the first model, if there are several."""
        wholes = self.results.wholes
        outcomes = {one.slice.outcome: one for one in wholes if one.slice.model == wholes[0].slice.model}
        return _ByName(outcomes, "is not an outcome of this report", "outcomes")

    def whole(self, model: str = "", outcome: str = "") -> SliceResult:
        """Return the numbers of a model and an outcome; what is not named is that of the first."""
        return self.results.whole(model, outcome)

    @property
    def subgroups(self) -> dict[str, SubgroupResult]:
        """Return the levels of every variable by its name."""
        return _ByName(self.results.subgroups, "makes no subgroups here", "variables")

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Return all comparisons of two models."""
        return self.results.comparisons

    def comparison(self, a: str, b: str, outcome: str = "") -> Comparison:
        """Return the numbers of model `a` minus those of `b`, on the same samples."""
        for one in self.results.comparisons:
            if (one.a, one.b) == (a, b) and outcome in ("", one.outcome):
                return one
        names = [
            f"{one.models} for {one.outcome}" if one.outcome else one.models
            for one in self.results.comparisons
        ]
        wanted = f" for '{outcome}'" if outcome else ""
        there = ", ".join(names) or "none"
        raise KeyError(f"'{a}' was not compared with '{b}'{wanted}; comparisons: {there}")

    @property
    def sites(self) -> SitesResult | None:
        """Return the heterogeneity between owners, of the first model; None if it was not asked for."""
        return self.results.sites[0] if self.results.sites else None

    def sites_of(self, model: str = "", outcome: str = "") -> SitesResult:
        """Return the heterogeneity between owners, of a model and an outcome; by default of the first."""
        return self.results.sites_of(model, outcome)

    @property
    def left_out(self) -> dict[str, Estimate]:
        """Return by reason how many rows all owners left out."""
        return self.results.left_out

    @property
    def privacy(self) -> str:
        """Return what the release protects, and how, in a sentence or two; of a private study, epsilon."""
        return privacy_of(self.policy)

    def __getitem__(self, name: MetricName) -> Estimate | Table:
        if name not in self.metrics:
            raise KeyError(f"'{name}' was not asked for; this report has: {', '.join(self.metrics)}")
        return self.metrics[name]

    def _value(self, name: str) -> Any:
        if name not in METRICS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if name not in self.metrics:
            raise AttributeError(f"'{name}' was not asked for; this report has: {', '.join(self.metrics)}")
        found = self.metrics[name]
        return found.value if isinstance(found, Estimate) else found

    if TYPE_CHECKING:

        @property
        def samples(self) -> int:
            """Return how many samples all owners have together."""
    else:
        __getattr__ = _value  # a type checker would take any name

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.metrics]

    def shown(self) -> list[tuple[str, str, str]]:
        """Names, values and intervals, for people; a row of a table is `name at threshold 0.5`."""
        return shown_metrics(self.metrics)

    def to_frame(self) -> pandas.DataFrame:
        """Return a tidy data frame, with a row for each number; needs pandas.

        Columns are `metric`, `name` (of the number: the metric's, or that of a column of its table), where it
        is (`threshold`, or `low` and `high` of a bin, if any metric has these), `value`, `lower` and `upper`
        of the interval, `standard_error`, `method`, `confidence_level`, `digits` to which the value was
        rounded, `suppressed` and `note`. What a number does not have is NaN. Of several models, outcomes or
        subgroups, `model`, `outcome`, `variable` and `level` come first.

        Differences have `minus`, the model that was subtracted, or the level (always the first one), and a
        report with any of them has the columns `z`, `p_value`, `degrees_of_freedom` and `error_bound`.
        Heterogeneity between owners has rows of the metric with the names `pooled`, `tau2`, `tau`, `i2`,
        `prediction_interval` (`lower` and `upper` alone), `sites` (how many count) and `within_sites`; the
        standard error of `pooled` is on the scale of pooling, which its note names. Rows left out have the
        metric `left_out`, and their reason as name.
        """
        try:
            import pandas
        except ModuleNotFoundError:
            raise MissingPackageError("a data frame is one of pandas: pip install pandas") from None
        records = list(self._records())
        of_slices, tests = (
            [name for name in names if any(name in record for record in records)]
            for names in (_OF_A_SLICE, _OF_A_TEST)
        )
        known = {*_OF_A_NUMBER, *_OF_A_TEST, *_OF_A_SLICE}
        places = dict.fromkeys(place for record in records for place in record if place not in known)
        columns = [*of_slices, *_OF_A_NUMBER[:2], *places, *_OF_A_NUMBER[2:], *tests]
        frame = pandas.DataFrame(records, columns=columns)
        return frame.astype(dict.fromkeys([*places, *_FLOATS, *tests], "float64"))

    def _records(self) -> Iterator[dict[str, Any]]:
        """Give all numbers as rows of a data frame."""
        results = self.results
        if not results.wholes:
            yield from _records_of({}, self.metrics)
        levels = [one for found in results.subgroups.values() for one in found.slices]
        for one in (*results.wholes, *levels):
            yield from _records_of({name: getattr(one.slice, name) for name in _OF_A_SLICE[:4]}, one.metrics)
        for compared in results.comparisons:
            named = {"model": compared.a, "minus": compared.b, "outcome": compared.outcome}
            yield from _records_of(named, compared.differences)
        for whole in results.wholes:
            for subgroup in results.subgroups.values():
                yield from _between_levels(subgroup.of(whole.slice.model, whole.slice.outcome))
        for site in results.sites:
            yield from _of_sites(site)
        for reason, number in results.left_out.items():
            yield _record({}, "left_out", {}, reason, number)

    def _in_short(self) -> str:
        if self.suppressed:
            return "suppressed"
        return ", ".join(_short(name, found) for name, found in self.metrics.items())

    def _released(self) -> dict[str, Any]:
        """Return it as in the JSON report."""
        return {
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "suppressed": self.suppressed,
            "positives": self.positives,
            **self.results.to_dict(),
        }


_OF_A_SLICE = ("model", "outcome", "variable", "level", "minus")
_FLOATS = ("value", "lower", "upper", "standard_error", "confidence_level", "digits")
_OF_A_NUMBER = ("metric", "name", *_FLOATS[:4], "method", *_FLOATS[4:], "suppressed", "note")
_OF_A_TEST = ("z", "p_value", "degrees_of_freedom", "error_bound")


def _records_of(
    of: Mapping[str, str], metrics: Mapping[str, Estimate | Table | Difference]
) -> Iterator[dict[str, Any]]:
    """Give the numbers of metrics as rows of a data frame."""
    for metric, found in metrics.items():
        for row in _rows(metric, found):
            yield from (_record(of, metric, row.at, name, number) for name, number in row.values.items())


def _between_levels(levels: SubgroupResult) -> Iterator[dict[str, Any]]:
    """Give the differences of all levels from the first, of a model and an outcome."""
    first, *others = levels
    whole = levels[first]
    single = [metric for metric, found in whole.metrics.items() if isinstance(found, Estimate)]
    for level in others:
        named = {name: getattr(whole.slice, name) for name in _OF_A_SLICE[:3]}
        named |= {"level": level, "minus": first}
        yield from _records_of(named, {one: levels.difference(level, first, one) for one in single})


def _of_sites(site: SitesResult) -> Iterator[dict[str, Any]]:
    """Give the heterogeneity between owners; a prediction interval is a row without a value."""
    named = {"model": site.slice.model, "outcome": site.slice.outcome}
    for metric, effect in site.effects.items():
        pooled = effect.pooled
        nothing = Estimate(None, suppressed=pooled.suppressed, note="" if effect.sites else pooled.note)
        numbers = {"pooled": pooled, "tau2": effect.tau2, "tau": effect.tau, "i2": effect.i2}
        for name, number in numbers.items():
            yield _record(named, metric, {}, name, number)
        lower, upper = effect.prediction_interval or (None, None)
        ahead = _record(named, metric, {}, "prediction_interval", nothing)
        yield ahead | {"lower": lower, "upper": upper, "confidence_level": pooled.confidence_level}
        sites = nothing if effect.sites is None else Estimate(float(effect.sites), digits=0)
        yield _record(named, metric, {}, "sites", sites)
    if site.within is not None:
        yield _record(named, Auroc.name, {}, "within_sites", site.within)


def _record(
    of: Mapping[str, str], metric: str, at: Mapping[str, float], name: str, estimate: Estimate
) -> dict[str, Any]:
    """Return a number as a row of a data frame."""
    lower, upper = estimate.interval or (None, None)
    tests = {one: getattr(estimate, one) for one in _OF_A_TEST} if isinstance(estimate, Difference) else {}
    return {
        **{column: value for column, value in of.items() if value},
        "metric": metric,
        "name": name,
        **at,
        "value": estimate.value,
        "lower": lower,
        "upper": upper,
        "standard_error": estimate.standard_error,
        "method": estimate.method,
        "confidence_level": estimate.confidence_level,
        "digits": estimate.digits,
        "suppressed": estimate.suppressed,
        "note": estimate.note,
        **tests,
    }


def _rows(name: str, found: Estimate | Table) -> Iterable[Row]:
    """Return the rows of a metric; one number is a row that is nowhere."""
    return [Row({}, {name: found})] if isinstance(found, Estimate) else found


def _estimates(name: str, found: Estimate | Table) -> Iterator[tuple[str, Estimate]]:
    for row in _rows(name, found):
        at = ", ".join(f"{key} {value:g}" for key, value in row.at.items())
        for column, estimate in row.values.items():
            title = column if column == name else f"{name}: {column}"
            yield f"{title} at {at}" if at else title, estimate


def shown_value(estimate: Estimate, *, shortly: bool = False) -> str:
    """Return a number for people: its value, or that the policy withholds it, or that it is undefined."""
    if estimate.suppressed:
        return WITHHELD
    return estimate.shown_shortly() if shortly else estimate.shown()


def shown_metrics(metrics: Mapping[str, Estimate | Table]) -> list[tuple[str, str, str]]:
    """Return names, values and intervals of metrics, for people."""
    return [
        (title, shown_value(estimate), estimate.shown_interval() or estimate.note)
        for name, found in metrics.items()
        for title, estimate in _estimates(name, found)
    ]


def _short(name: str, found: Estimate | Table) -> str:
    if isinstance(found, Table):
        return f"{name}: {len(found)} rows"
    return f"{name}={found.shown()}" if found.value is None else f"{name}={found.value:.6g}"


@dataclass(frozen=True, repr=False)
class Report(MetricValues):
    """The metrics on everyone's samples together, and what they cost.

    Attributes
    ----------
    metrics
        By name an `Estimate` or a `Table`: `report["auroc"].interval`. Values are also attributes:
        `report.auroc`. What is suppressed is None.
    positives
        How many there were, if the policy releases that.
    suppressed
        Whether a policy rule on secret counts was not met, so that there are no values.
    policy
        The rules of the release, as a `Policy`.
    owners, samples
        How many there were.
    protocol, parameters
        The protocol's name, and its parameters by name. Models may have grids of their own, in
        `results.grids`; then `to_dict` has none among the parameters.
    transport
        How the servers talked: "memory" or "tls".
    cost
        What it took, as a `RunCost`.
    openings
        What the servers learnt: by name, which docs/leakage.md explains, how many values were opened.
    hint
        How the same numbers could be had for less, and of which owners' scores float32 makes other numbers;
        empty if there is nothing to say.
    results
        Of several models, outcomes, subgroups, sites and rows left out: everything. Also as `models`,
        `comparison(a, b)`, `subgroups`, `sites` and `left_out`. `metrics` are then those of the first model.

    Examples
    --------
    >>> import ppaurora
    >>> hospital_a = ([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2])
    >>> hospital_b = ([0, 1, 0], [0.3, 0.6, 0.6])
    >>> report = ppaurora.evaluate([hospital_a, hospital_b], metrics=["auroc", "ap"])
    >>> report
    <Report auroc=0.958333, ap=0.916667; 7 samples of 2 owners, fast>
    >>> report.auroc == report["auroc"].value
    True
    >>> report.to_dict()["parameters"]
    {'key_bits': 64}
    >>> report.to_frame()[["metric", "value"]].round(3)
      metric  value
    0  auroc  0.958
    1     ap  0.917
    """

    metrics: dict[str, Estimate | Table]
    positives: int | None
    suppressed: bool
    policy: Policy
    owners: int
    samples: int
    protocol: str
    parameters: dict[str, Any]
    transport: str
    cost: RunCost
    openings: dict[str, int]
    hint: str = field(default="", compare=False)
    results: DesignedResults = field(default_factory=DesignedResults)

    def __repr__(self) -> str:
        return f"<Report {self._in_short()}; {self.samples} samples of {self.owners} owners, {self.protocol}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, strings and numbers."""
        rest = {
            name: deepcopy(getattr(self, name))
            for name in ("owners", "samples", "protocol", "parameters", "transport", "openings")
        }
        rest["parameters"] = deepcopy(self.shared_parameters)
        return {**self._released(), "policy": to_builtins(self.policy), **rest, "cost": asdict(self.cost)}

    @property
    def shared_parameters(self) -> dict[str, Any]:
        """The parameters of the protocol that are those of all models: without a grid if one has another."""
        grid = find_protocol(self.protocol)(**self.parameters).grid
        if grid is None or all(one == grid for one in self.results.grids.values()):
            return self.parameters
        of_grids = ("grid", *Grid.__struct_fields__)
        return {name: value for name, value in self.parameters.items() if name not in of_grids}

    def to_json(self) -> str:
        """Return the JSON text that `ppaurora evaluate --format json` prints."""
        return json.dumps(self.to_dict(), indent=2)
