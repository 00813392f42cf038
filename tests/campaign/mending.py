"""Owners withdraw and replace what they submitted, while nodes die at some moment and an attempt may begin.

What must be in the result is what an owner was told: a withdrawal or a replacement that all have acknowledged
counts, one that was refused because the computation had begun does not.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ppaurora.data.samples import check_samples
from ppaurora.errors import PeerError, RefusedError
from ppaurora.owner.study import Study
from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.campaign.world import SAMPLES, SECONDS_TO_END, Trial, World
from tests.support.deployment import samples
from tests.support.sending import send

TOO_LATE = {"begun", "closed"}


def run(world: World, trials: int, chance: random.Random) -> Tally:
    """As many withdrawals and replacements, in as many studies as it takes."""
    tally = Tally("withdrawals and replacements under kills")
    changes = 0
    while changes < trials:
        count = min(chance.randint(1, 3), trials - changes)
        changes += count
        tally.trial("study", lambda count=count: _study(world, count, chance, tally))  # type: ignore[misc]
    tally.details["withdrawals and replacements"] = changes
    return tally


def _study(world: World, changes: int, chance: random.Random, tally: Tally) -> str:
    trial = world.trial("mended")
    owner = Undecided(trial, random.Random(chance.random()), tally)  # noqa: S311
    late = random.Random(chance.random())  # noqa: S311
    mending = threading.Thread(target=owner.change_its_mind, args=(changes,), daemon=True)
    others = threading.Thread(target=_submit_sometime, args=(trial, late), daemon=True)
    mending.start()
    others.start()
    while mending.is_alive():
        time.sleep(chance.uniform(0.0, 1.0))
        world.kill_one(chance, tally)
        mending.join(chance.uniform(0.0, 1.5))
    others.join(SECONDS_TO_END)
    if owner.problem is not None:
        raise owner.problem
    trial.finish_again()
    return RIGHT


def _submit_sometime(trial: Trial, chance: random.Random) -> None:
    """From then on the computation may begin."""
    time.sleep(chance.uniform(0.0, 4.0))
    trial.submit_patiently("harbour")


@dataclass
class Undecided:
    """An owner who submits, and changes its mind. `trial.data` is what it was told counts."""

    trial: Trial
    chance: random.Random
    tally: Tally
    problem: Exception | None = field(default=None, repr=False)

    def change_its_mind(self, times: int) -> None:
        try:
            self.trial.submit_patiently("north")
            for _ in range(times):
                time.sleep(self.chance.uniform(0.0, 1.0))
                self._replace() if self.chance.random() < 0.5 else self._withdraw()
        except Exception as error:
            self.problem = error

    def _replace(self) -> None:
        other = samples(SAMPLES + self.chance.randint(0, 5), self.chance.randint(10**6, 10**7))
        data = check_samples("north", *other)
        taken = self._patiently(lambda study: send(study, data, replace=True))
        self.tally.details["replacements acknowledged" if taken else "replacements refused"] += 1
        if taken:
            self.trial.data["north"] = other

    def _withdraw(self) -> None:
        taken = self._patiently(lambda study: study.withdraw())
        self.tally.details["withdrawals acknowledged" if taken else "withdrawals refused"] += 1
        if not taken:
            return
        time.sleep(self.chance.uniform(0.0, 1.5))
        if self.trial.begun():
            raise BreachError(f"{self.trial.name}: an attempt began with what was withdrawn")
        self.trial.data["north"] = samples(SAMPLES, self.chance.randint(10**6, 10**7))
        self.trial.submit_patiently("north")

    def _patiently(self, act: Callable[[Study], object]) -> bool:
        """Until it is acknowledged by all, or refused because it comes too late."""
        deadline = time.monotonic() + SECONDS_TO_END
        while True:
            try:
                act(self.trial.owner("north"))
            except (PeerError, RefusedError) as error:
                if isinstance(error, RefusedError) and error.code in TOO_LATE:
                    return False
                if time.monotonic() > deadline:
                    raise BreachError(f"{self.trial.name}: never answered: {error}") from None
                time.sleep(0.2)
            else:
                return True
