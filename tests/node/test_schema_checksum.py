"""Bits of a database's schema that a disk has flipped: the database is damaged, whatever its SQL does now."""

from __future__ import annotations

import collections
import contextlib
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.node.store import Store, rollback, row_checksums, trouble_of
from ppaurora.node.store.trouble import DAMAGED, READ_ONLY
from ppaurora.study.manifest import Manifest
from tests.support.deployment import command
from tests.support.trials import PAIR, Trials, kept_share, part

_HEADER = 100  # bytes, at the beginning of the first page
_INTERIOR = 5  # the kind of a page that has other pages below it

Rows = list[list[tuple[object, ...]]]


@pytest.fixture
def folder(tmp_path: Path, manifest: Manifest) -> Path:
    """Of a store with rows, and nothing in its write-ahead log."""
    with Store(tmp_path / "whole") as store:
        store.accept(manifest)
        store.see_time(1e9, 0.0, 0)
        for owner in PAIR:
            kept_share(store, manifest, owner)
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {owner: part([1, 2, 3, 4]) for owner in PAIR})
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return tmp_path / "whole"


def schema_pages(content: bytes) -> Iterator[range]:
    """Where the pages of the table `sqlite_schema` are in the file."""
    (size,) = struct.unpack(">H", content[16:18])

    def below(number: int) -> Iterator[range]:
        start = (number - 1) * size
        yield range(start, start + size)
        head = start + (_HEADER if number == 1 else 0)
        if content[head] == _INTERIOR:
            (count, _, _, last) = struct.unpack(">HHBI", content[head + 3 : head + 12])
            cells = struct.unpack(f">{count}H", content[head + 12 : head + 12 + 2 * count])
            for cell in cells:
                yield from below(*struct.unpack(">I", content[start + cell : start + cell + 4]))
            yield from below(last)

    return below(1)


def used_bytes(content: bytes) -> list[int]:
    """Those of the schema's pages that are not empty."""
    return [place for page in schema_pages(content) for place in page if content[place] or place < _HEADER]


def flip(folder: Path, place: int, bit: int) -> Path:
    """Copy it with this bit flipped."""
    copy = folder.with_name("flipped")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    content = bytearray((copy / "node.db").read_bytes())
    content[place] ^= 1 << bit
    (copy / "node.db").write_bytes(content)
    return copy


def rows(store: Store) -> Rows:
    named = store._db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    return [[tuple(row) for row in store._db.execute(f"SELECT * FROM {name}")] for (name,) in named]  # noqa: S608


def outcome(folder: Path, right: Rows) -> str:
    """How a node meets it: nothing is wrong, nothing can be written, or words for its operator."""
    try:
        with Store(folder) as store:
            trouble = store.writing_problem()
            assert trouble in ("", READ_ONLY), trouble
            assert rows(store) == right
            if not trouble:
                store.record("something happens")
                assert store.writing_problem() == ""
            return trouble or "whole"
    except InputError as error:
        return DAMAGED if DAMAGED in str(error) else str(error)


def test_any_flipped_bit_of_the_schema_is_damage_or_changes_nothing(folder: Path) -> None:
    """Of the header, page structure, and texts of tables and triggers: every 211th bit."""
    with Store(folder) as store:
        right = rows(store)
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    places = used_bytes((folder / "node.db").read_bytes())
    assert len(places) > 8_000
    bits = [(place, bit) for place in places for bit in range(8)]
    found = collections.Counter(outcome(flip(folder, *one), right) for one in bits[::211])
    assert found[DAMAGED] > 250
    whole = found["whole"] + found[READ_ONLY]  # in the header, which has fields that nobody reads
    assert whole < 20
    assert found.total() == found[DAMAGED] + whole, found


def replaced(folder: Path, old: bytes, new: bytes) -> Path:
    """Copy it with other bytes in the schema, where these are first."""
    copy = folder.with_name("replaced")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    content = (copy / "node.db").read_bytes()
    starts = [content.find(old, page.start, page.stop) for page in schema_pages(content)]
    place = max(starts)
    assert place > 0
    (copy / "node.db").write_bytes(content[:place] + new + content[place + len(new) :])
    return copy


TEXTS = {
    "a trigger for no row": (b"WHERE rowid = NEW.rowid", b"WHERE rowid > NEW.rowid"),
    "a column that queries do not find": (b"samples INTEGER", b"samplec INTEGER"),
    "a table of another name": (b"TABLE submissions (", b"TABLE submissionr ("),
    "no longer SQL": (b"CREATE TRIGGER", b"CREATE TRIGFER"),
    "no longer text": (b"CREATE TRIGGER seal", b"CREATE TRIGGER\xa0seal"),
    "a function that does not exist": (b"seal_of(", b"sean_of("),
    "a default": (b"failures INTEGER NOT NULL DEFAULT 0", b"failures INTEGER NOT NULL DEFAULT 1"),
}


@pytest.mark.parametrize(("old", "new"), TEXTS.values(), ids=TEXTS)
def test_a_changed_text_is_damage(folder: Path, old: bytes, new: bytes) -> None:
    with pytest.raises(InputError, match=rf"{DAMAGED} \(sqlite_schema\).*Backup and restore"):
        Store(replaced(folder, old, new))


def test_without_the_checksum_a_node_would_start_and_fail_later(
    folder: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    for module in (row_checksums, rollback):
        monkeypatch.setattr(module, "is_schema_damaged", lambda db: False)
    with Store(replaced(folder, *TEXTS["a column that queries do not find"])) as store:
        assert store.writing_problem() == ""
        study = store.study(manifest.hash)
        assert study is not None
        with pytest.raises((sqlite3.Error, IndexError), match=r"samples|No item"):
            store.submissions(study)
    with Store(replaced(folder, *TEXTS["a default"])) as store:
        assert store.writing_problem() == ""


def test_a_version_that_was_flipped_is_damage_and_no_other_version(folder: Path) -> None:
    version = 60 + 3  # the last byte of `user_version`
    for bit in range(8):
        with pytest.raises(InputError, match=rf"{DAMAGED} \(sqlite_schema\)"):
            Store(flip(folder, version, bit))


def test_a_schema_that_changes_while_the_node_runs_is_noticed(folder: Path) -> None:
    with Store(folder) as store:
        assert store.writing_problem() == ""
        with contextlib.closing(sqlite3.connect(folder / "node.db")) as db, db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NEW.rowid', 'OLD.rowid')")
        assert store.writing_problem() == DAMAGED


def test_every_database_has_a_checksum(folder: Path) -> None:
    """Zero is none."""
    with Store(folder) as store:
        assert store._db.execute("PRAGMA application_id").fetchone()[0] != 0


@pytest.mark.parametrize("query", ["SELECT samplec FROM submissions", "SELECT 1 FROM submissionr"])
def test_a_query_that_no_longer_fits_is_damage(folder: Path, query: str) -> None:
    with Store(folder) as store, pytest.raises(sqlite3.OperationalError) as found:
        store._rows(query)
    assert trouble_of(found.value) == DAMAGED


@pytest.mark.parametrize("name", ["serve", "studies", "audit"])
def test_commands_say_so(name: str, spoilt: Callable[[], Path]) -> None:
    done = command(name, spoilt())
    assert (done.returncode, DAMAGED in done.stderr) == (2, True), done.stderr


@pytest.fixture
def spoilt(tmp_path: Path, consortium: Trials) -> Callable[[], Path]:
    """The kit of a node whose schema says something that is no text."""
    kit = tmp_path / "kit"
    shutil.copytree(consortium.kit("helper"), kit, ignore=shutil.ignore_patterns("data"))
    with Store(kit / "data") as store:
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def spoil() -> Path:
        copy = replaced(kit / "data", *TEXTS["no longer text"])
        shutil.rmtree(kit / "data")
        copy.rename(kit / "data")
        return kit

    return spoil


def test_a_node_that_cannot_write_does_not_start(tmp_path: Path, consortium: Trials) -> None:
    """A version of the file's format that is to come, which SQLite only reads."""
    kit = tmp_path / "kit"
    shutil.copytree(consortium.kit("helper"), kit, ignore=shutil.ignore_patterns("data"))
    Store(kit / "data").close()
    flip(kit / "data", 18, 2).rename(kit / "spoilt")
    shutil.rmtree(kit / "data")
    (kit / "spoilt").rename(kit / "data")
    done = command("serve", kit)
    assert (done.returncode, READ_ONLY in done.stderr) == (2, True), done.stderr
