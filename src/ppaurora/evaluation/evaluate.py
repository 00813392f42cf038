"""The whole way of the data in one call, with all servers embedded on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Never, Unpack, get_args

import msgspec

from ppaurora.agreement.metric_parameters import as_written, missing_parameters
from ppaurora.agreement.saving import saving_on
from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.channel.servers import Server
from ppaurora.channel.shaped import Network
from ppaurora.data import Columns, Samples, designed_samples
from ppaurora.data.count_table import CountTable
from ppaurora.data.design import Design
from ppaurora.data.single_precision import SinglePrecision
from ppaurora.errors import InputError
from ppaurora.evaluation.designed import DesignedResults
from ppaurora.evaluation.fitting import fit, fit_rows_per_person
from ppaurora.evaluation.report import Report, RunCost
from ppaurora.io.models import checked, to_builtins
from ppaurora.io.system import check_posix
from ppaurora.local.processes import run_in_processes
from ppaurora.local.threads import run_in_threads
from ppaurora.messages.workers import Crew, RayPlace
from ppaurora.metrics import DEFAULT_METRICS, Metric, default_metrics, find_metric
from ppaurora.metrics.names import MetricName
from ppaurora.party.starting import WarmPool
from ppaurora.policy.rules import Policy
from ppaurora.protocols import DEFAULT_PROTOCOL, find_protocol
from ppaurora.protocols.names import ProtocolName, ProtocolParameters
from ppaurora.session import Progress, no_progress
from ppaurora.statistics.fitting_grid import decimals_of, fitting_grid
from ppaurora.workers.local import workers_here

Transport = Literal["memory", "tls"]
"""How the servers of `evaluate` talk: as threads, or as processes with TLS on loopback."""

TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
_LIMITS = Limits(samples_per_owner=MOST_SAMPLES)  # whoever holds all data agrees with nobody on others
MOST_SECONDS_OF_SILENCE = 1_000_000  # what every way of waiting can express


def evaluate(
    owners: Iterable[Any] | Mapping[str, Any],
    *others: Never,
    score: str | Mapping[str, str] = "score",
    label: str | Mapping[str, str] = "label",
    models: Mapping[str, Any] | None = None,
    comparisons: Sequence[tuple[str, str]] | Literal["all"] | None = None,
    subgroups: Mapping[str, Any] | None = None,
    group: Mapping[str, str] | None = None,
    patient: str | None = None,
    weight: str | Mapping[str, Any] | None = None,
    sites: bool = False,
    leave_out_missing: bool = False,
    left_out: Mapping[str, int] | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    percent: bool = False,
    metrics: Sequence[MetricName | Metric] | None = None,
    confidence_level: float | None = None,
    policy: Policy | None = None,
    protocol: ProtocolName = DEFAULT_PROTOCOL,
    transport: Transport = "memory",
    pos_label: object | None = None,
    progress: Progress | None = None,
    timeout: float = 120.0,
    network: Network | None = None,
    workers: int | Literal["auto"] = 1,
    **parameters: Unpack[ProtocolParameters],
) -> Report:
    """Evaluate a model on several owners' samples together.

    Parameters
    ----------
    owners
        For each owner `(y_true, y_score)`, as for scikit-learn's metrics; or a table: a data frame, a
        file's path, a database's cursor, anything that `ppaurora.data.read_data` takes; or, with the protocol
        "grid", what `ppaurora.tabulate` returns. A dict gives the owners names, which error messages then
        use.
    *others
        Not allowed: an owner's `y_true` and `y_score` are a pair in the list.
    score, label
        The names of the columns in tables. Of several models, a dict from their names to columns; of several
        outcomes likewise. In the place of arrays, `(y_true, {"a": scores_a, "b": scores_b})`; a third element
        is a dict of further columns.
    models
        By name of a model, how its scores are counted where that is needed, as a plan's `[models.a]` says it:
        `{"a": {"grid": {"low": 0, "high": 40, "decimals": 1}}}`.
    comparisons
        Pairs of models of which differences are computed, on the same samples; "all" for every pair.
    subgroups
        By name of a variable, which is that of its column, its levels: `{"sex": ["f", "m"]}`. Which sample
        has which level stays secret.
    group
        By name of a variable, its column, if that has another name: `{"sex": "gender"}`.
    patient
        The column that tells which rows are of one patient. Intervals of AUROC then allow for that.
    weight
        The column of whole numbers that say how often a row counts; or `{"column": "w", "most": 5}`, with the
        largest one, which is 100 by default.
    sites
        Whether heterogeneity between owners is computed: random effects, with a prediction interval.
    leave_out_missing, left_out
        Whether rows without a score or a label are left out, and counted; and how many were left out before,
        `{"missing_score": 3, "missing_label": 0, "excluded": 12}`.
    sheet, encoding, percent
        How files are written: the sheet of Excel workbooks, the encoding of texts that are neither UTF-8 nor
        UTF-16, and whether scores with a percent sign are read as hundredths.
    metrics
        Names of metrics; `ppaurora.METRICS` describes them. One with parameters is made from its class:
        `ppaurora.METRICS["sensitivity"](thresholds=[0.2, 0.5])`. By default AUROC and AUPR; with a private
        policy AUROC alone.
    confidence_level
        The level of intervals, for instance 0.95; none are computed by default.
    policy
        What may be released: `Policy()` as a study's default does, `Policy.private(epsilon=2.0)` with noise,
        `Policy.exact()`. By default everything, at full precision, because the caller holds all data.
    protocol
        "fast": any finite scores, the servers learn nothing. "grid": scores are read to so many decimals,
        any number of samples costs the same, and the servers learn nothing. "paper": as in the paper
        ppAURORA, scores from 0 to 1, slower, and the servers learn more.
    transport
        "memory": servers as threads; "tls": as processes, with mutual TLS on loopback.
    pos_label
        The label of the positive class, if labels are not 0/1 or true/false.
    progress
        Called with (step, done, total) during long work: the current step, and how much of all work is
        done. `total` stays the same, and `done` grows roughly evenly with time.
    timeout
        Seconds to wait for a server that does not respond.
    network
        A simulated slower network between the servers, for measurements.
    workers
        How many workers each server has: 1, 2, 4, 8, ... or "auto", as many as this machine has cores for.
        Results do not depend on it. With the transport "memory" they are threads of this process, which
        gains no time; with "tls" they are processes.
    **parameters
        Parameters of the protocol. "fast": `key_bits`, 32 (exact for float32 scores only) or 64, by
        default what the data needs; `grid`, a `ppaurora.Grid` of a table that owners submit beside their
        lists, for metrics that need one. "grid": `decimals`, to how many scores are read, 4 by default;
        `low` and `high`, the range of scores, by default 0 and 1, or whole numbers that hold all scores.
        "paper": `delta`, odd, how many records move per shuffling; with values above 1 the proxies learn
        some comparisons of scores.

    Returns
    -------
    Report
        The metrics, by name and as attributes, and what they cost.

    Examples
    --------
    >>> import ppaurora
    >>> hospital_a = ([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2])
    >>> hospital_b = ([0, 1, 0], [0.3, 0.6, 0.6])
    >>> report = ppaurora.evaluate([hospital_a, hospital_b], metrics=["auroc"])
    >>> report.auroc
    0.9583333333333334
    >>> report.openings  # values that servers learnt
    {}

    With tables, and names of owners:

    >>> north = {"died": ["yes", "no", "yes", "no"], "risk": [0.9, 0.4, 0.7, 0.2]}
    >>> south = {"died": ["no", "yes", "no"], "risk": [0.3, 0.6, 0.6]}
    >>> owners = {"north": north, "south": south}
    >>> ppaurora.evaluate(owners, score="risk", label="died", pos_label="yes").auroc
    0.9583333333333334

    On a grid; the bound says how far the number is at most from that of scores as they are:

    >>> on_grid = ppaurora.evaluate([hospital_a, hospital_b], protocol="grid", decimals=1)["auroc"]
    >>> round(on_grid.value, 6), round(on_grid.grid_bound, 6)
    (0.958333, 0.041667)
    """
    grid = find_protocol(protocol).fitting([], **parameters).counting_grid
    columns = Columns.called(
        score=score,
        label=label,
        pos_label=pos_label,
        group={} if group is None else group,
        patient=patient,
        weight=weight.get("column", "weight") if isinstance(weight, Mapping) else weight,
        leave_out_missing=leave_out_missing,
        left_out={} if left_out is None else left_out,
        sheet=sheet,
        encoding=encoding,
        percent=percent,
    )
    given = {
        "models": models,
        "comparisons": comparisons if comparisons is None or comparisons == "all" else _pairs(comparisons),
        "subgroups": None if subgroups is None else _subgroups(subgroups),
        "weight": dict(weight) if isinstance(weight, Mapping) else None,
        "sites": sites or None,
    }
    read, design = designed_samples(owners, others, columns, grid, given)
    return evaluate_samples(
        read,
        **({} if design.is_plain else msgspec.structs.asdict(design)),
        metrics=metrics,
        confidence_level=confidence_level,
        policy=policy,
        protocol=protocol,
        parameters=parameters,
        transport=transport,
        progress=no_progress if progress is None else progress,
        timeout=timeout,
        network=network,
        workers=workers,
    )


def _pairs(comparisons: Any) -> list[Any]:
    """Return comparisons as a plan has them; a pair of names in the place of a list of pairs is refused."""
    is_list = isinstance(comparisons, Iterable) and not isinstance(comparisons, str)
    pairs = list(comparisons) if is_list else [comparisons]
    if not is_list or any(isinstance(one, str) for one in pairs):
        a, b = pairs if len(pairs) == 2 else ("a", "b")
        raise InputError(
            f"comparisons: needs a list of pairs of models; write [({str(a)!r}, {str(b)!r})], or 'all'"
        )
    return pairs


def _subgroups(subgroups: Any) -> dict[str, Any]:
    """Return subgroups as a plan has them, also where only levels are given."""
    if not isinstance(subgroups, Mapping):
        is_list = isinstance(subgroups, Iterable) and not isinstance(subgroups, str)
        names = list(subgroups) if is_list else [subgroups]
        name = next((one for one in names if isinstance(one, str)), "sex")
        levels = "'f', 'm'" if name == "sex" else "..."
        raise InputError(f"subgroups: needs the levels of every variable; write {{{name!r}: [{levels}]}}")
    for name, one in subgroups.items():
        if isinstance(one, str) or not isinstance(one, Iterable):
            raise InputError(f"subgroups: needs a list of the levels of {name}; write {{{name!r}: [...]}}")
        if isinstance(one, Sequence) and len(one) < 2:
            raise InputError(f"subgroups: {name} needs two levels at least, as in {{'sex': ['f', 'm']}}")
    return {
        name: dict(one) if isinstance(one, Mapping) else {"levels": [str(level) for level in one]}
        for name, one in subgroups.items()
    }


def evaluate_samples(
    owners: Sequence[Samples | CountTable],
    *,
    metrics: Sequence[str | Metric] | None,
    policy: Policy | None = None,
    protocol: str,
    parameters: Mapping[str, Any],
    transport: str,
    progress: Progress,
    timeout: float,
    network: Network | None = None,
    workers: int | str = 1,
    warm_pool: WarmPool | None = None,
    clusters: Mapping[Server, RayPlace] | None = None,
    **terms: Any,
) -> Report:
    """Evaluate samples that are checked already, in processes of the warm pool where it has fitting ones.

    Further keywords are fields of the terms. With `clusters`, servers' workers run on Ray, each server's on
    a cluster of its own.
    """
    if transport not in TRANSPORTS:
        raise InputError(f"unknown transport '{transport}'; there are: {', '.join(TRANSPORTS)}")
    allowed = Policy.exact() if policy is None else _checked_policy(policy)
    chosen_metrics = _chosen(default_metrics(allowed) if metrics is None else metrics)
    _check_timeout(timeout)
    design = Design(**{name: value for name, value in terms.items() if name in Design.__struct_fields__})
    allowed = fit_rows_per_person(allowed, owners)
    chosen, models = fit(find_protocol(protocol), owners, design, parameters, allowed)
    terms |= {"models": models} if models else {}
    agreed = Terms(
        metrics=chosen_metrics,
        protocol=chosen,
        limits=_LIMITS,
        policy=allowed,
        **terms,
    )
    negated = any(samples.negated for samples in owners)
    if any(samples.negated != negated for samples in owners):
        raise InputError("lower scores are the more positive ones at some owners only; negate all, or none")
    job = Job(terms=agreed, sizes=tuple(len(samples) for samples in owners), negated=negated)
    count = _count(workers, job, transport)
    shares = [agreed.share(samples) for samples in owners]
    inputs = dict(zip(chosen.input_servers, zip(*shares, strict=True), strict=True))
    if transport == "tls":
        crews = _crews(chosen.servers, count, clusters) if count > 1 else None
        outcomes = run_in_processes(job, inputs, progress, timeout, network, warm_pool, crews)
    else:
        outcomes = run_in_threads(job, inputs, progress, timeout, network, count)
    parts = [outcomes[server].parts[0] for server in chosen.result_servers]
    released = chosen.combine(parts, job.query, [samples.source for samples in owners])
    results = DesignedResults.of(released, job.query)
    return Report(
        metrics=results.first_metrics or released.metrics,
        positives=released.positives,
        suppressed=released.suppressed,
        policy=agreed.policy,
        owners=len(job.sizes),
        samples=sum(job.sizes),
        protocol=chosen.name,
        parameters=chosen.settings(),
        transport=transport,
        cost=RunCost.of(chosen.servers, outcomes),
        openings=outcomes[chosen.leader].openings,
        hint="; ".join(
            filter(None, (_saving(owners, job) if agreed.is_plain else "", _precision(owners, job)))
        ),
        results=results,
    )


def _precision(owners: Sequence[Samples | CountTable], job: Job) -> str:
    """Tell of owners whose scores are float32, where others have float64, or at thresholds."""
    if job.terms.protocol.counting_grid is not None:
        return ""
    metrics = job.terms.metrics
    edges = sorted({at for metric in metrics for at in (*metric.thresholds(), *metric.edges())})
    found = {
        one.source: single
        for one in owners
        if isinstance(one, Samples) and (single := SinglePrecision.of(one, edges)) is not None
    }
    said = [
        f"{source}: the scores are float32, in which 0.7 is 0.699999988; {single.remedy}"
        for source, single in found.items()
        if single.at_edges or (single.differs and len(found) < len(owners))
    ]
    return "; ".join(said)


def _saving(owners: Sequence[Samples | CountTable], job: Job) -> str:
    """Say how much less the same numbers would cost on a grid, if one has all scores among its values."""
    scores = [one.scores_of_source for one in owners if isinstance(one, Samples)]
    decimals = [some for own in scores if (some := decimals_of(own)) is not None]
    if len(decimals) < len(owners) or job.terms.protocol.grid is not None:
        return ""
    low, high = min(float(own.min()) for own in scores), max(float(own.max()) for own in scores)
    grid = fitting_grid(low, high, max(decimals))
    if grid is None or not all((grid.values[grid.nearest(own)] == own).all() for own in scores):
        return ""
    return saving_on(grid, job.terms, job.sizes)


def _chosen(metrics: Any) -> tuple[Metric, ...]:
    try:
        chosen = tuple(metrics)
    except TypeError:
        chosen = (metrics,)
    if isinstance(metrics, str) or not all(isinstance(one, str | Metric) for one in chosen):
        raise InputError(f"metrics must be a list of names, for instance {list(DEFAULT_METRICS)}")
    return tuple(one if isinstance(one, Metric) else _by_name(one) for one in chosen)


def _by_name(name: str) -> Metric:
    kind = find_metric(name)
    missing = missing_parameters(kind)
    if missing:
        given = ", ".join(f"{one}={as_written(example)}" for one, example in missing.items())
        raise InputError(
            f"{name}: needs {', '.join(missing)}; write ppaurora.METRICS[{name!r}]({given}) in the place of "
            "its name"
        )
    return kind()


def _checked_policy(policy: Any) -> Policy:
    """Check by the rules of a plan's, which a policy that is built in Python has not met yet."""
    if not isinstance(policy, Policy):
        raise InputError("policy: give a ppaurora.Policy, for instance ppaurora.Policy()")
    return checked(Policy, to_builtins(policy), "policy")


def _count(workers: Any, job: Job, transport: str) -> int:
    """Return how many workers each server has; with "auto", as this machine has cores and the job work.

    On Windows, a server that is a process has one.
    """
    if workers == "auto":
        is_single = sys.platform == "win32" and transport == "tls"
        return 1 if is_single else job.fitting_workers(workers_here(servers=len(job.terms.protocol.servers)))
    count = job.check_workers(workers)
    if count > 1 and transport == "tls":
        check_posix('transport "tls" with several workers')
    return count


def _crews(
    servers: type[Server], workers: int, clusters: Mapping[Server, RayPlace] | None
) -> dict[Server, Crew]:
    return {
        server: Crew(workers=workers, ray=None if clusters is None else clusters[server])
        for server in servers
    }


def _check_timeout(timeout: Any) -> None:
    try:
        fits = 0 < timeout <= MOST_SECONDS_OF_SILENCE
    except TypeError:
        fits = False
    if not fits:
        raise InputError(f"the timeout must be above 0 and at most {MOST_SECONDS_OF_SILENCE} seconds")
