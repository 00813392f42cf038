"""A node's clock jumps by days or years while a study goes on, and comes back or does not."""

from __future__ import annotations

import random
import threading
import time

from ppaurora.messages.owners import StudyState
from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.campaign.world import SECONDS_TO_END, World
from tests.support.deployment import NODES

_DAY = 86_400.0
_JUMPS = (31 * _DAY, 365 * _DAY, 2 * 3_600.0, -31 * _DAY, -365 * _DAY)


def run(world: World, trials: int, chance: random.Random) -> Tally:
    tally = Tally("clocks that jump")
    for number in range(trials):
        node = NODES[number % len(NODES)]
        jump = chance.choice(_JUMPS)
        tally.trial(
            f"{node} by {jump / _DAY:.1f} days",
            lambda node=node, jump=jump: _jump(world, node, jump, chance),  # type: ignore[misc]
        )
    return tally


def _jump(world: World, node: str, jump: float, chance: random.Random) -> str:
    trial = world.trial("clock")
    offset = world.folder / f"{node}-clock"
    offset.write_text("0")
    world.end(node)
    world.start_faulty(node, f"clock {offset}")
    try:
        uploads = threading.Thread(target=trial.submit_patiently, daemon=True)
        uploads.start()
        time.sleep(chance.uniform(0.0, 1.5))
        offset.write_text(str(jump))
        time.sleep(2.0)
        if chance.random() < 0.5:
            offset.write_text("0")
        uploads.join(SECONDS_TO_END)
        trial.finish()
        with world.store(node) as store:
            study = store.study(trial.manifest.hash)
            if study is None or study.state is StudyState.EXPIRED:
                raise BreachError(f"{trial.name}: {node} has deleted what is kept for days")
    finally:
        world.restart(node)
    return RIGHT
