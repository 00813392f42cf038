"""session.json: the keys that three servers agree on, and streams under them."""

from __future__ import annotations

from itertools import combinations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ppaurora.channel.base import NO_SESSION
from ppaurora.channel.frames import Header
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.errors import PeerMisbehavedError
from ppaurora.randomness import StreamFamily
from ppaurora.session import open_session
from ppaurora.session.agreement import PairKeys, SessionSecrets
from ppaurora.suites.role import Role
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.job import FAST, PAPER
from tests.messages.vectors.seeds import seed

WHAT = """
The keys of a session. Server number i sends `hellos[i]` to each of the others: the job's hash, the
attempt's number in 8 bytes, big endian, its nonce, and its X25519 public key, which belongs to
`private_keys[i]`. The salt is the SHA-256 of the job's hash, the attempt's number, and every server's
nonce and public key in the order of the servers. The key of servers i < j is HKDF-SHA256 of their
X25519 secret with that salt and the info "ppaurora pair key i j" (in `keys`, by "i j"). `session` is
the name of the session, the first 16 bytes of the SHA-256 of "ppaurora session", a zero byte and the
salt. A stream under a key is AES-256 in counter mode, from counter 0 on, under the HKDF-Expand-SHA256
of the key with the info "ppaurora stream", a zero byte and its label. `words` are the first numbers of
a stream of words: 8 bytes each, little endian, written here in hexadecimal as numbers. Refused is a
server's hello, as the server in `receiver` hears it from `sender`.
"""

LABELS = ("merge/masks", "curve 1")
WORDS = 4


def secrets_of(role: Role) -> SessionSecrets:
    private = X25519PrivateKey.from_private_bytes(seed(f"X25519 key of {role.title}"))
    return SessionSecrets(nonce=seed(f"nonce of {role.title}"), private=private)


def agreed(job_hash: bytes, attempt: int) -> dict[Server, PairKeys]:
    """What every server computes from the fixed secrets of all."""
    secrets = {role: secrets_of(role) for role in Role}
    sent = {role: own.contribution() for role, own in secrets.items()}
    return {
        role: own.agree(role, {peer: sent[peer] for peer in role.peers}, job_hash, attempt)
        for role, own in secrets.items()
    }


def hello(role: Role, job_hash: bytes, attempt: int) -> bytes:
    return job_hash + attempt.to_bytes(8, "big") + secrets_of(role).contribution()


def _streams(keys: dict[str, bytes]) -> list[Entry]:
    return [
        {
            "key": pair,
            "label": label,
            "words": [
                f"{word:016x}" for word in StreamFamily(key, pair).open(label).words((WORDS,)).tolist()
            ],
        }
        for pair, key in keys.items()
        for label in LABELS
    ]


def _vector(name: str, job_hash: bytes, attempt: int) -> Entry:
    parties = agreed(job_hash, attempt)
    keys = {f"{one:d} {other:d}": parties[one].keys[other] for one, other in combinations(Role, 2)}
    return {
        "name": name,
        "job_hash": job_hash.hex(),
        "attempt": attempt,
        "nonces": [seed(f"nonce of {role.title}").hex() for role in Role],
        "private_keys": [seed(f"X25519 key of {role.title}").hex() for role in Role],
        "hellos": [hello(role, job_hash, attempt).hex() for role in Role],
        "session": parties[Role.PROXY_0].session.hex(),
        "keys": {pair: key.hex() for pair, key in keys.items()},
        "streams": _streams(keys),
    }


def make() -> list[Entry]:
    return [
        _vector("the first attempt at a job", FAST.hash(), 1),
        _vector("another attempt", FAST.hash(), 258),
        _vector("another job", PAPER.hash(), 1),
    ]


def check(vector: Entry) -> None:
    """Every server, from its own secrets and what the others sent."""
    job_hash, attempt = bytes.fromhex(vector["job_hash"]), vector["attempt"]
    sent = [bytes.fromhex(hello)[40:] for hello in vector["hellos"]]
    for role in Role:
        private = X25519PrivateKey.from_private_bytes(bytes.fromhex(vector["private_keys"][role]))
        own = SessionSecrets(nonce=bytes.fromhex(vector["nonces"][role]), private=private)
        assert own.contribution() == sent[role]
        keys = own.agree(role, {peer: sent[peer] for peer in role.peers}, job_hash, attempt)
        assert keys.session.hex() == vector["session"]
        for peer in role.peers:
            low, high = sorted((role, peer))
            assert keys.keys[peer].hex() == vector["keys"][f"{low:d} {high:d}"]
    assert _streams({pair: bytes.fromhex(key) for pair, key in vector["keys"].items()}) == vector["streams"]
    place = {"job_hash": vector["job_hash"], "attempt": attempt, "sender": 1, "receiver": 0}
    take({**place, "hello": vector["hellos"][1]})  # as it is, it is not refused


def take(bad: Entry) -> object:
    """The receiver opens a session in which the sender says this, and the others what they should."""
    job_hash, attempt = bytes.fromhex(bad["job_hash"]), bad["attempt"]
    transports = memory_transports(Role, timeout=60)
    for peer in Role(bad["receiver"]).peers:
        said = bytes.fromhex(bad["hello"]) if peer == bad["sender"] else hello(peer, job_hash, attempt)
        transports[peer].put(Role(bad["receiver"]), [Header(1, NO_SESSION, 0, len(said)).pack() + said])
    return open_session(transports[bad["receiver"]], job_hash, attempt)


# Points of small order: whatever the private key, the secret is zero.
_LOW_ORDER = {
    "an all-zero X25519 key": bytes(32),
    "the X25519 key one": (1).to_bytes(32, "little"),
    "an X25519 key of order 8": bytes.fromhex(
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"
    ),
    "the prime itself as X25519 key": (2**255 - 19).to_bytes(32, "little"),
}


def spoil() -> list[Bad]:
    job_hash = FAST.hash()
    good = hello(Role.PROXY_1, job_hash, 1)
    hellos = [(why, "no honest party", good[:-32] + key) for why, key in _LOW_ORDER.items()]
    hellos += [
        ("another job", "another job", hello(Role.PROXY_1, PAPER.hash(), 1)),
        ("another attempt", "another attempt", hello(Role.PROXY_1, job_hash, 2)),
        ("one byte too few", "were due", good[:-1]),
        ("one byte too many", "were due", good + b"\0"),
        ("nothing", "were due", b""),
    ]
    place = {"job_hash": job_hash.hex(), "attempt": 1, "sender": 1, "receiver": 0}
    return [Bad(why, PeerMisbehavedError, says, {**place, "hello": said.hex()}) for why, says, said in hellos]


FILE = VectorFile("session", WHAT, make, spoil, check, take)
