"""What owners have submitted, replaced and withdrawn, and when this node heard it. Lines are only added."""

from __future__ import annotations

from ppaurora.errors import PpauroraError
from ppaurora.io.models import from_json, to_json
from ppaurora.io.times import Time
from ppaurora.messages.owners import HistoryEntry, HistoryEvent
from ppaurora.node.store.studies import StudyTable

_MOST_LINES = 100  # of one owner in one study: every receipt carries them, and no receipt may grow too large


class TooOftenError(PpauroraError):
    """The owner has changed its mind too often."""


class HistoryTable(StudyTable):
    """A line for every word of an owner that was taken."""

    def history(self, study: str) -> tuple[HistoryEntry, ...]:
        """The earliest first."""
        return tuple(
            HistoryEntry(
                event=HistoryEvent(row["event"]),
                owner=row["owner"],
                revision=row["revision"],
                commitments=from_json(tuple[str, ...], row["commitments"]),
                at=Time(row["at"]),
            )
            for row in self._rows("SELECT * FROM history WHERE study = ? ORDER BY number", study)
        )

    def check_not_too_often(self, study: str, owner: str) -> None:
        """Before something new of an owner; what it has submitted, it can withdraw all the same."""
        query = "SELECT COUNT(*) AS lines FROM history WHERE study = ? AND owner = ?"
        (row,) = self._rows(query, study, owner)
        if row["lines"] >= _MOST_LINES:
            raise TooOftenError(f"this owner has submitted and withdrawn {row['lines']} times")

    def _remember(self, study: str, entry: HistoryEntry) -> None:
        """As a part of the transaction that does it."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO history (study, event, owner, revision, commitments, at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    study,
                    entry.event,
                    entry.owner,
                    entry.revision,
                    to_json(entry.commitments).decode(),
                    entry.at,
                ),
            )
