"""Crowds, drips and noise at the nodes' and the owners' ports while a study goes on."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator

from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.campaign.world import PROXIES, World
from tests.support.crowds import HELLO_BEGUN, crowd, memory_of
from tests.support.deployment import NODES

_CROWD = 500
_MOST_MEMORY = 300 << 20


def run(world: World, trials: int, chance: random.Random) -> Tally:
    tally = Tally("crowds, drips and noise")
    for number in range(trials):
        what, come = _KINDS[number % len(_KINDS)]
        node = chance.choice(PROXIES)
        tally.trial(f"{what} at {node}", lambda node=node, come=come: _meanwhile(world, node, come))  # type: ignore[misc]
    return tally


def _meanwhile(world: World, node: str, come: Callable[[World, str], object]) -> str:
    trial = world.trial("strangers")
    with come(world, node):  # type: ignore[attr-defined]
        trial.finish()
        if memory_of(world.process_id(node)) > _MOST_MEMORY:
            raise BreachError(f"{trial.name}: {node} holds more than 300 MB")
    return RIGHT


def _silent(world: World, node: str) -> object:
    return crowd(world.addresses[node][0] or 0, _CROWD)


def _stalling(world: World, node: str) -> object:
    return crowd(world.addresses[node][0] or 0, _CROWD, HELLO_BEGUN)


def _silent_at_nodes_port(world: World, node: str) -> object:
    return crowd(world.addresses[node][1], _CROWD)


@contextlib.contextmanager
def _drips(world: World, node: str) -> Iterator[None]:
    """One byte now and then of a hello that never ends, at all ports of the node."""
    with _talking(world, lambda place: HELLO_BEGUN[place : place + 1] or b"\0", 0.2):
        yield


@contextlib.contextmanager
def _noise(world: World, node: str) -> Iterator[None]:
    with _talking(world, lambda place: os.urandom(1 << 12), 0.01):
        yield


@contextlib.contextmanager
def _talking(world: World, word: Callable[[int], bytes], pause: float) -> Iterator[None]:
    over = threading.Event()
    ports = [port for node in NODES for port in world.addresses[node] if port is not None]

    def talk(port: int) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as sock:
                place = 0
                while not over.wait(pause):
                    sock.sendall(word(place))
                    place += 1

    threads = [threading.Thread(target=talk, args=(port,), daemon=True) for port in ports]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


_KINDS: list[tuple[str, Callable[[World, str], object]]] = [
    ("silent crowd", _silent),
    ("stalling crowd", _stalling),
    ("crowd at the nodes' port", _silent_at_nodes_port),
    ("drips", _drips),
    ("noise", _noise),
]
