"""The last time that a node has seen, and what its operator has said of its clock."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.io.times import as_time
from ppaurora.node.store.audit import AuditTable


@dataclass(frozen=True)
class SeenTime:
    """`ahead` is how far the machine's clock was from the node's own count then, 0 if they agreed."""

    at: float
    ahead: float
    confirmations: int  # how often the operator has confirmed the machine's clock


class TimeTable(AuditTable):
    """One row."""

    def seen_time(self) -> SeenTime | None:
        rows = self._rows("SELECT seen_at, ahead, confirmations FROM clock")
        return SeenTime(rows[0]["seen_at"], rows[0]["ahead"], rows[0]["confirmations"]) if rows else None

    def see_time(self, at: float, ahead: float, confirmations: int) -> None:
        """Unless the operator has confirmed another time meanwhile."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO clock (id, seen_at) VALUES (1, ?)", (at,))
            db.execute(
                "UPDATE clock SET seen_at = ?, ahead = ? WHERE confirmations = ?", (at, ahead, confirmations)
            )

    def confirm_time(self, now: float) -> None:
        """The machine's clock is right. What was stamped later than now happened now at the latest."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO clock (id, seen_at) VALUES (1, ?)", (now,))
            self.record(f"the operator confirmed that the machine's clock is right: {as_time(now)}")
            db.execute("UPDATE clock SET seen_at = ?, ahead = 0, confirmations = confirmations + 1", (now,))
            db.execute("UPDATE submissions SET received_at = MIN(received_at, ?)", (now,))
            db.execute(
                "UPDATE studies SET accepted_at = MIN(accepted_at, ?), ended_at = MIN(ended_at, ?)",
                (now, now),
            )
