"""The whole way of the data in one call, with the three servers embedded on this machine."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ppaurora.channel.memory import memory_transports
from ppaurora.channel.shaped import Network
from ppaurora.errors import InputError
from ppaurora.local.processes import run_in_processes
from ppaurora.local.threads import run_in_threads
from ppaurora.owner import Samples, check_samples, combine, least_key_bits, prepare, split
from ppaurora.party.job import Job
from ppaurora.party.run import Outcome, take_part
from ppaurora.report import Report, RunCost
from ppaurora.servers import Server
from ppaurora.session import Progress, no_progress
from ppaurora.sharing.stages import InputShare
from ppaurora.suites.role import Role

TRANSPORTS = ("memory", "tls")
DEFAULT_METRICS = ("auroc", "aupr")
PAPER_KEY_BITS = 64  # keys of 62 bits, shared modulo 2^64
MOST_SECONDS_OF_SILENCE = 1_000_000  # what every way of waiting can express


def evaluate(
    owners: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    protocol: str = "fast",
    delta: int = 1,
    key_bits: int | None = None,
    transport: str = "memory",
    pos_label: object | None = None,
    progress: Progress | None = None,
    timeout: float = 120.0,
    network: Network | None = None,
) -> Report:
    """Evaluate a model on several owners' samples together.

    owners      one (y_true, y_score) per owner, as scikit-learn's metrics take them
    metrics     any of "auroc", "aupr" (trapezoids), "ap" (average precision), "auroc_no_ties" (as if
                no scores were equal)
    protocol    "fast": any finite scores; "paper": as in the paper ppAURORA, scores in [0, 1]
    delta       for "paper": how many records move per shuffling; odd. 1 opens nothing, larger
                values open comparisons to the servers; less traffic, more rounds
    key_bits    for "fast": 32, exact for float32 scores only, or 64; by default what the data needs
    transport   "memory": three threads; "tls": three processes, mutual TLS on loopback
    pos_label   the label of the positive class, if labels are not 0/1 or true/false
    progress    called with (step, done, total) during long work
    timeout     seconds a server waits for a silent peer before it gives up
    network     a slower network between the servers, to measure with
    """
    samples = []
    for number, owner in enumerate(owners, start=1):
        try:
            y_true, y_score = owner
        except (TypeError, ValueError):
            raise InputError(f"owner {number}: give two arrays, (y_true, y_score)") from None
        samples.append(check_samples(f"owner {number}", y_true, y_score, pos_label))
    return evaluate_samples(
        samples,
        metrics=metrics,
        protocol=protocol,
        delta=delta,
        key_bits=key_bits,
        transport=transport,
        progress=no_progress if progress is None else progress,
        timeout=timeout,
        network=network,
    )


def evaluate_samples(
    owners: Sequence[Samples],
    *,
    metrics: Sequence[str],
    protocol: str,
    delta: int,
    key_bits: int | None,
    transport: str,
    progress: Progress,
    timeout: float,
    network: Network | None = None,
) -> Report:
    """`evaluate` for samples that are checked already."""
    if transport not in TRANSPORTS:
        raise InputError(f"unknown transport '{transport}'; there are: {', '.join(TRANSPORTS)}")
    names = _metric_names(metrics)
    _check_timeout(timeout)
    delta = _whole_number(delta, "delta must be an odd number, 1 or larger")
    if key_bits is not None:
        key_bits = _whole_number(key_bits, "keys have 32 or 64 bits")
        if protocol == "paper" and key_bits != PAPER_KEY_BITS:
            raise InputError("the key width is for the protocol 'fast'; 'paper' has only one")
    elif protocol == "paper":
        key_bits = PAPER_KEY_BITS
    else:
        key_bits = least_key_bits(owners)
    job = Job(tuple(len(samples) for samples in owners), names, protocol, key_bits, delta)
    shares = [split(prepare(samples, protocol, key_bits), protocol, key_bits) for samples in owners]
    inputs: dict[Role, Sequence[InputShare]] = {
        Role.PROXY_0: [share for share, _ in shares],
        Role.PROXY_1: [share for _, share in shares],
    }
    run = run_in_processes if transport == "tls" else _run_in_threads
    outcomes = run(job, inputs, progress, timeout, network)
    result_shares = [outcome.result for outcome in outcomes if outcome.result is not None]
    checked = [samples.source for samples in owners] if job.checks_order else []
    return Report(
        metrics=combine(result_shares, job.metrics, checked),
        owners=len(job.sizes),
        samples=sum(job.sizes),
        protocol=job.protocol,
        delta=job.delta,
        key_bits=job.key_bits,
        transport=transport,
        cost=RunCost.of(outcomes),
        openings=outcomes[Role.PROXY_0].openings,
    )


def _metric_names(metrics: Any) -> tuple[str, ...]:
    try:
        names = tuple(metrics)
    except TypeError:
        names = (metrics,)
    if isinstance(metrics, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"metrics must be a list of names, for instance {list(DEFAULT_METRICS)}")
    return names


def _check_timeout(timeout: Any) -> None:
    try:
        fits = 0 < timeout <= MOST_SECONDS_OF_SILENCE
    except TypeError:
        fits = False
    if not fits:
        raise InputError(f"the timeout must be above 0 and at most {MOST_SECONDS_OF_SILENCE} seconds")


def _whole_number(value: Any, expected: str) -> int:
    try:
        return int(operator.index(value))
    except TypeError:
        raise InputError(f"{expected}, not {value!r}") from None


def _run_in_threads(
    job: Job,
    inputs: dict[Role, Sequence[InputShare]],
    progress: Progress,
    timeout: float,
    network: Network | None = None,
) -> list[Outcome]:
    transports = memory_transports(Role, timeout)

    def party(role: Server) -> Outcome:
        watched = progress if role is Role.PROXY_0 else no_progress
        return take_part(transports[role], job, inputs.get(Role(role), ()), watched, network)

    return run_in_threads(party, transports)
