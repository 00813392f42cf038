"""A peer that shouts or drips: what is not due is not kept, and bytes now and then are no progress."""

from __future__ import annotations

import resource
import threading
import time

import pytest

from ppaurora.channel.base import Channel
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, Header
from ppaurora.errors import PeerMisbehavedError, PeerTimeoutError
from ppaurora.suites.role import Role
from tests.support.channels import MB, ConnectTls, frame, receive_all, side_by_side
from tests.support.server_processes import wait_until

PROXY_0, PROXY_1, HELPER = Role
DUE = 104


def announcement(length: int) -> bytes:
    return Header(1, bytes(16), 0, length).pack()


def shout(transport: object, stop: threading.Event) -> None:
    """A frame of 2 GB, as far as anybody takes it."""
    sock = transport._links[PROXY_1].sock  # type: ignore[attr-defined]
    sock.settimeout(0.2)
    piece = bytes(MB)
    try:
        sock.sendall(announcement(MAX_PAYLOAD_BYTES))
        while not stop.is_set():
            sock.send(piece)
    except OSError:
        return


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_frame_longer_than_is_due_is_refused_at_its_header(connect_tls: ConnectTls) -> None:
    transports = connect_tls()
    stop = threading.Event()
    shouting = threading.Thread(target=shout, args=(transports[PROXY_0], stop), daemon=True)
    before = peak()
    shouting.start()
    says = f"^proxy 0 sent {MAX_PAYLOAD_BYTES} bytes in frame 0 where {DUE} were due"
    with pytest.raises(PeerMisbehavedError, match=says):
        Channel(transports[PROXY_1]).receive(PROXY_0, DUE)
    stop.set()
    shouting.join(10)
    assert peak() - before < 64 * MB


def test_a_frame_that_nobody_asked_for_waits_behind_its_header(connect_tls: ConnectTls) -> None:
    """While proxy 1 listens to the helper, of proxy 0's frame of 2 GB nothing is kept."""
    transports = connect_tls()
    stop = threading.Event()
    shouting = threading.Thread(target=shout, args=(transports[PROXY_0], stop), daemon=True)
    shouting.start()
    receiver = Channel(transports[PROXY_1])
    link = transports[PROXY_1]._links[PROXY_0]

    def speak_late() -> None:
        """Once proxy 0 was heard, and could have been kept for a while."""
        assert wait_until(lambda: link.decoder.announced is not None)
        time.sleep(0.5)
        Channel(transports[HELPER]).send(PROXY_1, b"late")

    received, _ = side_by_side(lambda: receiver.receive(HELPER, 4), speak_late)
    assert bytes(received) == b"late"
    assert link.decoder.announced is not None
    assert (link.decoder._buffer, link.inbox_bytes) == (None, 0)
    with pytest.raises(PeerMisbehavedError, match=f"where {DUE} were due"):
        receiver.receive(PROXY_0, DUE)
    stop.set()
    shouting.join(10)


def test_a_long_frame_that_is_due_is_taken_whenever_it_comes(
    connect_tls: ConnectTls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: also one above the limit of what is kept ahead, behind others that are."""
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    transports = connect_tls()
    sizes = [10, 0, 8 * MB, 3, 2 * MB]
    payloads = [bytes([number]) * size for number, size in enumerate(sizes)]

    def send() -> None:
        sender = Channel(transports[PROXY_0])
        for payload in payloads:
            sender.send(PROXY_1, payload)
        sender.finish()

    received, _ = side_by_side(lambda: receive_all(Channel(transports[PROXY_1]), PROXY_0, sizes), send)
    assert received == payloads


@pytest.mark.parametrize(
    "sizes", [([64 * MB], [8 * MB]), ([8 * MB] * 8, [64 * MB, MB]), ([MB] * 64, [96 * MB])]
)
def test_parties_that_send_unlike_amounts_before_they_receive_do_not_block_each_other(
    connect_tls: ConnectTls, monkeypatch: pytest.MonkeyPatch, sizes: tuple[list[int], list[int]]
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", MB)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    transports = connect_tls()

    def speak_first(me: Role, to: Role, send: list[int], get: list[int]) -> int:
        channel = Channel(transports[me])
        for size in send:
            channel.send(to, bytes(size))
        total = sum(len(channel.receive(to, size)) for size in get)
        channel.finish()
        return total

    first, second = sizes
    assert side_by_side(
        lambda: speak_first(PROXY_0, PROXY_1, first, second),
        lambda: speak_first(PROXY_1, PROXY_0, second, first),
        patience=600,
    ) == [sum(second), sum(first)]


def test_a_ring_of_parties_that_all_speak_first_goes_on(
    connect_tls: ConnectTls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", MB)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    transports, size = connect_tls(), 64 * MB

    def speak_first(me: Role) -> int:
        channel = Channel(transports[me])
        channel.send(Role((me + 1) % 3), bytes(size))
        length = len(channel.receive(Role((me + 2) % 3), size))
        channel.finish()
        return length

    assert side_by_side(*(lambda me=me: speak_first(me) for me in Role), patience=600) == [size] * 3


def test_bytes_that_drip_do_not_hold_a_computation_beyond_its_budget(connect_tls: ConnectTls) -> None:
    """One byte now and then is a sign of life, so that silence alone never ends.

    The control, that without a budget such a frame is taken, is `test_a_slow_frame_is_not_silence`.
    """
    timeout = 8.0  # no byte is so late, also on a busy machine; all of them together are
    transports = connect_tls(timeout=timeout)
    receiving = transports[PROXY_1]
    receiving._budget, receiving._deadline = 2.0, time.monotonic() + 2.0
    sock = transports[PROXY_0]._links[PROXY_1].sock
    whole = frame(bytes(20))
    over = threading.Event()

    def drip() -> None:
        for byte in whole:
            if over.wait(1.25 * timeout / len(whole)):
                return
            sock.send(bytes([byte]))

    dripping = threading.Thread(target=drip, daemon=True)
    dripping.start()
    start = time.monotonic()
    try:
        with pytest.raises(PeerTimeoutError, match=r"^proxy 0 sent nothing that would .* the 2 seconds"):
            Channel(receiving).receive(PROXY_0, len(whole) - HEADER_BYTES)
        assert time.monotonic() - start < timeout
    finally:
        over.set()
        dripping.join()
