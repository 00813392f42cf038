"""`python -m ppaurora.workers.process TITLE`: one worker of a server, as a process on its machine."""

from __future__ import annotations

import functools
import sys

from ppaurora.channel.tls import PassedSockets
from ppaurora.messages.process import Order, Placed
from ppaurora.messages.workers import Endpoint
from ppaurora.party.process import Starter, run_server
from ppaurora.session.worker import MOST_WORKERS
from ppaurora.workers.computing import compute
from ppaurora.workers.credentials import Credentials
from ppaurora.workers.part import Part, Station, longest_wait, worker_of
from ppaurora.workers.sockets import SocketChannel


def main(part: Part = compute) -> int:
    """Do this part of the work for the process that has started this one."""
    return run_server(functools.partial(_serve, part))


def _serve(part: Part, starter: Starter) -> None:
    passed = starter.passed_sockets(MOST_WORKERS)
    if not passed:
        return
    credentials = Credentials.make("ppaurora worker")
    starter.tell(Placed(endpoints=(Endpoint(certificate=credentials.certificate.decode()),)))
    order = starter.hear(Order)
    if order is None:
        return
    inputs = [starter.read(length) for length in order.inputs]
    starter.stay_in_touch(order.task.links.timeout / 4)
    listener, *others = passed
    intra_party = SocketChannel(order.server.title, worker_of(order), others, longest_wait(order))
    with listener:
        station = Station(order, credentials, PassedSockets(listener), intra_party, starter.tell)
        try:
            starter.tell(part(station, inputs))
        finally:
            intra_party.close()


if __name__ == "__main__":
    sys.exit(main())
