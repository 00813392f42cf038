"""A node from start to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import Callable

from aiohttp import web

from ppaurora.channel.tls import listen
from ppaurora.errors import InputError, reason_of
from ppaurora.node.admission import AdmissionControl
from ppaurora.node.authorities import Authorities
from ppaurora.node.logs import log_to_stderr
from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node, cannot_listen
from ppaurora.node.service import OwnersService, admin_app
from ppaurora.node.store.trouble import DAMAGED, READ_ONLY, STORAGE_ERRORS, trouble_of
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import split_address
from ppaurora.version import __version__

_SECONDS_TO_FINISH = 10.0

log = logging.getLogger(__name__)


def serve(kit: NodeKit, exposed: str | None = None) -> None:
    """Runs until SIGTERM or Ctrl-C, then ends cleanly.

    Health and metrics are for this machine alone, and for whoever reaches the address `exposed`.
    """
    kit.check_key()
    log_to_stderr()
    _allow_many_connections()
    try:
        node = Node(kit, Metrics())
    except STORAGE_ERRORS as error:
        trouble = trouble_of(error)
        if trouble not in (READ_ONLY, DAMAGED):
            raise  # it may be over at the next start
        raise InputError(f"{kit.data}: {trouble}; the node does not start") from None
    try:
        asyncio.run(_serve(node, exposed))
    finally:
        node.close()
        log.info("node stopped")


def _allow_many_connections() -> None:
    """Allow as many open files as the administrator permits; the default is often a thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))


async def _serve(node: Node, exposed: str | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    settings = node.kit.settings
    async with contextlib.AsyncExitStack() as running:
        administration = admin_app(node.kit, node.activity, node.metrics)
        if exposed is None or not _includes(exposed, settings.listen_admin):
            await _listen(running, administration, _listener(node.kit, "listen_admin", settings.listen_admin))
        if exposed is not None:
            await _listen(running, administration, _exposed_listener(exposed))
            log.warning("health and metrics are open to others, without a password", extra={"at": exposed})
        if settings.listen_owners is not None:
            service = OwnersService(
                node.kit,
                node.store,
                node.activity,
                node.metrics,
                node.withdrawals,
                node.peer_records,
                node.amendments,
            )
            listener = _listener(node.kit, "listen_owners", settings.listen_owners)
            await _let_in(running, service.app, listener, node.authorities)
        log.info(
            "node serves",
            extra={
                "role": node.kit.title,
                "version": __version__,
                "nodes": settings.listen_nodes,
                "owners": settings.listen_owners,
                "admin": settings.listen_admin,
                "key": node.kit.pin[:16],
            },
        )
        await stop.wait()
        log.info("node stops")


async def _listen(running: contextlib.AsyncExitStack, app: web.Application, listener: socket.socket) -> None:
    """Listen at the administrator's port, without TLS."""
    protocols = await _protocols(running, app)
    server = await asyncio.get_running_loop().create_server(protocols, sock=listener)
    running.callback(server.close)


async def _let_in(
    running: contextlib.AsyncExitStack,
    app: web.Application,
    listener: socket.socket,
    authorities: Authorities,
) -> None:
    """Listen at the owners' port, with TLS and admission control."""
    protocols = await _protocols(running, app)
    admission = AdmissionControl(listener, authorities.server_context(), protocols, authorities.is_owner)
    running.callback(admission.close)


async def _protocols(
    running: contextlib.AsyncExitStack, app: web.Application
) -> Callable[[], asyncio.Protocol]:
    """Return the factory of the protocol that serves a connection."""
    runner = web.AppRunner(app, shutdown_timeout=_SECONDS_TO_FINISH)
    await runner.setup()
    running.push_async_callback(runner.cleanup)
    assert runner.server is not None  # noqa: S101 (it is set up)
    return runner.server


def _includes(exposed: str, local: str) -> bool:
    """Return whether who listens at one address is also reached at the other."""
    (host, port), (local_host, local_port) = split_address(exposed), split_address(local)
    hosts = {local_host, "::"} if ":" in local_host else {local_host, "::", "0.0.0.0"}  # noqa: S104
    return port == local_port and host in hosts


def _exposed_listener(address: str) -> socket.socket:
    try:
        return listen(*split_address(address))
    except OSError as error:
        raise InputError(f"--expose-admin: cannot listen at {address}: {reason_of(error)}") from None


def _listener(kit: NodeKit, setting: str, address: str) -> socket.socket:
    try:
        return listen(*split_address(address))
    except OSError as error:
        raise cannot_listen(kit, setting, address, error) from None
