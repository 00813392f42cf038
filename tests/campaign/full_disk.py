"""No room, before one write after the other: every transaction, every file of a share."""

from __future__ import annotations

import itertools
import random

from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.campaign.world import PROXIES, World
from tests.support.deployment import NODES

_BEGIN = "ppaurora.node.store:Store.begin_attempt"
_FILES = ("ppaurora.node.uploads:_sync", "ppaurora.node.uploads:sync")
_TRANSACTIONS = range(3, 15)  # the first ones are those of the start, which says so and does not serve


def faults() -> list[tuple[str, str]]:
    """Nodes and faults: the disk is full from this write on, for one or for five writes."""
    found = [
        (node, f"full transaction {number} {times}")
        for node, number, times in itertools.product(NODES, _TRANSACTIONS, (1, 5))
    ]
    found += [(node, f"full {_BEGIN} 1 {times}") for node, times in itertools.product(PROXIES, (1, 3))]
    return found + [
        (node, f"full {place} {number} {times}")
        for node, place, number, times in itertools.product(PROXIES, _FILES, (1, 2), (1, 5))
    ]


def run(world: World, trials: int, chance: random.Random) -> Tally:
    tally = Tally("no room before a write")
    every = faults()
    chance.shuffle(every)
    for node, fault in itertools.islice(itertools.cycle(every), trials):
        tally.trial(f"{node}: {fault}", lambda node=node, fault=fault: fill(world, node, fault))  # type: ignore[misc]
    return tally


def fill(world: World, node: str, fault: str) -> str:
    """It costs no attempt, and nobody's submission."""
    trial = world.trial("room")
    world.end(node)
    world.start_faulty(node, fault)
    try:
        trial.finish()
        if trial.failures():
            raise BreachError(f"{trial.name}: it cost attempts: {trial.failures()}")
    finally:
        world.restart(node)
    return RIGHT
