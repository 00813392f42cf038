"""Who takes part in the comparison, and what each of them leaves out."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import ppaurora
from benchmarks.by_name import evaluate_by_name
from benchmarks.peers.worker import Answer, NotMeasuredError, ask
from benchmarks.plain import pooled
from benchmarks.synthetic import Owner
from ppaurora.errors import InputError, PpauroraError
from ppaurora.metrics.roc import Auroc
from ppaurora.session import Progress

SECONDS_AT_MOST = 900.0
LONG_SECONDS_AT_MOST = 4 * 3600.0

_FOLDER = Path(__file__).parent
_MINUTES_BEYOND = 4_000  # samples: what some systems take from there on
_PORTS = range(20_000, 32_000)  # below those that systems hand out by themselves
_MPYC_PARTIES = 3

Measure = Callable[[Sequence[Owner], Progress], Answer]


@dataclass(frozen=True)
class System:
    """One way to compute the AUROC.

    `left_out` says what it shows to whom, or does not do. Beyond `samples_at_most` it is run only if
    time does not matter.
    """

    name: str
    measure: Measure
    left_out: str
    samples_at_most: int | None = None


def all_systems(python: Path, *, long: bool, transport: str = "tls") -> list[System]:
    """Peers run in the interpreter `python`; `long` lifts limits of size and time."""
    minutes = None if long else _MINUTES_BEYOND
    limit = LONG_SECONDS_AT_MOST if long else SECONDS_AT_MOST
    return [
        System(
            "ppaurora fast",
            _ours("fast", transport),
            "opens nothing; the owners alone get the AUROC, as the nearest float64",
        ),
        System(
            "ppaurora paper, delta 1",
            _ours("paper", transport),
            "opens nothing; the owners alone get the AUROC, to 50 bits; the helper can estimate how many "
            "scores are tied, and sees the gaps between scores in a disguise that is not perfect",
            minutes,
        ),
        System(
            "SecretFlow SPU, ABY3",
            _peer(python, "spu_worker.py", limit),
            "an approximation: the division is in fixed point of 28 bits (SPU's usual 18 lose more); opens "
            "the AUROC; three threads of one process, nothing goes over a socket or TLS",
        ),
        System(
            "MPyC",
            lambda owners, progress: ask(
                python, _FOLDER / "mpyc_worker.py", owners, arguments=_mpyc_options(), limit=limit
            ),
            "opens the AUROC, as a fraction in lowest terms, to the servers; three processes, no TLS",
            minutes,
        ),
        System(
            "scikit-learn",
            _plain,
            "everything: one party sees all scores and labels",
        ),
    ]


def _ours(protocol: str, transport: str) -> Measure:
    def measure(owners: Sequence[Owner], progress: Progress) -> Answer:
        report = evaluate_by_name(
            owners,
            metrics=(Auroc.name,),
            protocol=protocol,
            transport=transport,
            progress=progress,
            timeout=600.0,
        )
        cost = report.cost
        return Answer(Fraction(report.auroc), cost.seconds, cost.bytes, version=ppaurora.__version__)

    return measure


def _peer(python: Path, script: str, limit: float) -> Measure:
    return lambda owners, progress: ask(python, _FOLDER / script, owners, limit=limit)


def _plain(owners: Sequence[Owner], progress: Progress) -> Answer:
    try:
        pooled(owners, [Auroc.name])  # the first time scikit-learn loads more of itself
        values, seconds = pooled(owners, [Auroc.name])
    except InputError as error:
        raise NotMeasuredError(f"not installed: {error}") from None
    return Answer(Fraction(values[Auroc.name]), seconds, bytes=0, version=version("scikit-learn"))


def _mpyc_options() -> list[str]:
    """Three processes, on ports that are free now."""
    for first in random.sample(_PORTS, 100):
        if all(_is_free(first + party) for party in range(_MPYC_PARTIES)):
            return [f"-M{_MPYC_PARTIES}", f"-B{first}"]
    raise PpauroraError("found no three free ports in a row on this machine")


def _is_free(port: int) -> bool:
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.bind(("localhost", port))
        return True
    return False
