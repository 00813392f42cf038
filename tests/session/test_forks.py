"""Forks of a context: keys, streams, connections and meters of their own; no mask is used by two of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ppaurora.channel.base import Channel
from ppaurora.channel.intra_party import MemoryIntraPartyChannel, memory_intra_party_channels
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.errors import MisuseError, PartyFailedError, PeerMisbehavedError
from ppaurora.local.threads import run_parties
from ppaurora.session import Context, Worker, context, open_session
from ppaurora.session.agreement import PairKeys, SessionSecrets
from ppaurora.suites.role import Role
from ppaurora.testing.ledger import OpenedStream, StreamLedger, keep_ledger

WORKERS = 4


def contexts_of(workers: int = WORKERS) -> list[list[Context]]:
    """Of every party, those of all workers."""
    transports = [memory_transports(Role, timeout=120) for _ in range(workers)]

    def party(role: Server) -> list[Context]:
        intra_party_channels = memory_intra_party_channels(role.title, workers)
        worker = Worker(0, workers)
        first = open_session(
            transports[0][role], bytes(32), worker=worker, intra_party=intra_party_channels[0]
        )
        return [
            first,
            *(
                first.fork(index, transports[index][role], intra_party_channels[index])
                for index in range(1, first.worker.count)
            ),
        ]

    return run_parties(party, transports[0])


@pytest.fixture
def no_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's nonces and keys are fresh, so that only labels keep sessions apart."""
    private = X25519PrivateKey.generate()
    monkeypatch.setattr(context, "SessionSecrets", lambda: SessionSecrets(nonce=bytes(32), private=private))


def ledger_of_forks() -> StreamLedger:
    with keep_ledger() as ledger:
        for party in contexts_of():
            for fork in party:
                for peer in fork.role.peers:
                    fork.stream(peer, "masks")
                    fork.stream(peer, "deals")
    return ledger


@pytest.mark.usefixtures("no_luck")
def test_no_two_forks_share_a_stream() -> None:
    ledger = ledger_of_forks()
    assert len(ledger.entries) == 3 * WORKERS * 2 * 2
    assert not ledger.shared()
    assert len({entry.key for entry in ledger.entries}) == 3 * WORKERS, "a key per pair and worker"
    assert ledger.labels(Role.HELPER)[:2] == ["worker 0 of 4/masks", "worker 0 of 4/deals"]


@pytest.mark.usefixtures("no_luck")
def test_a_fork_that_forgets_its_label_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the test above; either half of the label would have been enough."""
    with monkeypatch.context() as forgetful:
        forgetful.setattr(Worker, "label", "")
        assert not ledger_of_forks().shared()
    with monkeypatch.context() as forgetful:
        forgetful.setattr(Worker, "to_bytes", lambda _: bytes(4))
        assert not ledger_of_forks().shared()
        forgetful.setattr(Worker, "label", "")
        assert ledger_of_forks().shared()


def test_the_ledger_finds_what_was_opened_twice_and_nothing_else() -> None:
    once = OpenedStream(Role.PROXY_0, Role.HELPER, "a key", "masks")
    twice, elsewhere = replace(once, label="deals"), replace(once, party=Role.PROXY_1, label="deals")
    assert StreamLedger([once, twice, elsewhere]).shared() == []
    assert StreamLedger([twice, once, elsewhere, twice]).shared() == [twice]


def test_a_fork_opens_a_label_once() -> None:
    fork = contexts_of()[Role.PROXY_0][1]
    fork.stream(Role.HELPER, "masks")
    with pytest.raises(MisuseError, match=r"worker 1 of 4/masks.*must not be reused"):
        fork.stream(Role.HELPER, "masks")


def test_workers_of_one_number_read_the_same_stream() -> None:
    parties = contexts_of()
    read = [
        (party[index].stream(peer, "masks").bytes(16).tobytes())
        for index in range(WORKERS)
        for party, peer in ((parties[0], Role.HELPER), (parties[Role.HELPER], Role.PROXY_0))
    ]
    assert read[::2] == read[1::2]
    assert len(set(read)) == WORKERS


def test_what_forks_send_adds_up() -> None:
    parties = contexts_of()
    first, *forks = parties[Role.PROXY_0]
    before = first.meter.reading()
    with forks[0].step("merge"):
        forks[0].channel.send(Role.PROXY_1, b"1234")
    forks[1].meter.passed_inside(100)
    forks[2].meter.received(9)
    after = first.meter.reading()
    assert after.steps["merge"] == Cost(messages=1, bytes=36)
    assert (after.messages, after.bytes) == (before.messages + 1, before.bytes + 36)
    assert (after.inside_messages, after.inside_bytes) == (1, 100)
    assert (before.rounds, after.rounds) == (1, 9)


def test_parties_with_different_numbers_of_workers_do_not_start() -> None:
    transports = memory_transports(Role, timeout=120)

    def party(role: Server) -> None:
        open_session(transports[role], bytes(32), worker=Worker(0, 2 if role is Role.HELPER else 4))

    with pytest.raises(PeerMisbehavedError, match=r"has [24] workers, where this server has [24]; all must"):
        run_parties(party, transports)


@pytest.mark.parametrize("worker", [(0, 3), (0, 0), (2, 2), (-1, 1), (0, 128)], ids=str)
def test_no_such_worker(worker: tuple[int, int]) -> None:
    with pytest.raises(MisuseError, match="there is no worker"):
        Worker(*worker)


def test_workers_swap_and_notice_who_is_gone() -> None:
    one, other = memory_intra_party_channels("proxy 0", 2, timeout=120)
    _put(other, [b"to the first", b"to itself"])
    assert one.all_to_all([b"to itself", b"to the second"]) == [b"to itself", b"to the first"]
    other.close()
    with pytest.raises(PartyFailedError, match="worker 1 of proxy 0 is gone"):
        one.all_to_all([b"", b""])


def test_a_silent_worker_is_named() -> None:
    one, _ = memory_intra_party_channels("helper", 2, timeout=0.05)
    with pytest.raises(PartyFailedError, match=r"worker 1 of helper handed on nothing for 0\.05 seconds"):
        one.all_to_all([b"", b""])


def _put(intra_party: MemoryIntraPartyChannel, outgoing: list[bytes]) -> None:
    """Hand on, and do not wait for the others: the first half of an all-to-all exchange."""
    intra_party._table.put(1, outgoing)


def test_only_an_open_session_can_be_forked() -> None:
    transports = memory_transports(Role)
    alone = Context(Channel(transports[0]), PairKeys({}, bytes(16)))
    with pytest.raises(MisuseError, match="only the context of an open session can be forked"):
        alone.fork(1, transports[0], memory_intra_party_channels("proxy 0", 2)[1])
