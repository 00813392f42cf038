"""The owners' API, described."""

from __future__ import annotations

from typing import Any

from ppaurora.study.manifest import PROTOCOL_VERSION

_STUDY = {
    "name": "study",
    "in": "path",
    "required": True,
    "description": "The hash of the study's manifest.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_ERROR = {
    "description": "Refused.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["error"],
                "properties": {
                    "error": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                    }
                },
            }
        }
    },
}


def _ok(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "required": list(properties), "properties": properties}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _responses(good: dict[str, Any], *refusals: int) -> dict[str, Any]:
    return {"200": good, **{str(status): _ERROR for status in (403, 404, *refusals)}}


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_NAMES = {"type": "array", "items": _TEXT}

OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "ppaurora, the owners' port of a proxy",
        "version": f"v{PROTOCOL_VERSION}",
        "description": "TLS 1.3 with client certificates; a study's manifest says whose keys are let in.",
    },
    "paths": {
        "/v1/openapi.json": {
            "get": {
                "summary": "This description.",
                "responses": {"200": {"description": "An OpenAPI document."}},
            }
        },
        "/v1/studies/{study}": {
            "get": {
                "summary": "How far a study is.",
                "parameters": [_STUDY],
                "responses": _responses(
                    _ok(
                        "The study's course.",
                        {
                            "study": _DIGEST,
                            "name": _TEXT,
                            "state": {"enum": ["collecting", "running", "stopped", "released", "expired"]},
                            "note": _TEXT,
                            "submitted": _NAMES,
                            "missing": _NAMES,
                            "progress": _TEXT,
                            "attempt": _NUMBER,
                            "version": _TEXT,
                            "protocol_version": _NUMBER,
                            "role": _TEXT,
                            "time": {"type": "number"},
                        },
                    )
                ),
            }
        },
        "/v1/studies/{study}/submission": {
            "put": {
                "summary": "Submit the owner's share for this proxy; durable once it is acknowledged.",
                "description": "The same body again gets the same acknowledgement, another one is refused.",
                "parameters": [
                    _STUDY,
                    {
                        "name": "Ppaurora-Samples",
                        "in": "header",
                        "required": True,
                        "schema": {"type": "integer", "minimum": 1},
                    },
                    *(
                        {
                            "name": f"Ppaurora-Commitment-{proxy}",
                            "in": "header",
                            "required": True,
                            "description": f"SHA-256 of the salt and the share for proxy {proxy}.",
                            "schema": _DIGEST,
                        }
                        for proxy in (0, 1)
                    ),
                ],
                "requestBody": {
                    "required": True,
                    "description": "32 bytes of salt, then the share.",
                    "content": {"application/octet-stream": {}},
                },
                "responses": _responses(
                    _ok(
                        "Stored.",
                        {
                            "study": _DIGEST,
                            "owner": _TEXT,
                            "samples": _NUMBER,
                            "commitments": {"type": "array", "items": _DIGEST},
                            "received_at": {"type": "number"},
                            "proxy": _TEXT,
                        },
                    ),
                    *(400, 408, 409, 411, 413, 422, 507),
                ),
            }
        },
        "/v1/studies/{study}/release": {
            "get": {
                "summary": "This proxy's part of the owner's result.",
                "parameters": [_STUDY],
                "responses": _responses(
                    _ok(
                        "Add it, modulo 2^64, to the other proxy's part of the same attempt.",
                        {
                            "study": _DIGEST,
                            "owner": _TEXT,
                            "attempt": _NUMBER,
                            "protocol_version": _NUMBER,
                            "samples": {"type": "object"},
                            "commitments": {"type": "object"},
                            "share": {"type": "array"},
                        },
                    ),
                    410,
                ),
            }
        },
    },
}
