"""Data folders of nodes whose database was rolled back, and what is left of them."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ppaurora.node.store import (
    RolledBackError,
    Store,
    SubmissionRecord,
    recover_folder,
)
from ppaurora.study.manifest import Manifest


def submitted(store: Store, manifest: Manifest, owner: str = "harbour") -> SubmissionRecord:
    """A share in its file, and the row that names it."""
    share = owner.encode() * 40
    file = hashlib.sha256(share).hexdigest()[:32]
    (store.shares / file).write_bytes(share)
    record = SubmissionRecord(
        owner, 40, (hashlib.sha256(share).hexdigest(), "0" * 64), store.now(), file=file
    )
    return store.submit(manifest.hash, record)


def owners(store: Store, manifest: Manifest) -> list[str]:
    study = store.study(manifest.hash)
    return [] if study is None else [one.owner for one in store.submissions(study)]


def without_its_log(store: Store, folder: Path) -> Path:
    """The data folder of a node that was killed, in this folder: what came since the checkpoint is lost."""
    shutil.copytree(store.shares.parent, folder)
    (folder / "node.db-wal").unlink()
    return folder


def lose_database(folder: Path) -> None:
    for path in folder.glob("node.db*"):
        path.unlink()


def without_its_rows(store: Store, folder: Path) -> Path:
    """The data folder of a node whose database is gone."""
    shutil.copytree(store.shares.parent, folder)
    lose_database(folder)
    return folder


def recovered(folder: Path) -> Store:
    with pytest.raises(RolledBackError) as found:
        Store(folder)
    recover_folder(folder, found.value.rollback)
    return Store(folder)


def new_file(store: Store) -> str:
    (store.shares / "later").write_bytes(b"harbour" * 40)
    return "later"


def rolled_back_before_attempt(store: Store, manifest: Manifest, folder: Path, revision: int) -> Store:
    """Recovered: of what harbour had submitted, the last revision was lost, with the attempt that began."""
    record = submitted(store, manifest)
    if revision == 1:
        store.withdraw(manifest.hash, "harbour", 2)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    latest = replace(record, revision=revision + 1, file=new_file(store))
    agreed = store.submit(manifest.hash, replace(latest, revision=3)).submitted
    store.begin_attempt(manifest.hash, 1, (agreed,))
    without_its_log(store, folder)
    return recovered(folder)
