"""The short form of the campaign, always with the same choices; and that a campaign would notice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.campaign import damage, full_disk, mending
from tests.campaign.plan import KINDS, carry_out
from tests.campaign.tally import RIGHT, BreachError, Tally
from tests.campaign.world import PROXIES, running


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
