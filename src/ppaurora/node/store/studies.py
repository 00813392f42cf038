"""Studies that this node's operator has accepted, and the one way to change their states."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from ppaurora.errors import InputError
from ppaurora.messages.owners import StudyState
from ppaurora.node.states import STUDY_CHANGES, StateError
from ppaurora.node.store.times import TimeTable
from ppaurora.study.manifest import Manifest

_ENDS = (StudyState.RELEASED, StudyState.EXPIRED, StudyState.DELETED)


@dataclass(frozen=True)
class StudyRecord:
    """A study as this node had it on record when it looked."""

    hash: str
    manifest: Manifest
    state: StudyState
    note: str
    failures: int
    accepted_at: float
    ended_at: float | None
    told_peers: bool


class StudyTable(TimeTable):
    """What was accepted, and how far it is."""

    def accept(self, manifest: Manifest) -> bool:
        """True if it is new here."""
        with self._transaction() as db:
            rows = db.execute("SELECT hash, state FROM studies WHERE name = ?", (manifest.study,)).fetchall()
            if rows:
                if rows[0]["hash"] != manifest.hash:
                    raise InputError(
                        f"another manifest was accepted under the name '{manifest.study}'; "
                        "give the new study its own name"
                    )
                state = rows[0]["state"]
                if state in (StudyState.EXPIRED, StudyState.DELETED):
                    raise InputError(
                        f"the study '{manifest.study}' is over here ({state}); it takes a new one, with a "
                        "name of its own"
                    )
                return False
            db.execute(
                "INSERT INTO studies (hash, name, manifest, accepted_at, state) VALUES (?, ?, ?, ?, ?)",
                (manifest.hash, manifest.study, manifest.text(), self.now(), StudyState.COLLECTING),
            )
            self.record_of(manifest.hash, f"the operator accepted the manifest {manifest.hash}")
        return True

    def studies(self) -> list[StudyRecord]:
        return [_record(row) for row in self._rows("SELECT * FROM studies ORDER BY accepted_at")]

    def study(self, hash_: str) -> StudyRecord | None:
        rows = self._rows("SELECT * FROM studies WHERE hash = ?", hash_)
        return _record(rows[0]) if rows else None

    def set_state(
        self,
        study: str,
        target: StudyState,
        note: str | None = None,
        *,
        among: Collection[StudyState] | None = None,
    ) -> None:
        """The one way to change a study's state; raises `StateError` for what the table does not have.

        With `among`, only from these states, of which the target may be one: then the study stays in it.
        Without a note, the one that is there stays.
        """
        with self._transaction() as db:
            state = self._state(study)
            stays = among is not None and state is target
            if (among is not None and state not in among) or not (stays or (state, target) in STUDY_CHANGES):
                raise StateError(f"the study is {state}")
            db.execute(
                "UPDATE studies SET state = ?, note = COALESCE(?, note), ended_at = COALESCE(ended_at, ?) "
                "WHERE hash = ?",
                (target, note, self.now() if target in _ENDS else None, study),
            )
            if target is StudyState.STOPPED:
                self.record_of(study, f"stopped: {note or 'no reason is known'}")

    def record_of(self, study: str, text: str) -> None:
        """An entry of the audit log that tells of a study, by its name."""
        rows = self._rows("SELECT name FROM studies WHERE hash = ?", study)
        self.record(f"{rows[0]['name']}: {text}")

    def _state(self, study: str) -> StudyState:
        (row,) = self._rows("SELECT state FROM studies WHERE hash = ?", study)
        return StudyState(row["state"])

    def has_begun(self, study: str) -> bool:
        """Whether an attempt was ever begun here."""
        return bool(self._rows("SELECT 1 FROM attempts WHERE study = ? LIMIT 1", study))

    def set_note(self, study: str, note: str) -> None:
        with self._transaction() as db:
            db.execute("UPDATE studies SET note = ? WHERE hash = ?", (note, study))

    def told_peers(self, study: str) -> None:
        """All other nodes know of the release."""
        with self._transaction() as db:
            db.execute("UPDATE studies SET told_peers = 1 WHERE hash = ?", (study,))


def _record(row: sqlite3.Row) -> StudyRecord:
    return StudyRecord(
        row["hash"],
        _parsed(row["manifest"], row["hash"]),
        StudyState(row["state"]),
        row["note"],
        row["failures"],
        row["accepted_at"],
        row["ended_at"],
        bool(row["told_peers"]),
    )


@functools.lru_cache(maxsize=1024)
def _parsed(text: str, hash_: str) -> Manifest:
    manifest = Manifest.parse(text, "the node's database")
    if manifest.hash != hash_:
        raise InputError("the node's database: a manifest is damaged; restore a backup")
    return manifest
