"""Nodes die at some moment, one to four times in a study, while owners upload and attempts run."""

from __future__ import annotations

import random
import threading
import time

from tests.campaign.tally import RIGHT, Tally
from tests.campaign.world import SECONDS_TO_END, World


def run(world: World, trials: int, chance: random.Random) -> Tally:
    """As many kills, in as many studies as it takes."""
    tally = Tally("kills at random moments")
    kills = 0
    while kills < trials:
        count = min(chance.randint(1, 4), trials - kills)
        kills += count
        tally.trial("study", lambda count=count: _study(world, count, chance, tally))  # type: ignore[misc]
    tally.details["kills"] = kills
    return tally


def _study(world: World, kills: int, chance: random.Random, tally: Tally) -> str:
    trial = world.trial("moment")
    uploads = threading.Thread(target=trial.submit_patiently, daemon=True)
    uploads.start()
    for _ in range(kills):
        time.sleep(chance.uniform(0.0, 1.5))
        world.kill_one(chance, tally)
    uploads.join(SECONDS_TO_END)
    trial.finish()
    return RIGHT
