"""Between an owner and the nodes that it talks to, and the statements that nodes sign.

    PUT  /v10/studies/{hash}/submission   header `Ppaurora-Submission`: Offer; body: salt and share
                                          -> Acknowledgement
    PUT  /v10/studies/{hash}/withdrawal   body: Withdrawal
                                          -> WithdrawalAcknowledgement
    PUT  /v10/studies/{hash}/known        body: SignedStatement, of a release that the node does not know of
                                          -> StudyStatus
    GET  /v10/studies/{hash}/amendments   -> Amended
    PUT  /v10/studies/{hash}/agreement    body: SignedAgreement, to an amendment
                                          -> StudyStatus
    GET  /v10/studies/{hash}              -> StudyStatus
    GET  /v10/studies/{hash}/release      -> ReleasedPart
    GET  /v10/openapi.json                this, for machines

A study's hash is that of its first manifest, whatever was amended since. Paths are of the newest version; a
study of the previous one is at `/v9/...`, and cannot be amended.

Anything else is answered by a Refusal.

Whatever an owner sends to a study has a revision: 1 for its first submission, a higher one for every later
submission or withdrawal. The latest revision counts, and nothing older comes back.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ppaurora.io.models import StrictModel
from ppaurora.io.times import Time
from ppaurora.messages import VERSION
from ppaurora.policy.rules import Floors, Policy
from ppaurora.sharing.commitment import Salt
from ppaurora.sharing.stages import ResultShare

OFFER_HEADER = "Ppaurora-Submission"


def studies_path(version: int = VERSION) -> str:
    """Return the path of all studies of a version."""
    return f"/v{version}/studies"


def description_path(version: int = VERSION) -> str:
    """Return the path of the description for machines."""
    return f"/v{version}/openapi.json"


# The length is said twice: "$" alone would let a line's end through.
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
AttemptNumber = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Count = Annotated[int, Meta(ge=0, le=1 << 53)]  # that every reader and writer of JSON can hold
Revision = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class Offer(StrictModel):
    """The announcement of a submission: number of samples, floors, and a commitment to every share."""

    samples: int
    floors: Floors = Floors()
    commitments: tuple[Digest, ...]
    revision: Revision = 1


class Submitted(StrictModel):
    """One owner's submission, as all nodes must have it alike."""

    owner: str
    samples: Count
    floors: Floors = Floors()
    commitments: tuple[Digest, ...]
    revision: Revision = 1


class Acknowledgement(StrictModel):
    """The share is durable at this node."""

    study: Digest
    owner: str
    samples: Count
    commitments: tuple[Digest, ...]
    revision: Revision
    received_at: float
    server: str


class Withdrawal(StrictModel):
    """A request to delete what the owner has submitted under lower revisions, and never compute with it."""

    revision: Revision


class WithdrawalAcknowledgement(StrictModel):
    """It is on record at this node, and the share is deleted."""

    study: Digest
    owner: str
    revision: Revision
    withdrawn_at: float
    server: str


class Agreement(StrictModel):
    """An owner's agreement to an amendment, and with it to all before: to be signed with the owner's key."""

    study: Digest
    owner: str
    amendment: Annotated[int, Meta(ge=1, le=1000)]
    manifest: Digest  # the hash of the manifest that comes from the amendment
    agreed_at: Time  # by the owner's clock


class SignedAgreement(StrictModel):
    """`key` is the public key in DER form, of which the amended manifest has the SHA-256."""

    agreement: Agreement
    algorithm: str
    key: bytes
    signature: bytes


class Amended(StrictModel):
    """How a study was amended, and who has agreed to it, as one node has it."""

    amendments: Annotated[bytes, Meta(max_length=1 << 23)]  # the file, see `study.amendments`
    agreements: tuple[SignedAgreement, ...]


class StudyState(StrEnum):
    """The states of a study at one node."""

    COLLECTING = "collecting"  # submissions are missing
    RUNNING = "running"  # all are here; attempts are made
    STOPPED = "stopped"  # too many attempts failed, or the nodes do not agree: a person has to look
    RELEASED = "released"
    EXPIRED = "expired"  # nothing is kept any longer
    DELETED = "deleted"  # likewise, because the node's operator decided so


GOING_ON = (StudyState.COLLECTING, StudyState.RUNNING)
UNDER_WAY = (*GOING_ON, StudyState.STOPPED)
GONE = (StudyState.EXPIRED, StudyState.DELETED)
OVER = (StudyState.RELEASED, *GONE)


class StudyStatus(StrictModel):
    """How far a study is, as one node sees it."""

    study: Digest
    name: str
    state: StudyState
    note: str
    submitted: tuple[str, ...]
    missing: tuple[str, ...]
    withdrawn: tuple[str, ...]  # those of the missing who had submitted
    revision: Count  # the latest of the owner who asks; 0 if there is none
    progress: str
    attempt: AttemptNumber
    version: str
    protocol_version: Count
    server: str
    time: float
    amendment: Count | UnsetType = UNSET  # the last that is known there, if there are any
    to_agree: tuple[str, ...] | UnsetType = UNSET  # owners who have yet to agree to it


class HistoryEvent(StrEnum):
    """The kinds of changes that an owner makes."""

    SUBMITTED = "submitted"  # for the first time, or again after a withdrawal
    REPLACED = "replaced"  # what it had submitted by something else
    WITHDRAWN = "withdrawn"


class HistoryEntry(StrictModel):
    """An owner's change, as a node heard it; a withdrawal has the commitments to what was withdrawn."""

    event: HistoryEvent
    owner: str
    revision: Revision
    commitments: tuple[Digest, ...]
    at: Time


class AuditHead(StrictModel):
    """How many entries a node's audit log has, and the hash of the last one."""

    entries: Count
    hash: Digest


class Statement(StrictModel):
    """A node's statement of a released study, to be signed with the key that the manifest pins."""

    server: str  # as its file name is
    manifest: Digest
    attempt: AttemptNumber
    policy: Policy  # under which it was released: the strictest of the study's and all owners' floors
    submissions: tuple[Submitted, ...]  # that the attempt was begun with, in the order of the manifest
    history: tuple[HistoryEntry, ...]  # as this node has heard it, the earliest first
    parts: dict[str, Digest]  # by owner, a commitment to this node's part of the result, if it gets any
    accepted_at: Time
    begun_at: Time
    computed_at: Time
    released_at: Time
    ppaurora: str
    protocol_version: Count
    audit: AuditHead  # when it was signed


class SignedStatement(StrictModel):
    """`key` is the public key in DER form, of which the manifest has the SHA-256."""

    statement: Statement
    algorithm: str
    key: bytes
    signature: bytes


class ReleasedPart(StrictModel):
    """One node's part of the result, and what the result rests on."""

    study: Digest
    owner: str
    attempt: AttemptNumber
    protocol_version: Count
    submissions: tuple[Submitted, ...]
    part: ResultShare
    salt: Salt  # of the commitment to the part, in this node's statement
    statements: tuple[SignedStatement, ...]  # this node's, and those of others that it has
    amended: Amended | UnsetType = UNSET  # if the study was


class Problem(StrictModel):
    """Why a request was refused: a code (`messages.refusals.RefusalCode`), and words for people."""

    code: str  # not the enumeration: an owner understands a refusal whose code it does not know
    message: str


class Refusal(StrictModel):
    """The answer to a request that is refused."""

    error: Problem
