"""Bits and ends of what is kept as evidence: receipts, filed results, audit logs."""

from __future__ import annotations

import random
from pathlib import Path

from ppaurora import verify_receipt
from ppaurora.errors import InputError, NotVerifiedError
from ppaurora.node.audit import check_log
from tests.campaign.damage import spoil
from tests.campaign.tally import NOTICED, BreachError, Tally
from tests.campaign.world import World
from tests.support.deployment import NODES

_OF_OWNERS = (".receipt.json", ".json")
_TRIALS_PER_STUDY = 10


def run(world: World, trials: int, chance: random.Random) -> Tally:
    """Files as they are, spoilt as copies; in the end the result is right, and all verify."""
    tally = Tally("damaged receipts, results and audit logs")
    while tally.trials < trials:
        trial = world.trial("signed")
        trial.finish()
        whole = [trial.kits["north"] / "results" / f"{trial.name}{end}" for end in _OF_OWNERS]
        for path in whole:
            verify_receipt(path)
        for number in range(min(_TRIALS_PER_STUDY, trials - tally.trials)):
            if number % 2:
                node = chance.choice(NODES)
                tally.trial("audit log", lambda node=node: _log(world, node, chance))  # type: ignore[misc]
            else:
                path = chance.choice(whole)
                tally.trial("receipt or result", lambda path=path: _file(path, chance))  # type: ignore[misc]
    return tally


def _file(path: Path, chance: random.Random) -> str:
    copy = path.with_name("spoilt.json")
    copy.write_bytes(path.read_bytes())
    how = spoil(copy, chance)
    try:
        verify_receipt(copy)
    except (NotVerifiedError, InputError):
        return NOTICED
    raise BreachError(f"{path.name} ({how}): verifies although it was changed")


def _log(world: World, node: str, chance: random.Random) -> str:
    with world.store(node) as store:
        content, kept = store.audit_log()
        copy = store.audit_file.with_name("spoilt.log")
    if check_log(content, kept).problem:
        raise BreachError(f"the audit log of {node} does not verify")
    copy.write_bytes(content)
    how = spoil(copy, chance)
    problem = check_log(copy.read_bytes(), kept).problem
    copy.unlink()
    if not problem:
        raise BreachError(f"the audit log of {node} ({how}) verifies although it was changed")
    return NOTICED
