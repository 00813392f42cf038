"""Which kinds there are, and how many trials of each make a campaign."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.campaign import (
    amending,
    clock_jumps,
    damage,
    data_folders,
    full_disk,
    kit_damage,
    mending,
    named_kills,
    node_files,
    random_kills,
    rolled_back,
    signed,
    stopped,
    strangers,
)
from tests.campaign.tally import Tally
from tests.campaign.world import World, running

Run = Callable[[World, int, random.Random], Tally]


@dataclass(frozen=True)
class Kind:
    run: Run
    short: int
    long: int


KINDS = {
    "named-kills": Kind(named_kills.run, 1, 400),
    "random-kills": Kind(random_kills.run, 1, 600),
    "mending": Kind(mending.run, 3, 600),
    "amendments": Kind(amending.run, 10, 200),
    "shares": Kind(damage.shares, 2, 80),
    "parts": Kind(damage.parts, 1, 20),
    "databases": Kind(damage.databases, 1, 60),
    "data-folders": Kind(data_folders.run, 13, 520),
    "rolled-back": Kind(rolled_back.run, 2, 130),
    "kits": Kind(kit_damage.run, 5, 100),
    "node-files": Kind(node_files.run, 1, 40),
    "signed": Kind(signed.run, 4, 60),
    "full-disk": Kind(full_disk.run, 1, 88),
    "stopped": Kind(stopped.run, 1, 60),
    "clocks": Kind(clock_jumps.run, 1, 30),
    "strangers": Kind(strangers.run, 2, 50),
}


def carry_out(kinds: dict[str, int], folder: Path, seed: int) -> Iterator[tuple[str, Tally]]:
    """One kind after the other, on nodes that run all the while."""
    with running(folder) as world:
        for name, trials in kinds.items():
            start = time.monotonic()
            tally = KINDS[name].run(world, trials, random.Random(f"{seed} {name}"))  # noqa: S311
            tally.seconds = time.monotonic() - start
            tally.details.update({f"submit again: {why}": count for why, count in world.setbacks.items()})
            world.setbacks.clear()
            yield name, tally
            world.clear_of_logs()
