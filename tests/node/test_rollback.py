"""A database that is older than what its node has done, or damaged: noticed at a start, and told of."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.node.store import (
    DamagedDatabaseError,
    RolledBackError,
    Store,
    trouble_of,
)
from ppaurora.node.store.database import Database
from ppaurora.node.store.mark import Mark, Reached
from ppaurora.node.store.rollback import find_rollback
from ppaurora.study.manifest import Manifest
from tests.support.rolled_back import owners, submitted
from tests.support.trials import kept_share

_WAL_HEADER, _FRAME_HEADER = 32, 24


def frames(wal: bytes) -> Iterator[int]:
    """Where the frames of a write-ahead log begin."""
    (page,) = struct.unpack(">I", wal[8:12])
    yield from range(_WAL_HEADER, len(wal), _FRAME_HEADER + page)


def is_noticed(folder: Path, manifest: Manifest) -> bool:
    """Whether it is refused, with every file as it was; else nothing may be missing."""
    files = [path for path in folder.rglob("*") if path.is_file() and "-shm" not in path.name]
    before = [path.read_bytes() for path in files]
    try:
        with Store(folder) as store:
            assert sorted(owners(store, manifest)) == ["harbour", "north"]
    except RolledBackError as error:
        refusal = error
    else:
        return False
    assert refusal.exit_code == 2
    assert "was rolled back" in str(refusal)
    assert "north submitted" in str(refusal) or not (folder / "audit.log").exists()
    assert [path.read_bytes() for path in files] == before
    return True


def test_a_folder_as_the_kill_left_it_has_everything(killed: Callable[[], Path], manifest: Manifest) -> None:
    with Store(killed()) as store:
        assert sorted(owners(store, manifest)) == ["harbour", "north"]


def test_a_write_ahead_log_that_was_cut_anywhere_is_noticed(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    whole = (killed() / "node.db-wal").read_bytes()
    noticed = []
    for place in (0, 10, _WAL_HEADER, *(at + more for at in frames(whole) for more in (0, 12, 500))):
        folder = killed()
        (folder / "node.db-wal").write_bytes(whole[:place])
        noticed.append(is_noticed(folder, manifest))
    assert all(noticed[:-6])  # what follows the last change is that the audit log has it
    folder = killed()
    (folder / "node.db-wal").unlink()
    assert is_noticed(folder, manifest)


def test_a_flipped_bit_in_any_frame_is_noticed(killed: Callable[[], Path], manifest: Manifest) -> None:
    """Of what follows the last commit, nothing is needed."""
    whole = (killed() / "node.db-wal").read_bytes()
    noticed = 0
    for place in [3, 17, 25, *(at + more for at in frames(whole) for more in (0, 9, 17, 100, 3_000))]:
        folder = killed()
        damaged = bytearray(whole)
        damaged[place] ^= 4
        (folder / "node.db-wal").write_bytes(damaged)
        noticed += is_noticed(folder, manifest)
    assert noticed > 10


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b""), lambda path: path.unlink()])
def test_no_database_beside_an_audit_log_is_noticed(
    spoil: Callable[[Path], object], killed: Callable[[], Path], manifest: Manifest
) -> None:
    folder = killed()
    spoil(folder / "node.db")
    (folder / "node.db-wal").unlink()
    assert is_noticed(folder, manifest)
    (folder / "node.mark").unlink()
    assert is_noticed(folder, manifest)
    (folder / "audit.log").unlink()
    with Store(folder) as store:  # nothing is left that could tell
        assert store.studies() == []


def test_the_mark_alone_tells(killed: Callable[[], Path]) -> None:
    folder = killed()
    (folder / "node.db-wal").unlink()
    (folder / "audit.log").unlink()
    with pytest.raises(RolledBackError, match="lacks 2 changes"):
        Store(folder)


def test_without_the_comparison_submissions_would_be_lost_silently(
    killed: Callable[[], Path], manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the tests above."""
    monkeypatch.setattr(Database, "_check_not_rolled_back", lambda self: None)
    folder = killed()
    (folder / "node.db-wal").unlink()
    with pytest.raises(AssertionError):
        is_noticed(folder, manifest)


def test_a_page_of_an_earlier_time_is_damage(store: Store, manifest: Manifest, tmp_path: Path) -> None:
    """A write that the disk forgot: the rows that are there are as they were written, and one is missing."""
    kept_share(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    earlier = store._file.read_bytes()
    submitted(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    later = store._file.read_bytes()
    (size,) = struct.unpack(">H", later[16:18])
    noticed = 0
    for start in range(0, len(earlier), size):
        if earlier[start : start + size] == later[start : start + size]:
            continue
        folder = tmp_path / f"forgotten-{start}"
        shutil.copytree(store.shares.parent, folder)
        (folder / "node.db").write_bytes(
            later[:start] + earlier[start : start + size] + later[start + size :]
        )
        with pytest.raises(InputError, match=r"damaged|rolled back"):
            Store(folder)
        noticed += 1
    assert noticed > 3


def test_a_mark_that_was_torn_has_the_number_before(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    assert mark.read() == Reached()
    for number in (1, 2, 3):
        mark.raise_to(Reached(number, 10 * number))
        assert mark.read() == Reached(number, 10 * number)
    mark.raise_to(Reached(2, 20))
    assert mark.read() == Reached(3, 30)
    content = bytearray((tmp_path / "node.mark").read_bytes())
    content[100] ^= 1  # in the first slot, which was written last
    (tmp_path / "node.mark").write_bytes(content)
    assert mark.read() == Reached(2, 20)


def test_a_mark_that_somebody_holds_is_waited_for_and_no_longer(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    mark.raise_to(Reached(1, 1))
    with (tmp_path / "node.mark").open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as held:
            mark.raise_to(Reached(2, 2))
    assert trouble_of(held.value) == "the database is locked"
    mark.raise_to(Reached(2, 2))
    assert mark.read() == Reached(2, 2)


@pytest.mark.parametrize("what", ["sqlite_schema", "studies", "sqlite_autoindex_submissions_1"])
def test_a_page_that_is_none_is_said_to_be_damage(
    killed: Callable[[], Path], manifest: Manifest, what: str
) -> None:
    """Whether the schema, a table or an index is on it; and whatever else is behind."""
    folder = killed()
    with contextlib.closing(sqlite3.connect(folder / "node.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = db.execute("SELECT rootpage - 1 FROM sqlite_schema WHERE name = ?", (what,)).fetchone()
    page = 0 if found is None else found[0]
    content = bytearray((folder / "node.db").read_bytes())
    content[page * 4096 + 100 : page * 4096 + 4096] = bytes(3996)
    (folder / "node.db").write_bytes(content)
    with pytest.raises(DamagedDatabaseError, match=r"(?s)the database is damaged.*ppaurora recover"):
        Store(folder)


def test_what_was_rolled_back_and_is_damaged_is_said_to_be_damage(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    """There is nothing to go on from: recovering would find a row missing."""
    kept_share(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    earlier = (store.shares.parent / "node.db").read_bytes()
    with contextlib.closing(sqlite3.connect(store._file)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'progress'").fetchone()
    submitted(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = tmp_path / "killed"
    shutil.copytree(store.shares.parent, folder)
    content = bytearray((folder / "node.db").read_bytes())
    content[(root - 1) * 4096 : root * 4096] = earlier[(root - 1) * 4096 : root * 4096]
    (folder / "node.db").write_bytes(content)
    with pytest.raises(DamagedDatabaseError, match="progress"):
        Store(folder)


def test_what_a_crash_left_of_the_first_transaction_of_all_is_undone(tmp_path: Path) -> None:
    """A journal beside a database that has no write-ahead log yet: nothing was acknowledged, nothing lost."""
    with contextlib.closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE begun (a)")
        db.execute("BEGIN IMMEDIATE")
        db.execute("PRAGMA cache_size = 1")
        for _ in range(40):
            db.execute("INSERT INTO begun VALUES (zeroblob(4000))")
        folder = tmp_path / "killed"
        folder.mkdir()
        for name in ("node.db", "node.db-journal"):
            shutil.copyfile(tmp_path / name, folder / name)
        db.execute("ROLLBACK")
    assert find_rollback(folder / "node.db", Mark(folder), folder / "audit.log") is None
