"""What a release rests on, and what nodes have signed of it."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.io.models import from_json, to_json
from ppaurora.messages.owners import SignedStatement, Submitted
from ppaurora.node.states import AttemptState
from ppaurora.node.store.attempts import AttemptTable
from ppaurora.node.store.trouble import DAMAGED, DamagedError
from ppaurora.sharing.commitment import Salt, commit


@dataclass(frozen=True)
class ReleasedAttempt:
    """The attempt that a study was released with, as this node took part in it."""

    number: int
    agreed: tuple[Submitted, ...]
    begun_at: float
    computed_at: float
    parts: dict[str, str]  # by owner, the commitment to this node's part of the result


class Store(AttemptTable):
    """All that a node keeps. Methods are atomic, durable on return, and may be called from any thread."""

    def released_attempt(self, study: str) -> ReleasedAttempt | None:
        rows = self._rows(
            "SELECT * FROM attempts WHERE study = ? AND state = ?", study, AttemptState.RELEASED
        )
        agreed = from_json(tuple[Submitted, ...], rows[0]["agreed"]) if rows else ()
        if not agreed:
            return None
        if self._is_damaged("results", "study = ?", study):
            raise DamagedError(DAMAGED)
        parts = self._rows("SELECT owner, part, salt FROM results WHERE study = ?", study)
        return ReleasedAttempt(
            rows[0]["number"],
            agreed,
            rows[0]["started_at"],
            rows[0]["ended_at"],
            {row["owner"]: commit(row["salt"], row["part"]) for row in parts},
        )

    def salt(self, study: str, owner: str) -> Salt | None:
        """Of the commitment to this node's part of the result."""
        rows = self._rows("SELECT salt FROM results WHERE study = ? AND owner = ?", study, owner)
        return Salt(rows[0]["salt"]) if rows else None

    def keep_statement(self, study: str, signed: SignedStatement) -> SignedStatement:
        """The first that a node signs counts; that is returned."""
        server = signed.statement.server
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO statements (study, server, content) VALUES (?, ?, ?)",
                (study, server, to_json(signed).decode()),
            )
            return self.statements(study)[server]

    def statements(self, study: str) -> dict[str, SignedStatement]:
        """By server."""
        rows = self._rows("SELECT server, content FROM statements WHERE study = ?", study)
        return {row["server"]: from_json(SignedStatement, row["content"]) for row in rows}
