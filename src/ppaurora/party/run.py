"""What a party reports when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppaurora.channel.base import Transport
from ppaurora.channel.shaped import Network, ShapedTransport
from ppaurora.party.job import Job, run_job
from ppaurora.session import Context, Progress, no_progress, open_session, throttled
from ppaurora.sharing.stages import InputShare, ResultShare
from ppaurora.suites.role import Role


@dataclass(frozen=True)
class Outcome:
    """A party's share of the result and what the run cost it."""

    result: ResultShare | None
    releases: tuple[ResultShare, ...]  # the result again, in fresh parts for every recipient
    seconds: float
    meter: dict[str, Any]
    openings: dict[str, int]
    peak_bytes: int  # of the process, so of all parties where they are threads


def take_part(
    transport: Transport,
    job: Job,
    inputs: Sequence[InputShare],
    progress: Progress = no_progress,
    network: Network | None = None,
    *,
    study: bytes = b"",
    attempt: int = 1,
    recipients: int = 0,
    announce: Callable[[bytes], None] | None = None,
) -> Outcome:
    """Open a session and run the job in it, over a slower network if one is given.

    The session's keys are bound to the job, to the attempt, and to the `study` that both belong to.
    `announce` hears the session's public name, which no other session has.
    """
    if network is not None:
        transport = ShapedTransport(transport, network)
    context = open_session(transport, job.hash(study), attempt, throttled(progress))
    if announce is not None:
        announce(context.channel.session)
    start = time.perf_counter()
    result = run_job(context, job, inputs)
    seconds = time.perf_counter() - start
    releases = () if result is None else reshare(context, result, recipients)
    return Outcome(result, releases, seconds, context.meter.to_dict(), dict(context.openings), peak_memory())


def reshare(context: Context, result: ResultShare, recipients: int) -> tuple[ResultShare, ...]:
    """A proxy's part of the same result for every recipient, made fresh with common randomness.

    So what one recipient gets from one proxy does not fit what another gets from the other.
    """
    role = Role(context.role)
    pads = context.stream(role.other_proxy, "release")
    releases = []
    for _ in range(recipients):
        pad = pads.words(result.words.shape)
        releases.append(ResultShare(result.words + pad if role is Role.PROXY_0 else result.words - pad))
    return tuple(releases)


def peak_memory() -> int:
    """The most memory this process ever held, in bytes."""
    try:
        # Linux's ru_maxrss remembers the process that started this one; VmHWM does not.
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        import resource  # Unix only

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
