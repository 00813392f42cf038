"""The short form of the campaign, always with the same choices; and that a campaign would notice."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ppaurora.node.store import row_checksums
from ppaurora.node.store.database import Database
from tests.campaign import amending, damage, data_folders, full_disk, mending, rolled_back
from tests.campaign.plan import KINDS, carry_out
from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.campaign.world import PROXIES, World, running
from tests.support.deployment import NODES
from tests.support.trials import becomes


@pytest.mark.long
def test_the_short_form(tmp_path: Path) -> None:
    kinds = {name: kind.short for name, kind in KINDS.items()}
    tallies = dict(carry_out(kinds, tmp_path, 12))
    assert {name: tally.breaches for name, tally in tallies.items()} == {name: [] for name in KINDS}
    assert all(tally.trials for tally in tallies.values())


def test_nodes_that_do_not_compare_shares_with_commitments_would_be_noticed(tmp_path: Path) -> None:
    with running(tmp_path) as world:
        for proxy in ("proxy-0", "proxy-1"):
            world.end(proxy)
            world.start_faulty(proxy, "skip ppaurora.node.store:Store.check_shares")
        tally = damage.shares(world, 1, random.Random(7))  # noqa: S311
    (breach,) = tally.breaches
    assert "an attempt began with a damaged share" in breach


def breaches(run: Callable[[int], Tally], most: int) -> str:
    """What must not be of the first trials in which something does: a kill comes at some moment."""
    for number in range(most):
        tally = run(number)
        if tally.breaches:
            return f"{tally.breaches} {dict(tally.details)}"
    return ""


def test_a_store_that_does_not_ask_whether_it_was_rolled_back_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "_check_not_rolled_back", lambda self: None)
    world, sorts = World(tmp_path), ("write-ahead log: deleted",)
    found = breaches(lambda number: data_folders.run(world, 1, random.Random(number), sorts), 10)  # noqa: S311
    assert "silently lost" in found


@pytest.mark.long
def test_a_store_that_does_not_add_up_its_rows_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of an earlier time are as they were written, and indexes fit them."""
    monkeypatch.setattr(row_checksums, "_has_all_rows", lambda db: True)
    world, sorts = World(tmp_path), ("page: with its earlier content",)
    found = breaches(lambda number: data_folders.run(world, 1, random.Random(number), sorts), 60)  # noqa: S311
    assert "silently lost" in found


def test_a_node_that_does_not_ask_whether_it_was_rolled_back_would_be_noticed(tmp_path: Path) -> None:
    def start(world: World, node: str) -> None:
        world.start_faulty(node, "skip ppaurora.node.store.database:Database._check_not_rolled_back")

    with running(tmp_path) as world:
        sorts, nodes = ("write-ahead log: deleted",), ("proxy-0",)
        found = breaches(
            lambda number: rolled_back.run(world, 1, random.Random(number), sorts, nodes, start),  # noqa: S311
            8,
        )
    assert "silently lost" in found


def test_a_result_on_what_was_withdrawn_would_be_noticed(tmp_path: Path) -> None:
    """Here the owner withdraws, submits something else, and is then said to have been told otherwise."""
    with running(tmp_path) as world:
        trial = world.trial("control")
        trial.submit_patiently("north")
        withdrawn = trial.data["north"]
        owner = mending.Undecided(trial, random.Random(1), Tally("made up"))  # noqa: S311
        owner._withdraw()
        trial.submit_patiently("harbour")
        trial.check_result()
        trial.data["north"] = withdrawn
        with pytest.raises(BreachError, match="instead of"):
            trial.check_result()


def test_an_attempt_that_not_all_have_agreed_to_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node asks for agreements, and no owner gives one."""

    def submit_afterwards(study: amending.Amended, owner: str, chance: random.Random) -> None:
        assert becomes(lambda: len(study.accepted) == len(NODES))
        study.submit_patiently(owner)

    monkeypatch.setattr(amending.Amended, "_agree", lambda *_: None)
    monkeypatch.setattr(amending.Amended, "_submit", submit_afterwards)
    with running(tmp_path) as world:
        for node in NODES:
            world.end(node)
            world.start_faulty(node, "skip ppaurora.node.store:Store.to_agree")
        study = amending.Amended.make(world, random.Random(1), Tally("made up"))  # noqa: S311
        study.sorts, study.hesitant = ("other limits",), None
        with pytest.raises(BreachError, match="has begun on amendment 1 without"):
            study.carry_out(0, NODES)


@pytest.mark.parametrize("node", PROXIES)
def test_a_disk_that_is_full_when_an_attempt_begins_costs_nobody_one(tmp_path: Path, node: str) -> None:
    """It was not when the node said that it was ready. At the helper it would: proxy 1 has begun by then."""
    with running(tmp_path) as world:
        assert full_disk.fill(world, node, "full ppaurora.node.store:Store.begin_attempt 1 2") == RIGHT


def test_what_nobody_foresaw_must_not_be() -> None:
    def breaks(error: Exception) -> str:
        raise error

    tally = Tally("made up")
    tally.trial("a", lambda: breaks(BreachError("lost")))
    tally.trial("b", lambda: breaks(KeyError("x")))
    tally.trial("c", lambda: "right result")
    assert tally.breaches == ["a: lost", "b: KeyError: 'x'"]
    assert tally.happened() == "1 right result; **2 that must not be**"
