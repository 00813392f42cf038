"""What an owner sends and should not: refused, and no error of the node's."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ppaurora.errors import RefusedError
from ppaurora.io.models import to_json
from ppaurora.messages.owners import OFFER_HEADER, studies_path
from ppaurora.node.store import ClosedError, Store, SubmissionRecord
from ppaurora.study.manifest import Manifest
from tests.support.trials import Trials, becomes


def say(nodes: Trials, manifest: Manifest, request: bytes) -> bytes:
    """To proxy 0, with an owner's certificate; what it answers before it hangs up."""
    context = nodes.owner("north").client_context(manifest)
    port = nodes.addresses["proxy-0"][0] or 0
    heard = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as raw,
        context.wrap_socket(raw) as sock,
    ):
        try:
            sock.sendall(request)  # of a long one it may be tired before all is sent
            sock.settimeout(5)
            while piece := sock.recv(1 << 16):
                heard += piece
        except OSError:
            pass
    return heard


def test_malformed_requests_are_no_errors_of_the_node(nodes: Trials) -> None:
    manifest = nodes.study("malformed-requests")
    upload = nodes.upload(manifest)
    path = f"{studies_path()}/{manifest.hash}".encode()
    offer = f"{OFFER_HEADER}: {to_json(upload.offer).decode()}\r\n".encode()
    put = b"PUT " + path + b"/submission HTTP/1.1\r\nHost: x\r\n"
    deep = f"{OFFER_HEADER}: ".encode() + b"[" * 7000 + b"\r\n"
    requests = [
        b"GET " + path + b" HTTP/1.1\r\nno header\r\n\r\n",
        b"GET " + path + b" HTTP/1.1\r\n: x\r\n\r\n",
        b"GET " + path + b" HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"G\xffT / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01" * 100 + b"\r\n\r\n",
        put + b"Content-Length: x\r\n\r\n",
        put + b"Content-Length: -1\r\n\r\n",
        put + b"Content-Length: " + b"9" * 500 + b"\r\n\r\n",
        put + b"Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        put + offer + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nzz\r\n",
        put + offer + b"Expect: the unexpected\r\nContent-Length: 10\r\n\r\n",
        put + deep + b"Content-Length: 10\r\n\r\n",
        put + f"{OFFER_HEADER}: ".encode() + b"\xff\xfe\r\nContent-Length: 10\r\n\r\n",
        b"GET " + path + b"%00%ff/release HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ]
    before = len(nodes.events("proxy-0"))
    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(lambda request: say(nodes, manifest, request), requests))
    for request, heard in zip(requests, answers, strict=True):
        assert heard == b"" or heard.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), (request[:80], heard[:80])
    assert becomes(lambda: len(nodes.events("proxy-0")) > before)
    time.sleep(0.2)
    told = nodes.events("proxy-0")[before:]
    asked_for = "a study that was not accepted is asked for"  # by the address that ends with other letters
    grave = [event["event"] for event in told if event["level"] not in ("info", "debug")]
    assert set(grave) <= {asked_for}


def test_an_expired_study_acknowledges_nothing(nodes: Trials) -> None:
    """Not even what it had acknowledged before: it is kept no longer."""
    manifest = nodes.study("kept-no-longer")
    upload, client = nodes.upload(manifest), nodes.client("north", manifest)
    upload.send(client)
    upload.send(client)  # the control
    with nodes.store("proxy-0") as store:
        store.expire(manifest.hash)
    with pytest.raises(RefusedError, match="time is over") as caught:
        upload.send(client)
    assert caught.value.code == "expired"


def test_a_study_that_expires_meanwhile_keeps_nothing(store: Store, manifest: Manifest) -> None:
    submission = SubmissionRecord("north", 5, ("0" * 64, "1" * 64), time.time(), "file")
    store.submit(manifest.hash, submission)
    store.expire(manifest.hash)
    with pytest.raises(ClosedError):
        store.submit(manifest.hash, submission)
