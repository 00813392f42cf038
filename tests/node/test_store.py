"""What a node keeps and in which form; what is stored stays as it is."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from ppaurora.errors import InputError, PpauroraError
from ppaurora.messages.owners import StudyState
from ppaurora.node.states import AttemptState, StaleAttemptError
from ppaurora.node.store import Store, SubmissionRecord, hold
from ppaurora.node.store.database import SCHEMA_VERSION
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.manifest import Manifest
from tests.support.trials import Trials, kept_share, part


def test_a_released_result_is_never_replaced(store: Store, consortium: Trials) -> None:
    """Proxy 0 may begin attempt 2 while attempt 1 awaits its release; what was released stays as it is."""
    study = consortium.manifest.hash
    first, second = part(np.arange(4)), part(np.ones(4))
    store.begin_attempt(study, 1)
    store.computed(study, 1, {"north": first})
    store.begin_attempt(study, 2)
    store.release(study, 1)
    with contextlib.suppress(PpauroraError):
        store.computed(study, 2, {"north": second})
    found = store.result(study, "north")
    assert found is not None
    assert (found[0], found[1].to_bytes()) == (1, first.to_bytes())


def test_results_of_another_attempt_are_never_released(store: Store, consortium: Trials) -> None:
    """What owners get is of the attempt that was released, or nothing is released."""
    study = consortium.manifest.hash
    for number in (1, 2):
        store.begin_attempt(study, number)
        store.computed(study, number, {"north": part(np.full(4, number))})
    with pytest.raises(StaleAttemptError):
        store.release(study, 1)
    found = store.study(study)
    assert found is not None
    assert found.state is StudyState.RUNNING
    store.release(study, 2)
    assert store.attempt_state(study, 2) is AttemptState.RELEASED


def test_an_expired_study_is_over(store: Store, consortium: Trials) -> None:
    """An upload or an attempt that ends after the study's time does not bring it back."""
    study = consortium.manifest
    store.begin_attempt(study.hash, 1)
    store.set_state(study.hash, StudyState.EXPIRED)
    with contextlib.suppress(PpauroraError):
        kept_share(store, study)
    with contextlib.suppress(PpauroraError):
        store.computed(study.hash, 1, {"north": part(np.zeros(4))})
    with contextlib.suppress(PpauroraError):
        store.release(study.hash, 1)
    found = store.study(study.hash)
    assert found is not None
    assert found.state is StudyState.EXPIRED
    assert store.submission(study.hash, "north") is None
    assert store.result(study.hash, "north") is None


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        (
            SCHEMA_VERSION + 1,
            r"newer ppaurora \(schema 10; this one reads up to 9\). Upgrade this one; or go back",
        )
    ],
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


def test_shares_are_told_once_to_be_deleted_though_two_find_them(
    store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release and the watch over studies may both delete them."""
    store.accept(manifest)
    kept_share(store, manifest)
    told: list[int] = []
    unlink = Path.unlink

    def unlink_beside_another(path: Path, *, missing_ok: bool = False) -> None:
        unlink(path, missing_ok=missing_ok)
        if not told:
            told.append(-1)
            told[0] = store.forget_shares(manifest.hash)

    monkeypatch.setattr(Path, "unlink", unlink_beside_another)
    told.append(store.forget_shares(manifest.hash))
    assert told == [1, 0]


@pytest.mark.parametrize(("state", "submitted"), [(StudyState.RUNNING, []), (StudyState.RELEASED, ["north"])])
def test_of_a_released_study_no_share_is_missed_while_they_are_deleted(
    state: StudyState, submitted: list[str], store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whoever looks between two files sees it; while a study goes on, a share that is gone is missed."""
    seen: list[list[str]] = []
    unlink = Path.unlink

    def unlink_while_watched(path: Path, *, missing_ok: bool = False) -> None:
        unlink(path, missing_ok=missing_ok)
        (study,) = store.studies()
        seen.append([one.owner for one in store.submissions(study)])

    monkeypatch.setattr(Path, "unlink", unlink_while_watched)
    kept_share(store, manifest)
    store.set_state(manifest.hash, StudyState.RUNNING)
    if state is not StudyState.RUNNING:
        store.set_state(manifest.hash, state)
    store.forget_shares(manifest.hash)
    assert seen == [submitted, submitted]  # the share, then its description


def test_a_share_that_does_not_fit_its_commitment_is_lost(store: Store, manifest: Manifest) -> None:
    """By the commitment that is this node's, whoever else's it fits."""
    (study,) = store.studies()
    (store.shares / "share").write_bytes(b"salt and share")
    commitment = hashlib.sha256(b"salt and share").hexdigest()
    kept = SubmissionRecord("north", 20, ("0" * 64, commitment), time.time(), "share")
    store.submit(manifest.hash, kept)
    store.check_shares(study, 1)
    assert store.lost_shares(study) == []
    (store.shares / "share").write_bytes(b"salt and shard")
    store.check_shares(study, 1)
    assert store.lost_shares(study) == ["north"]
    assert store.submissions(study) == []


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


def test_one_process_serves_a_kit(tmp_path: Path) -> None:
    """Two would undo each other's work; a lock that is let go of is free again."""
    for _ in range(2):
        with hold(tmp_path), pytest.raises(InputError, match="another process serves this kit"):
            hold(tmp_path)
