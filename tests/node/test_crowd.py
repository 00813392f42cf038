"""A crowd at the owners' port drives out itself: owners are served, and little is held of it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from ppaurora.errors import PeerError
from ppaurora.node import admission
from tests.support.crowds import HELLO_BEGUN, crowd, memory_of, start_with_descriptors
from tests.support.server_processes import descriptors_of
from tests.support.trials import PAIR, PreparedUpload, Trials, becomes

T = TypeVar("T")
MB = 1 << 20
DESCRIPTORS = 1024


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """Proxy 0, which may open 1,024 files."""
    trials = Trials(tmp_path_factory.mktemp("narrow"), PAIR)
    with trials.store("proxy-0") as store:
        store.accept(trials.manifest)
    start_with_descriptors(trials, "proxy-0", DESCRIPTORS)
    yield trials
    trials.stop()


@pytest.fixture(scope="module")
def upload(narrow: Trials) -> PreparedUpload:
    return narrow.upload(narrow.manifest)


def port_of(trials: Trials) -> int:
    port = trials.addresses["proxy-0"][0]
    assert port is not None
    return port


def patiently(ask: Callable[[], T]) -> T:
    """In a crowd, who does not speak at once has to go, also a slow owner; it comes again, once."""
    with contextlib.suppress(PeerError):
        return ask()
    return ask()


@pytest.mark.parametrize(
    "word", [b"", HELLO_BEGUN, b"\x16\x03\x01\0\0", b"GET /"], ids=["silent", "stalling", "empty", "plain"]
)
def test_owners_are_served_in_a_crowd(narrow: Trials, upload: PreparedUpload, word: bytes) -> None:
    pid, client = narrow.process_id("proxy-0"), narrow.client("north", narrow.manifest)
    before, log = memory_of(pid), len(narrow.log("proxy-0"))

    def seconds_to_serve() -> float:
        start = time.monotonic()
        for _ in range(10):
            assert patiently(client.status).state == "collecting"
            assert patiently(lambda: upload.send(client)).owner == "north"
        return time.monotonic() - start

    alone = seconds_to_serve()  # which tells how busy this machine is
    with crowd(port_of(narrow), 1500, word) as strangers:
        assert strangers.arrived.wait(300)
        assert seconds_to_serve() < max(10, 20 * alone)
        assert len(descriptors_of(pid)) < 3 * DESCRIPTORS // 4
        assert memory_of(pid) - before < 100 * MB
    assert becomes(lambda: len(descriptors_of(pid)) < 100)
    assert len(narrow.log("proxy-0")) - log < 20_000
    assert memory_of(pid) - before < 100 * MB
    assert [event for event in narrow.events("proxy-0") if event["level"] != "info"] == []


def is_dropped(sock: ssl.SSLSocket, seconds: float) -> bool:
    """Within so many seconds; less than a server keeps an idle connection anyway."""
    sock.settimeout(seconds)
    try:
        return not sock.recv(1)
    except TimeoutError:
        return False
    except OSError:  # an end without a goodbye
        return True


def test_an_owner_has_only_so_many_connections(narrow: Trials) -> None:
    """With its certificate shown; the oldest goes, and the owner is still served."""
    context = narrow.owner("north").client_context(narrow.manifest)
    held = []
    for _ in range(admission._MOST_OF_AN_OWNER + 8):
        raw = socket.create_connection(("127.0.0.1", port_of(narrow)), timeout=60)
        held.append(context.wrap_socket(raw))
    assert is_dropped(held[0], 20)
    assert not is_dropped(held[-1], 0.2)
    assert narrow.client("harbour", narrow.manifest).status().state == "collecting"
    assert narrow.client("north", narrow.manifest).status().state == "collecting"
    for sock in held:
        sock.close()


def test_who_shows_no_certificate_is_a_stranger(narrow: Trials) -> None:
    """A hello without a certificate to follow: driven out by its like, or after a while."""
    context = ssl.create_default_context(cadata=narrow.manifest.authorities)
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    hello = outgoing.read()
    pid, client = narrow.process_id("proxy-0"), narrow.client("north", narrow.manifest)
    with crowd(port_of(narrow), 300, hello) as strangers:
        assert strangers.arrived.wait(300)
        answered = 0
        for _ in range(10):
            answered += patiently(client.status).state == "collecting"
        assert answered == 10
        assert memory_of(pid) < 300 * MB
