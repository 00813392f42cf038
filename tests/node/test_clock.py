"""A wrong clock deletes nothing, and a clock that goes back keeps nothing for ever."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ppaurora.messages.owners import StudyState
from ppaurora.node import clock as clock_module
from ppaurora.node.clock import Clock
from ppaurora.node.node import Node
from ppaurora.node.retention import is_over
from ppaurora.node.store import Store
from ppaurora.study.manifest import Manifest
from tests.support.trials import PAIR, RunCommand, StartNode, becomes, kept_share, part

HOUR, DAY, YEAR = 3_600.0, 86_400.0, 365 * 86_400.0


@dataclass
class MadeUpTime:
    """The machine's clock and the steady one, in the hands of a test."""

    wall: float
    steady: float = 1_000.0

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def jump(self, seconds: float) -> None:
        self.wall += seconds


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> MadeUpTime:
    times = MadeUpTime(time.time())
    monkeypatch.setattr(time, "time", lambda: times.wall)
    monkeypatch.setattr(clock_module, "steady_seconds", lambda: times.steady)
    return times


def expires(store: Store, clock: Clock) -> bool:
    clock.look()
    (study,) = store.studies()
    return is_over(store, study, clock.now())


def test_a_jump_ahead_deletes_nothing_until_the_operator_confirms_it(
    store: Store, manifest: Manifest, times: MadeUpTime, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(store)
    kept_share(store, manifest)
    with caplog.at_level(logging.WARNING):
        times.jump(31 * DAY)
        assert not expires(store, clock)
    assert [record.getMessage() for record in caplog.records] == ["the clock is not trusted"]
    assert "31.0 days ahead" in clock.problem
    times.pass_by(29 * DAY)
    assert not expires(store, clock)
    store.confirm_time(times.wall)
    assert expires(store, clock)
    assert clock.problem == ""


@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_time_that_has_passed_counts_although_the_clock_is_wrong(
    store: Store, manifest: Manifest, times: MadeUpTime, jump: float
) -> None:
    """Nothing is kept for longer because a clock is not believed, ahead or behind."""
    clock = Clock(store)
    kept_share(store, manifest)
    times.jump(jump)
    times.pass_by(29 * DAY)
    assert not expires(store, clock)
    times.pass_by(2 * DAY)
    assert expires(store, clock)


def test_days_count_from_the_last_submission_and_then_from_the_release(
    store: Store, manifest: Manifest, times: MadeUpTime
) -> None:
    """Owners may submit weeks after each other: what the first has sent is kept for the last."""
    clock = Clock(store)
    days = manifest.terms.limits.retention_days
    for owner in PAIR:
        kept_share(store, manifest, owner)
        times.pass_by((days - 1) * DAY)
        assert not expires(store, clock)
    store.begin_attempt(manifest.hash, 1)
    store.computed(manifest.hash, 1, {"north": part(np.zeros(4))})
    store.release(manifest.hash, 1)
    times.pass_by((days - 1) * DAY)
    assert not expires(store, clock)
    times.pass_by(DAY)
    assert expires(store, clock)


def test_what_is_stamped_while_the_clock_is_wrong_has_the_nodes_own_time(
    store: Store, manifest: Manifest, times: MadeUpTime
) -> None:
    """Neither is it deleted at once when the clock is right again, nor a year later than it should be."""
    clock = Clock(store)
    start = times.wall
    for jump in (YEAR, -2 * YEAR):
        times.jump(jump)
        assert abs(store.now() - start) < 1
    times.jump(YEAR)
    assert not expires(store, clock)
    assert clock.problem == ""


@pytest.mark.parametrize(("stopped", "believed"), [(2 * DAY, True), (8 * DAY, False)])
def test_a_stop_is_believed_for_a_week(
    store: Store, times: MadeUpTime, stopped: float, believed: bool
) -> None:
    Clock(store).close()
    times.pass_by(stopped)
    clock = Clock(store)
    assert (clock.problem == "") == believed
    assert (clock.now() == times.wall) == believed


def test_a_restart_does_not_make_a_jump_credible(store: Store, times: MadeUpTime) -> None:
    """Not even one that could be a stop; but a clock that was put right meanwhile is believed."""
    clock = Clock(store)
    times.jump(6 * DAY)
    clock.look()
    times.pass_by(HOUR)
    assert "6.0 days ahead" in Clock(store).problem
    times.jump(-6 * DAY)
    times.pass_by(2 * HOUR)
    assert Clock(store).problem == ""


def test_a_machine_that_starts_without_a_clock_is_believed_once_it_has_one(
    store: Store, times: MadeUpTime
) -> None:
    Clock(store).close()
    right = times.wall + DAY
    times.wall = 0.0
    clock = Clock(store)
    assert "behind" in clock.problem
    times.wall = right
    clock.look()
    assert (clock.problem, clock.now()) == ("", right)


def test_a_clock_put_back_and_confirmed_counts_anew_from_then_at_the_latest(
    store: Store, manifest: Manifest, times: MadeUpTime
) -> None:
    """The node began with a clock that was a year ahead: what it stamped happened now at the latest."""
    clock = Clock(store)
    store.now = clock.now
    kept_share(store, manifest)
    store._db.execute("UPDATE submissions SET received_at = ?", (times.wall,))
    times.jump(-YEAR)
    clock.look()
    assert "behind" in clock.problem
    store.confirm_time(times.wall)
    times.pass_by(29 * DAY)
    assert not expires(store, clock)
    times.pass_by(2 * DAY)
    assert expires(store, clock)


@pytest.fixture
def released(alone: StartNode) -> Node:
    """A node with a result that was released today."""

    def prepare(store: Store, manifest: Manifest) -> None:
        kept_share(store, manifest)
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {owner: part(np.zeros(4)) for owner in PAIR})
        store.release(manifest.hash, 1)

    return alone("proxy-1", prepare)


def test_a_node_says_that_it_does_not_believe_the_clock(
    released: Node, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, for `/healthz`; in the metrics; by `studies`. The operator's confirmation ends it."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + YEAR)
    health, (study,) = released.activity.health, released.store.studies()
    assert becomes(lambda: "365.0 days ahead" in health.clock)
    assert all(finding.ok for finding in health.findings)
    assert becomes(lambda: b"ppaurora_clock_not_trusted 1.0" in released.metrics.text())
    assert becomes(lambda: "days ahead of this node's count" in run("studies", released.kit.folder)[1])
    assert released.store.result(study.hash, PAIR[0]) is not None
    code, said = run("confirm-clock", released.kit.folder, "--yes")
    assert (code, "will be deleted: their time is over" in said) == (0, True)
    assert becomes(lambda: released.store.studies()[0].state is StudyState.EXPIRED)
    assert becomes(lambda: health.clock == "")


def test_who_does_not_confirm_changes_nothing(
    released: Node, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    code, said = run("confirm-clock", released.kit.folder)
    assert (code, "not confirmed" in said) == (2, True)
    seen: Any = released.store.seen_time()
    assert seen.confirmations == 0
