"""The owners' port of a node: HTTPS with client certificates, a few requests, each bound to a study.

`messages.owners` says which. And the administrator's, local and without TLS: /healthz,
/attempts and /metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import UNSET

from ppaurora.channel.tls import peer_pin
from ppaurora.io.models import StrictModel, to_json
from ppaurora.io.system import quoted
from ppaurora.messages import VERSIONS
from ppaurora.messages.owners import (
    Acknowledgement,
    Problem,
    Refusal,
    ReleasedPart,
    StudyState,
    WithdrawalAcknowledgement,
    description_path,
    studies_path,
)
from ppaurora.messages.refusals import RefusalCode
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.logs import RateLimitedLog, about, log_unforeseen
from ppaurora.node.metrics import Metrics
from ppaurora.node.openapi import openapi
from ppaurora.node.peer_records import PeerRecords
from ppaurora.node.refusals import RequestRefusedError, node_failed, refuse
from ppaurora.node.statements import all_statements
from ppaurora.node.status import broken_rule, study_status
from ppaurora.node.store import (
    STORAGE_ERRORS,
    BegunError,
    ClosedError,
    ConflictError,
    DamagedError,
    ReusedError,
    Store,
    StudyRecord,
    SubmissionRecord,
    SupersededError,
    TooOftenError,
    delete_share,
)
from ppaurora.node.uploads import (
    PIECE,
    read_agreement,
    read_offer,
    read_statement,
    read_withdrawal,
    receive_share,
)
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.study.kit import NodeKit
from ppaurora.version import Versions

_SECONDS_BETWEEN_RECORDS = 3_600.0
_PARTICIPANT = "participant"  # of a request: the study that is meant, and its owner
_UPLOADS_AT_ONCE = 4  # of one owner to one study; a cut-off one lingers a while

# Bodies are taken as they are sent, never unpacked; idle connections end soon.
HANDLER: dict[str, object] = {"access_log": None, "auto_decompress": False, "keepalive_timeout": 30.0}

log = logging.getLogger(__name__)


class OwnersService:
    """The owners' port of one node: an application that answers the requests of `messages.owners`."""

    def __init__(
        self,
        kit: NodeKit,
        store: Store,
        activity: Activity,
        metrics: Metrics,
        withdrawals: Withdrawals,
        peer_records: PeerRecords,
        amendments: StudyAmendments,
    ) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._metrics = metrics
        self._withdrawals = withdrawals
        self._peer_records = peer_records
        self._amendments = amendments
        self._refusals = RateLimitedLog(log, most=100)
        self._unknown_studies = RateLimitedLog(log, most=1, seconds=600.0, level=logging.WARNING)
        self._recorded: dict[tuple[str, str, str], float] = {}  # when a refusal came into the audit log
        self._uploads: dict[tuple[str, str], asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_UPLOADS_AT_ONCE)
        )
        self.app = web.Application(
            middlewares=[self._answer_errors], client_max_size=PIECE, handler_args=HANDLER
        )
        for version in VERSIONS:
            self.app.add_routes(self._routes(version))

    def _routes(self, version: int) -> list[web.RouteDef]:
        """Return what is answered about studies of a version."""
        study = f"{studies_path(version)}/{{study}}"
        return [
            web.get(description_path(version), partial(self._openapi, version)),
            web.get(study, self._status),
            web.put(f"{study}/submission", self._submit),
            web.put(f"{study}/withdrawal", self._withdraw),
            web.put(f"{study}/known", self._learn),
            web.get(f"{study}/amendments", self._amendments_of),
            web.put(f"{study}/agreement", self._agree),
            web.get(f"{study}/release", self._release),
        ]

    @web.middleware
    async def _answer_errors(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except RequestRefusedError as error:
            refusal = error
        except web.HTTPException as error:
            refusal = RequestRefusedError(RefusalCode.BAD_REQUEST, error.reason, error.status)
        except (HttpProcessingError, ClientPayloadError, web.PayloadAccessError):
            refusal = RequestRefusedError(RefusalCode.BAD_REQUEST)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            refusal = node_failed(error)
            if refusal.code is RefusalCode.INTERNAL:
                log_unforeseen(log, "a request failed", error)
        self._metrics.refused.labels(refusal.code).inc()
        await asyncio.to_thread(self._record_refusal, request, refusal.code)
        facts = {"code": refusal.code, "path": request.path, "method": request.method}
        if refusal.code is RefusalCode.UNKNOWN_STUDY:
            kit = quoted(str(self._kit.folder))
            facts["do"] = f"if this node takes part in it: ppaurora accept {kit} MANIFEST"
            self._unknown_studies.tell("a study that was not accepted is asked for", facts)
        else:
            self._refusals.tell("request refused", facts)
        problem = Problem(code=refusal.code, message=refusal.message)
        response = _response(Refusal(error=problem), refusal.status)
        response.force_close()  # the rest of a refused body is not waited for
        return response

    def _record_refusal(self, request: web.Request, code: str) -> None:
        """Record in the audit log what an owner was refused; the same again only after an hour."""
        study, owner = request.get(_PARTICIPANT, (None, ""))
        if study is None or request.method != "PUT":
            return
        now, key = time.monotonic(), (study.hash, owner, code)
        if now < self._recorded.get(key, -_SECONDS_BETWEEN_RECORDS) + _SECONDS_BETWEEN_RECORDS:
            return
        with contextlib.suppress(*STORAGE_ERRORS):
            self._store.record_of(study.hash, f"a request of {owner} was refused ({code})")
            self._recorded[key] = now

    async def _openapi(self, version: int, _: web.Request) -> web.Response:
        return web.json_response(openapi(version))

    async def _status(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        progress, trouble = self._activity.progress(study.hash), self._activity.health.trouble
        silence = self._activity.peers.reason(study.hash)
        facts = (self._kit, self._store, study, progress, trouble, owner, silence)
        return _response(await asyncio.to_thread(study_status, *facts))

    async def _learn(self, request: web.Request) -> web.Response:
        """Hear of a release that this node may have forgotten."""
        study, _ = await self._participant(request)
        signed = await read_statement(request)
        problem = await asyncio.to_thread(self._peer_records.learn, study, signed)
        if problem:
            refuse(RefusalCode.NOT_SIGNED, f"{RefusalCode.NOT_SIGNED.meaning}: {problem}")
        return await self._status(request)

    async def _amendments_of(self, request: web.Request) -> web.Response:
        study, _ = await self._participant(request)
        amended = await asyncio.to_thread(self._amendments.amended, study)
        if amended is UNSET:
            refuse(RefusalCode.NOT_AMENDED)
        return _response(amended)

    async def _agree(self, request: web.Request) -> web.Response:
        """Keep an owner's agreement to an amendment."""
        study, owner = await self._participant(request)
        signed = await read_agreement(request)
        if signed.agreement.owner != owner:
            refuse(RefusalCode.NOT_AGREED, f"{RefusalCode.NOT_AGREED.meaning}: it is another owner's")
        problem = await asyncio.shield(asyncio.to_thread(self._amendments.keep, study, [signed]))
        if problem:
            refuse(RefusalCode.NOT_AGREED, f"{RefusalCode.NOT_AGREED.meaning}: {problem}")
        return await self._status(request)

    async def _submit(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        pin = _pin(request)
        place = self._place_among_inputs(study)
        _refuse_if_deleted(study, "nothing was stored")
        offered = self._offer(request, study, owner)
        await asyncio.to_thread(self._check_news, study, offered)
        async with self._uploads[study.hash, owner]:
            path = await receive_share(request, offered.commitments[place], self._store.shares)
            # Not to be cut off between the row and the file: the thread goes on if this request ends.
            keep = partial(self._keep, study, offered, path, place, pin)
            stored = await asyncio.shield(asyncio.to_thread(keep))
        return _response(
            Acknowledgement(
                study=study.hash,
                owner=owner,
                samples=stored.samples,
                commitments=stored.commitments,
                revision=stored.revision,
                received_at=stored.received_at,
                server=self._kit.server(study.manifest).title,
            )
        )

    def _check_news(self, study: StudyRecord, offered: SubmissionRecord) -> None:
        """Refuse before the body is read what `Store.submit`, which decides, would refuse."""
        latest = self._store.latest_revision(study.hash, offered.owner)
        if latest is not None and offered.revision <= latest.revision:
            if (
                not latest.withdrawn
                and offered.revision == latest.revision
                and self._store.is_another(offered, latest)
            ):
                refuse(RefusalCode.CONFLICT)
            return
        if latest is not None and self._store.has_begun(study.hash):
            refuse(RefusalCode.BEGUN, f"{RefusalCode.BEGUN.meaning}; nothing was stored")
        if not self._store.takes_submissions(study.hash, is_known=latest is not None):
            why = f": {study.note}" if study.state is StudyState.STOPPED and study.note else ""
            refuse(
                RefusalCode.CLOSED, f"the study is {study.state.value}; nothing more can be submitted{why}"
            )
        if not study.manifest.evaluation.takes_submissions(offered.received_at):
            refuse(RefusalCode.TOO_LATE, f"{study.manifest.evaluation.too_late}; nothing was stored")
        if self._store.is_reused(study.hash, offered.commitments):
            refuse(RefusalCode.REUSED)

    async def _withdraw(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        self._place_among_inputs(study)
        revision = (await read_withdrawal(request)).revision
        # Not to be cut off: the thread goes on if this request ends.
        withdrawal = await asyncio.shield(asyncio.to_thread(self._keep_withdrawal, study, owner, revision))
        return _response(
            WithdrawalAcknowledgement(
                study=study.hash,
                owner=owner,
                revision=withdrawal.revision,
                withdrawn_at=withdrawal.received_at,
                server=self._kit.server(study.manifest).title,
            )
        )

    def _keep_withdrawal(self, study: StudyRecord, owner: str, revision: int) -> SubmissionRecord:
        """Record a withdrawal at the leader, which decides; elsewhere, return what the leader has told."""
        if not self._withdrawals.decides(study):
            return self._withdrawal_heard_of(study, owner, revision)
        try:
            return self._withdrawals.record(study, owner, revision)
        except SupersededError as error:
            refuse(RefusalCode.SUPERSEDED, str(error))
        except BegunError:
            refuse(RefusalCode.BEGUN, f"{RefusalCode.BEGUN.meaning}; nothing was withdrawn")
        except TooOftenError as error:
            refuse(RefusalCode.TOO_OFTEN, f"{error}; there is nothing to withdraw")
        except ClosedError as error:
            refuse(RefusalCode.CLOSED, f"{error}; nothing can be withdrawn from it")
        finally:
            self._activity.news.set()

    def _withdrawal_heard_of(self, study: StudyRecord, owner: str, revision: int) -> SubmissionRecord:
        latest = self._store.latest_revision(study.hash, owner)
        if latest is not None and latest.withdrawn and latest.revision == revision:
            return latest
        if latest is not None and latest.revision > revision:
            refuse(
                RefusalCode.SUPERSEDED,
                f"{RefusalCode.SUPERSEDED.meaning}, with revision {latest.revision}",
            )
        _refuse_if_deleted(study, "nothing is kept here")
        leader = study.manifest.protocol.leader.title
        note = f"{leader} has not passed on your withdrawal yet; it does so by itself"
        raise RequestRefusedError(RefusalCode.PENDING, note)

    def _place_among_inputs(self, study: StudyRecord) -> int:
        """Return which of an owner's commitments is to the share for this server."""
        server, takers = self._kit.server(study.manifest), study.manifest.protocol.input_servers
        if server not in takers:
            refuse(RefusalCode.CLOSED, f"{server.title} takes no submissions")
        return takers.index(server)

    def _offer(self, request: web.Request, study: StudyRecord, owner: str) -> SubmissionRecord:
        offer = read_offer(request, study.manifest, self._kit.server(study.manifest))
        return SubmissionRecord(
            owner,
            offer.samples,
            offer.commitments,
            self._store.now(),
            floors=offer.floors,
            revision=offer.revision,
        )

    def _keep(
        self, study: StudyRecord, offered: SubmissionRecord, path: Path, place: int, pin: str | None
    ) -> SubmissionRecord:
        """Write the row that names the file. Without one that does, the file goes."""
        stored: SubmissionRecord | None = None
        try:
            now = self._store.study(study.hash)
            if now is None or pin is None or now.owner_of(pin) != offered.owner:  # amended meanwhile
                refuse(RefusalCode.NOT_AN_OWNER, _dropped(now or study, pin))
            self._store.check_shares(study, place, offered.owner)
            stored = self._store.submit(study.hash, replace(offered, file=path.name))
        except ConflictError:
            refuse(RefusalCode.CONFLICT)
        except ReusedError:
            refuse(RefusalCode.REUSED)
        except SupersededError as error:
            refuse(RefusalCode.SUPERSEDED, f"{error}; nothing was stored")
        except TooOftenError as error:
            refuse(RefusalCode.TOO_OFTEN, f"{error}; nothing was stored")
        except BegunError:
            refuse(RefusalCode.BEGUN, f"{RefusalCode.BEGUN.meaning}; nothing was stored")
        except ClosedError as error:
            refuse(RefusalCode.CLOSED, f"{error}; nothing more can be submitted")
        finally:
            if stored is None or stored.file != path.name:
                delete_share(path)
        if stored.file == path.name:
            self._metrics.submissions.inc()
            facts = {"study": study.manifest.study, "owner": offered.owner, "samples": stored.samples}
            log.info("submission stored", extra=facts)
            self._activity.pauses.forget(study.hash)
            self._activity.news.set()
            if broken := broken_rule(self._store, study):
                log.warning("submissions break a public rule", extra={**about(study), "reason": broken})
        return stored

    async def _release(self, request: web.Request) -> web.Response:
        study, owner = await self._participant(request)
        server = self._kit.server(study.manifest)
        if server not in study.manifest.protocol.result_servers:
            refuse(RefusalCode.NOT_RELEASED, f"{server.title} gets no part of the result")
        _refuse_if_deleted(study, "its result was deleted")
        if study.state is not StudyState.RELEASED:
            said = study.note or await asyncio.to_thread(broken_rule, self._store, study)
            note = f": {said}" if said else ""
            refuse(RefusalCode.NOT_RELEASED, f"there is no result; the study is {study.state.value}{note}")
        try:
            found = await asyncio.to_thread(self._store.result, study.hash, owner)
        except DamagedError as error:
            log.error("a part of a result is damaged", extra=about(study))  # noqa: TRY400 (all is said)
            refuse(RefusalCode.DAMAGED, str(error))
        salt = await asyncio.to_thread(self._store.salt, study.hash, owner)
        if found is None or salt is None:
            refuse(RefusalCode.EXPIRED, "the result was deleted")
        attempt, part = found
        submissions = await asyncio.to_thread(self._store.acknowledged, study)
        statements = await asyncio.to_thread(all_statements, self._kit, self._store, study.hash)
        return _response(
            ReleasedPart(
                study=study.hash,
                owner=owner,
                attempt=attempt,
                protocol_version=study.manifest.version,
                submissions=tuple(submission.submitted for submission in submissions),
                part=part,
                salt=salt,
                statements=statements,
                amended=await asyncio.to_thread(self._amendments.amended, study),
            )
        )

    async def _participant(self, request: web.Request) -> tuple[StudyRecord, str]:
        """Return the study that is meant, and which of its owners asks; refuse if there is none."""
        study = await asyncio.to_thread(self._store.study, request.match_info["study"])
        if study is None:
            refuse(RefusalCode.UNKNOWN_STUDY)
        pin = _pin(request)
        owner = None if pin is None else study.owner_of(pin)
        if owner is None:
            refuse(RefusalCode.NOT_AN_OWNER, _dropped(study, pin))
        request[_PARTICIPANT] = study, owner
        return study, owner


def _pin(request: web.Request) -> str | None:
    """Return the key that somebody has shown; None once the connection is gone."""
    transport = request.transport
    session = None if transport is None else transport.get_extra_info("ssl_object")
    return None if session is None else peer_pin(session)


def _dropped(study: StudyRecord, pin: str | None) -> str:
    """Return by which amendment an owner takes part no longer; empty for who never did."""
    counted = study.manifests[: study.manifest.amendment + 1]
    had = [number for number, one in enumerate(counted) if pin and one.owner_of(pin)]
    if not had:
        return ""
    return f"since amendment {had[-1] + 1} your key is not that of an owner of this study"


def _refuse_if_deleted(study: StudyRecord, what: str) -> None:
    """Refuse if nothing of this study is kept any longer."""
    if study.state is StudyState.EXPIRED:
        refuse(RefusalCode.EXPIRED, f"{RefusalCode.EXPIRED.meaning}; {what}")
    if study.state is StudyState.DELETED:
        refuse(RefusalCode.DELETED, f"{RefusalCode.DELETED.meaning}; {what}")


def _response(message: StrictModel, status: int = 200) -> web.Response:
    return web.Response(body=to_json(message), status=status, content_type="application/json")


def admin_app(kit: NodeKit, activity: Activity, metrics: Metrics) -> web.Application:
    """Health, progress and metrics, from memory: they are asked for when nothing else answers."""
    health = activity.health

    async def healthz(_: web.Request) -> web.Response:
        findings = health.findings
        is_ready = all(finding.ok for finding in findings)
        answer = {
            "status": "not ready" if not is_ready else "attention" if findings else "ok",
            "problems": [finding.sentence for finding in findings],
            "role": kit.title,
            **asdict(Versions()),
        }
        return web.json_response(answer, status=200 if is_ready else 503)

    async def attempts(_: web.Request) -> web.Response:
        return web.json_response(activity.all_progress())

    async def tell_metrics(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    app = web.Application(handler_args=HANDLER)
    app.add_routes(
        [
            web.get("/healthz", healthz),
            web.get("/attempts", attempts),
            web.get("/metrics", tell_metrics),
        ]
    )
    return app
