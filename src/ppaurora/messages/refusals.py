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


_LOOK_AT_HEALTH = "its operator sees at /healthz what is in the way; nothing is to be changed here"
_ON_THE_WAY = (
    "send it again; if it is refused again, something on the way changes what is sent, or the versions "
    "differ: 'ppaurora preflight' compares them"
)
_VERSIONS = "the versions of ppaurora may differ: 'ppaurora preflight' compares them"


class RefusalCode(StrEnum):
    """A code, its HTTP status, its meaning as docs/reference.md and a node say it, and what to expect.

    `remedy` says to the owner who can do what about it, where the meaning does not.
    """

    status: int
    meaning: str
    outlook: Outlook
    remedy: str

    def __new__(
        cls, code: str, status: int, meaning: str, outlook: Outlook = Outlook.OPEN, remedy: str = ""
    ) -> RefusalCode:
        member = str.__new__(cls, code)
        member._value_ = code
        member.status, member.meaning, member.outlook = status, meaning, outlook
        member.remedy = remedy
        return member

    UNKNOWN_STUDY = (
        "unknown-study",
        404,
        "this node's operator has not accepted this manifest",
        Outlook.OPEN,
        "ask its operator to run 'ppaurora accept KIT MANIFEST' with this study's manifest; if that was "
        "done, the manifests differ: compare their hashes",
    )
    NOT_AN_OWNER = (
        "not-an-owner",
        403,
        "your key is not that of an owner of this study",
        Outlook.OPEN,
        "take the kit that was made for this study, and compare the manifest's hash with the others'; if an "
        "amendment has dropped you, or given you another key, ask the coordinator",
    )
    NOT_RELEASED = "not-released", 404, "there is no result yet"
    EXPIRED = (
        "expired",
        410,
        "the study's time is over",
        Outlook.FINAL,
        "its shares and results were deleted there; what is still wanted takes a new study",
    )
    TOO_LATE = (
        "too-late",
        409,
        "the last day for submissions is over, by the node's clock. "
        "What the node already has is still acknowledged",
        Outlook.FINAL,
        "ask whoever coordinates the study",
    )
    DELETED = (
        "deleted",
        410,
        "this node's operator has deleted the study",
        Outlook.FINAL,
        "ask its operator why, and whoever coordinates the study for a new one",
    )
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
        "submit the data to each study for itself; nothing is copied from one study's outbox to another's",
    )
    SAMPLES = (
        "samples",
        422,
        "too few or too many samples for the manifest; "
        "or floors under which the study cannot compute what was asked for",
        Outlook.FINAL,
        "compare the number of samples with the study's limits, and the floors in owner.toml with what it "
        "computes; for other limits, ask whoever coordinates the study",
    )
    NOT_AMENDED = "not-amended", 404, "this node's operator has accepted no amendment to this study"
    NOT_AGREED = (
        "not-agreed",
        422,
        "this is not what you would sign to agree to an amendment that this node's operator has accepted",
    )
    NOT_SIGNED = "not-signed", 422, "this is not what a node of the study has signed of its release"
    DAMAGED = (
        "damaged",
        410,
        "the node's disk has changed its part of your result",
        Outlook.OPEN,
        "ask its operator to restore a backup of the node; without one, a new study is needed",
    )
    NOT_READY = (
        "not-ready",
        503,
        "the node's database is locked, or its data folder cannot be written to",
        Outlook.PASSING,
        _LOOK_AT_HEALTH,
    )
    NO_ROOM = (
        "no-room",
        507,
        "the node's disk is full; nothing was stored, try again later",
        Outlook.PASSING,
        _LOOK_AT_HEALTH,
    )
    TOO_SLOW = "too-slow", 408, "the body took too long; send it again"
    TOO_SHORT = (
        "too-short",
        422,
        "the body is shorter than announced or expected",
        Outlook.OPEN,
        _ON_THE_WAY,
    )
    TOO_LONG = "too-long", 413, "the body is longer than expected", Outlook.OPEN, _ON_THE_WAY
    COMMITMENT = "commitment", 422, "the body is not what the commitment says", Outlook.OPEN, _ON_THE_WAY
    HEADERS = "headers", 400, "a header is missing or malformed", Outlook.OPEN, _VERSIONS
    LENGTH = "length", 411, "the length of the body must be announced", Outlook.OPEN, _VERSIONS
    BAD_REQUEST = (
        "bad-request",
        400,
        "no such address or method, or the request is not HTTP as it should be",
        Outlook.OPEN,
        _VERSIONS,
    )
    INTERNAL = (
        "internal",
        500,
        "an unforeseen error at the node; its log says more",
        Outlook.OPEN,
        "ask its operator to look into the node's log",
    )


def remedy_of(code: str) -> str:
    """Return what an owner can do about a code, which may be one of a later version; empty if nothing."""
    return next((known.remedy for known in RefusalCode if known == code), "")


REPLACEABLE = frozenset(code for code in RefusalCode if code.outlook is Outlook.REPLACEABLE)
FINAL = REPLACEABLE | {code for code in RefusalCode if code.outlook is Outlook.FINAL}
PASSING = frozenset(code for code in RefusalCode if code.outlook is Outlook.PASSING)
