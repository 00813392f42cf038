"""Sessions among any servers: nothing here knows how many there are or what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest

from ppaurora.channel.base import Channel, Transport
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.channel.tls import TlsTransport, connect_parties, listen
from ppaurora.errors import PeerMisbehavedError
from ppaurora.local.certificates import make_identities
from ppaurora.local.threads import run_parties
from ppaurora.session import Context, open_session

PATIENCE = 120.0
JOB = bytes(range(32))


class Couple(Server):
    ALICE = 0
    BOB = 1


class Four(Server):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3


class Numbered(Server):
    """Numbers with gaps, not in order, and of two digits."""

    LAST = 12
    FIRST = 1
    NEXT = 2
    LATER = 11


Connect = Callable[[type[Server]], Sequence[Transport]]


def over_tls(servers: type[Server], folder: Path) -> list[TlsTransport]:
    identities = make_identities(folder, servers)
    listeners = {server: listen() for server in servers}
    addresses = {server: listener.getsockname() for server, listener in listeners.items()}

    def join(server: Server) -> TlsTransport:
        with listeners[server] as listener:
            return connect_parties(server, identities[server], listener, addresses, PATIENCE)

    with ThreadPoolExecutor(len(servers)) as pool:
        return list(pool.map(join, servers))


@pytest.fixture(params=["memory", "tls"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connect]:
    opened: list[Transport] = []

    def connect(servers: type[Server]) -> Sequence[Transport]:
        in_memory = request.param == "memory"
        opened.extend(memory_transports(servers, PATIENCE) if in_memory else over_tls(servers, tmp_path))
        return opened

    yield connect
    for transport in opened:
        transport.close()


def sessions(transports: Sequence[Transport]) -> dict[Server, Context]:
    by_server = {transport.role: transport for transport in transports}
    contexts = run_parties(lambda server: open_session(by_server[server], JOB), transports)
    return {context.role: context for context in contexts}


@pytest.mark.parametrize("servers", [Couple, Four, Numbered])
def test_every_pair_agrees_on_keys_of_its_own(connect: Connect, servers: type[Server]) -> None:
    contexts = sessions(connect(servers))
    assert set(contexts) == set(servers)
    drawn = set()
    for one, other in combinations(servers, 2):
        words = contexts[one].stream(other, "masks").words((4,))
        assert words.tolist() == contexts[other].stream(one, "masks").words((4,)).tolist()
        drawn.add(words.tobytes())
    assert len(drawn) == len(servers) * (len(servers) - 1) // 2


@pytest.mark.parametrize("servers", [Couple, Four, Numbered])
def test_all_servers_agree_on_the_sessions_name(connect: Connect, servers: type[Server]) -> None:
    transports = connect(servers)
    names = {context.channel.session for context in sessions(transports).values()}
    assert [len(name) for name in names] == [16]
    assert names != {bytes(16)}


@pytest.mark.parametrize("servers", [Couple, Four, Numbered])
def test_every_server_reaches_every_other_within_the_session(connect: Connect, servers: type[Server]) -> None:
    transports = connect(servers)
    by_server = {transport.role: transport for transport in transports}

    def greet_all(server: Server) -> dict[Server, bytes]:
        channel = open_session(by_server[server], JOB).channel
        for peer in server.peers:
            channel.send(peer, f"{server.name:10}".encode())
        return {peer: bytes(channel.receive(peer, 10)) for peer in server.peers}

    for server, heard in zip(servers, run_parties(greet_all, transports), strict=True):
        assert heard == {peer: f"{peer.name:10}".encode() for peer in server.peers}


def test_one_of_four_that_means_another_job_stops_all(connect: Connect) -> None:
    transports = connect(Four)

    def party(server: Server) -> None:
        open_session(transports[server], bytes(32) if server is Four.WEST else JOB)

    with pytest.raises(PeerMisbehavedError, match="another job"):
        run_parties(party, transports)


def test_a_second_session_of_the_same_job_has_other_keys_and_another_name() -> None:
    first, second = (sessions(memory_transports(Four, PATIENCE)) for _ in range(2))
    assert first[Four.NORTH].channel.session != second[Four.NORTH].channel.session
    for server in Four:
        for peer in server.peers:
            one = first[server].stream(peer, "masks").words((4,))
            assert one.tolist() != second[server].stream(peer, "masks").words((4,)).tolist()


def test_a_frame_of_another_session_among_the_same_four_is_refused() -> None:
    transports = memory_transports(Four, PATIENCE)
    sender, receiver = Channel(transports[Four.EAST]), Channel(transports[Four.WEST])
    sender.session, receiver.session = b"one of 16 bytes.", b"one of 16 bytes!"
    sender.send(Four.WEST, b"late")
    with pytest.raises(PeerMisbehavedError, match="east speaks in another session"):
        receiver.receive(Four.EAST, 4)
