"""What a node has acknowledged or begun is on its disk, in an order that a power cut cannot spoil."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import pytest

from ppaurora.node import runner as runner_module
from ppaurora.node.activity import Activity
from ppaurora.node.attempt import AttemptPlan
from ppaurora.node.metrics import Metrics
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.sni_router import SniRouter
from ppaurora.node.states import AttemptState
from ppaurora.node.store import Store
from ppaurora.node.uploads import receive_share
from ppaurora.sharing.commitment import SALT_BYTES, commit
from ppaurora.study.kit import NodeKit
from tests.support.trials import Trials

BODY = bytes(range(256)) * 4


class Upload:
    """As much of a request as is looked at."""

    content_length = len(BODY)

    def __init__(self) -> None:
        self.content = self
        self._left = BODY

    async def read(self, most: int) -> bytes:
        piece, self._left = self._left[:most], self._left[most:]
        return piece


def test_a_share_is_durable_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, int]] = []
    make_durable = os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        done.append((path.name, os.fstat(descriptor).st_size if path.is_file() else 0))
        make_durable(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    commitment = commit(BODY[:SALT_BYTES], BODY[SALT_BYTES:])
    path = asyncio.run(receive_share(cast(Any, Upload()), commitment, tmp_path))
    assert path.read_bytes() == BODY
    assert done == [(path.name, len(BODY)), (tmp_path.name, 0)]


def test_what_the_database_has_taken_survives_a_power_cut(store: Store) -> None:
    """SQLite's own setting: 2 is FULL, with which every transaction is synced."""
    assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_an_attempt_is_on_record_before_its_process_can_say_anything(
    store: Store, consortium: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its number, and with it its keys, could be used a second time after a crash."""
    (study,) = store.studies()
    states: list[AttemptState | None] = []

    class WatchedAttempt:
        number = 1

        def __init__(self, *_: object) -> None:
            states.append(store.attempt_state(study.hash, self.number))

    monkeypatch.setattr(runner_module, "Attempt", WatchedAttempt)
    kit = NodeKit.read(consortium.kit("helper"))
    runner = AttemptRunner(kit, store, cast(SniRouter, None), Activity(), Metrics())
    runner.start(study, AttemptPlan(study.manifest, 1, "0" * 32, ()))
    assert states == [AttemptState.RUNNING]
