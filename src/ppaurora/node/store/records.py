"""Records that the store reads from its rows, and the errors of what it does not take."""

from __future__ import annotations

import functools
import sqlite3
from dataclasses import dataclass, field
from typing import Self

from ppaurora.errors import InputError, PpauroraError
from ppaurora.io.models import from_json
from ppaurora.io.times import as_time
from ppaurora.messages.owners import OVER, HistoryEntry, HistoryEvent, StudyState, Submitted
from ppaurora.node.states import AttemptState
from ppaurora.policy.rules import Floors
from ppaurora.study.amendments import Amendment, Amendments
from ppaurora.study.manifest import Manifest


@dataclass(frozen=True)
class SeenTime:
    """The node's time when it was last written down, and how far the machine's clock was ahead of it."""

    at: float
    ahead: float  # 0 if they agreed
    confirmations: int  # how often the operator has confirmed the machine's clock


@dataclass(frozen=True)
class StudyRecord:
    """A study as this node had it on record when it looked."""

    hash: str
    manifest: Manifest  # that counts: the first one, or what an amendment in force has made of it
    amendments: Amendments | None  # that the operator has accepted, in force or not
    state: StudyState
    note: str
    failures: int
    accepted_at: float
    ended_at: float | None
    told_peers: bool

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Self:
        first = _parsed(row["manifest"], row["hash"])
        amendments = _amendments(row["manifest"], row["hash"], row["amendments"])
        return cls(
            row["hash"],
            first if amendments is None else amendments.manifests[row["in_force"]],
            amendments,
            StudyState(row["state"]),
            row["note"],
            row["failures"],
            row["accepted_at"],
            row["ended_at"],
            bool(row["told_peers"]),
        )

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        """Return all manifests that the operator has accepted, the first one first."""
        return (self.manifest,) if self.amendments is None else self.amendments.manifests

    def owner_of(self, pin: str) -> str | None:
        """Return whose key this is, by the manifest that counts or one that was accepted to follow it.

        Of a study that is over, only by the one that counted.
        """
        following = (self.manifest,) if self.state in OVER else self.manifests[self.manifest.amendment :]
        return next((name for manifest in following if (name := manifest.owner_of(pin))), None)


@functools.lru_cache(maxsize=1024)
def _amendments(manifest: str, hash_: str, contents: str) -> Amendments | None:
    steps = from_json(tuple[Amendment, ...], contents)
    return Amendments(first=_parsed(manifest, hash_), steps=steps) if steps else None


@functools.lru_cache(maxsize=1024)
def _parsed(text: str, hash_: str) -> Manifest:
    manifest = Manifest.parse(text, "the node's database")
    if manifest.hash != hash_:
        raise InputError("the node's database: a manifest is damaged; restore a backup")
    return manifest


@dataclass(frozen=True)
class SubmissionRecord:
    """The latest revision of an owner: a submission, without the share itself, or its withdrawal."""

    owner: str
    samples: int
    commitments: tuple[str, ...]  # one for every server that takes submissions, in their order
    received_at: float
    file: str | None = None  # salt and share, as they were sent; None if they are needed no longer
    floors: Floors = field(default_factory=Floors)
    damaged: bool = False  # whether the file was found not to fit its commitment
    revision: int = 1
    withdrawn: bool = False

    @property
    def submitted(self) -> Submitted:
        """Return what all nodes must have alike."""
        return Submitted(
            owner=self.owner,
            samples=self.samples,
            floors=self.floors,
            commitments=self.commitments,
            revision=self.revision,
        )

    def entry(self, event: HistoryEvent) -> HistoryEntry:
        """Return this as a line of the history."""
        return HistoryEntry(
            event=event,
            owner=self.owner,
            revision=self.revision,
            commitments=self.commitments,
            at=as_time(self.received_at),
        )

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Self:
        return cls(
            row["owner"],
            row["samples"],
            from_json(tuple[str, ...], row["commitments"]),
            row["received_at"],
            row["file"],
            from_json(Floors, row["floors"]),
            bool(row["damaged"]),
            row["revision"],
            bool(row["withdrawn"]),
        )


@dataclass(frozen=True)
class AttemptRecord:
    """An attempt as this node had it on record when it looked."""

    number: int
    state: AttemptState
    note: str
    started_at: float
    ended_at: float | None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Self:
        return cls(row["number"], AttemptState(row["state"]), row["note"], row["started_at"], row["ended_at"])


@dataclass(frozen=True)
class ReleasedAttempt:
    """The attempt that a study was released with, as this node took part in it."""

    number: int
    agreed: tuple[Submitted, ...]
    begun_at: float
    computed_at: float
    parts: dict[str, str]  # by owner, the commitment to this node's part of the result


class ConflictError(PpauroraError):
    """The owner has submitted something else before, with the same revision."""


class ReusedError(PpauroraError):
    """The same commitments were submitted to another study before."""


class ClosedError(PpauroraError):
    """The study takes no more submissions."""


class BegunError(ClosedError):
    """The computation has begun: what was submitted stays."""


class SupersededError(PpauroraError):
    """The owner has sent something later."""


class TooOftenError(PpauroraError):
    """The owner has submitted and withdrawn too often."""
