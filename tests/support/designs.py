"""Studies with a design: owners' rows, and what is released of them, in the clear or by servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ppaurora import Grid, Policy
from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.channel.servers import Server
from ppaurora.data.design import Model, Outcome, SampleWeight, Subgroup
from ppaurora.data.further import Further
from ppaurora.data.samples import Samples
from ppaurora.evaluation.designed import DesignedResults
from ppaurora.evaluation.fitting import fit_rows_per_person
from ppaurora.local.threads import run_in_threads
from ppaurora.metrics import Metric, find_metric
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.party.run import RunOutcome
from ppaurora.protocols import Fast, Protocol
from ppaurora.protocols.grid import GridProtocol
from ppaurora.session import no_progress

LEVELS = {"age": ("young", "middle", "old"), "sex": ("f", "m")}
ALL_LEVELS = {**LEVELS, "ward": ("1", "2", "3")}
THRESHOLDS = (0.25, 0.5)
ROUNDED = Policy.exact(digits=3, counts="rounded")  # as for a publication, without its floors


def rows_of(
    name: str,
    y_true: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    levels: Mapping[str, ArrayLike] | None = None,
    patients: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    negated: bool = False,
) -> Samples:
    """Return one owner's rows; `levels` are places among the levels of each variable."""
    labels = np.asarray(y_true, dtype=np.uint8)
    columns = {model: np.asarray(values, dtype=np.float64) for model, values in sorted(scores.items())}
    further = Further(
        columns,
        {"": labels},
        {variable: np.asarray(places, dtype=np.uint8) for variable, places in (levels or {}).items()},
        None if patients is None else np.asarray(patients, dtype=np.int64),
        None if weights is None else np.asarray(weights, dtype=np.uint32),
    )
    samples = Samples(name, next(iter(columns.values())), labels, further=further)
    return samples.negate() if negated else samples


def metrics_of(*names: str) -> tuple[Metric, ...]:
    """Return metrics by name; those at thresholds with `THRESHOLDS`."""
    at_thresholds = ("sensitivity", "specificity", "net_benefit")
    return tuple(
        find_metric(name)(thresholds=THRESHOLDS) if name in at_thresholds else find_metric(name)()
        for name in names
    )


@dataclass(frozen=True)
class DesignedStudy:
    """A study with a design on owners' rows, and everything that is released of it."""

    job: Job
    owners: Sequence[Samples]

    def in_the_clear(self) -> DesignedResults:
        """Return what would be released, by the computation on plain numbers."""
        query = self.job.query
        return DesignedResults.of(released_in_the_clear(query, self.owners), query)

    def by_servers(self) -> tuple[DesignedResults, dict[Server, RunOutcome]]:
        """Return what three servers in threads release, and their outcomes."""
        terms, query = self.job.terms, self.job.query
        protocol = terms.protocol
        shares = [terms.share(one) for one in self.owners]
        inputs = dict(zip(protocol.input_servers, zip(*shares, strict=True), strict=True))
        outcomes = run_in_threads(self.job, inputs, no_progress, 120)
        parts = [outcomes[server].parts[0] for server in protocol.result_servers]
        released = protocol.combine(parts, query, [one.source for one in self.owners])
        return DesignedResults.of(released, query), outcomes


def protocol_named(name: str, grid: Grid) -> Protocol:
    """Return `grid`, or `fast` with the same grid for what is counted beside its lists."""
    if name == "grid":
        return GridProtocol(low=grid.low, high=grid.high, decimals=grid.decimals)
    return Fast(key_bits=64, grid=grid)


def study_of(
    owners: Sequence[Samples],
    *,
    protocol: str = "grid",
    grid: Grid | None = None,
    metrics: Sequence[str] = ("auroc",),
    policy: Policy | None = None,
    models: Mapping[str, Model] | None = None,
    compared: bool = True,
    **terms: Any,
) -> DesignedStudy:
    """Return a study of all that the owners' rows have; all models are compared with the first one."""
    further = owners[0].further
    assert further is not None
    names = list(further.scores)
    design: dict[str, Any] = {"models": dict(models or {name: Model() for name in names})}
    if compared:
        design["comparisons"] = tuple((names[0], other) for other in names[1:])
    if len(further.labels) > 1:
        design["outcomes"] = {name: Outcome() for name in further.labels}
    if further.levels:
        design["subgroups"] = {variable: Subgroup(levels=ALL_LEVELS[variable]) for variable in further.levels}
    if further.patients is not None:
        design["patient"] = "patient"
    if further.weights is not None:
        weights = [own.further.weights for own in owners if own.further is not None]
        design["weight"] = SampleWeight(most=max(int(own.max()) for own in weights if own is not None))
    agreed = Terms(
        **{
            "metrics": metrics_of(*metrics),
            "confidence_level": 0.95,
            "protocol": protocol_named(protocol, grid or Grid(decimals=2)),
            "limits": Limits(samples_per_owner=1 << 21),
            "policy": fit_rows_per_person(policy or Policy.exact(), owners),
            **design,
            **terms,
        }
    )
    return DesignedStudy(Job(terms=agreed, sizes=tuple(map(len, owners)), negated=owners[0].negated), owners)
