"""What owners send: taken once and whole, or refused with a stable code and not kept."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import http.client
import json
import logging
import resource
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from ppaurora.errors import RefusedError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.owners import OFFER_HEADER, Refusal, StudyState, studies_path
from ppaurora.node import service as service_module
from ppaurora.node.store import SubmissionRecord
from ppaurora.study.manifest import Manifest
from ppaurora.testing.consortium import POLICY
from tests.support.bad_input import PLANTED
from tests.support.deployment import command
from tests.support.trials import PreparedUpload, StartNode, Trials, becomes, half_sent, owners_service


def put(nodes: Trials, manifest: Manifest, upload: PreparedUpload, **changed: str | None) -> tuple[int, str]:
    """A submission with other headers, as they come: status and code."""
    context = nodes.owner("north").client_context(manifest)
    headers: dict[str, str | None] = {
        OFFER_HEADER: to_json(upload.offer).decode(),
        "Content-Length": str(len(upload.bodies[0])),
    }
    headers.update({name.replace("_", "-"): value for name, value in changed.items()})
    port = nodes.addresses["proxy-0"][0]
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    with contextlib.closing(connection):
        connection.putrequest("PUT", f"{studies_path()}/{manifest.hash}/submission")
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        chunked = headers["Content-Length"] is None
        body = upload.bodies[0][: int(headers["Content-Length"] or len(upload.bodies[0]))]
        connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body)
        response = connection.getresponse()
        text = response.read().decode()
        nodes.spoken.append(text)
        answer = json.loads(text)
        return response.status, answer.get("error", {}).get("code", "ok")


def offer(samples: str, *commitments: str) -> str:
    """As a header, whatever the number of samples is written as."""
    return f'{{"samples":{samples},"commitments":{json.dumps(commitments)}}}'


def test_submissions_that_are_refused(nodes: Trials) -> None:
    """Every one with its code; nothing is kept of any; then a good one is taken."""
    manifest = nodes.study("bodies", policy=f"{POLICY}minimum_samples_per_owner = 10\n")
    upload = nodes.upload(manifest)
    before = nodes.shares()
    length = len(upload.bodies[0])
    first, second = upload.commitments
    offers: list[tuple[str | None, tuple[int, str]]] = [
        (None, (400, "headers")),
        ("", (400, "headers")),
        ("no JSON", (400, "headers")),
        ("[" * 4000, (400, "headers")),
        ("[]", (400, "headers")),
        (offer('"many"', first, second), (400, "headers")),
        (offer('"20"', first, second), (400, "headers")),
        (offer("20.5", first, second), (400, "headers")),
        (offer("true", first, second), (400, "headers")),
        (offer("9" * 5000, first, second), (400, "headers")),
        (offer("20", second), (400, "headers")),
        (offer("20", first, second, second), (400, "headers")),
        (offer("20", first, "0" * 63), (400, "headers")),
        (offer("20", first, "0" * 65), (400, "headers")),
        (offer("20", first, "G" * 64), (400, "headers")),
        (offer("20", first, second).replace("}", ',"more":1}'), (400, "headers")),
        (offer("20", first, second).replace('"samples":20,', ""), (400, "headers")),
        (offer('20,"floors":5', first, second), (400, "headers")),
        (offer('20,"floors":{"digits":0}', first, second), (400, "headers")),
        (offer('20,"floors":{"largest_owner_fraction":"1"}', first, second), (400, "headers")),
        (offer('20,"floors":{"minimum_samples_per_owner":1}', first, second), (400, "headers")),
        (offer("0", first, second), (422, "samples")),
        (offer("-20", first, second), (422, "samples")),
        (offer("9", first, second), (422, "samples")),
        (offer("2000001", first, second), (422, "samples")),
        (offer("9" * 400, first, second), (422, "samples")),
        (offer("1000", first, second), (422, "too-short")),
        (offer("20", "0" * 64, second), (422, "commitment")),
    ]
    cases: list[tuple[dict[str, str | None], tuple[int, str]]] = [
        *(({"Ppaurora_Submission": text}, expected) for text, expected in offers),
        ({"Content_Length": None, "Transfer_Encoding": "chunked"}, (411, "length")),
        ({"Content_Length": str(length + 1)}, (413, "too-long")),
        ({"Content_Length": str(length - 1)}, (422, "too-short")),
    ]
    for changed, expected in cases:
        assert put(nodes, manifest, upload, **changed) == expected, changed
    for client, study in (
        (nodes.client("north", manifest), "0" * 64),
        (nodes.client("north", manifest), "..%2f"),
    ):
        client._path = f"{studies_path()}/{study}"
        for request in (client.status, client.release, lambda c=client: upload.send(c)):
            assert nodes.refusal(request) == "unknown-study"
    assert nodes.shares() == before
    assert nodes.client("north", manifest).status().submitted == ()
    assert put(nodes, manifest, upload) == (200, "ok")


def test_an_upload_that_is_cut_off_leaves_nothing(nodes: Trials) -> None:
    """Half a body and then the line is cut: no file, no row; the same submission is taken afterwards."""
    manifest = nodes.study("cut")
    upload = nodes.upload(manifest, 200_000)
    before = nodes.shares()
    with half_sent(nodes, manifest, upload):
        assert becomes(lambda: nodes.shares() != before)  # a part of it is there
    assert becomes(lambda: nodes.shares() == before)
    client = nodes.client("north", manifest)
    assert client.status().submitted == ()
    assert upload.send(client).samples == 200_000


def test_a_submission_is_taken_once(nodes: Trials) -> None:
    """The same again is the same acknowledgement; anything else is a conflict, also a large one."""
    manifest = nodes.study("once")
    client = nodes.client("north", manifest)
    upload = nodes.upload(manifest)
    first = upload.send(client)
    before = nodes.shares()
    assert upload.send(client) == first
    assert nodes.refusal(lambda: nodes.upload(manifest).send(client)) == "conflict"
    assert nodes.refusal(lambda: nodes.upload(manifest, 1_000_000).send(client)) == "conflict"
    assert nodes.refusal(lambda: upload.send(client, bodies=nodes.upload(manifest).bodies)) == "commitment"
    assert nodes.shares() == before
    assert client.status().submitted == ("north",)


def test_the_same_submission_many_times_at_once(nodes: Trials) -> None:
    """One row, one file, one acknowledgement; of two that differ, one is taken."""
    manifest = nodes.study("rush")
    before = nodes.shares()
    same, other = nodes.upload(manifest), nodes.upload(manifest)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: same.send(nodes.client("north", manifest)), range(8)))
    assert all(answer == answers[0] for answer in answers)

    def race(upload: PreparedUpload) -> str:
        try:
            return str(upload.send(nodes.client("harbour", manifest)).commitments)
        except RefusedError as error:
            return error.code

    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(race, [same, other] * 4))
    assert len(set(ends)) == 2
    assert "conflict" in ends
    assert len(nodes.shares() - before) == 2


def test_nothing_is_taken_after_the_end(nodes: Trials) -> None:
    manifest = nodes.study("closed")
    client = nodes.client("north", manifest)
    upload = nodes.upload(manifest)
    first = upload.send(client)
    with nodes.store("proxy-0") as store:
        store.set_state(manifest.hash, StudyState.STOPPED, "a person stopped it")
    assert nodes.refusal(lambda: upload.send(nodes.client("harbour", manifest))) == "closed"
    assert upload.send(client) == first


def test_a_full_disk(nodes: Trials) -> None:
    """No room: said so, nothing half stored; with room again, the same submission is taken."""
    manifest = nodes.study("full")
    upload = nodes.upload(manifest, 1_200_000)
    client = nodes.client("north", manifest)
    before = nodes.shares()
    process = nodes.process_id("proxy-0")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit, to take room from a process that runs")
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (8 << 20, hard))
    try:
        assert nodes.refusal(lambda: upload.send(client)) == "no-room"
        assert nodes.shares() == before
        assert client.status().submitted == ()
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))
    assert upload.send(client).samples == 1_200_000


def test_what_is_acknowledged_survives_a_second_start_of_the_node(nodes: Trials) -> None:
    """An operator who starts a node twice by mistake is told so, and an upload under way is not lost."""
    manifest = nodes.study("twice")
    upload = nodes.upload(manifest, 50_000)
    before = nodes.shares()
    with half_sent(nodes, manifest, upload) as finish:
        assert becomes(lambda: nodes.shares() != before)
        second = command("serve", nodes.kit("proxy-0"))
        nodes.spoken.append(second.stdout + second.stderr)
        assert second.returncode == 2
        assert b" 200 " in finish()
    with nodes.store("proxy-0") as store:
        kept = store.submission(manifest.hash, "north")
        assert kept is not None
        assert kept.file is not None
        assert (store.shares / kept.file).exists()


def test_an_owner_cannot_fill_the_disk_with_beginnings(nodes: Trials) -> None:
    """Uploads of one owner to one study that run at the same time are few, whatever they announce."""
    manifest = nodes.study("beginnings")
    before = nodes.shares()
    with contextlib.ExitStack() as cleanup:
        for _ in range(12):
            upload = nodes.upload(manifest, 5000)
            cleanup.enter_context(half_sent(nodes, manifest, upload))
        time.sleep(0.5)
        files = len(nodes.shares() - before)
    assert becomes(lambda: nodes.shares() == before)
    assert files <= 4


def test_an_upload_that_is_cancelled_keeps_row_and_file_together(alone: StartNode) -> None:
    """The node is told to stop while a submission is committed: it is there whole, or not at all."""
    node = alone("proxy-0", lambda store, manifest: None)
    (study,) = node.store.studies()
    service = owners_service(node.kit, node.store, node.activity)
    path = node.store.shares / "upload"
    path.write_bytes(b"share")
    offered = SubmissionRecord("north", 20, ("0" * 64, "1" * 64), time.time())
    committing, go_on, committed = threading.Event(), threading.Event(), threading.Event()
    commit_it = node.store.submit

    def slow(*arguments: Any) -> SubmissionRecord:
        committing.set()
        go_on.wait(60)
        try:
            return commit_it(*arguments)
        finally:
            committed.set()

    async def participant(_: Any) -> Any:
        return study, "north"

    async def receive(*_: Any) -> Path:
        return path

    async def stop_in_the_middle() -> None:
        task = asyncio.create_task(service._submit(None))  # type: ignore[arg-type]
        await asyncio.to_thread(committing.wait, 60)
        task.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await asyncio.to_thread(committed.wait, 60)
        await asyncio.sleep(0.3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "_participant", participant)
        patch.setattr(service_module, "_pin", lambda _: study.manifest.owners[0].pin)
        patch.setattr(service, "_offer", lambda *_: offered)
        patch.setattr(service_module, "receive_share", receive)
        patch.setattr(node.store, "submit", slow)
        asyncio.run(stop_in_the_middle())
    kept = node.store.submission(study.hash, "north")
    assert (kept is not None) == path.exists()


def test_requests_that_are_not_http_are_not_quoted(nodes: Trials) -> None:
    """The log does not repeat what was sent: it may be a share, or the body of one that was cut wrongly."""
    manifest = nodes.study("quoting")
    upload = nodes.upload(manifest)
    context = nodes.owner("north").client_context(manifest)
    address = f"PUT {studies_path()}/{manifest.hash}/submission HTTP/1.1\r\nHost: x\r\n".encode()
    for noise in (
        address + b"Transfer-Encoding: chunked\r\n\r\n" + upload.bodies[0],
        address + b"Content-Length: 0\r\n\r\n" + upload.bodies[0],
        address + b"Salt\x00: " + upload.bodies[0] + b"\r\n\r\n",
        upload.bodies[0] + b"\r\n\r\n",
    ):
        with (
            socket.create_connection(("127.0.0.1", nodes.addresses["proxy-0"][0] or 0), timeout=60) as raw,
            context.wrap_socket(raw) as sock,
        ):
            sock.sendall(noise)
            with contextlib.suppress(ConnectionError):
                assert b" 200 " not in sock.recv(1 << 16)
    with (
        half_sent(nodes, manifest, upload, "Content-Encoding: gzip\r\n") as finish,
        contextlib.suppress(ConnectionError),
    ):
        assert b" 500 " not in finish()
    log = nodes.log("proxy-0")
    assert [text for text in upload.as_printed() if text in log] == []


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, PLANTED), (507, "no-room")),
        (sqlite3.OperationalError("database or disk is full"), (507, "no-room")),
        (OSError(errno.EIO, PLANTED), (500, "internal")),
        (sqlite3.OperationalError(PLANTED), (500, "internal")),
        (ValueError(PLANTED), (500, "internal")),
    ],
    ids=repr,
)
def test_a_node_in_trouble_says_so(
    alone: StartNode, caplog: pytest.LogCaptureFixture, error: Exception, expected: tuple[int, str]
) -> None:
    """To the owner by a code; to its operator, unless the disk is full, by the error's type and place."""
    node = alone("proxy-0", lambda store, manifest: None)
    service = owners_service(node.kit, node.store, node.activity)

    async def fail(_: web.Request) -> web.Response:
        raise error

    with caplog.at_level(logging.ERROR):
        response = asyncio.run(service._answer_errors(make_mocked_request("GET", "/"), fail))
    assert isinstance(response, web.Response)
    assert isinstance(response.body, bytes)
    assert (response.status, from_json(Refusal, response.body).error.code) == expected
    reasons = [vars(record)["reason"] for record in caplog.records]
    assert reasons == ([type(error).__name__] if expected[0] == 500 else [])
    assert PLANTED not in response.body.decode() + caplog.text
