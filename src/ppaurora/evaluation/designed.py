"""The result of a study with a design: models, comparisons, subgroups, sites, and rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ppaurora.data.further import LEFT_OUT_REASONS
from ppaurora.data.grid import Grid
from ppaurora.data.slices import Pair, Slice
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS
from ppaurora.metrics.bins import Histogram
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.extras.base import ExtrasQuery
from ppaurora.metrics.extras.clusters import ClusteredError
from ppaurora.metrics.extras.comparisons import AurocDifference, BrierDifference, NetBenefitDifference
from ppaurora.metrics.extras.left_out import LeftOutRows
from ppaurora.metrics.extras.site_effects import SiteEffects, WithinSites
from ppaurora.metrics.outputs import Output
from ppaurora.metrics.query import Query
from ppaurora.metrics.reading import ReleasedPart, ReleasedResult
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.sites import read_within
from ppaurora.metrics.thresholds import NetBenefit
from ppaurora.policy.rules import EXACT
from ppaurora.statistics.differences import ANYWHERE, Difference, paired_difference, unpaired_difference
from ppaurora.statistics.estimates import Estimate, Row, Table, delong_estimate, joined
from ppaurora.statistics.intervals import half_unit
from ppaurora.statistics.random_effects import RandomEffects, Scale

CLUSTERED = "Obuchowski"  # the method of intervals that allow for patients and weights
_ONE_IS_WITHHELD = "one of the two numbers is withheld"
_CONSERVATIVE = (
    "as if the errors of both models were independent: too wide where models mostly err alike, as usual"
)
_TOO_FEW_CLUSTERS = "no interval: fewer than two patients, or weighted rows, of a class"
NO_INTERVAL = "no interval: rows of one patient, or one row that counts several times, are not independent"
ONE_CLASS = "one class only"  # why a slice has no number at all, where nothing is withheld


def without_reason(note: str) -> str:
    """Return a note without the reason for a missing interval, which a table gives once for all numbers."""
    return joined(*(said for said in note.split("; ") if said != NO_INTERVAL))


@dataclass(frozen=True)
class SliceResult:
    """The released numbers of one slice: of a model and an outcome, in all samples or in one level.

    Attributes
    ----------
    slice
        Model, outcome, variable and level; names that the study does not have are empty.
    metrics
        By name an `Estimate` or a `Table`.
    positives, negatives
        How many there are, where the policy releases that; sums of weights, where rows have weights.
    suppressed
        Whether a rule on secret counts was not met, so that there are no values.

    Examples
    --------
    >>> import ppaurora
    >>> north = [1, 0, 1, 0], {"new": [0.9, 0.4, 0.7, 0.2], "old": [0.6, 0.5, 0.4, 0.3]}
    >>> south = [0, 1, 0], {"new": [0.3, 0.6, 0.6], "old": [0.2, 0.6, 0.7]}
    >>> report = ppaurora.evaluate([north, south], metrics=["auroc"])
    >>> for name, model in report.models.items():
    ...     print(name, round(model.auroc, 4), model.positives)
    new 0.9583 3
    old 0.6667 3
    """

    slice: Slice
    metrics: dict[str, Estimate | Table]
    positives: int | None = None
    negatives: int | None = None
    suppressed: bool = False

    def __getitem__(self, name: str) -> Estimate | Table:
        if name not in self.metrics:
            raise KeyError(f"'{name}' was not asked for; there are: {', '.join(self.metrics)}")
        return self.metrics[name]

    def __getattr__(self, name: str) -> Any:
        metrics = self.__dict__.get("metrics", {})  # there are none yet while it is being unpickled
        if name.startswith("_") or name not in metrics:
            there = f"there are: {', '.join(metrics)}"
            if name in METRICS:
                raise AttributeError(f"'{name}' was not asked for; {there}")
            raise AttributeError(
                f"these are the numbers of one model and one outcome, without '{name}'; {there}; for another "
                "model or outcome: report.whole(model, outcome)"
            )
        found = metrics[name]
        return found.value if isinstance(found, Estimate) else found

    @property
    def undefined(self) -> str:
        """Why there is no number at all, although nothing is withheld: "one class only"; else empty."""
        notes = {number.note for number in numbers_of(self.metrics)}
        return ONE_CLASS if notes == {ONE_CLASS} and not self.suppressed else ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report."""
        return {
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "suppressed": self.suppressed,
            "positives": self.positives,
            "negatives": self.negatives,
        }


@dataclass(frozen=True)
class Comparison:
    """Two models on the same samples: the numbers of `a` minus those of `b`.

    Attributes
    ----------
    a, b, outcome
        The names of the models, and of the outcome if the study has several.
    auroc, brier
        Differences with interval, z and two-sided p; None if the metric was not asked for.
    net_benefit
        A row for every threshold, likewise.

    Examples
    --------
    >>> import ppaurora
    >>> north = [1, 0, 1, 0], {"new": [0.9, 0.4, 0.7, 0.2], "old": [0.6, 0.5, 0.4, 0.3]}
    >>> south = [0, 1, 0], {"new": [0.3, 0.6, 0.6], "old": [0.2, 0.6, 0.7]}
    >>> on_grid = {"protocol": "grid", "decimals": 1, "confidence_level": 0.95}
    >>> report = ppaurora.evaluate([north, south], comparisons=[("new", "old")], **on_grid)
    >>> found = report.comparison("new", "old")
    >>> found.title, found.auroc.test_line()
    ('new - old', 'Z = 1.292, p = 0.1962')
    """

    a: str
    b: str
    outcome: str = ""
    auroc: Difference | None = None
    brier: Difference | None = None
    net_benefit: Table | None = None

    @property
    def differences(self) -> dict[str, Difference | Table]:
        """The differences that the study has, by metric."""
        named = {Auroc.name: self.auroc, Brier.name: self.brier, NetBenefit.name: self.net_benefit}
        return {name: found for name, found in named.items() if found is not None}

    @property
    def title(self) -> str:
        """Name it for people."""
        return self.models + (f", {self.outcome}" if self.outcome else "")

    @property
    def models(self) -> str:
        """Name the two models for people."""
        return f"{self.a} - {self.b}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report."""
        found = {name: difference.to_dict() for name, difference in self.differences.items()}
        return {"a": self.a, "b": self.b, "outcome": self.outcome, "differences": found}


class SubgroupResult(Mapping[str, SliceResult]):
    """The levels of one variable, by name: `report.subgroups["sex"]["f"].auroc`.

    With several models or outcomes, `of` chooses one; by default they are those of the first.

    Examples
    --------
    >>> import ppaurora
    >>> north = [1, 0, 1, 0], [0.9, 0.4, 0.7, 0.8], {"sex": ["f", "f", "m", "m"]}
    >>> south = [0, 1, 0, 1], [0.3, 0.6, 0.6, 0.5], {"sex": ["m", "f", "f", "m"]}
    >>> levels = {"sex": ["f", "m"]}
    >>> report = ppaurora.evaluate([north, south], subgroups=levels, protocol="grid", decimals=1)
    >>> {level: found.auroc for level, found in report.subgroups["sex"].items()}
    {'f': 0.875, 'm': 0.5}
    >>> report.subgroups["sex"].difference("f", "m").value
    0.375
    """

    def __init__(self, variable: str, slices: Sequence[SliceResult], level: float | None) -> None:
        self.variable = variable
        self.slices = tuple(slices)
        self._level = level

    def __repr__(self) -> str:
        return f"<SubgroupResult {self.variable}: {', '.join(self)}>"

    @property
    def _first(self) -> Slice:
        return self.slices[0].slice.whole

    def of(self, model: str = "", outcome: str = "") -> SubgroupResult:
        """Return the levels of a model and an outcome; what is not named is that of the first."""
        whole = Slice(model or self._first.model, outcome or self._first.outcome)
        chosen = [one for one in self.slices if one.slice.whole == whole]
        if not chosen:
            raise InputError(f"there are no levels of {whole}")
        return SubgroupResult(self.variable, chosen, self._level)

    def _levels(self) -> dict[str, SliceResult]:
        return {one.slice.level: one for one in self.slices if one.slice.whole == self._first}

    def __getitem__(self, level: str) -> SliceResult:
        found = self._levels()
        if level not in found:
            raise KeyError(f"'{level}' is no level of {self.variable}; there are: {', '.join(found)}")
        return found[level]

    def __iter__(self) -> Iterator[str]:
        return iter(self._levels())

    def __len__(self) -> int:
        return len(self._levels())

    def difference(self, first: str, second: str, metric: str = Auroc.name) -> Difference:
        """Return a metric in one level minus that in another, which has other samples; with an interval."""
        a, b = (self[level].metrics.get(metric) for level in (first, second))
        if not isinstance(a, Estimate) or not isinstance(b, Estimate):
            raise InputError(f"'{metric}' is no single number of these levels")
        found = unpaired_difference(a, b, self._level)
        return replace(found, note=_ONE_IS_WITHHELD) if found.suppressed else found

    def differences(self, metric: str = Auroc.name) -> dict[str, Difference]:
        """Return the differences of all levels from the first one."""
        first, *others = self
        return {level: self.difference(level, first, metric) for level in others}

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report, of all models and outcomes."""
        return {
            "levels": [
                {
                    "model": one.slice.model,
                    "outcome": one.slice.outcome,
                    "level": one.slice.level,
                    **one.to_dict(),
                }
                for one in self.slices
            ]
        }


@dataclass(frozen=True)
class SitesResult:
    """Heterogeneity between owners, of one model and outcome.

    Attributes
    ----------
    effects
        By metric, the random effects: pooled value, between-site variance, I², prediction interval. Values
        and intervals are on the scale of the metric; the standard error of the pooled value, tau2 and tau
        are on the scale that `scale` names, such as the logit of AUROC.
    within
        AUROC over pairs of one site only, weighted by their number; None if AUROC was not asked for.

    Examples
    --------
    >>> import ppaurora
    >>> north = [1, 0, 1, 0], [0.9, 0.4, 0.7, 0.8]
    >>> south = [0, 1, 0, 1], [0.3, 0.6, 0.6, 0.5]
    >>> west = [0, 1, 0, 1], [0.2, 0.4, 0.3, 0.3]
    >>> report = ppaurora.evaluate([north, south, west], sites=True, metrics=["auroc"])
    >>> report.sites.auroc.sites, round(report.sites.within.value, 4)
    (3, 0.75)
    """

    slice: Slice
    effects: dict[str, RandomEffects] = field(default_factory=dict)
    within: Estimate | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.__dict__.get("effects", {}):
            there = ", ".join(self.__dict__.get("effects", {})) or "nothing"
            raise AttributeError(f"there is nothing of sites about '{name}'; there is: {there}")
        return self.effects[name]

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report."""
        return {
            "model": self.slice.model,
            "outcome": self.slice.outcome,
            "effects": {name: found.to_dict() for name, found in self.effects.items()},
            "within_sites": None if self.within is None else self.within.to_dict(),
        }


@dataclass(frozen=True)
class DesignedResults:
    """Everything that was released of a study with a design; empty for a plain one.

    Attributes
    ----------
    wholes
        Every model with every outcome, over all samples.
    subgroups
        By variable its levels.
    comparisons
        The pairs of models that the plan names.
    sites
        Heterogeneity between owners, for every model and outcome.
    left_out
        By reason, how many rows all owners left out; empty if that was not asked for.
    weighted
        Whether rows have weights: numbers of positives and negatives are then sums of these.
    patients
        Whether the study names patients, who may have several rows.
    grids
        By model, how its scores were read where they were counted. Empty if they were not, and in a result
        that was read from a file.

    Examples
    --------
    >>> import ppaurora
    >>> owners = [([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]), ([0, 1, 0], [0.3, 0.6, 0.6])]
    >>> results = ppaurora.evaluate(owners, metrics=["auroc"], left_out={"excluded": 12}).results
    >>> results.left_out["excluded"].value, len(results.wholes)
    (12, 1)
    """

    wholes: tuple[SliceResult, ...] = ()
    subgroups: dict[str, SubgroupResult] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    sites: tuple[SitesResult, ...] = ()
    left_out: dict[str, Estimate] = field(default_factory=dict)
    weighted: bool = False
    patients: bool = False
    grids: dict[str, Grid] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, released: ReleasedResult, query: Query) -> DesignedResults:
        """Read all slices and extras of a release."""
        design = query.design
        if design is None:
            return cls()
        extras = _Extras([part for part in released.parts if part.query.is_of_extras])
        parts = [part for part in released.parts if not part.query.is_of_extras]
        slices = [
            SliceResult(
                part.slice,
                _metrics(part, extras, query),
                part.positives,
                _negatives(part),
                part.suppressed,
            )
            for part in parts
        ]
        wholes = tuple(one for one in slices if not one.slice.is_level)
        level = query.confidence_level
        return cls(
            wholes,
            {
                variable: SubgroupResult(variable, [s for s in slices if s.slice.variable == variable], level)
                for variable in design.variables
            },
            tuple(_comparison(pair, extras, wholes, query) for pair in design.pairs),
            tuple(_sites(one.slice, extras) for one in wholes) if design.sites else (),
            extras.left_out(),
            design.weight is not None,
            bool(design.patient),
            {part.slice.model: part.query.grid for part in parts if part.query.grid is not None},
        )

    @property
    def first_metrics(self) -> dict[str, Estimate | Table]:
        """The metrics of the first model and outcome; of a plain study, none."""
        return self.wholes[0].metrics if self.wholes else {}

    def whole(self, model: str = "", outcome: str = "") -> SliceResult:
        """Return the numbers of a model and an outcome; what is not named is that of the first."""
        return _chosen(self.wholes, model, outcome)

    def sites_of(self, model: str = "", outcome: str = "") -> SitesResult:
        """Return the heterogeneity between owners, of a model and an outcome; by default of the first."""
        if not self.sites:
            raise InputError("differences between sites were not asked for: sites=True, or in a plan")
        return _chosen(self.sites, model, outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return it as in the JSON report; of a plain study, nothing."""
        if not self.wholes:
            return {}
        return {
            "slices": [
                {"model": one.slice.model, "outcome": one.slice.outcome, **one.to_dict()}
                for one in self.wholes
            ],
            "comparisons": [one.to_dict() for one in self.comparisons],
            "subgroups": {variable: found.to_dict() for variable, found in self.subgroups.items()},
            "sites": [one.to_dict() for one in self.sites],
            "left_out": {reason: found.to_dict() for reason, found in self.left_out.items()},
            "weighted": self.weighted,
            "patients": self.patients,
        }


_Found = TypeVar("_Found", SliceResult, SitesResult)


def _chosen(some: Sequence[_Found], model: str, outcome: str) -> _Found:
    """Return what is of a model and an outcome; what is not named is that of the first."""
    if not some:
        raise InputError("this report is of one model and one outcome: its numbers are its metrics")
    first = some[0].slice
    wanted = Slice(model or first.model, outcome or first.outcome)
    for one in some:
        if one.slice == wanted:
            return one
    there = "; ".join(str(one.slice) or "one without a name" for one in some)
    raise InputError(f"there is no {wanted}; there are: {there}")


class _Extras:
    """The released values of all extras, found again by what they are of."""

    def __init__(self, parts: Sequence[ReleasedPart]) -> None:
        self._found: dict[Any, tuple[list[tuple[Output, float | None]], Query]] = {}
        self._parts = parts
        for part in parts:
            values = iter(part.values)
            query = part.query
            if query.policy.is_private or not isinstance(query, ExtrasQuery):
                continue
            for extra in query.extras:
                self._found[extra] = [(output, next(values)) for output in extra.outputs(query)], query

    def get(self, extra: Any) -> tuple[list[tuple[Output, float | None]], Query] | None:
        return self._found.get(extra)

    def of_kind(self, kind: type[Any], **fields: Any) -> list[Any]:
        return [
            extra
            for extra in self._found
            if isinstance(extra, kind)
            and all(getattr(extra, name) == value for name, value in fields.items())
        ]

    def left_out(self) -> dict[str, Estimate]:
        found = self.get(LeftOutRows())
        if found is not None:
            values, query = found
            return {
                output.name: Estimate(value, digits=0)
                if value is not None
                else Estimate(None, suppressed=query.withholds)
                for output, value in values
            }
        noisy = [part.noisy for part in self._parts if part.noisy is not None]
        if not noisy:
            return {}
        numbers = noisy[0].numbers["left_out"]
        return {
            reason: Estimate(float(max(round(number.value), 0)), digits=0, note="with noise")
            for reason, number in zip(LEFT_OUT_REASONS, numbers, strict=True)
        }


def numbers_of(metrics: Mapping[str, Estimate | Table]) -> Iterator[Estimate]:
    """Give all numbers, also those of tables."""
    for found in metrics.values():
        if isinstance(found, Estimate):
            yield found
        else:
            yield from (number for row in found for number in row.values.values())


def _changed(found: Estimate | Table, change: Callable[[Estimate], Estimate]) -> Estimate | Table:
    """Return a metric with all its numbers changed."""
    if isinstance(found, Estimate):
        return change(found)
    rows = (Row(row.at, {name: change(one) for name, one in row.values.items()}) for row in found)
    return Table(tuple(rows))


def _negatives(part: ReleasedPart) -> int | None:
    """Return the negatives, where they are released or follow from the numbers of samples and positives."""
    query = part.query
    follows = not query.sizes_are_secret and not query.policy.is_private and query.policy.counts == EXACT
    return query.samples - part.positives if follows and part.positives is not None else part.negatives


def _metrics(part: ReleasedPart, extras: _Extras, query: Query) -> dict[str, Estimate | Table]:
    """Return the metrics of a slice; where a number or an interval is missing, with the reason."""
    metrics = _with_clusters(part, extras)
    if part.query.policy.is_private or part.suppressed:
        return metrics
    if part.positives is None and part.query.tells_counts and not part.query.withholds:
        return {
            name: _changed(found, lambda one: replace(one, note=ONE_CLASS)) for name, found in metrics.items()
        }
    if query.confidence_level is None or part.query.confidence_level is not None:
        return metrics
    return {
        name: found if name == Histogram.name else _changed(found, _without_interval)
        for name, found in metrics.items()
    }


def _without_interval(number: Estimate) -> Estimate:
    """Return a number of clustered rows with the reason why it has no interval, if it has none."""
    if number.value is None or number.interval is not None or _TOO_FEW_CLUSTERS in number.note:
        return number
    return replace(number, note=joined(number.note, NO_INTERVAL))


def _with_clusters(part: ReleasedPart, extras: _Extras) -> dict[str, Estimate | Table]:
    """Return the metrics of a slice; where samples are clustered, AUROC with its standard error."""
    metrics = dict(part.metrics)
    found = extras.get(ClusteredError(part.slice))
    own = metrics.get(Auroc.name)
    if found is None or not isinstance(own, Estimate) or own.value is None:
        return metrics
    ((output, error),), query = found
    if query.confidence_level is None:
        return metrics
    digits = own.digits, query.digits_of(output)
    with_error = delong_estimate(own.value, error, query.confidence_level, *digits)
    note = joined(own.note, with_error.note if error is not None else _TOO_FEW_CLUSTERS)
    method = CLUSTERED if with_error.interval is not None else ""
    metrics[Auroc.name] = replace(with_error, method=method, grid_bound=own.grid_bound, note=note)
    return metrics


def _comparison(pair: Pair, extras: _Extras, wholes: Sequence[SliceResult], query: Query) -> Comparison:
    names = (pair.a.model, pair.b.model, pair.a.outcome)
    if query.policy.is_private:
        a, b = (next(one for one in wholes if one.slice == slice_) for slice_ in (pair.a, pair.b))
        return Comparison(*names, _noisy(a, b, Auroc.name, query), _noisy(a, b, Brier.name, query))
    benefits = extras.of_kind(NetBenefitDifference, pair=pair)
    return Comparison(
        *names,
        _difference(extras.get(AurocDifference(pair)), "DeLong, paired"),
        _difference(extras.get(BrierDifference(pair)), "paired"),
        _benefits(extras.get(benefits[0])) if benefits else None,
    )


def _noisy(a: SliceResult, b: SliceResult, name: str, query: Query) -> Difference | None:
    """Return the difference of two noisy numbers of the same samples, of which the correlation is unknown."""
    first, second = a.metrics.get(name), b.metrics.get(name)
    if not isinstance(first, Estimate) or not isinstance(second, Estimate):
        return None
    found = unpaired_difference(first, second, query.confidence_level)
    if found.interval is None:
        return found
    return replace(found, note=joined(found.note, _CONSERVATIVE))


def _difference(
    found: tuple[list[tuple[Output, float | None]], Query] | None, method: str
) -> Difference | None:
    if found is None:
        return None
    values, query = found
    return _paired(values, query, method)


def _paired(values: Sequence[tuple[Output, float | None]], query: Query, method: str) -> Difference:
    """Return a difference of value, standard error and perhaps its bound, as they were released."""
    output, value = values[0]
    if value is None:
        return Difference(None, suppressed=query.withholds)
    digits = query.digits_of(output)
    level = query.confidence_level
    if level is None:
        return Difference(value, digits=digits)
    if len(values) == 1:
        return Difference(value, digits=digits, note=NO_INTERVAL)
    error_output, error = values[1]
    bound = values[2][1] if len(values) > 2 else None
    if bound is not None:  # it was rounded, and so was the standard error
        bound += sum(half_unit(query.digits_of(one)) for one, _ in values[1:])
    clustered = query.design is not None and query.design.is_clustered
    return paired_difference(
        value,
        error,
        level,
        digits,
        query.digits_of(error_output),
        within=ANYWHERE if output.highest > 1 else (-1.0, 1.0),
        method=f"{CLUSTERED}, paired" if clustered else method,
        error_bound=bound,
    )


def _benefits(found: tuple[list[tuple[Output, float | None]], Query] | None) -> Table | None:
    if found is None:
        return None
    values, query = found
    by_threshold: dict[tuple[tuple[str, float], ...], list[tuple[Output, float | None]]] = {}
    for output, value in values:
        by_threshold.setdefault(output.at, []).append((output, value))
    rows = [
        Row(dict(at), {NetBenefit.name: _paired(numbers, query, "paired")})
        for at, numbers in by_threshold.items()
    ]
    return Table(tuple(rows))


def _sites(slice_: Slice, extras: _Extras) -> SitesResult:
    effects: dict[str, RandomEffects] = {}
    for extra in extras.of_kind(SiteEffects, slice=slice_):
        found = extras.get(extra)
        if found is not None:
            read = extra.read([value for _, value in found[0]], found[1])
            effects |= {name: _with_scale(effect) for name, effect in read.items()}
    found = extras.get(WithinSites(slice_))
    within = None if found is None else read_within([value for _, value in found[0]], found[1])
    return SitesResult(slice_, effects, within)


def _with_scale(effect: RandomEffects) -> RandomEffects:
    """Return random effects that say of which scale the standard error of their pooled value is."""
    if effect.scale == Scale.IDENTITY.value or effect.pooled.standard_error is None:
        return effect
    note = joined(effect.pooled.note, f"the standard error is on the {effect.scale} scale")
    return replace(effect, pooled=replace(effect.pooled, note=note))
