"""Bits and ends of what an owner's kit keeps: manifests, shares to be sent, records, results, the ledger."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from ppaurora.data.samples import check_samples
from ppaurora.errors import InputError, PpauroraError, UnsortedListError
from tests.campaign.damage import spoil
from tests.campaign.tally import RESTORED, RIGHT, BreachError, Tally
from tests.campaign.world import PROXIES, Trial, World


def run(world: World, trials: int, chance: random.Random) -> Tally:
    tally = Tally("damaged files of owners' kits")
    for number in range(trials):
        what, prepare = _FILES[number % len(_FILES)]
        tally.trial(what, lambda prepare=prepare: _spoil(world, prepare, chance))  # type: ignore[misc]
    return tally


def _spoil(world: World, prepare: Callable[[Trial, random.Random], Path], chance: random.Random) -> str:
    """Goes on as if nothing were, and with the kit from before if that is refused."""
    trial = world.trial("kit")
    path = prepare(trial, chance)
    kit = trial.kits["north"]
    backup = kit.with_name(f"{kit.name}-backup")
    shutil.copytree(kit, backup)
    original = path.read_bytes()
    how = spoil(path, chance)
    try:
        _go_on(trial)
    except UnsortedListError as error:
        raise BreachError(f"{path.name} ({how}): an owner was accused: {error}") from None
    except PpauroraError as error:
        if isinstance(error, InputError) and "other data was submitted" in str(error):
            raise BreachError(f"{path.name} ({how}): its owner was accused: {error}") from None
        shutil.rmtree(kit)
        backup.rename(kit)
        assert path.read_bytes() == original
        _go_on(trial)
        return RESTORED
    trial.check_kept()
    return RIGHT


def _go_on(trial: Trial) -> None:
    for owner in ("north", "harbour"):
        if not trial.has_result(owner):
            trial.submit(owner)
    trial.check_result(180)


def _manifest(trial: Trial, chance: random.Random) -> Path:
    return trial.kits["north"] / "studies" / f"{trial.name}.json"


def _share_to_be_sent(trial: Trial, chance: random.Random) -> Path:
    trial.owner("north")._outbox.prepare(check_samples("north", *trial.data["north"]))
    return trial.kits["north"] / "outbox" / trial.name / f"{chance.choice(PROXIES)}.1.share"


def _record_of_what_was_sent(trial: Trial, chance: random.Random) -> Path:
    if chance.random() < 0.5:
        trial.submit("north")
    else:
        _share_to_be_sent(trial, chance)
    return trial.kits["north"] / "outbox" / trial.name / "submission.json"


def _result(trial: Trial, chance: random.Random) -> Path:
    trial.submit_patiently()
    trial.check_result()
    return trial.kits["north"] / "inbox" / f"{trial.name}.json"


def _ledger(trial: Trial, chance: random.Random) -> Path:
    study = trial.owner("north")
    study._ledger.record(study._ledger.sketch(check_samples("north", *trial.data["north"])), trial.manifest)
    return trial.kits["north"] / "ledger.json"


_FILES: list[tuple[str, Callable[[Trial, random.Random], Path]]] = [
    ("manifest", _manifest),
    ("share to be sent", _share_to_be_sent),
    ("record of what was sent", _record_of_what_was_sent),
    ("result", _result),
    ("ledger", _ledger),
]
