"""Rows of a node's database that a disk has changed: nothing is done with them, and nobody is accused."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.messages.owners import StudyState
from ppaurora.node.store import ConflictError, DamagedError, Store, database, row_checksums
from ppaurora.node.store.trouble import DAMAGED
from ppaurora.study.manifest import Manifest
from tests.support.disks import change_on_disk
from tests.support.trials import PAIR, Trials, becomes, kept_share, part


@pytest.fixture
def full(tmp_path: Path, consortium: Trials) -> Iterator[Store]:
    """Rows in every table."""
    study = consortium.manifest
    with Store(tmp_path / "full") as store:
        store.accept(study)
        store.see_time(1e9, 0.0, 0)
        for owner in PAIR:
            kept_share(store, study, owner)
        store.begin_attempt(study.hash, 1)
        store.computed(study.hash, 1, {owner: part([1, 2, 3, 4]) for owner in PAIR})
        with store._transaction() as db:
            db.execute("INSERT INTO statements VALUES (?, 'proxy-0', 'signed', NULL)", (study.hash,))
        yield store


@pytest.fixture
def manifest(consortium: Trials) -> Manifest:
    return consortium.manifest


def columns(store: Store) -> list[tuple[str, str]]:
    tables = [name for (name,) in store._db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return [(table, row[1]) for table in tables for row in store._db.execute(f"PRAGMA table_info({table})")]


def test_a_changed_bit_of_any_value_is_noticed(full: Store) -> None:
    """In the file itself: every value of every row is looked for there, and one of its bits is flipped."""
    assert full.writing_problem() == ""
    full._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = full._file.read_bytes()
    tried = set()
    for table, column in columns(full):
        for (value,) in full._db.execute(f"SELECT {column} FROM {table}"):  # noqa: S608
            written = value if isinstance(value, bytes) else str(value).encode()
            for place in (whole.find(written),) if isinstance(value, str | bytes) and value else ():
                assert place > 0
                damaged = bytearray(whole)
                damaged[place + len(written) // 2] ^= 1
                folder = full._file.parent / f"{table}-{column}"
                folder.mkdir(exist_ok=True)
                (folder / "node.db").write_bytes(damaged)
                with pytest.raises(InputError, match=r"node\.db"):
                    Store(folder)
                tried.add((table, column))
    tables = {"studies", "submissions", "history", "attempts", "results", "statements", "clock", "audit"}
    assert {table for table, _ in tried} == tables | {"progress"}
    assert ("submissions", "commitments") in tried


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("studies", "failures", 2),
        ("studies", "ended_at", 1.0),
        ("studies", "state", "collecting"),
        ("submissions", "samples", 21),
        ("submissions", "received_at", 1.0),
        ("submissions", "damaged", 1),
        ("attempts", "number", 9),
        ("attempts", "started_at", 1.0),
        ("results", "attempt", 3),
    ],
)
def test_a_changed_number_is_noticed_when_it_is_opened_and_while_it_runs(
    full: Store, manifest: Manifest, table: str, column: str, value: object
) -> None:
    owner = "north" if table in ("submissions", "results") else ""
    change_on_disk(full._file, table, column, value, manifest.hash, owner)
    assert full.writing_problem() == DAMAGED
    with pytest.raises(InputError, match=rf"damaged \({table}\).*Backup and restore"):
        Store(full._file.parent)


def test_an_owner_is_not_accused_of_what_a_disk_has_changed(
    full: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = full.submission(manifest.hash, "north")
    assert kept is not None
    change_on_disk(full._file, "submissions", "samples", 21, manifest.hash, "north")
    with pytest.raises(DamagedError):
        full.submit(manifest.hash, kept)
    monkeypatch.setattr(database, "damaged_tables", lambda db: [])  # the positive control
    with pytest.raises(ConflictError):
        full.submit(manifest.hash, kept)


def test_who_submits_something_else_is_still_told_so(full: Store, manifest: Manifest) -> None:
    kept = full.submission(manifest.hash, "north")
    assert kept is not None
    with pytest.raises(ConflictError):
        full.submit(manifest.hash, replace(kept, samples=kept.samples + 1))


def test_nothing_is_deleted_because_of_a_damaged_time(full: Store, manifest: Manifest) -> None:
    change_on_disk(full._file, "studies", "accepted_at", 1.0, manifest.hash)
    with pytest.raises(DamagedError):
        full.expire(manifest.hash)
    study = full.study(manifest.hash)
    assert study is not None
    assert study.state is StudyState.RUNNING
    assert full.holds_shares(manifest.hash)


def test_rows_keep_their_digests_whatever_is_done(full: Store, manifest: Manifest) -> None:
    full.release(manifest.hash, 1)
    full.told_peers(manifest.hash)
    full.forget_shares(manifest.hash)
    full.confirm_time(2e9)
    assert full.writing_problem() == ""
    full.expire(manifest.hash)
    assert full.writing_problem() == ""
    Store(full._file.parent).close()


def test_a_program_that_writes_no_digests_cannot_write(full: Store) -> None:
    with (
        contextlib.closing(sqlite3.connect(full._file)) as db,
        pytest.raises(sqlite3.OperationalError, match="seal_of"),
    ):
        db.execute("UPDATE studies SET failures = 0")


def test_a_node_with_a_damaged_row_goes_on_when_it_is_mended(nodes: Trials) -> None:
    """Meanwhile it says so, and accuses nobody."""
    manifest = nodes.study("damaged-row")
    upload = nodes.upload(manifest, 20)
    client = nodes.client("north", manifest)
    first = upload.send(client)
    row = (nodes.database("proxy-0"), "submissions", "samples")
    change_on_disk(*row, 21, manifest.hash, "north")
    try:
        assert nodes.refusal(lambda: upload.send(client)) == "not-ready"
        assert DAMAGED in nodes.spoken[-1]
        assert becomes(lambda: nodes.health("proxy-0") == (503, [DAMAGED]))
    finally:
        change_on_disk(*row, 20, manifest.hash, "north")
    assert upload.send(client) == first
    assert becomes(lambda: nodes.health("proxy-0") == (200, []))


def test_a_checksum_is_the_same_with_every_python() -> None:
    """A letter of Unicode 15, which Python 3.11 does not know and 3.12 does: an upgrade damages nothing."""
    values = ("\U0001fae8", 1, 0.1, None, b"\x00")
    content = "str 4 \U0001fae8int 1 1float 3 0.1NoneType 4 Nonebytes 1 \x00"
    assert row_checksums._row_checksum(*values) == hashlib.sha256(content.encode()).hexdigest()
    assert (
        row_checksums._row_checksum("a", "b")
        != row_checksums._row_checksum("ab", "")
        != row_checksums._row_checksum("1", "b")
    )
    assert (
        row_checksums._row_checksum(1)
        != row_checksums._row_checksum("1")
        != row_checksums._row_checksum(b"1")
        != row_checksums._row_checksum(1.0)
    )
