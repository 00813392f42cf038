"""Between an owner and the nodes that it talks to, and the receipt that an owner keeps.

    PUT  /v3/studies/{hash}/submission    header `Ppaurora-Submission`: Offer; body: salt and share
                                          -> Acknowledgement
    GET  /v3/studies/{hash}               -> StudyStatus
    GET  /v3/studies/{hash}/release       -> ReleasedPart
    GET  /v3/openapi.json                 this, for machines

Anything else is answered by a Refusal.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from ppaurora.evaluated import Evaluated
from ppaurora.messages import VERSION
from ppaurora.models import StrictModel
from ppaurora.policy import Floors, Policy
from ppaurora.sharing.stages import ResultShare

PATH = f"/v{VERSION}/studies"
DESCRIPTION_PATH = f"/v{VERSION}/openapi.json"
OFFER_HEADER = "Ppaurora-Submission"

# The length is said twice: "$" alone would let a line's end through.
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
AttemptNumber = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Count = Annotated[int, Meta(ge=0, le=1 << 53)]  # that every reader and writer of JSON can hold


class Offer(StrictModel):
    """What an owner is about to send: how many samples, what it demands, and a commitment to every share."""

    samples: int
    floors: Floors = Floors()
    commitments: tuple[Digest, ...]


class Submitted(StrictModel):
    """What all nodes must have alike of one owner's submission."""

    owner: str
    samples: Count
    floors: Floors = Floors()
    commitments: tuple[Digest, ...]


class Acknowledgement(StrictModel):
    """The share is durable at this node."""

    study: Digest
    owner: str
    samples: Count
    commitments: tuple[Digest, ...]
    received_at: float
    server: str


class StudyState(StrEnum):
    """Of a study at one node."""

    COLLECTING = "collecting"  # submissions are missing
    RUNNING = "running"  # all are here; attempts are made
    STOPPED = "stopped"  # too many attempts failed, or the nodes do not agree: a person has to look
    RELEASED = "released"
    EXPIRED = "expired"  # nothing is kept any longer


class StudyStatus(StrictModel):
    """How far a study is, as one node sees it."""

    study: Digest
    name: str
    state: StudyState
    note: str
    submitted: tuple[str, ...]
    missing: tuple[str, ...]
    progress: str
    attempt: AttemptNumber
    version: str
    protocol_version: Count
    server: str
    time: float


class ReleasedPart(StrictModel):
    """One node's part of the result, and what the result rests on."""

    study: Digest
    owner: str
    attempt: AttemptNumber
    protocol_version: Count
    submissions: tuple[Submitted, ...]
    part: ResultShare


class Problem(StrictModel):
    """`code` is stable and explained in docs/deploying.md."""

    code: str
    message: str


class Refusal(StrictModel):
    """What an owner gets instead of what it asked for."""

    error: Problem


class Receipt(StrictModel):
    """What a result rests on, to be filed with it."""

    study: str
    manifest: Digest
    attempt: int
    evaluation: Evaluated
    policy: Policy  # under which it was released: the strictest of the study's and all owners' floors
    protocol: str
    protocol_version: int
    ppaurora: str
    owner: str
    participants: dict[str, Digest]  # name and key of every owner and node
    samples: dict[str, int]
    commitments: dict[str, tuple[Digest, ...]]
    acknowledged: dict[str, Acknowledgement]  # by server
    collected_at: str
