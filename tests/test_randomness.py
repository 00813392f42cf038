"""Streams: the same at both ends, exact, and never used twice."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ppaurora.channel import memory_transports
from ppaurora.errors import MisuseError, PeerMisbehavedError
from ppaurora.local.threads import run_in_threads
from ppaurora.randomness import Stream, StreamFamily
from ppaurora.session import open_session
from ppaurora.session.agreement import SessionSecrets
from ppaurora.suites.role import Role

KEY = bytes(range(32))


def test_a_stream_is_aes_256_in_counter_mode_read_in_order() -> None:
    reference = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(bytes(300_000))
    stream = Stream(KEY)
    pieces = [stream.bytes(n).tobytes() for n in (0, 1, 7, 70_000, 16, 131_072, 3)]
    read = b"".join(pieces)
    assert read == reference[: len(read)]


def test_a_label_is_opened_once() -> None:
    family = StreamFamily(KEY, "k01")
    family.open("a")
    family.open("b")
    with pytest.raises(MisuseError, match="reused"):
        family.open("a")


def test_labels_and_keys_separate_streams() -> None:
    one, other = StreamFamily(KEY, "k01"), StreamFamily(bytes(32), "k01")
    drawn = {s.bytes(16).tobytes() for s in (one.open("a"), one.open("b"), other.open("a"))}
    assert len(drawn) == 3


@pytest.mark.parametrize("limit", [36**12, 37**12, 1, 2**63, 3 * 2**62])
def test_words_below_a_limit_are_exactly_uniform_words(limit: int) -> None:
    words = Stream(KEY).words_below(limit, 10_000)
    assert len(words) == 10_000
    assert int(words.max()) < limit
    # The same by the definition: skip words from the last incomplete multiple of the limit on.
    raw = Stream(KEY).words((60_000,)).tolist()
    accepted = [word % limit for word in raw if word < (1 << 64) // limit * limit]
    first_batch = 10_000 * (17 << 60) // ((1 << 64) // limit * limit - 1) + 16
    if sum(word < (1 << 64) // limit * limit for word in raw[:first_batch]) >= 10_000:
        assert words.tolist() == accepted[:10_000]


def test_bits_and_permutations() -> None:
    stream = Stream.fresh()
    bits = stream.bits((100, 1000))
    assert set(np.unique(bits)) == {0, 1}
    assert abs(bits.mean() - 0.5) < 0.01
    orders = stream.permutations(500, 8)
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    assert (np.bincount(orders[:, 0], minlength=8) > 20).all()


def agreed(attempt: int = 1, job: bytes = bytes(32)) -> dict[Role, dict[Role, bytes]]:
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
        contributions = {Role.PROXY_1: yours.contribution(), Role.HELPER: helper.contribution()}
        return mine.agree(Role.PROXY_0, contributions, job, attempt).keys[Role.PROXY_1]

    assert key() == key()
    assert len({key(), key(job=b"j" * 32), key(attempt=2), key(helper=other)}) == 4


def test_parties_that_mean_different_jobs_do_not_start() -> None:
    transports = memory_transports(Role, timeout=5)

    def party(role: Role) -> None:
        open_session(transports[role], bytes(32) if role is not Role.HELPER else b"other job" + bytes(23))

    with pytest.raises(PeerMisbehavedError, match="another job"):
        run_in_threads(party, transports)


def test_a_public_key_of_low_order_is_the_peers_fault() -> None:
    """X25519 with an all-zero public key gives everybody the same secret."""
    honest = SessionSecrets()
    zero_key = SessionSecrets().contribution()[:32] + bytes(32)
    with pytest.raises(PeerMisbehavedError, match="proxy 1"):
        honest.agree(Role.PROXY_0, {Role.PROXY_1: zero_key, Role.HELPER: zero_key}, bytes(32), 1)
