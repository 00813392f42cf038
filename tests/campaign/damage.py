"""Bits and ends of what nodes keep: shares, parts of results, and the database as a file."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ppaurora.errors import NotReleasedError, PpauroraError, RefusedError
from tests.campaign.tally import HEALED, RESTORED, RIGHT, BreachError, Tally
from tests.campaign.world import PROXIES, Trial, World
from tests.support.deployment import NODES
from tests.support.disks import change_on_disk
from tests.support.trials import becomes

_AT_ONCE = 4
_NEAR = 600  # bytes around a study's hash in a database: its rows


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def spoil(path: Path, chance: random.Random) -> str:
    """One bit, or the end of it."""
    size = path.stat().st_size
    if chance.random() < 0.75:
        flip(path, chance.randrange(8 * size))
        return "bit"
    os.truncate(path, chance.randrange(size))
    return "end"


def shares(world: World, trials: int, chance: random.Random) -> Tally:
    """Damage the shares of one owner, at one proxy, while the other owner is awaited."""
    tally = Tally("damaged shares at nodes")
    seeds = [chance.random() for _ in range(trials)]

    def one(seed: float) -> None:
        own = random.Random(seed)  # noqa: S311
        proxy = own.choice(PROXIES)
        tally.trial(proxy, lambda: _share(world, proxy, own))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, seeds))
    return tally


def _share(world: World, proxy: str, chance: random.Random) -> str:
    trial = world.trial("share")
    trial.submit_patiently("north")
    with world.store(proxy) as store:
        kept = store.submission(trial.manifest.hash, "north")
        assert kept is not None
        assert kept.file is not None
        path = store.shares / kept.file
    spoil(path, chance)
    trial.submit_patiently("harbour")
    owner = trial.owner("harbour")

    def is_noticed() -> bool:
        answers = owner.status().values()
        return any("north" in getattr(answer, "missing", ()) for answer in answers)

    if not becomes(lambda: is_noticed() or trial.begun() > 0) or trial.begun():
        raise BreachError(f"{trial.name}: an attempt began with a damaged share, or nobody noticed it")
    trial.submit_patiently("north")
    trial.check_result()
    trial.check_kept()
    return HEALED


def parts(world: World, trials: int, chance: random.Random) -> Tally:
    """Damage the parts of a released result, in the row of one owner at one proxy."""
    tally = Tally("damaged parts of results at nodes")
    for _ in range(trials):
        proxy = chance.choice(PROXIES)
        tally.trial(proxy, lambda proxy=proxy: _part(world, proxy, chance))  # type: ignore[misc]
    return tally


def _part(world: World, proxy: str, chance: random.Random) -> str:
    trial = world.trial("part")
    trial.submit_patiently()
    trial.check_result(owners=("harbour",))
    with world.store(proxy) as store:
        found = store.result(trial.manifest.hash, "north")
    assert found is not None
    kept = found[1].to_bytes()
    content = bytearray(kept)
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    damaged = bytes(content) if chance.random() < 0.75 else kept[: chance.randrange(len(kept))]
    row = (world.database(proxy), "results", "part")
    change_on_disk(*row, damaged, trial.manifest.hash, "north")
    try:
        trial.check_result(owners=("north",))
    except RefusedError as error:
        if error.code != "damaged":
            raise
    else:
        raise BreachError(f"{trial.name}: a damaged part was given out")
    finally:
        change_on_disk(*row, kept, trial.manifest.hash, "north")
    trial.check_result()
    return RESTORED


def databases(world: World, trials: int, chance: random.Random) -> Tally:
    """Damage the database of a node that is down: before all have submitted, or after the release."""
    tally = Tally("damaged databases of nodes")
    for number in range(trials):
        node, is_released = NODES[number % len(NODES)], chance.random() < 0.3
        when = "after the release" if is_released else "while collecting"
        tally.trial(
            f"{node} {when}",
            lambda node=node, done=is_released: _database(world, node, done, chance),  # type: ignore[misc]
        )
    return tally


def _database(world: World, node: str, is_released: bool, chance: random.Random) -> str:
    trial = world.trial("database")
    trial.submit_patiently(*(("north", "harbour") if is_released else ("north",)))
    if is_released:
        trial.check_result(owners=("harbour",))
    world.end(node)
    data = world.kit(node) / "data"
    backup = data.with_name("backup")
    shutil.copytree(data, backup)
    what = _spoil_database(world.database(node), trial.manifest.hash, chance)
    try:
        return _goes_on(world, node, trial)
    except BreachError as error:
        raise BreachError(f"{what}: {error}") from None
    except (PpauroraError, sqlite3.Error):
        world.end(node)
        shutil.rmtree(data)
        shutil.copytree(backup, data)
        world.start(node)
        trial.finish_again()
        return RESTORED
    finally:
        world.end(node)
        shutil.rmtree(data)
        backup.rename(data)
        world.start(node)


def _spoil_database(path: Path, study: str, chance: random.Random) -> str:
    """Near the study's rows, where it matters, more often than anywhere."""
    content = path.read_bytes()
    places = [place for place in range(len(content)) if content.startswith(study.encode(), place)]
    if chance.random() < 0.2:
        return spoil(path, chance) + " anywhere"
    place = chance.choice(places) + chance.randint(-_NEAR, _NEAR)
    place = max(0, min(place, len(content) - 1))
    flip(path, 8 * place + chance.randrange(8))
    return f"bit of byte {place} ({content[max(0, place - 12) : place + 12]!r})"


def _goes_on(world: World, node: str, trial: Trial) -> str:
    """To the right result, perhaps after another `submit`; or one of our errors says why not."""
    world.start(node)
    if not trial.has_result("harbour"):
        trial.submit("harbour")
    outcome = RIGHT
    try:
        trial.check_result(8)
    except NotReleasedError:
        trial.submit("north")
        trial.check_result(20)
        outcome = HEALED
    trial.check_kept()
    return outcome
