"""Between an owner and the nodes that it talks to, and the receipt that an owner keeps.

    PUT  /v2/studies/{hash}/submission    header `Ppaurora-Submission`: Offer; body: salt and share
                                          -> Acknowledgement
    GET  /v2/studies/{hash}               -> StudyStatus
    GET  /v2/studies/{hash}/release       -> ReleasedPart

Anything else is answered by a Refusal.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ppaurora.messages import VERSION
from ppaurora.models import StrictModel
from ppaurora.sharing.stages import ResultShare

PATH = f"/v{VERSION}/studies"
OFFER_HEADER = "Ppaurora-Submission"

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]


class Offer(StrictModel):
    """What an owner is about to send: how many samples, and a commitment to every share."""

    samples: Annotated[int, Meta(ge=1)]
    commitments: tuple[Digest, ...]


class Submitted(StrictModel):
    """What all nodes must have alike of one owner's submission."""

    owner: str
    samples: int
    commitments: tuple[Digest, ...]


class Acknowledgement(StrictModel):
    """The share is durable at this node."""

    study: Digest
    owner: str
    samples: int
    commitments: tuple[Digest, ...]
    received_at: float
    server: str


class StudyStatus(StrictModel):
    """How far a study is, as one node sees it."""

    study: Digest
    name: str
    state: str
    note: str
    submitted: tuple[str, ...]
    missing: tuple[str, ...]
    progress: str
    attempt: int
    version: str
    protocol_version: int
    server: str
    time: float


class ReleasedPart(StrictModel):
    """One node's part of the result, and what the result rests on."""

    study: Digest
    owner: str
    attempt: int
    protocol_version: int
    submissions: tuple[Submitted, ...]
    part: ResultShare


class Problem(StrictModel):
    """`code` is stable and explained in docs/deploying.md."""

    code: str
    message: str


class Refusal(StrictModel):
    error: Problem


class Receipt(StrictModel):
    """What a result rests on, to be filed with it."""

    study: str
    manifest: Digest
    attempt: int
    protocol: str
    protocol_version: int
    ppaurora: str
    owner: str
    participants: dict[str, Digest]  # name and key of every owner and node
    samples: dict[str, int]
    commitments: dict[str, tuple[Digest, ...]]
    acknowledged: dict[str, Acknowledgement]  # by server
    collected_at: str
