"""Owners' shares, cut into what each worker of a server gets; and read again by the worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ppaurora.channel.base import Buffer
from ppaurora.messages.process import Order
from ppaurora.party.process import share_in
from ppaurora.sharing.blocks import blocks
from ppaurora.sharing.stages import OwnerShare
from ppaurora.workers.part import worker_of


def cut(orders: Sequence[Order], shares: Sequence[bytes | Path]) -> Iterator[tuple[Order, Sequence[Buffer]]]:
    """Yield every worker's order, with its parts of all shares."""
    job = orders[0].task.job
    protocol, shape = job.terms.protocol, job.terms.shape
    server = protocol.server_named(orders[0].task.server)
    parts: list[list[bytes]] = [[] for _ in orders]
    for size, share in zip(job.sizes, shares, strict=False):  # or there are none
        raw = share_in(share) if isinstance(share, Path) else share
        whole = protocol.read_share(raw, server, size, shape)
        for order, given in zip(orders, parts, strict=True):
            given.append(protocol.worker_share(whole, worker_of(order), size).to_bytes())
    for order, given in zip(orders, parts, strict=True):
        yield msgspec.structs.replace(order, inputs=tuple(map(len, given))), given


def read(order: Order, inputs: Sequence[Buffer]) -> list[OwnerShare]:
    """Return this worker's part of every share; nothing at a server that takes none."""
    job, worker = order.task.job, worker_of(order)
    protocol, shape = job.terms.protocol, job.terms.shape
    server = protocol.server_named(order.task.server)
    sizes = [len(blocks(size, worker.count)[worker.index]) for size in job.sizes] if inputs else []
    return [
        protocol.read_share(raw, server, size, shape, leads=worker.leads)
        for raw, size in zip(inputs, sizes, strict=True)
    ]
