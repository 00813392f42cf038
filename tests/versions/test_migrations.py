"""Data folders that earlier states have left, as today's ppaurora finds them."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.messages import VERSION
from ppaurora.messages.owners import StudyState
from ppaurora.node.audit import check_log
from ppaurora.node.store import Store, hold
from ppaurora.node.store import database as database_module
from ppaurora.node.store.database import SCHEMA_VERSION
from ppaurora.study.manifest import Manifest
from tests.support.repository import ROOT
from tests.versions.earlier import SCHEMAS, data_folder

LAST = SCHEMA_VERSION - 1  # the schema of the state whose newest version was 9
VERSION_OF = {1: 1, 2: 2, 4: 3, 5: 3, 6: 6, 7: 8, 8: 9}  # which manifests were in use with a schema
EARLIER = tuple(schema for schema in SCHEMAS if schema < LAST)


def rows(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that a database has, by table, without what it is told by."""
    with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in names}  # noqa: S608


def structure(database: Path) -> set[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(database)) as db:
        return set(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))


def version_of(database: Path) -> int:
    with contextlib.closing(sqlite3.connect(database)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_database_becomes_one_of_today_and_stays_as_a_copy(schema: int, tmp_path: Path) -> None:
    """No study of an earlier version begins anew, and what there is has the structure of a new one."""
    folder = data_folder(schema, "over", tmp_path)
    before = rows(folder / "node.db")
    with Store(tmp_path / "new"), Store(folder) as store:
        (name, hash_) = store._rows("SELECT name, hash FROM studies")[0]
        assert [study.manifest.study for study in store.studies()] == (["trial"] if schema == LAST else [])
        assert store.writing_problem() == ""
        assert check_log(*store.audit_log()).problem == ""
        store.record("a line of today")
        assert check_log(*store.audit_log()).problem == ""
    assert structure(folder / "node.db") == structure(tmp_path / "new" / "node.db")
    copy = folder / f"node.db.schema-{schema}"
    assert rows(copy) == before
    assert copy.stat().st_mode & 0o077 == 0
    now = rows(folder / "node.db")
    assert [row[:2] for row in now["studies"]] == [(hash_, name)]
    assert len(now["submissions"]) == len(before["submissions"])
    with Store(folder):
        pass  # once is enough


@pytest.mark.parametrize("schema", EARLIER)
@pytest.mark.parametrize(("kind", "state"), [("under-way", "collecting"), ("released", "released")])
def test_a_study_that_only_an_earlier_state_can_go_on_with_keeps_everything_as_it_is(
    schema: int, kind: str, state: str, tmp_path: Path
) -> None:
    folder = data_folder(schema, kind, tmp_path)
    before = rows(folder / "node.db")
    with pytest.raises(InputError) as refused:
        Store(folder)
    assert f"cannot go on with 'trial' ({state}, version {VERSION_OF[schema]})" in str(refused.value)
    assert "Nothing was changed. Go back to that one" in str(refused.value)
    assert rows(folder / "node.db") == before
    assert version_of(folder / "node.db") == schema
    assert not list(folder.glob("*.schema-*"))


def test_a_study_under_way_goes_on(tmp_path: Path) -> None:
    """With all its shares; `test_overlap.py` sees one to its release."""
    with Store(data_folder(LAST, "under-way", tmp_path)) as store:
        (study,) = store.studies()
        assert study.state is StudyState.COLLECTING
        assert study.manifest.version == VERSION - 1
        store.check_shares(study, 0)
        assert [one.owner for one in store.submissions(study)] == ["north", "harbour"]
        assert [entry.owner for entry in store.history(study.hash)] == ["north", "harbour"]
    with Store(data_folder(LAST, "released", tmp_path)) as store:
        (study,) = store.studies()
        assert study.state is StudyState.RELEASED
        assert store.result(study.hash, "valley") is not None
        assert len(store.statements(study.hash)) == 3


def test_copies_are_kept_no_longer_than_what_they_hold(tmp_path: Path) -> None:
    folder = data_folder(LAST, "released", tmp_path)
    with Store(folder) as store:
        (study,) = store.studies()
        assert list(folder.glob("*.schema-*"))
        store.expire(study.hash)
        assert not list(folder.glob("*.schema-*"))


def test_a_damaged_database_is_not_written_anew(tmp_path: Path) -> None:
    folder = data_folder(LAST, "released", tmp_path)
    with contextlib.closing(sqlite3.connect(folder / "node.db")) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE results SET part = x'00' WHERE owner = 'north'")
        for _, sql in triggers:
            db.execute(sql)
        db.commit()
    with pytest.raises(InputError, match=r"the database is damaged \(results\)"):
        Store(folder)
    assert version_of(folder / "node.db") == LAST


def test_a_database_that_an_earlier_node_works_with_is_left_alone(tmp_path: Path) -> None:
    """A command of the new ppaurora, run before the node was stopped, takes nothing away from it."""
    folder = data_folder(LAST, "under-way", tmp_path)
    with hold(folder), pytest.raises(InputError, match="if that is an earlier ppaurora, stop it first"):
        Store(folder)
    assert version_of(folder / "node.db") == LAST
    with Store(folder) as store:
        assert len(store.studies()) == 1


# Opens the folder, and dies as by a power cut when SQLite has begun so many statements.
_DIES = """
import os, pathlib, sys
from ppaurora.node.store import Store, database
left = int(sys.argv[2])
connect = database._connect

def count(statement):
    global left
    left -= 1
    if left < 0:
        os._exit(9)

def traced(file):
    db = connect(file)
    db.set_trace_callback(count)
    return db

database._connect = traced
Store(pathlib.Path(sys.argv[1])).close()
"""


@pytest.mark.long
def test_a_node_that_dies_on_the_way_has_the_old_database_or_the_new_one(tmp_path: Path) -> None:
    """At any statement; whoever comes next goes on."""
    ends = []
    for statements in range(0, 600, 9):
        folder = data_folder(LAST, "under-way", tmp_path / str(statements))
        died = subprocess.run(
            [sys.executable, "-c", _DIES, str(folder), str(statements)],
            cwd=ROOT,
            env=os.environ,
            check=False,
        )
        ends.append((died.returncode, version_of(folder / "node.db")))
        with Store(folder) as store:
            (study,) = store.studies()
            assert [one.owner for one in store.submissions(study)] == ["north", "harbour"]
        if died.returncode == 0:
            break
    assert ends[-1] == (0, SCHEMA_VERSION)
    assert ends.count((9, LAST)) > 5
    assert {code for code, _ in ends[:-1]} == {9}


def test_the_next_version_keeps_how_far_a_database_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a column more; and the copy is not rolled back, as long as nothing was changed since."""
    folder = data_folder(LAST, "under-way", tmp_path)
    with Store(folder) as store:
        store.set_note(store.studies()[0].hash, "of before")
    changes = rows(folder / "node.db")["progress"][0][1]
    with monkeypatch.context() as patch:
        patch.setattr(database_module, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
        wider = database_module._SCHEMA.replace("note TEXT", "more TEXT DEFAULT 'more', note TEXT", 1)
        patch.setattr(database_module, "_SCHEMA", wider)
        with Store(folder) as later:
            assert later._rows("SELECT note, more FROM studies")[0][:] == ("of before", "more")
            assert later._rows("SELECT changes FROM progress")[0]["changes"] == changes
            assert later.writing_problem() == ""
    with pytest.raises(InputError, match="was written by a newer ppaurora"):
        Store(folder)
    (folder / f"node.db.schema-{SCHEMA_VERSION}").rename(folder / "node.db")
    with Store(folder) as back:
        assert back.studies()[0].note == "of before"


def test_a_manifest_of_another_version_says_which(tmp_path: Path) -> None:
    for schema in EARLIER:
        folder = data_folder(schema, "over", tmp_path / str(schema))
        ((manifest,),) = [row[2:3] for row in rows(folder / "node.db")["studies"]]
        assert json.loads(str(manifest))["version"] == VERSION_OF[schema]
        with pytest.raises(InputError, match="takes part in studies of version"):
            Manifest.parse(str(manifest), "an earlier one")
