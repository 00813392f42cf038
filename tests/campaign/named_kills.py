"""A node dies at a named point of the code, and is started again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from tests.campaign.tally import NOT_REACHED, RIGHT, Tally
from tests.campaign.world import World

_STORE = "ppaurora.node.store:Store"
_LEADER = "ppaurora.node.leading:Leader"
_RUNNER = "ppaurora.node.runner:AttemptRunner"
_OF_LEADER = [f"{_LEADER}.{name}" for name in ("_plan", "_try", "_have_others_begin", "_settle", "_tell")]
_OF_PROXIES = [
    "ppaurora.node.uploads:_sync",
    "ppaurora.node.uploads:sync",
    f"{_STORE}.submit",
    f"{_STORE}.check_shares",
    f"{_STORE}.computed",
    f"{_STORE}.release",
    f"{_STORE}.forget_shares",
]
_OF_ALL = [
    f"{_STORE}.begin_attempt",
    f"{_STORE}.set_state",
    f"{_STORE}.see_time",
    f"{_RUNNER}.start",
    f"{_RUNNER}.finish",
    f"{_RUNNER}.release",
    "ppaurora.node.attempt:_task",
]
_PLACES = {
    "proxy-0": [*_OF_LEADER, *_OF_PROXIES, *_OF_ALL, f"{_STORE}.told_peers"],
    "proxy-1": [*_OF_PROXIES, *_OF_ALL],
    "helper": [*_OF_ALL, f"{_STORE}.end_with"],
}
_TRANSACTIONS = 12  # of a node in a study, about


def points() -> Iterator[tuple[str, str]]:
    """Nodes and faults, every one once."""
    for node, places in _PLACES.items():
        for place, side in itertools.product(places, ("before", "after")):
            yield node, f"kill {place} {side} 1"
        for number in range(1, _TRANSACTIONS + 1):
            yield node, f"kill transaction inside {number}"


def run(world: World, trials: int, chance: random.Random) -> Tally:
    """All points, in an order by chance, and again until there were enough trials."""
    tally = Tally("kills at named points of the code")
    every = list(points())
    chance.shuffle(every)
    for node, fault in itertools.islice(itertools.cycle(every), trials):
        tally.trial(f"{node}: {fault}", lambda node=node, fault=fault: _kill(world, node, fault))  # type: ignore[misc]
    return tally


def _kill(world: World, node: str, fault: str) -> str:
    trial = world.trial("point")
    world.end(node)
    world.start_faulty(node, fault)
    faulty = world.processes[node]
    with world.revived(node):
        trial.finish()
    if faulty.poll() is None:
        world.restart(node)
        return NOT_REACHED
    if world.is_dead(node):  # it died when all was done
        world.start(node)
    return RIGHT
