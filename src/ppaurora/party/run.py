"""One server's run of a job, by one worker or by several, and what it reports when it is done."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ppaurora.agreement.terms import Job
from ppaurora.channel.base import Transport
from ppaurora.channel.intra_party import IntraPartyChannel
from ppaurora.channel.meter import MeterReading, together
from ppaurora.channel.shaped import Network, ShapedTransport
from ppaurora.session import SINGLE, Progress, Worker, no_progress, open_session, throttled
from ppaurora.sharing.stages import OwnerShare, ResultShare


@dataclass(frozen=True)
class RunOutcome:
    """A server's parts of the result, one for every recipient, and what the run cost it."""

    parts: tuple[ResultShare, ...]
    seconds: float
    meter: MeterReading
    openings: dict[str, int]
    peak_bytes: int  # of the process, so of all servers where they are threads

    @classmethod
    def of_workers(cls, outcomes: Sequence[RunOutcome]) -> RunOutcome:
        """Return a server's outcome, from those of its workers, in order; memory is what one of them held."""
        openings: Counter[str] = Counter()
        for outcome in outcomes:
            openings.update(outcome.openings)
        return cls(
            outcomes[0].parts,
            max(outcome.seconds for outcome in outcomes),
            together([outcome.meter for outcome in outcomes]),
            dict(openings),
            max(outcome.peak_bytes for outcome in outcomes),
        )


def take_part(
    transport: Transport,
    job: Job,
    inputs: list[OwnerShare],
    progress: Progress = no_progress,
    network: Network | None = None,
    *,
    study: bytes = b"",
    attempt: int = 1,
    recipients: int = 1,
    announce: Callable[[bytes], None] | None = None,
    worker: Worker = SINGLE,
    intra_party: IntraPartyChannel | None = None,
) -> RunOutcome:
    """Open a session and run the job in it, over a slower network if one is given.

    One of several workers is told who it is, has its own transport to the workers of that number elsewhere
    and a channel to the other workers of the party, and is given what `Protocol.worker_share` says.

    The session's keys are bound to the job, to the attempt, and to the `study` that both belong to.
    `announce` hears the session's public name, which no other session has. Takes the inputs: the
    list is empty afterwards.
    """
    if network is not None:
        transport = ShapedTransport(transport, network)
    context = open_session(
        transport, job.hash(study), attempt, throttled(progress), worker=worker, intra_party=intra_party
    )
    if announce is not None:
        announce(context.channel.session)
    start = time.perf_counter()
    parts = job.terms.protocol.run(context, job.query, inputs, recipients)
    seconds = time.perf_counter() - start
    return RunOutcome(parts, seconds, context.meter.reading(), dict(context.openings), peak_memory())


def peak_memory() -> int:
    """Return the most memory this process ever held, in bytes; 0 on Windows, where nobody is asked."""
    try:
        # Linux's ru_maxrss remembers the process that started this one; VmHWM does not.
        status = Path("/proc/self/status").read_text("utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        if sys.platform == "win32":
            return 0
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
