"""A worker's part of the computation."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.channel.base import Buffer
from ppaurora.messages.process import Finished, Opened, Progressed
from ppaurora.party.process import finished
from ppaurora.party.run import take_part
from ppaurora.workers.inputs import read
from ppaurora.workers.part import Station


def compute(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """Compute with the workers of the same number at the other servers, and with those of the own server."""
    task = station.order.task
    shares = read(station.order, inputs)
    transport = station.connect()
    try:
        outcome = take_part(
            transport,
            task.job,
            shares,
            lambda step, done, total: station.tell(Progressed(step=step, done=done, total=total)),
            task.network,
            study=task.study,
            attempt=task.attempt,
            recipients=task.recipients,
            announce=lambda session: station.tell(Opened(session=session.hex())),
            worker=station.worker,
            intra_party=station.intra_party,
        )
        transport.finish()
    finally:
        transport.close()
    return finished(outcome)
