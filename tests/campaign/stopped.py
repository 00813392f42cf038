"""Processes that stand still for a while: nodes, and the processes in which they compute."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

from tests.campaign.tally import RIGHT, Tally
from tests.campaign.world import SECONDS_TO_END, SILENCE, World
from tests.support.deployment import NODES, children


def run(world: World, trials: int, chance: random.Random) -> Tally:
    tally = Tally("processes that stand still")
    for _ in range(trials):
        node, what = chance.choice(NODES), chance.choice(("node", "computation"))
        tally.trial(f"{what} of {node}", lambda node=node, what=what: _stop(world, node, what, chance))  # type: ignore[misc]
    return tally


def _stop(world: World, node: str, what: str, chance: random.Random) -> str:
    trial = world.trial("still")
    uploads = threading.Thread(target=trial.submit_patiently, daemon=True)
    uploads.start()
    time.sleep(chance.uniform(0.0, 1.5))
    process = world.process_id(node)
    stopped = [process] if what == "node" else children(process)
    for pid in stopped:
        _signal(pid, signal.SIGSTOP)
    time.sleep(chance.uniform(0.1, 2 * SILENCE))  # for which nodes are patient here, once
    for pid in stopped:
        _signal(pid, signal.SIGCONT)
    uploads.join(SECONDS_TO_END)
    trial.finish()
    return RIGHT


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
