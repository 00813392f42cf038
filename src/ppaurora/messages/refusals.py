"""The codes with which a node refuses an owner's request: one list for nodes, owners and documents.

docs/reference.md has a table of them for people. On the wire a code is its string; an owner takes a string
that is not in this list as well, because a node of a later version may have more of them.
"""

from __future__ import annotations

from enum import Enum, StrEnum


class Outlook(Enum):
    """The outlook of a refused request: what happens if it is sent again."""

    FINAL = "the node does not have what was sent, and will not have it"
    REPLACEABLE = "likewise, but a submission with a higher revision can take its place"
    PASSING = "the node cannot write just now; it will be able to later"
    OPEN = "it depends on what the owner or somebody else does first"


class RefusalCode(StrEnum):
    """A code, its HTTP status, its meaning as docs/reference.md and a node say it, and what to expect."""

    status: int
    meaning: str
    outlook: Outlook

    def __new__(cls, code: str, status: int, meaning: str, outlook: Outlook = Outlook.OPEN) -> RefusalCode:
        member = str.__new__(cls, code)
        member._value_ = code
        member.status, member.meaning, member.outlook = status, meaning, outlook
        return member

    UNKNOWN_STUDY = "unknown-study", 404, "this node's operator has not accepted this manifest"
    NOT_AN_OWNER = "not-an-owner", 403, "your key is not that of an owner of this study"
    NOT_RELEASED = "not-released", 404, "there is no result yet"
    EXPIRED = "expired", 410, "the study's time is over", Outlook.FINAL
    TOO_LATE = (
        "too-late",
        409,
        "the last day for submissions is over, by the node's clock. "
        "What the node already has is still acknowledged",
        Outlook.FINAL,
    )
    DELETED = "deleted", 410, "this node's operator has deleted the study", Outlook.FINAL
    CLOSED = "closed", 409, "the study collects no longer", Outlook.FINAL
    BEGUN = (
        "begun",
        409,
        "the computation has begun, and what was submitted can be neither replaced nor withdrawn",
        Outlook.FINAL,
    )
    CONFLICT = "conflict", 409, "you have submitted something else to this study", Outlook.REPLACEABLE
    SUPERSEDED = (
        "superseded",
        409,
        "you have withdrawn this, or submitted something later",
        Outlook.REPLACEABLE,
    )
    TOO_OFTEN = (
        "too-often",
        409,
        "you have submitted and withdrawn 100 times in this study; every receipt tells of each",
        Outlook.FINAL,
    )
    PENDING = "pending", 409, "the leader has not passed on your withdrawal yet; it does so by itself"
    REUSED = (
        "reused",
        409,
        "this was submitted to another study; every study takes shares of its own",
        Outlook.FINAL,
    )
    SAMPLES = (
        "samples",
        422,
        "too few or too many samples for the manifest; "
        "or floors under which the study cannot compute what was asked for",
        Outlook.FINAL,
    )
    NOT_AMENDED = "not-amended", 404, "this node's operator has accepted no amendment to this study"
    NOT_AGREED = (
        "not-agreed",
        422,
        "this is not what you would sign to agree to an amendment that this node's operator has accepted",
    )
    NOT_SIGNED = "not-signed", 422, "this is not what a node of the study has signed of its release"
    DAMAGED = "damaged", 410, "the node's disk has changed its part of your result"
    NOT_READY = (
        "not-ready",
        503,
        "the node's database is locked, or its data folder cannot be written to",
        Outlook.PASSING,
    )
    NO_ROOM = "no-room", 507, "the node's disk is full; nothing was stored, try again later", Outlook.PASSING
    TOO_SLOW = "too-slow", 408, "the body took too long; send it again"
    TOO_SHORT = "too-short", 422, "the body is shorter than announced or expected"
    TOO_LONG = "too-long", 413, "the body is longer than expected"
    COMMITMENT = "commitment", 422, "the body is not what the commitment says"
    HEADERS = "headers", 400, "a header is missing or malformed"
    LENGTH = "length", 411, "the length of the body must be announced"
    BAD_REQUEST = "bad-request", 400, "no such address or method, or the request is not HTTP as it should be"
    INTERNAL = "internal", 500, "an unforeseen error at the node; its log says more"


REPLACEABLE = frozenset(code for code in RefusalCode if code.outlook is Outlook.REPLACEABLE)
FINAL = REPLACEABLE | {code for code in RefusalCode if code.outlook is Outlook.FINAL}
PASSING = frozenset(code for code in RefusalCode if code.outlook is Outlook.PASSING)
