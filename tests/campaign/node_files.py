"""Bits and ends of what a node's operator keeps beside its data: settings, key, certificates."""

from __future__ import annotations

import random

from ppaurora.errors import PpauroraError
from tests.campaign.damage import spoil
from tests.campaign.tally import RESTORED, RIGHT, BreachError, Tally
from tests.campaign.world import Trial, World
from tests.support.deployment import NODES

_FILES = ("node.toml", "key.pem", "certificate.pem", "authority.pem")


def run(world: World, trials: int, chance: random.Random) -> Tally:
    tally = Tally("damaged settings, keys and certificates of nodes")
    for number in range(trials):
        node, name = NODES[number % len(NODES)], _FILES[number % len(_FILES)]
        tally.trial(
            f"{name} of {node}",
            lambda node=node, name=name: _spoil(world, node, name, chance),  # type: ignore[misc]
        )
    return tally


def _spoil(world: World, node: str, name: str, chance: random.Random) -> str:
    """Spoil a file of a node that is down; it is started with it, and again with the file as it was."""
    trial = world.trial("settings")
    trial.submit_patiently("north")
    world.end(node)
    world.clear_of_logs()
    path = world.kit(node) / name
    whole = path.read_bytes()
    how = spoil(path, chance)
    try:
        _go_on(world, node, trial)
        outcome = RIGHT
    except PpauroraError:
        outcome = RESTORED
    finally:
        world.end(node)
        if "Traceback" in world.log(node):
            raise BreachError(f"{name} of {node} ({how}): ended without a sentence")
        path.write_bytes(whole)
        world.start(node)
    trial.finish_again()
    return outcome


def _go_on(world: World, node: str, trial: Trial) -> None:
    world.start(node)
    trial.submit("harbour")
    trial.check_result(20)
