"""Keys that pairs of servers agree on: of their own for every job, attempt and pair."""

from __future__ import annotations

import pytest

from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.errors import PeerMisbehavedError
from ppaurora.local.threads import run_parties
from ppaurora.session import open_session
from ppaurora.session.agreement import SessionSecrets
from ppaurora.suites.role import Role


def agreed(attempt: int = 1, job: bytes = bytes(32)) -> dict[Role, dict[Server, bytes]]:
    secrets = {role: SessionSecrets() for role in Role}
    sent = {role: secrets[role].contribution() for role in Role}
    return {
        role: secrets[role].agree(role, {peer: sent[peer] for peer in role.peers}, job, attempt).keys
        for role in Role
    }


def test_pairs_agree_and_every_pair_and_attempt_has_a_key_of_its_own() -> None:
    seen = set()
    for attempt in (1, 2):
        keys = agreed(attempt)
        for role in Role:
            for peer in role.peers:
                assert keys[role][peer] == keys[peer][role]
                seen.add(keys[role][peer])
    assert len(seen) == 6


def test_the_salt_binds_job_attempt_and_all_nonces() -> None:
    """The same X25519 secrets under another job, attempt or third nonce give another key."""
    mine, yours, third, other = (SessionSecrets() for _ in range(4))

    def key(job: bytes = bytes(32), attempt: int = 1, helper: SessionSecrets = third) -> bytes:
        contributions: dict[Server, bytes] = {
            Role.PROXY_1: yours.contribution(),
            Role.HELPER: helper.contribution(),
        }
        return mine.agree(Role.PROXY_0, contributions, job, attempt).keys[Role.PROXY_1]

    assert key() == key()
    assert len({key(), key(job=b"j" * 32), key(attempt=2), key(helper=other)}) == 4


def test_parties_that_mean_different_jobs_do_not_start() -> None:
    transports = memory_transports(Role, timeout=120)

    def party(role: Server) -> None:
        open_session(transports[role], bytes(32) if role is not Role.HELPER else b"other job" + bytes(23))

    with pytest.raises(PeerMisbehavedError, match="another job"):
        run_parties(party, transports)


def test_a_public_key_of_low_order_is_the_peers_fault() -> None:
    """X25519 with an all-zero public key gives everybody the same secret."""
    honest = SessionSecrets()
    zero_key = SessionSecrets().contribution()[:32] + bytes(32)
    with pytest.raises(PeerMisbehavedError, match="proxy 1"):
        honest.agree(Role.PROXY_0, {Role.PROXY_1: zero_key, Role.HELPER: zero_key}, bytes(32), 1)


def test_one_server_that_brings_something_new_changes_every_key() -> None:
    """As where two machines were restored to one moment, and drew the same as then."""
    secrets = {role: SessionSecrets() for role in Role}

    def keys(helper: SessionSecrets) -> set[bytes]:
        all_secrets = {**secrets, Role.HELPER: helper}
        sent = {role: all_secrets[role].contribution() for role in Role}
        found = set()
        for role in Role:
            others: dict[Server, bytes] = {peer: sent[peer] for peer in role.peers}
            agreed = all_secrets[role].agree(role, others, bytes(32), 1)
            found |= {*agreed.keys.values(), agreed.session}
        return found

    first = keys(secrets[Role.HELPER])
    assert len(first) == 4
    assert first == keys(secrets[Role.HELPER])  # the control: with nothing new, all is as it was
    assert not first & keys(SessionSecrets())


def test_a_server_that_tells_two_others_different_things_is_noticed_by_their_first_frame() -> None:
    """They have no name of the session in common then, and no key."""
    mine, yours = SessionSecrets(), SessionSecrets()
    told = [SessionSecrets().contribution() for _ in range(2)]
    first = mine.agree(Role.PROXY_0, {Role.PROXY_1: yours.contribution(), Role.HELPER: told[0]}, bytes(32), 1)
    second = yours.agree(
        Role.PROXY_1, {Role.PROXY_0: mine.contribution(), Role.HELPER: told[1]}, bytes(32), 1
    )
    assert first.session != second.session
    assert first.keys[Role.PROXY_1] != second.keys[Role.PROXY_0]
