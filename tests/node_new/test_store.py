"""What a node keeps, and in which form."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from ppaurora.errors import InputError
from ppaurora.node.store import Store, SubmissionRecord
from ppaurora.node.store.database import SCHEMA_VERSION
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.manifest import Manifest


@pytest.mark.parametrize(
    ("version", "problem"),
    [(1, "before the first release"), (SCHEMA_VERSION + 1, "newer ppaurora; upgrade this one")],
)
def test_a_database_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, version: int, problem: str
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "node.db")) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(InputError, match=problem):
        Store(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "node.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
        assert db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)


def test_a_store_is_found_again_as_it_was(tmp_path: Path, manifest: Manifest) -> None:
    """Also commitments of more servers than two."""
    kept = SubmissionRecord("north", 20, ("0" * 64, "1" * 64, "2" * 64), time.time())
    part = ResultShare(np.arange(6, dtype=np.uint64).reshape(2, 3))
    with Store(tmp_path / "data") as store:
        assert store.accept(manifest)
        assert not store.accept(manifest)
        store.submit(manifest.hash, kept)
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {"north": part})
    with Store(tmp_path / "data") as store:
        assert store.submission(manifest.hash, "north") == kept
        found = store.result(manifest.hash, "north")
        assert found is not None
        assert (found[0], found[1].to_bytes()) == (1, part.to_bytes())
    with contextlib.closing(sqlite3.connect(tmp_path / "data/node.db")) as db:
        (text,) = db.execute("SELECT commitments FROM submissions").fetchone()
        assert json.loads(text) == list(kept.commitments)
        assert db.execute("SELECT part FROM results").fetchone() == (part.to_bytes(),)


def test_what_fails_inside_a_transaction_undoes_all_of_it(store: Store, manifest: Manifest) -> None:
    """Also what was done by another method, whose transaction is a part of it."""
    store.begin_attempt(manifest.hash, 1)
    store.set_note(manifest.hash, "before")
    before = store.study(manifest.hash)

    def expire_and_fail() -> None:
        with store._transaction():
            store.expire(manifest.hash)
            raise InputError("something else goes wrong")

    with pytest.raises(InputError, match="something else"):
        expire_and_fail()
    assert store.study(manifest.hash) == before
