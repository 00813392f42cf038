"""The owners' port of a proxy: HTTPS with client certificates, a few requests, each bound to a study.

    PUT  /v1/studies/{hash}/submission    the owner's share, streamed to disk
    GET  /v1/studies/{hash}               how far the study is
    GET  /v1/studies/{hash}/release       this proxy's part of the owner's result
    GET  /v1/openapi.json                 this, for machines

And the administrator's, local and without TLS: /healthz and /metrics.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import os
import secrets
import sqlite3
import ssl
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from aiohttp import web

import ppaurora
from ppaurora.channel.tls import peer_pin, tls_context
from ppaurora.errors import PpauroraError
from ppaurora.files import sync
from ppaurora.node.node import Node, policy_problem
from ppaurora.node.openapi import OPENAPI
from ppaurora.node.store import (
    ClosedError,
    ConflictError,
    Study,
    StudyState,
    Submission,
    describe_progress,
)
from ppaurora.sharing.commitment import SALT_BYTES
from ppaurora.study.manifest import PROTOCOL_VERSION
from ppaurora.text import is_hex

_PIECE = 1 << 18
_SECONDS_FOR_A_PIECE = 60.0
_SLOWEST_BYTES_PER_SECOND = 20_000
_UPLOADS_AT_ONCE = 4  # of one owner to one study; a cut-off one lingers a while
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

# Bodies are taken as they are sent, never unpacked; idle connections end soon.
HANDLER: dict[str, Any] = {"access_log": None, "auto_decompress": False, "keepalive_timeout": 30.0}

log = logging.getLogger(__name__)


class RequestRefusedError(Exception):
    """An answer that is not what was asked for: a status, a stable code, a sentence without secrets."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def refuse(status: int, code: str, message: str) -> NoReturn:
    raise RequestRefusedError(status, code, message)


class OwnersService:
    """One proxy's."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.context = tls_context(ssl.Purpose.CLIENT_AUTH, node.kit.certificate, node.kit.key, "")
        self._trusted: set[str] = set()
        self._uploads: dict[tuple[str, str], asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_UPLOADS_AT_ONCE)
        )
        self.app = web.Application(
            middlewares=[self._answer_errors], client_max_size=_PIECE, handler_args=HANDLER
        )
        self.app.add_routes(
            [
                web.get("/v1/openapi.json", self._openapi),
                web.get("/v1/studies/{study}", self._status),
                web.put("/v1/studies/{study}/submission", self._submit),
                web.get("/v1/studies/{study}/release", self._release),
            ]
        )

    async def keep_trusting(self) -> None:
        """Let in the owners of every accepted study, also of those accepted later."""
        while True:
            try:
                for study in await asyncio.to_thread(self._node.store.studies):
                    self._trust(study.manifest.authorities)
            except (sqlite3.Error, PpauroraError) as error:
                log.error("reading the studies failed", extra={"reason": type(error).__name__})  # noqa: TRY400
            await asyncio.sleep(0.5)

    def _trust(self, authorities: str) -> None:
        if authorities not in self._trusted:
            self._trusted.add(authorities)
            try:
                self.context.load_verify_locations(cadata=authorities)
            except ssl.SSLError:
                log.error("a study's authorities cannot be used")  # noqa: TRY400

    @web.middleware
    async def _answer_errors(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except RequestRefusedError as error:
            refusal = error
        except web.HTTPException as error:
            refusal = RequestRefusedError(error.status, "bad-request", error.reason)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except OSError as error:
            refusal = _not_stored(full=error.errno in _FULL)
        except sqlite3.OperationalError as error:
            refusal = _not_stored(full="full" in str(error))
        except Exception as error:
            log.error("a request failed", extra={"reason": type(error).__name__})  # noqa: TRY400
            refusal = RequestRefusedError(500, "internal", "an unforeseen error at the node")
        self._node.metrics.refused.labels(refusal.code).inc()
        log.info(
            "request refused", extra={"code": refusal.code, "path": request.path, "method": request.method}
        )
        response = web.json_response(
            {"error": {"code": refusal.code, "message": refusal.message}}, status=refusal.status
        )
        response.force_close()  # the rest of a refused body is not waited for
        return response

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(OPENAPI)

    async def _status(self, request: web.Request) -> web.Response:
        study, _ = await self._participant(request)
        submissions = await asyncio.to_thread(self._node.store.submissions, study)
        return web.json_response(
            {
                **describe_progress(study, submissions),
                "progress": self._node.progress(study.hash),
                "attempt": await asyncio.to_thread(self._node.store.last_attempt, study.hash),
                "version": ppaurora.__version__,
                "protocol_version": PROTOCOL_VERSION,
                "role": self._node.role.title,
                "time": time.time(),
            }
        )

    async def _submit(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        offered = self._offer(request, study, owner)
        kept = await asyncio.to_thread(self._node.store.submission, study.hash, owner)
        if kept is None and study.state is not StudyState.COLLECTING:
            refuse(409, "closed", f"the study is {study.state.value}; nothing more can be submitted")
        if kept is not None and kept.agreed() != offered.agreed():
            refuse(409, "conflict", "this owner has submitted something else to this study")
        async with self._uploads[study.hash, owner]:
            path = await self._receive(request, offered)
            # Not to be cut off between the row and the file: the thread goes on if this request ends.
            stored = await asyncio.shield(asyncio.to_thread(self._keep, study, offered, path))
        return web.json_response(
            {
                "study": study.hash,
                "owner": owner,
                "samples": stored.samples,
                "commitments": list(stored.commitments),
                "received_at": stored.received_at,
                "proxy": self._node.role.title,
            }
        )

    def _keep(self, study: Study, offered: Submission, path: Path) -> Submission:
        """Write the row that names the file. Without one that does, the file goes."""
        stored: Submission | None = None
        try:
            stored = self._node.store.submit(study.hash, replace(offered, file=path.name))
        except ConflictError:
            refuse(409, "conflict", "this owner has submitted something else to this study")
        except ClosedError as error:
            refuse(409, "closed", f"{error}; nothing more can be submitted")
        finally:
            if stored is None or stored.file != path.name:
                path.unlink(missing_ok=True)
        if stored.file == path.name:
            self._node.metrics.submissions.inc()
            about = {"study": study.manifest.study, "owner": offered.owner, "samples": stored.samples}
            log.info("submission stored", extra=about)
            self._node.notice()
        return stored

    def _offer(self, request: web.Request, study: Study, owner: str) -> Submission:
        """What the headers announce, checked before a byte of the body is read."""
        try:
            samples = int(request.headers["Ppaurora-Samples"])
            commitments = tuple(request.headers[f"Ppaurora-Commitment-{number}"] for number in (0, 1))
        except (KeyError, ValueError):
            refuse(400, "headers", "Ppaurora-Samples, Ppaurora-Commitment-0 and -1 are needed")
        if not all(is_hex(text, 64) for text in commitments):
            refuse(400, "headers", "a commitment is 64 hexadecimal digits")
        limits, release = study.manifest.limits, study.manifest.release
        if not release.minimum_samples_per_owner <= samples <= limits.samples_per_owner:
            problem = policy_problem(study.manifest, [max(samples, 0)])
            refuse(422, "samples", problem or "an owner needs at least one sample")
        expected = SALT_BYTES + study.manifest.job([1] * len(study.manifest.owners)).input_bytes(samples)
        if request.content_length is None:
            refuse(411, "length", "the length of the body must be announced")
        if request.content_length > expected:
            refuse(413, "too-long", f"the body has {request.content_length} bytes instead of {expected}")
        if request.content_length < expected:
            refuse(422, "too-short", f"the body has {request.content_length} bytes instead of {expected}")
        return Submission(owner, samples, (commitments[0], commitments[1]), time.time())

    async def _receive(self, request: web.Request, offered: Submission) -> Path:
        """The share, durable in a file of its own. What does not fit the commitment is not kept."""
        length = request.content_length or 0
        try:
            async with asyncio.timeout(_SECONDS_FOR_A_PIECE + length / _SLOWEST_BYTES_PER_SECOND):
                return await self._receive_file(request, offered, length)
        except TimeoutError:
            refuse(408, "too-slow", "the body took too long; send it again")

    async def _receive_file(self, request: web.Request, offered: Submission, missing: int) -> Path:
        folder = self._node.store.shares
        path = folder / secrets.token_hex(16)
        digest = hashlib.sha256()
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                salt = b""
                while missing:
                    async with asyncio.timeout(_SECONDS_FOR_A_PIECE):
                        piece = await request.content.read(min(_PIECE, missing))
                    if not piece:
                        refuse(422, "too-short", "the body ended early")
                    missing -= len(piece)
                    digest.update(piece)
                    head = piece[: SALT_BYTES - len(salt)]
                    salt += head
                    await asyncio.to_thread(file.write, piece[len(head) :])
                if digest.hexdigest() != offered.commitments[self._node.role]:
                    refuse(422, "commitment", "the body is not what the commitment says")
                await asyncio.to_thread(_sync, file)
            await asyncio.to_thread(sync, folder)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    async def _release(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        if study.state is StudyState.EXPIRED:
            refuse(410, "expired", "the study's time is over; its result was deleted")
        if study.state is not StudyState.RELEASED:
            note = f": {study.note}" if study.note else ""
            refuse(404, "not-released", f"there is no result; the study is {study.state.value}{note}")
        found = await asyncio.to_thread(self._node.store.result, study.hash, owner)
        if found is None:
            refuse(410, "expired", "the result was deleted")
        attempt, words = found
        submissions = await asyncio.to_thread(self._node.store.submissions, study)
        return web.json_response(
            {
                "study": study.hash,
                "owner": owner,
                "attempt": attempt,
                "protocol_version": PROTOCOL_VERSION,
                "samples": {submission.owner: submission.samples for submission in submissions},
                "commitments": {s.owner: list(s.commitments) for s in submissions},
                "share": words.tolist(),
            }
        )

    async def _participant(self, request: web.Request) -> tuple[Study, str]:
        """The study that is meant, and which of its owners asks."""
        study = await asyncio.to_thread(self._node.store.study, request.match_info["study"])
        if study is None:
            refuse(404, "unknown-study", "no study of this hash was accepted by this node's operator")
        transport = request.transport
        session = None if transport is None else transport.get_extra_info("ssl_object")
        owner = None if session is None else study.manifest.owner_of(peer_pin(session))
        if owner is None:
            refuse(403, "not-an-owner", "this certificate is not of an owner of this study")
        return study, owner


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _not_stored(*, full: bool) -> RequestRefusedError:
    if full:
        message = "the node's disk is full; nothing was stored, try again later"
        return RequestRefusedError(507, "no-room", message)
    return RequestRefusedError(500, "internal", "the node could not store this")


def admin_app(node: Node) -> web.Application:
    """Health and metrics."""

    async def healthz(_: web.Request) -> web.Response:
        await asyncio.to_thread(node.store.studies)
        return web.json_response({"status": "ok", "role": node.role.title, "version": ppaurora.__version__})

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=node.metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application(handler_args=HANDLER)
    app.add_routes([web.get("/healthz", healthz), web.get("/metrics", metrics)])
    return app
