"""Noise at the ports: what is not TLS, floods of outsiders, lines that are no questions."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import socket
import sqlite3
import ssl
import threading
import time
from pathlib import Path

import pytest

from ppaurora.channel.tls.hello import NotTlsError, peek_server_name
from ppaurora.errors import PpauroraError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages import SUPPORTED
from ppaurora.messages.nodes import Answer, AnyQuestion, Hello, Verdict
from ppaurora.node.authorities import Authorities
from ppaurora.node.questions import CONTROL, ask
from ppaurora.node.sni_router import SniRouter, job_name
from ppaurora.study.kit import NodeKit
from tests.support.bad_input import PLANTED
from tests.support.trials import PROXY_1, StartNode, Trials, becomes


@pytest.mark.parametrize("port", [0, 1], ids=["owners", "nodes"])
def test_what_is_not_tls_is_dropped(nodes: Trials, port: int) -> None:
    """Plain HTTP and garbage end at once; whoever is silent holds up nobody, also many at once."""
    number = nodes.addresses["proxy-1"][port]
    assert number is not None
    for noise in (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(300), b"\x16\x03\x01\xff\xff" * 9):
        with (
            socket.create_connection(("127.0.0.1", number), timeout=60) as sock,
            contextlib.suppress(OSError),
        ):
            sock.sendall(noise)
            sock.shutdown(socket.SHUT_WR)
            assert b"200" not in sock.recv(1000)
    assert any(seconds_among_silent(nodes, number) < 5 for _ in range(3))


def seconds_among_silent(nodes: Trials, port: int) -> float:
    """Until good requests are answered while a hundred new ones say nothing; a busy machine may take long."""
    with contextlib.ExitStack() as cleanup:
        for silent in range(100):
            sock = cleanup.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            if silent % 2:
                sock.sendall(b"\x16\x03")
        start = time.monotonic()
        nodes.check_serving()
        return time.monotonic() - start


def test_a_hello_is_read_at_any_descriptor() -> None:
    """A node with a thousand connections open still lets the other nodes in."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        high = socket.socket(fileno=fcntl.fcntl(theirs, fcntl.F_DUPFD, 1200))
        with high:
            ours.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with pytest.raises(NotTlsError):
                peek_server_name(high, 5)


def test_a_flood_of_silent_connections_does_not_keep_the_nodes_apart(nodes: Trials) -> None:
    """However many stand at the nodes' port, a node gets in."""
    with contextlib.ExitStack() as cleanup:
        for _ in range(150):
            address = ("127.0.0.1", nodes.addresses["proxy-1"][1])
            cleanup.enter_context(socket.create_connection(address, timeout=60))
        time.sleep(0.3)
        entered = [_answers(nodes) for _ in range(5)]
    assert becomes(lambda: _answers(nodes))
    assert entered == [True] * 5


def _answers(nodes: Trials) -> bool:
    try:
        hello = Hello(study=nodes.manifest.hash)
        return ask(NodeKit.read(nodes.kit("proxy-0")), nodes.manifest, PROXY_1, hello, 10).answer == "hello"
    except PpauroraError:
        return False


def test_connections_that_begin_and_stop_do_not_pile_up(nodes: Trials) -> None:
    """Half a hello is no reason to stay, nor to keep a processor busy: threads stay within bounds."""
    status = Path(f"/proc/{nodes.process_id('proxy-1')}/status")
    if not status.exists():
        pytest.skip("needs /proc, to count threads")
    with contextlib.ExitStack() as cleanup:
        for _ in range(300):
            address = ("127.0.0.1", nodes.addresses["proxy-1"][1])
            sock = cleanup.enter_context(socket.create_connection(address, timeout=60))
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"\x16\x03\x01\x10\x00half")
        assert not becomes(lambda: int(status.read_text().split("Threads:")[1].split()[0]) > 200, 3)
        assert _answers(nodes)


def test_a_thread_that_cannot_be_started_does_not_close_the_port(
    alone: StartNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the machine is out of threads, a connection is lost, not the port."""
    node = alone("helper", lambda store, manifest: None)
    real = threading.Thread.start
    failures = iter([True])

    def fail_once(thread: threading.Thread) -> None:
        if "_attend" in thread.name and next(failures, False):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", fail_once)
    for _ in range(2):
        with socket.create_connection(node.router.address, timeout=60) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert sock.recv(100) == b""
    assert next(failures, None) is None


def test_the_name_of_a_computation_cannot_be_taken_by_another(alone: StartNode) -> None:
    """Job names are seen on the wire; the leader of another study cannot divert their connections."""
    router = alone("helper", lambda store, manifest: None).router
    with router.expecting("0" * 32):
        first = router._jobs[job_name("0" * 32)]
        with contextlib.suppress(PpauroraError, KeyError, ValueError), router.expecting("0" * 32):
            assert router._jobs[job_name("0" * 32)] is first
        assert router._jobs.get(job_name("0" * 32)) is first


def test_a_line_that_is_no_question_does_no_harm(nodes: Trials) -> None:
    """Numbers beyond all bounds, endless brackets: an answer or an end, and no traceback in the log."""
    before = len(nodes.log("proxy-1"))
    owner = nodes.owner("north").client_context(nodes.manifest)
    leader = NodeKit.read(nodes.kit("proxy-0")).identity(nodes.manifest).context(ssl.Purpose.SERVER_AUTH)
    outcome = json.dumps({"ask": "outcome", "study": nodes.manifest.hash, "attempt": 1 << 70}).encode()
    for context, line in ((owner, b"[" * 100_000), (leader, outcome)):
        with (
            socket.create_connection(("127.0.0.1", nodes.addresses["proxy-1"][1]), timeout=60) as raw,
            context.wrap_socket(raw, server_hostname=CONTROL) as sock,
            contextlib.suppress(ConnectionError, ssl.SSLError),  # it may end before all is sent
        ):
            sock.sendall(line + b"\n")
            sock.recv(1000)
    assert '"level": "error"' not in nodes.log("proxy-1")[before:]


def said_to(port: int, context: ssl.SSLContext, line: bytes) -> bytes:
    """The answer to a line, as it comes."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as raw,
        context.wrap_socket(raw, server_hostname=CONTROL) as sock,
    ):
        sock.sendall(line)
        return sock.recv(1 << 16)


STRANGE = [
    b'{"ask":"hello","study":"STUDY","%s":1}' % PLANTED.encode(),
    b'{"ask":"hello","study":"%s"}' % PLANTED.encode(),
    b'{"ask":"%s","study":"STUDY"}' % PLANTED.encode(),
    b'{"ask":"hello","study":"STUDY"} {}',
    b'{"ask":"hello","study":"STUDY\xff"}',
    b'{"ask":"outcome","study":"STUDY","attempt":%s}' % (b"9" * 5000),
    b'{"ask":"outcome","study":"STUDY","attempt":1e999}',
    b'{"ask":"outcome","study":"STUDY","attempt":1.0}',
    b'{"ask":"outcome","study":"STUDY","attempt":NaN}',
    b'{"ask":"outcome","study":"STUDY","attempt":null}',
    b'{"ask":"stop","study":"STUDY","note":["%s"]}' % PLANTED.encode(),
    b'{"ask":"ready","study":"STUDY","agreed":%s' % (b"[" * 100_000),
    b'{"ask":"ready","study":"STUDY","agreed":[{"owner":"north","samples":5,"commitments":["0"],"x":1}]}',
    b'{"ask":"begin","study":"STUDY","attempt":1,"token":"%s","agreed":[]}' % PLANTED.encode(),
    b"[]",
    b"",
]


@pytest.mark.parametrize("line", STRANGE, ids=lambda line: f"{line[:50].decode('latin-1')}, {len(line)}")
def test_questions_are_taken_strictly(nodes: Trials, line: bytes) -> None:
    """Also the leader's. It is told which version is spoken, and the log repeats nothing."""
    before = len(nodes.log("proxy-1"))
    leader = NodeKit.read(nodes.kit("proxy-0")).identity(nodes.manifest).context(ssl.Purpose.SERVER_AUTH)
    port = nodes.addresses["proxy-1"][1]
    answer = said_to(port, leader, line.replace(b"STUDY", nodes.manifest.hash.encode()) + b"\n")
    heard = from_json(Answer, answer)
    assert (heard.answer, heard.note) == (Verdict.NOT_UNDERSTOOD, f"this node speaks versions {SUPPORTED}")
    written = nodes.log("proxy-1")[before:]
    events = [json.loads(text) for text in written.splitlines()]
    strange = [(event["level"], event["event"]) for event in events if event["level"] != "info"]
    assert strange == [("warning", "a question could not be understood")]
    assert PLANTED not in written


def test_what_fails_inside_a_node_is_told_to_its_operator(
    consortium: Trials, caplog: pytest.LogCaptureFixture
) -> None:
    """As an error, by its type and place; the other node hears nothing of it."""
    authorities = Authorities(NodeKit.read(consortium.kit("proxy-1")))
    authorities.trust(consortium.manifest.authorities)
    router = SniRouter(("127.0.0.1", 0), authorities.server_context())

    def fail(pin: str, question: AnyQuestion) -> Answer:
        raise sqlite3.OperationalError(PLANTED)

    router.open(fail)
    leader = NodeKit.read(consortium.kit("proxy-0")).identity(consortium.manifest)
    line = to_json(Hello(study=consortium.manifest.hash)) + b"\n"
    try:
        with caplog.at_level(logging.ERROR), contextlib.suppress(OSError):
            assert said_to(router.address[1], leader.context(ssl.Purpose.SERVER_AUTH), line) == b""
    finally:
        router.close()
    assert becomes(lambda: bool(caplog.records))
    (record,) = caplog.records
    assert (record.levelname, vars(record)["reason"]) == ("ERROR", "OperationalError")
    assert vars(record)["place"].startswith("test_sni_router.py:")
    assert PLANTED not in caplog.text
