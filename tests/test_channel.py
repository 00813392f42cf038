"""What every transport promises to a `Channel`, in memory and over TLS; frames; the meter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.channel import Channel, Meter, Transport, memory, memory_transports
from ppaurora.channel.frames import HEADER_BYTES, MAX_PAYLOAD_BYTES, FrameDecoder, Header
from ppaurora.channel.tls import Identity
from ppaurora.errors import (
    MisuseError,
    PeerLostError,
    PeerMisbehavedError,
    PeerTimeoutError,
)
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import run_in_threads
from ppaurora.suites.role import Role
from tests.channel_support import (
    PATIENCE,
    failure_of,
    frame,
    most_bytes_in_flight,
    side_by_side,
    tls_transports,
)

PROXY_0, PROXY_1, HELPER = Role
LINKS = [(sender, receiver) for sender in Role for receiver in sender.peers]
MB = 1 << 20

Connect = Callable[..., list[Transport]]


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[Role, Identity]:
    return make_identities(tmp_path_factory.mktemp("identities"), Role)


@pytest.fixture
def connect_tls(identities: dict[Role, Identity]) -> Iterator[Connect]:
    """Call it for three connected transports; they are closed after the test."""
    opened: list[Transport] = []

    def connect(timeout: float = PATIENCE) -> list[Transport]:
        opened.extend(tls_transports(identities, timeout))
        return opened[-3:]

    yield connect
    for transport in opened:
        transport.close()


@pytest.fixture(params=["memory", "tls"])
def connect(request: pytest.FixtureRequest) -> Connect:
    if request.param == "tls":
        return request.getfixturevalue("connect_tls")
    return lambda timeout=PATIENCE: list(memory_transports(Role, timeout))


@pytest.fixture
def channels(connect: Connect) -> list[Channel]:
    return [Channel(transport) for transport in connect()]


def send_all(channel: Channel, to: Role, payloads: list[bytes]) -> None:
    for payload in payloads:
        channel.send(to, payload)
    channel.finish()


def receive_all(channel: Channel, sender: Role, lengths: list[int]) -> list[bytes]:
    return [bytes(channel.receive(sender, length)) for length in lengths]


@pytest.mark.parametrize(("sender", "receiver"), LINKS)
def test_payloads_arrive_intact_and_in_order(channels: list[Channel], sender: Role, receiver: Role) -> None:
    payloads = [b"first", b"", bytes(range(256)) * 4096, b"\0", b"", b"last"]
    _, received = side_by_side(
        lambda: send_all(channels[sender], receiver, payloads),
        lambda: receive_all(channels[receiver], sender, [len(payload) for payload in payloads]),
    )
    assert received == payloads


def test_several_buffers_leave_as_one_frame(channels: list[Channel]) -> None:
    channels[PROXY_0].send(PROXY_1, b"one", bytearray(b"two"), b"", memoryview(b"three"))
    assert bytes(channels[PROXY_1].receive(PROXY_0, 11)) == b"onetwothree"
    assert channels[PROXY_0].meter.messages == 1


def test_a_send_without_buffers_is_an_empty_frame(channels: list[Channel]) -> None:
    channels[PROXY_0].send(PROXY_1)
    assert bytes(channels[PROXY_1].receive(PROXY_0, 0)) == b""


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7, dtype=np.uint64),
        np.arange(12, dtype=np.uint64).reshape(3, 4),
        np.zeros((0, 5), dtype=np.uint64),
        np.arange(100_000, dtype=np.uint64).reshape(2, -1),
        np.array([True, False, True]),
    ],
    ids=["words", "table", "no rows", "many", "bools"],
)
def test_arrays_are_sent_by_their_memory(channels: list[Channel], array: np.ndarray) -> None:
    _, received = side_by_side(
        lambda: (channels[PROXY_0].send(HELPER, array.data, b"!"), channels[PROXY_0].finish()),
        lambda: channels[HELPER].receive(PROXY_0, array.nbytes + 1),
    )
    assert bytes(received) == array.tobytes() + b"!"


def test_links_do_not_disturb_each_other(channels: list[Channel]) -> None:
    for sender, receiver in LINKS:
        channels[sender].send(receiver, f"{sender.title} to {receiver.title}".encode())
    for sender, receiver in LINKS[::-1]:
        words = f"{sender.title} to {receiver.title}".encode()
        assert bytes(channels[receiver].receive(sender, len(words))) == words


def test_a_frame_above_the_limit_is_our_own_mistake(
    channels: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.base.MAX_PAYLOAD_BYTES", 1000)
    with pytest.raises(MisuseError, match="1001 bytes"):
        channels[PROXY_0].send(PROXY_1, bytes(1001))
    channels[PROXY_0].send(PROXY_1, bytes(1000))
    assert channels[PROXY_1].receive(PROXY_0, 1000).nbytes == 1000


def send_then_receive(channel: Channel, payloads: list[bytes]) -> list[bytes]:
    """One of two proxies that both speak before they listen."""
    peer = Role(channel.role).other_proxy
    for payload in payloads:
        channel.send(peer, payload)
    received = receive_all(channel, peer, [len(payload) for payload in payloads])
    channel.finish()
    return received


def both_proxies_speak_first(channels: list[Channel], sizes: list[int]) -> None:
    first = [np.random.default_rng(1).bytes(size) for size in sizes]
    second = [np.random.default_rng(2).bytes(size) for size in sizes]
    received_0, received_1 = side_by_side(
        lambda: send_then_receive(channels[PROXY_0], first),
        lambda: send_then_receive(channels[PROXY_1], second),
    )
    assert received_0 == second
    assert received_1 == first


def test_both_parties_may_send_a_large_frame_before_they_receive(channels: list[Channel]) -> None:
    both_proxies_speak_first(channels, [most_bytes_in_flight() + 8 * MB])


def test_both_parties_may_send_more_than_all_limits_before_they_receive(
    channels: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", MB)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    both_proxies_speak_first(channels, [MB] * (most_bytes_in_flight() // MB + 8))


def test_a_large_frame_blocks_a_plain_socket(connect_tls: Connect) -> None:
    """The control of the two tests above: the kernel alone does not hold what they send."""
    transport = connect_tls()[PROXY_0]
    sock = transport._links[PROXY_1].sock
    sock.settimeout(0.3)
    with pytest.raises(TimeoutError):
        sock.sendall(bytes(most_bytes_in_flight() + 8 * MB))


def test_frames_sent_far_ahead_wait_for_a_late_reader(
    channels: list[Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", MB)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", MB)
    stream = [number.to_bytes(4, "big") * 50_000 for number in range(200)]

    def late_reader() -> list[bytes]:
        channels[PROXY_0].receive(PROXY_1, 4)
        return receive_all(channels[PROXY_0], HELPER, [len(payload) for payload in stream])

    def slow_proxy() -> None:
        time.sleep(0.2)  # meanwhile the helper's frames pile up
        channels[PROXY_1].send(PROXY_0, b"late")

    received, _, _ = side_by_side(
        late_reader, slow_proxy, lambda: send_all(channels[HELPER], PROXY_0, stream)
    )
    assert received == stream


@pytest.mark.parametrize("bounded", [True, False], ids=["held back", "control: within the limits"])
def test_a_helper_far_ahead_is_held_back(
    connect_tls: Connect, monkeypatch: pytest.MonkeyPatch, bounded: bool
) -> None:
    """While proxy 0 waits for proxy 1, only so much of the helper's stream is kept for later."""
    frames = most_bytes_in_flight() // MB + 8
    limit = MB if bounded else frames * MB
    monkeypatch.setattr("ppaurora.channel.tls.transport.OUTBOX_LIMIT", limit)
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", limit)
    transports = connect_tls()
    transports[HELPER]._timeout = 0.5
    proxy_0, proxy_1, helper = map(Channel, transports)

    def run_ahead() -> None:
        try:
            for _ in range(frames):
                helper.send(PROXY_0, bytes(MB))
        finally:
            proxy_1.send(PROXY_0, b"go")

    held_back, _ = side_by_side(lambda: failure_of(run_ahead), lambda: proxy_0.receive(PROXY_1, 2))
    if bounded:
        assert isinstance(held_back, PeerTimeoutError)
        assert str(held_back) == "proxy 0 received nothing for 0.5 seconds"
    else:
        assert held_back is None


@pytest.mark.parametrize("bounded", [True, False], ids=["held back", "control: within the limit"])
def test_a_helper_far_ahead_is_held_back_in_memory(monkeypatch: pytest.MonkeyPatch, bounded: bool) -> None:
    monkeypatch.setattr(memory, "MAILBOX_LIMIT", (4 if bounded else 8) * MB)
    transports = memory_transports(Role, timeout=0.3)
    helper, proxy_1 = Channel(transports[HELPER]), Channel(transports[PROXY_1])

    def run_ahead() -> None:
        for _ in range(6):
            helper.send(PROXY_1, bytes(MB - HEADER_BYTES))

    held_back = failure_of(run_ahead)
    if bounded:
        assert isinstance(held_back, PeerTimeoutError)
        assert str(held_back) == "proxy 1 received nothing for 0.3 seconds"
    else:
        assert held_back is None
    proxy_1.receive(HELPER, MB - HEADER_BYTES)
    # A reader that has left does not hold anybody up.
    proxy_1.close()
    run_ahead()


def test_empty_frames_count_against_the_limit_too(
    connect_tls: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ppaurora.channel.tls.transport.INBOX_LIMIT", 10 * HEADER_BYTES)
    proxy_0, _, helper = connect_tls()
    sender, receiver = Channel(helper), Channel(proxy_0)
    for _ in range(100):
        sender.send(PROXY_0)
    receiver.receive(HELPER, 0)
    link = proxy_0._links[HELPER]
    assert len(link.inbox) == 9
    for _ in range(99):
        receiver.receive(HELPER, 0)
    assert link.inbox_bytes == 0


SESSION = b"a session's name"

FAULTS = {
    "another length": (frame(b"12345", session=SESSION), "sent 5 bytes in frame 0 where 4 were due"),
    "another session": (frame(b"1234", session=b"another's, or so"), "speaks in another session"),
    "no session": (frame(b"1234"), "speaks in another session"),
    "a frame skipped": (
        frame(b"1234", session=SESSION, sequence=1),
        "sent frame number 1 where 0 was due",
    ),
    "garbage": (
        b"GET / HTTP/1.1\r\nHost: proxy-1\r\n\r\n".ljust(64),
        "sent bytes that are not a ppaurora frame",
    ),
    "too large to be true": (
        Header(1, SESSION, 0, MAX_PAYLOAD_BYTES + 1).pack(),
        f"announced a frame of {MAX_PAYLOAD_BYTES + 1} bytes",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_the_protocol_does_not_allow_is_blamed_on_the_peer(connect: Connect, fault: str) -> None:
    raw, complaint = FAULTS[fault]
    transports = connect()
    receiver = Channel(transports[PROXY_1])
    receiver.session = SESSION
    transports[PROXY_0].put(PROXY_1, [raw])
    with pytest.raises(PeerMisbehavedError, match=f"^proxy 0 {complaint}") as caught:
        receiver.receive(PROXY_0, 4)
    assert caught.value.peer == "proxy 0"


def test_a_frame_made_by_hand_is_taken_if_it_is_right(connect: Connect) -> None:
    """The control of the test above."""
    transports = connect()
    receiver = Channel(transports[PROXY_1])
    receiver.session = SESSION
    transports[PROXY_0].put(PROXY_1, [frame(b"1234", session=SESSION)])
    assert bytes(receiver.receive(PROXY_0, 4)) == b"1234"


def test_a_frame_sent_twice_is_noticed(connect: Connect) -> None:
    transports = connect()
    receiver = Channel(transports[PROXY_1])
    for _ in range(2):
        transports[PROXY_0].put(PROXY_1, [frame(b"1234")])
    assert bytes(receiver.receive(PROXY_0, 4)) == b"1234"
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent frame number 0 where 1 was due"):
        receiver.receive(PROXY_0, 4)


def test_every_link_counts_its_own_frames(channels: list[Channel]) -> None:
    channels[PROXY_0].send(HELPER, b"1234")
    channels[PROXY_0].send(PROXY_1, b"5678")
    assert bytes(channels[PROXY_1].receive(PROXY_0, 4)) == b"5678"


def test_an_absurd_depth_does_not_stop_the_honest(connect: Connect) -> None:
    transports = connect()
    channel = Channel(transports[PROXY_1])
    transports[PROXY_0].put(PROXY_1, [frame(depth=(1 << 32) - 1)])
    channel.receive(PROXY_0, 0)
    channel.send(HELPER, b"goes on")
    assert bytes(Channel(transports[HELPER]).receive(PROXY_1, 7)) == b"goes on"


def test_a_peer_that_closes_is_named(connect: Connect) -> None:
    transports = connect()
    waiting = Channel(transports[PROXY_0])
    transports[HELPER].close()
    for _ in range(2):
        with pytest.raises(PeerLostError, match=r"^helper closed the connection") as caught:
            waiting.receive(HELPER, 1)
        assert caught.value.peer == "helper"


def test_a_peer_that_closes_wakes_who_waits(connect: Connect) -> None:
    transports = connect()

    def close_later() -> None:
        time.sleep(0.1)
        transports[HELPER].close()

    error, _ = side_by_side(
        lambda: failure_of(lambda: Channel(transports[PROXY_0]).receive(HELPER, 1)), close_later
    )
    assert isinstance(error, PeerLostError)
    assert error.peer == "helper"


def test_who_closes_harms_only_its_own_links(connect: Connect) -> None:
    transports = connect()
    transports[HELPER].close()
    Channel(transports[PROXY_0]).send(PROXY_1, b"still here")
    assert bytes(Channel(transports[PROXY_1]).receive(PROXY_0, 10)) == b"still here"


def test_what_was_finished_before_the_close_still_arrives(channels: list[Channel]) -> None:
    payload = bytes(most_bytes_in_flight() + MB)

    def say_and_leave() -> None:
        send_all(channels[HELPER], PROXY_0, [payload, b"bye"])
        channels[HELPER].close()

    def read_late() -> list[int]:
        time.sleep(0.1)
        return [channels[PROXY_0].receive(HELPER, size).nbytes for size in (len(payload), 3)]

    _, sizes = side_by_side(say_and_leave, read_late)
    assert sizes == [len(payload), 3]
    with pytest.raises(PeerLostError, match="helper"):
        channels[PROXY_0].receive(HELPER, 1)


def test_the_last_frames_of_a_party_in_a_thread_are_delivered(connect: Connect) -> None:
    """A helper that is done must not take with it what the proxies have not read yet."""
    transports = connect()
    size = most_bytes_in_flight() + MB

    def party(role: Role) -> int:
        channel = Channel(transports[role])
        if role is HELPER:
            channel.send(PROXY_0, bytes(size))
            return 0
        if role is PROXY_1:
            time.sleep(0.1)
            channel.send(PROXY_0, b"now")
            return 0
        channel.receive(PROXY_1, 3)
        return channel.receive(HELPER, size).nbytes

    assert run_in_threads(party, transports) == [size, 0, 0]


@pytest.mark.parametrize("cut", [1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 3])
def test_a_peer_that_closes_within_a_frame_is_lost(connect_tls: Connect, cut: int) -> None:
    transports = connect_tls()
    transports[PROXY_0].put(PROXY_1, [frame(b"1234")[:cut]])
    transports[PROXY_0].close()
    with pytest.raises(PeerLostError, match="proxy 0"):
        Channel(transports[PROXY_1]).receive(PROXY_0, 4)


def test_sending_to_a_peer_that_left_fails_in_the_end(connect_tls: Connect) -> None:
    transports = connect_tls()
    transports[HELPER].close()
    channel = Channel(transports[PROXY_0])
    with pytest.raises(PeerLostError, match="helper"):
        send_all(channel, HELPER, [bytes(MB)] * 100)


def test_a_frame_shorter_than_it_announces_is_noticed_in_memory() -> None:
    transports = memory_transports(Role)
    transports[PROXY_0].put(PROXY_1, [frame(b"1234")[:-1]])
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent a frame whose length"):
        transports[PROXY_1].get(PROXY_0)
    transports[PROXY_0].put(PROXY_1, [b"short"])
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent bytes that are not"):
        transports[PROXY_1].get(PROXY_0)


def test_bytes_from_outside_the_tls_session_are_noticed(connect_tls: Connect) -> None:
    """Somebody on the wire: bytes that never went through the peer's encryption."""
    transports = connect_tls()
    sock = transports[PROXY_0]._links[PROXY_1].sock
    receiver = Channel(transports[PROXY_1])
    sock.send(frame(b"fine"))
    assert bytes(receiver.receive(PROXY_0, 4)) == b"fine"
    with open(sock.fileno(), "wb", buffering=0, closefd=False) as wire:
        wire.write(frame(b"evil", sequence=1))
    with pytest.raises(PeerMisbehavedError, match=r"^proxy 0 broke the TLS connection"):
        receiver.receive(PROXY_0, 4)


def test_a_silent_peer_is_named_after_the_timeout(connect: Connect) -> None:
    transports = connect(timeout=0.3)
    Channel(transports[HELPER]).send(PROXY_0, b"not the one that is awaited")
    start = time.monotonic()
    with pytest.raises(PeerTimeoutError, match=r"^proxy 1 sent nothing for 0\.3 seconds$") as caught:
        Channel(transports[PROXY_0]).receive(PROXY_1, 1)
    assert caught.value.peer == "proxy 1"
    assert time.monotonic() - start >= 0.3


def test_a_peer_that_speaks_within_the_timeout_is_heard(connect: Connect) -> None:
    """The control of the test above."""
    transports = connect(timeout=5.0)

    def speak_late() -> None:
        time.sleep(0.3)
        Channel(transports[PROXY_1]).send(PROXY_0, b"!")

    received, _ = side_by_side(lambda: Channel(transports[PROXY_0]).receive(PROXY_1, 1), speak_late)
    assert bytes(received) == b"!"


def test_a_slow_frame_is_not_silence(connect_tls: Connect) -> None:
    transports = connect_tls(timeout=1.0)
    raw = frame(bytes(4))

    def trickle() -> None:
        for start in range(0, len(raw), 9):
            transports[PROXY_0].put(PROXY_1, [raw[start : start + 9]])
            time.sleep(0.4)

    received, _ = side_by_side(lambda: Channel(transports[PROXY_1]).receive(PROXY_0, 4), trickle)
    assert received.nbytes == 4


def rounds(channels: list[Channel]) -> int:
    return max(channel.meter.depth for channel in channels)


def test_the_meter_counts_payload_and_headers(channels: list[Channel]) -> None:
    payloads = [b"", b"a", bytes(1000)]
    send_all(channels[PROXY_0], PROXY_1, payloads)
    receive_all(channels[PROXY_1], PROXY_0, [0, 1, 1000])
    assert channels[PROXY_0].meter.messages == 3
    assert channels[PROXY_0].meter.bytes == 1001 + 3 * HEADER_BYTES
    assert channels[PROXY_1].meter.messages == 0
    assert channels[PROXY_1].meter.bytes == 0


def test_the_meter_counts_what_is_on_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    transports = memory_transports(Role)
    wire = bytearray()
    monkeypatch.setattr(transports[PROXY_0], "put", lambda to, buffers: wire.extend(b"".join(buffers)))
    channel = Channel(transports[PROXY_0])
    channel.send(PROXY_1, b"abc", b"de")
    channel.send(HELPER)
    assert channel.meter.bytes == len(wire) == 5 + 2 * HEADER_BYTES


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_ping_pong_takes_a_round_per_message(channels: list[Channel], turns: int) -> None:
    for turn in range(turns):
        sender, receiver = (PROXY_0, PROXY_1) if turn % 2 == 0 else (PROXY_1, PROXY_0)
        channels[sender].send(receiver, b"ball")
        channels[receiver].receive(sender, 4)
    assert rounds(channels) == turns


@pytest.mark.parametrize("exchanges", [1, 5])
def test_a_parallel_exchange_takes_one_round(channels: list[Channel], exchanges: int) -> None:
    for _ in range(exchanges):
        for sender, receiver in LINKS:
            channels[sender].send(receiver, b"x")
        for sender, receiver in LINKS:
            channels[receiver].receive(sender, 1)
    assert rounds(channels) == exchanges


def test_a_stream_that_needs_no_answer_takes_one_round(channels: list[Channel]) -> None:
    for _ in range(10):
        channels[HELPER].send(PROXY_0, b"dealt")
    receive_all(channels[PROXY_0], HELPER, [5] * 10)
    assert rounds(channels) == 1


def test_rounds_are_the_longest_chain_through_all_parties(channels: list[Channel]) -> None:
    def passes(sender: Role, receiver: Role) -> None:
        channels[sender].send(receiver, b"x")
        channels[receiver].receive(sender, 1)

    passes(PROXY_0, PROXY_1)
    passes(PROXY_1, HELPER)
    passes(HELPER, PROXY_0)
    passes(PROXY_1, PROXY_0)  # a side branch, two deep
    assert rounds(channels) == 3
    passes(PROXY_0, PROXY_1)
    assert rounds(channels) == 4


def test_a_message_that_was_not_read_yet_does_not_deepen_the_next(channels: list[Channel]) -> None:
    channels[PROXY_0].send(PROXY_1, b"x")
    channels[PROXY_1].send(PROXY_0, b"y")
    channels[PROXY_0].receive(PROXY_1, 1)
    channels[PROXY_1].receive(PROXY_0, 1)
    assert rounds(channels) == 1


def test_the_meter_attributes_rounds_to_the_innermost_step(channels: list[Channel]) -> None:
    """Two ping-pongs in the inner step, one before and one after it, one before everything."""
    proxy_0, proxy_1 = channels[PROXY_0], channels[PROXY_1]

    def ping_pong() -> None:
        proxy_0.send(PROXY_1, b"ping")
        proxy_1.receive(PROXY_0, 4)
        proxy_1.send(PROXY_0, b"pong")
        proxy_0.receive(PROXY_1, 4)

    ping_pong()
    with proxy_0.meter.step("outer"):
        ping_pong()
        with proxy_0.meter.step("inner"):
            ping_pong()
            ping_pong()
        ping_pong()
    counted = proxy_0.meter.to_dict()
    assert counted["rounds"] == 10
    assert {name: step["rounds"] for name, step in counted["steps"].items()} == {
        "session": 2,
        "outer": 4,
        "inner": 4,
    }


def test_the_meter_attributes_messages_to_the_innermost_step(channels: list[Channel]) -> None:
    channel = channels[PROXY_0]
    channel.send(PROXY_1, b"1")
    with channel.meter.step("merge"):
        channel.send(PROXY_1, b"22")
        with channel.meter.step("compare"):
            channel.send(PROXY_1, b"333")
        channel.send(PROXY_1, b"4444")
    steps = channel.meter.to_dict()["steps"]
    assert steps == {
        "session": {"messages": 1, "bytes": HEADER_BYTES + 1, "rounds": 0},
        "merge": {"messages": 2, "bytes": 2 * HEADER_BYTES + 6, "rounds": 0},
        "compare": {"messages": 1, "bytes": HEADER_BYTES + 3, "rounds": 0},
    }
    assert channel.meter.bytes == sum(step["bytes"] for step in steps.values())


def test_a_step_ends_with_its_error() -> None:
    meter = Meter()
    with pytest.raises(KeyError), meter.step("doomed"):
        raise KeyError
    meter.sent(1)
    assert meter.steps["session"].messages == 1
    assert meter.steps["doomed"].messages == 0


def decode(raw: bytes, cuts: Iterator[int]) -> tuple[list[bytes], FrameDecoder]:
    """Feed the decoder in pieces of at most the given sizes."""
    decoder = FrameDecoder(PROXY_0)
    payloads = []
    position = 0
    for cut in cuts:
        space = decoder.space()
        piece = raw[position : position + min(cut, len(space))]
        space[: len(piece)] = piece
        position += len(piece)
        whole = decoder.advance(len(piece))
        if whole is not None:
            assert whole.header.length == len(whole.payload)
            payloads.append(bytes(whole.payload))
        if position == len(raw):
            break
    return payloads, decoder


def endless(sizes: list[int]) -> Iterator[int]:
    while True:
        yield from sizes


def test_frames_come_out_of_single_bytes() -> None:
    payloads = [b"", b"x", bytes(300), b"", b"end"]
    decoded, decoder = decode(b"".join(map(frame, payloads)), endless([1]))
    assert decoded == payloads
    assert len(decoder.space()) == HEADER_BYTES, "it does not wait for a new frame"


@given(
    payloads=st.lists(st.binary(max_size=100), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 150), min_size=1, max_size=20),
)
def test_frames_come_out_however_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    decoded, decoder = decode(b"".join(map(frame, payloads)), endless(cuts))
    assert decoded == payloads
    assert len(decoder.space()) == HEADER_BYTES, "it does not wait for a new frame"


@pytest.mark.parametrize("missing", [1, 4, 5, HEADER_BYTES + 3])
def test_an_unfinished_frame_does_not_come_out(missing: int) -> None:
    raw = frame(b"whole") + frame(b"1234")
    decoded, decoder = decode(raw[:-missing], endless([7]))
    assert decoded == [b"whole"]
    assert len(decoder.space()) < HEADER_BYTES, "it does not wait for the rest"


def test_a_header_survives_the_wire() -> None:
    header = Header(depth=7, session=b"16 bytes exactly", sequence=(1 << 32) - 1, length=MAX_PAYLOAD_BYTES)
    assert Header.unpack(header.pack(), HELPER) == header


@pytest.mark.parametrize("raw", [bytes(HEADER_BYTES), b"PPA1" + bytes(HEADER_BYTES - 4)])
def test_the_decoder_refuses_what_is_not_a_frame(raw: bytes) -> None:
    with pytest.raises(PeerMisbehavedError, match="proxy 0 sent bytes that are not a ppaurora frame"):
        decode(raw, endless([5]))


def test_the_decoder_refuses_an_oversized_frame_before_it_makes_room() -> None:
    raw = Header(1, bytes(16), 0, (1 << 32) - 1).pack()
    with pytest.raises(PeerMisbehavedError, match="proxy 0 announced"):
        decode(raw, endless([HEADER_BYTES]))
