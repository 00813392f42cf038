"""Between the nodes of a study: the leader asks, the others answer; one line of JSON each way."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ppaurora.io.models import StrictModel
from ppaurora.messages.owners import AttemptNumber as AttemptNumber
from ppaurora.messages.owners import (
    Count,
    Digest,
    Revision,
    SignedAgreement,
    SignedStatement,
    Submitted,
)
from ppaurora.messages.workers import Endpoints, Workers

Token = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", max_length=32)]


class Question(StrictModel, tag_field="ask", tag=str.lower):
    """About one study, by its manifest's hash."""

    study: Digest


class Hello(Question):
    """Is anybody there, and of which version? Any node may ask."""


class Amend(Question):
    """From now on this manifest, which an accepted amendment has led to, is that of the study.

    It comes with what owners have agreed to. The leader decides whether that precedes the first attempt.
    """

    manifest: Digest
    agreements: tuple[SignedAgreement, ...]


class Ready(Question):
    """Could an attempt with these submissions begin?"""

    agreed: tuple[Submitted, ...]
    manifest: Digest | UnsetType = UNSET  # of a study that was amended: which one counts


class Begin(Question):
    """Begin this attempt; its connections ask for the token."""

    attempt: AttemptNumber
    token: Token
    agreed: tuple[Submitted, ...]
    workers: Workers  # as many as all nodes have
    manifest: Digest | UnsetType = UNSET  # as in `Ready`


class Placement(StrictModel):
    """Where a server's workers are in one attempt, and by which certificates they are known."""

    study: Digest
    attempt: AttemptNumber
    token: Token
    server: str
    endpoints: Endpoints


class SignedPlacement(StrictModel):
    """By the node whose workers they are: the leader passes it on, and cannot change it.

    `key` is the public key in DER form, of which the manifest has the SHA-256.
    """

    placement: Placement
    algorithm: str
    key: bytes
    signature: bytes


class Rendezvous(Question):
    """All workers of an attempt stand ready: here is where, as every node has signed it."""

    attempt: AttemptNumber
    placements: tuple[SignedPlacement, ...]


class Outcome(Question):
    """Asks how an attempt ended."""

    attempt: AttemptNumber


class Release(Question):
    """From now on give out the results of this attempt."""

    attempt: AttemptNumber
    statements: tuple[SignedStatement, ...]  # of other nodes, to be given out too


class Stop(Question):
    """A person has to look."""

    note: str


class Withdrawn(Question):
    """An owner has withdrawn what it had submitted: delete it."""

    owner: str
    revision: Revision


AnyQuestion = Hello | Amend | Ready | Begin | Rendezvous | Outcome | Release | Stop | Withdrawn


class Verdict(StrEnum):
    """The answer to a question, in a word or two; a note beside it may say more."""

    HELLO = "hello"
    READY = "ready"
    NOT_YET = "not yet"  # submissions are missing there
    BUSY = "busy"
    IN_TROUBLE = "in trouble"  # it cannot write what an attempt needs, or lacks memory for its workers
    MISMATCH = "mismatch"  # it has something else than was asked about
    CLOSED = "closed"  # the study is over there
    STALE = "stale"  # the attempt is not the one that counts there
    BEGUN = "begun"
    RUNNING = "running"
    FAILED = "failed"
    COMPUTED = "computed"
    RELEASED = "released"
    AMENDED = "amended"
    UNLIKE = "amended otherwise"  # another manifest counts there, or an owner has yet to agree to it
    STOPPED = "stopped"  # until its own operator retries
    WITHDRAWN = "withdrawn"  # on record, or overtaken by a later revision of the owner's
    UNKNOWN_STUDY = "unknown study"
    UNKNOWN_ATTEMPT = "unknown attempt"
    REFUSED = "refused"
    NOT_UNDERSTOOD = "not understood"


class Answer(StrictModel):
    """An answer to any question."""

    answer: Verdict
    note: str = ""  # for people
    last: AttemptNumber = 0  # the last attempt that was begun there
    version: str = ""
    protocol_version: Count = 0
    statement: SignedStatement | None = None  # of a release that is known there
    workers: Workers = 1  # of a node that is ready: how many it would compute with
    placement: SignedPlacement | None = None  # of an attempt that runs, once all of its workers stand ready
