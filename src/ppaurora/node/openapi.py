"""The owners' API, described; the schemas are those of the messages themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from ppaurora.io.models import StrictModel
from ppaurora.io.times import Time
from ppaurora.messages import VERSION
from ppaurora.messages.owners import (
    OFFER_HEADER,
    Acknowledgement,
    Amended,
    Digest,
    Offer,
    Refusal,
    ReleasedPart,
    SignedAgreement,
    SignedStatement,
    StudyStatus,
    Withdrawal,
    WithdrawalAcknowledgement,
    description_path,
    studies_path,
)
from ppaurora.sharing.commitment import Salt
from ppaurora.sharing.stages import ResultShare

_MESSAGES = (
    Offer,
    Acknowledgement,
    Withdrawal,
    WithdrawalAcknowledgement,
    StudyStatus,
    Amended,
    SignedAgreement,
    ReleasedPart,
    Refusal,
)


def _own_type(kind: type[object]) -> dict[str, Any]:
    """Return the schema of a type of our own that is no model."""
    if kind is ResultShare:
        return {
            "type": "string",
            "contentEncoding": "base64",
            "description": "Words of 64 bits, little endian, to be added modulo 2^64 to the other parts'.",
        }
    if kind is Salt:
        return {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    if kind is Time:
        return {"type": "string", "format": "date-time"}
    raise NotImplementedError(kind)


_SCHEMAS = msgspec.json.schema_components(
    (*_MESSAGES, Digest), schema_hook=_own_type, ref_template="#/components/schemas/{name}"
)
_DIGEST = _SCHEMAS[0][-1]

_STUDY = {
    "name": "study",
    "in": "path",
    "required": True,
    "description": "The hash of the study's manifest.",
    "schema": _DIGEST,
}


def _content(message: type[StrictModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{message.__name__}"}}}


def _responses(description: str, message: type[StrictModel], *refusals: int) -> dict[str, Any]:
    refused = {"description": "Refused.", "content": _content(Refusal)}
    return {
        "200": {"description": description, "content": _content(message)},
        **{str(status): refused for status in (403, 404, *refusals)},
    }


_OF_A_STUDY: dict[str, Any] = {
    "": {
        "get": {
            "summary": "How far a study is.",
            "parameters": [_STUDY],
            "responses": _responses("The study's course.", StudyStatus),
        }
    },
    "/submission": {
        "put": {
            "summary": "Submit the owner's share for this node; durable once it is acknowledged.",
            "description": "The same body again gets the same acknowledgement. Another one takes "
            "its place if its revision is higher and the computation has not begun; send it first to the "
            "server that leads. Anything else is refused.",
            "parameters": [
                _STUDY,
                {
                    "name": OFFER_HEADER,
                    "in": "header",
                    "required": True,
                    "description": "A commitment is the SHA-256 of salt and share; there is one for each "
                    "server that takes submissions, in the order of the protocol.",
                    "content": _content(Offer),
                },
            ],
            "requestBody": {
                "required": True,
                "description": "32 bytes of salt, then the share.",
                "content": {"application/octet-stream": {}},
            },
            "responses": _responses("Stored.", Acknowledgement, 400, 408, 409, 411, 413, 422, 503, 507),
        }
    },
    "/withdrawal": {
        "put": {
            "summary": "Withdraw what the owner has submitted, until the computation begins.",
            "description": "First at the server that leads, which decides whether it is in time, "
            "and tells the others; they acknowledge it when they have heard, and refuse with `pending` "
            "before.",
            "parameters": [_STUDY],
            "requestBody": {"required": True, "content": _content(Withdrawal)},
            "responses": _responses(
                "On record; the share is deleted.", WithdrawalAcknowledgement, 400, 408, 409, 503, 507
            ),
        }
    },
    "/known": {
        "put": {
            "summary": "Show a release that this node has forgotten, as another has signed it.",
            "description": "A node that was rolled back cannot know. It stops the study, so that no "
            "second result comes of it.",
            "parameters": [_STUDY],
            "requestBody": {"required": True, "content": _content(SignedStatement)},
            "responses": _responses("The study's course, then.", StudyStatus, 400, 408, 422, 503, 507),
        }
    },
    "/amendments": {
        "get": {
            "summary": "How the study was amended, and which owners have agreed.",
            "description": "Amendments that this node's operator has accepted, as the coordinator has signed "
            "them, in force or not.",
            "parameters": [_STUDY],
            "responses": _responses("All amendments, and agreements.", Amended),
        }
    },
    "/agreement": {
        "put": {
            "summary": "Agree to an amendment, and so to those before it.",
            "description": "Signed with the owner's key. No attempt begins before all owners have agreed, "
            "unless they had beforehand.",
            "parameters": [_STUDY],
            "requestBody": {"required": True, "content": _content(SignedAgreement)},
            "responses": _responses("The study's course, then.", StudyStatus, 400, 408, 422, 503, 507),
        }
    },
    "/release": {
        "get": {
            "summary": "This node's part of the owner's result.",
            "parameters": [_STUDY],
            "responses": _responses(
                "To be added to the other nodes' parts of the same attempt.", ReleasedPart, 410
            ),
        }
    },
}


def openapi(version: int = VERSION) -> dict[str, Any]:
    """Return the description of what is answered about studies of a version."""
    study = f"{studies_path(version)}/{{study}}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ppaurora, the owners' port of a node",
            "version": f"v{version}",
            "description": "TLS 1.3 with client certificates; a study's manifest says whose keys are let in.",
        },
        "paths": {
            description_path(version): {
                "get": {
                    "summary": "This description.",
                    "responses": {"200": {"description": "An OpenAPI document."}},
                }
            },
            **{f"{study}{what}": methods for what, methods in _OF_A_STUDY.items()},
        },
        "components": {"schemas": _SCHEMAS[1]},
    }
