"""The owners' port of a node: HTTPS with client certificates, a few requests, each bound to a study.

`messages.owners` says which. And the administrator's, local and without TLS: /healthz and /metrics.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from ppaurora.channel.tls import peer_pin
from ppaurora.messages import VERSION
from ppaurora.messages.owners import (
    DESCRIPTION_PATH,
    PATH,
    Acknowledgement,
    Problem,
    Refusal,
    ReleasedPart,
    StudyState,
)
from ppaurora.models import StrictModel, to_json
from ppaurora.node.activity import Activity
from ppaurora.node.health import Health
from ppaurora.node.logs import Rarely, about, log_unforeseen
from ppaurora.node.metrics import Metrics
from ppaurora.node.openapi import OPENAPI
from ppaurora.node.refusals import RequestRefusedError, node_failed, refuse
from ppaurora.node.status import study_status
from ppaurora.node.store import (
    ClosedError,
    ConflictError,
    DamagedError,
    ReusedError,
    Store,
    StudyRecord,
    SubmissionRecord,
)
from ppaurora.node.uploads import PIECE, read_offer, receive_share
from ppaurora.study.kit import NodeKit
from ppaurora.version import __version__

_UPLOADS_AT_ONCE = 4  # of one owner to one study; a cut-off one lingers a while

# Bodies are taken as they are sent, never unpacked; idle connections end soon.
HANDLER: dict[str, object] = {"access_log": None, "auto_decompress": False, "keepalive_timeout": 30.0}

log = logging.getLogger(__name__)


class OwnersService:
    """One node's."""

    def __init__(self, kit: NodeKit, store: Store, activity: Activity, metrics: Metrics) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._metrics = metrics
        self._refusals = Rarely(log, most=100)
        self._uploads: dict[tuple[str, str], asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_UPLOADS_AT_ONCE)
        )
        self.app = web.Application(
            middlewares=[self._answer_errors], client_max_size=PIECE, handler_args=HANDLER
        )
        self.app.add_routes(
            [
                web.get(DESCRIPTION_PATH, self._openapi),
                web.get(f"{PATH}/{{study}}", self._status),
                web.put(f"{PATH}/{{study}}/submission", self._submit),
                web.get(f"{PATH}/{{study}}/release", self._release),
            ]
        )

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
        except (HttpProcessingError, ClientPayloadError, web.PayloadAccessError):
            refusal = RequestRefusedError(400, "bad-request", "the request is not HTTP as it should be")
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            refusal = node_failed(error)
            if refusal.code == "internal":
                log_unforeseen(log, "a request failed", error)
        self._metrics.refused.labels(refusal.code).inc()
        facts = {"code": refusal.code, "path": request.path, "method": request.method}
        self._refusals.info("request refused", facts)
        problem = Problem(code=refusal.code, message=refusal.message)
        response = _response(Refusal(error=problem), refusal.status)
        response.force_close()  # the rest of a refused body is not waited for
        return response

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(OPENAPI)

    async def _status(self, request: web.Request) -> web.Response:
        study, _ = await self._participant(request)
        progress, trouble = self._activity.progress(study.hash), self._activity.health.trouble
        return _response(
            await asyncio.to_thread(study_status, self._kit, self._store, study, progress, trouble)
        )

    async def _submit(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        place = self._place_among_inputs(study)
        if study.state is StudyState.EXPIRED:
            refuse(410, "expired", "the study's time is over; nothing was stored")
        offered = self._offer(request, study, owner)
        kept = await asyncio.to_thread(self._store.submission, study.hash, owner)
        if kept is None and study.state is not StudyState.COLLECTING:
            refuse(409, "closed", f"the study is {study.state.value}; nothing more can be submitted")
        if kept is None and not study.manifest.evaluation.takes_submissions(offered.received_at):
            refuse(409, "too-late", f"{study.manifest.evaluation.too_late}; nothing was stored")
        if kept is not None and await asyncio.to_thread(self._store.is_another, offered, kept):
            refuse(409, "conflict", "this owner has submitted something else to this study")
        if kept is None and await asyncio.to_thread(self._store.is_reused, study.hash, offered.commitments):
            _refuse_reused()
        async with self._uploads[study.hash, owner]:
            path = await receive_share(request, offered.commitments[place], self._store.shares)
            # Not to be cut off between the row and the file: the thread goes on if this request ends.
            stored = await asyncio.shield(asyncio.to_thread(self._keep, study, offered, path, place))
        return _response(
            Acknowledgement(
                study=study.hash,
                owner=owner,
                samples=stored.samples,
                commitments=stored.commitments,
                received_at=stored.received_at,
                server=self._kit.server(study.manifest).title,
            )
        )

    def _place_among_inputs(self, study: StudyRecord) -> int:
        """Which of an owner's commitments is to the share for this server."""
        server, takers = self._kit.server(study.manifest), study.manifest.protocol.input_servers
        if server not in takers:
            refuse(409, "closed", f"{server.title} takes no submissions")
        return takers.index(server)

    def _offer(self, request: web.Request, study: StudyRecord, owner: str) -> SubmissionRecord:
        offer = read_offer(request, study.manifest)
        return SubmissionRecord(
            owner, offer.samples, offer.commitments, self._store.now(), floors=offer.floors
        )

    def _keep(
        self, study: StudyRecord, offered: SubmissionRecord, path: Path, place: int
    ) -> SubmissionRecord:
        """Write the row that names the file. Without one that does, the file goes."""
        stored: SubmissionRecord | None = None
        try:
            self._store.check_shares(study, place, offered.owner)
            stored = self._store.submit(study.hash, replace(offered, file=path.name))
        except ConflictError:
            refuse(409, "conflict", "this owner has submitted something else to this study")
        except ReusedError:
            _refuse_reused()
        except ClosedError as error:
            refuse(409, "closed", f"{error}; nothing more can be submitted")
        finally:
            if stored is None or stored.file != path.name:
                path.unlink(missing_ok=True)
        if stored.file == path.name:
            self._metrics.submissions.inc()
            facts = {"study": study.manifest.study, "owner": offered.owner, "samples": stored.samples}
            log.info("submission stored", extra=facts)
            self._activity.forget_pause(study.hash)
            self._activity.news.set()
        return stored

    async def _release(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        server = self._kit.server(study.manifest)
        if server not in study.manifest.protocol.result_servers:
            refuse(404, "not-released", f"{server.title} gets no part of the result")
        if study.state is StudyState.EXPIRED:
            refuse(410, "expired", "the study's time is over; its result was deleted")
        if study.state is not StudyState.RELEASED:
            note = f": {study.note}" if study.note else ""
            refuse(404, "not-released", f"there is no result; the study is {study.state.value}{note}")
        try:
            found = await asyncio.to_thread(self._store.result, study.hash, owner)
        except DamagedError as error:
            log.error("a part of a result is damaged", extra=about(study))  # noqa: TRY400 (all is said)
            refuse(410, "damaged", str(error))
        if found is None:
            refuse(410, "expired", "the result was deleted")
        attempt, part = found
        submissions = await asyncio.to_thread(self._store.acknowledged, study)
        return _response(
            ReleasedPart(
                study=study.hash,
                owner=owner,
                attempt=attempt,
                protocol_version=VERSION,
                submissions=tuple(submission.submitted for submission in submissions),
                part=part,
            )
        )

    async def _participant(self, request: web.Request) -> tuple[StudyRecord, str]:
        """The study that is meant, and which of its owners asks."""
        study = await asyncio.to_thread(self._store.study, request.match_info["study"])
        if study is None:
            refuse(404, "unknown-study", "no study of this hash was accepted by this node's operator")
        transport = request.transport
        session = None if transport is None else transport.get_extra_info("ssl_object")
        owner = None if session is None else study.manifest.owner_of(peer_pin(session))
        if owner is None:
            refuse(403, "not-an-owner", "this certificate is not of an owner of this study")
        return study, owner


def _refuse_reused() -> NoReturn:
    refuse(409, "reused", "this was submitted to another study; every study takes shares of its own")


def _response(message: StrictModel, status: int = 200) -> web.Response:
    return web.Response(body=to_json(message), status=status, content_type="application/json")


def admin_app(kit: NodeKit, health: Health, metrics: Metrics) -> web.Application:
    """Health and metrics, from memory: they are asked for when nothing else answers."""

    async def healthz(_: web.Request) -> web.Response:
        problems = [*health.obstacles, *filter(None, [health.clock])]
        answer = {
            "status": "not ready" if health.obstacles else "attention" if problems else "ok",
            "problems": problems,
            "role": kit.title,
            "version": __version__,
        }
        return web.json_response(answer, status=503 if health.obstacles else 200)

    async def tell_metrics(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application(handler_args=HANDLER)
    app.add_routes([web.get("/healthz", healthz), web.get("/metrics", tell_metrics)])
    return app
