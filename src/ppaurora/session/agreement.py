"""Agreement on the pairwise keys of one attempt.

Each party makes a fresh nonce and a fresh X25519 key pair and sends nonce and public key to all
others. The key of a pair is HKDF-SHA256 over

    secret:  the pair's X25519 shared secret
    salt:    SHA-256 of the job's hash, the worker, the attempt number, everybody's nonces and public keys
    info:    which pair

so a second attempt at the same job never reuses a mask of the first, and the other parties cannot
compute the key although they contributed to it. Where parties have several workers, those of one number
agree among themselves: a key never leaves the process that uses it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ppaurora.channel.frames import SESSION_BYTES
from ppaurora.channel.servers import Server
from ppaurora.errors import PeerMisbehavedError
from ppaurora.session.worker import SINGLE, Worker

NONCE_BYTES = 32
CONTRIBUTION_BYTES = NONCE_BYTES + 32


@dataclass
class PairKeys:
    """This party's pairwise keys and the session's public name."""

    keys: dict[Server, bytes] = field(repr=False)
    session: bytes


class Purpose(NamedTuple):
    """What a session is for: what its keys are bound to, and what its first message says."""

    job_hash: bytes
    attempt: int
    worker: Worker = SINGLE

    def to_bytes(self) -> bytes:
        return self.job_hash + self.worker.to_bytes() + self.attempt.to_bytes(4, "big")


class SessionSecrets:
    """One party's contribution to a session's keys: made fresh, used once.

    Only test vectors give a nonce and a key of their own.
    """

    def __init__(self, *, nonce: bytes | None = None, private: X25519PrivateKey | None = None) -> None:
        self._nonce = os.urandom(NONCE_BYTES) if nonce is None else nonce
        self._private = X25519PrivateKey.generate() if private is None else private

    def contribution(self) -> bytes:
        """Return what the others get: nonce and public key."""
        return self._nonce + self._private.public_key().public_bytes_raw()

    def agree(
        self,
        me: Server,
        others: dict[Server, bytes],
        job_hash: bytes,
        attempt: int,
        worker: Worker = SINGLE,
    ) -> PairKeys:
        contributions = {**others, me: self.contribution()}
        salt = hashlib.sha256(
            Purpose(job_hash, attempt, worker).to_bytes()
            + b"".join(contributions[server] for server in type(me))
        ).digest()
        keys = {}
        for peer, contribution in others.items():
            try:
                shared = self._private.exchange(X25519PublicKey.from_public_bytes(contribution[NONCE_BYTES:]))
            except ValueError:
                raise PeerMisbehavedError(peer.title, "sent a public key of no honest party") from None
            low, high = sorted((me, peer))
            info = b"ppaurora pair key %d %d" % (low, high)
            keys[peer] = HKDF(hashes.SHA256(), 32, salt, info).derive(shared)
        session = hashlib.sha256(b"ppaurora session\0" + salt).digest()[:SESSION_BYTES]
        return PairKeys(keys, session)
