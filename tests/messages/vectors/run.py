"""run.json: whole runs from fixed randomness, with everything that the servers send each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
import numpy as np

from ppaurora.agreement.terms import Job, Terms
from ppaurora.channel.base import Buffer, Channel
from ppaurora.channel.frames import Header
from ppaurora.channel.memory import MemoryTransport, memory_transports
from ppaurora.channel.servers import Server
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import PeerMisbehavedError
from ppaurora.io.models import canonical_json, from_json
from ppaurora.local.threads import run_parties
from ppaurora.metrics import METRICS, metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, GridProtocol, Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.session import Context
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.role import Role
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.learnt import learnt
from tests.messages.vectors.seeds import seed
from tests.messages.vectors.session import agreed

WHAT = """
Whole runs. Every owner's samples in `owners` are split with the stream under its `stream_key`, as in
input_shares_*.json; the servers have the nonces and private keys of session.json, for the first attempt
at `job`. `sent` has, for every two servers, how many frames one sent to the other after the keys were
agreed, how many bytes they have together, headers included, and the SHA-256 of them all, one after the
other. `parts` are the parts of the result at the servers that get one, by recipient, and `outcome` what
an owner learns from them (see result_*.json). Servers of two versions that send anything else cannot
compute with each other. Refused is a run in which a server sends `instead` in the place of its frame number
`frame` (from 1 on) to another.
"""

Owner = tuple[list[float], list[int]]
_OWNERS: list[Owner] = [
    ([0.75, 0.25, 0.5, 0.5, 0.125], [1, 0, 1, 0, 0]),
    ([0.5, 0.875, 0.25], [1, 1, 0]),
    ([0.375, 0.5], [0, 1]),
]
_PROTOCOLS = (Fast(key_bits=32), Fast(key_bits=64), Paper(delta=1), Paper(delta=3), GridProtocol(decimals=1))
_METRICS = metrics_named("auroc", "aupr", "ap")
_POLICY = Policy.exact(counts="hidden")
# Under a policy, with intervals and sums: floors that hold, and one that does not.
_RELEASED = Terms(
    metrics=(
        *metrics_named("auroc", "ap", "brier", "calibration_in_the_large"),
        METRICS["sensitivity"](thresholds=(0.25, 0.5, 0.75)),
        METRICS["ppv"](thresholds=(0.25, 0.5, 0.75)),
    ),
    confidence_level=0.95,
    protocol=Fast(key_bits=32),
    policy=Policy.exact(
        minimum_positives=2, minimum_negatives=2, minimum_per_cell=2, digits=2, counts="rounded"
    ),
)
_GRID = msgspec.structs.replace(_RELEASED, protocol=GridProtocol(decimals=2))
_TABLE = msgspec.structs.replace(_RELEASED, protocol=Fast(key_bits=32, grid=Grid(decimals=1)))
_SUPPRESSED = msgspec.structs.replace(
    _RELEASED, policy=msgspec.structs.replace(_RELEASED.policy, minimum_positives=4)
)
RECIPIENTS = 2


class _RecordedTransport(MemoryTransport):
    """Keeps what it is given to send, and sends one frame as a bad server would, if there is one."""

    def __init__(self, inner: MemoryTransport, bad: Entry | None) -> None:
        vars(self).update(vars(inner))
        self._bad = bad
        self.sent: dict[Server, list[bytes]] = {peer: [] for peer in inner.role.peers}

    def put(self, to: Server, buffers: Sequence[Buffer]) -> None:
        raw = b"".join(buffers)
        self.sent[to].append(raw)
        bad = self._bad
        if bad is not None and (bad["from"], bad["to"], bad["frame"]) == (self.role, to, len(self.sent[to])):
            raw = bytes.fromhex(bad["instead"])
        super().put(to, [raw])


def _run(
    job: Job, owners: Sequence[Entry], bad: Entry | None = None
) -> tuple[list[Entry], list[tuple[ResultShare, ...]]]:
    """What every server sent to every other, and the parts of the result."""
    protocol = job.terms.protocol
    shares = [
        protocol.share(
            Samples("owner", np.array(owner["scores"]), np.array(owner["labels"], dtype=np.uint8)),
            job.terms.sums,
            stream=Stream(bytes.fromhex(owner["stream_key"])),
        )
        for owner in owners
    ]
    keys = agreed(job.hash(), 1)
    transports = [_RecordedTransport(transport, bad) for transport in memory_transports(Role, timeout=30)]

    def party(server: Server) -> tuple[ResultShare, ...]:
        channel = Channel(transports[server])
        channel.session = keys[server].session
        inputs = [
            share[protocol.input_servers.index(server)]
            for share in shares
            if server in protocol.input_servers
        ]
        context = Context(channel, keys[server])
        return protocol.run(context, job.query, inputs, RECIPIENTS)

    parts = run_parties(party, transports)
    sent = [
        {
            "from": int(transport.role),
            "to": int(peer),
            "frames": len(frames),
            "bytes": sum(map(len, frames)),
            "sha256": hashlib.sha256(b"".join(frames)).hexdigest(),
        }
        for transport in transports
        for peer, frames in transport.sent.items()
    ]
    return sent, [parts[server] for server in protocol.result_servers]


def _plain(protocol: Protocol) -> Terms:
    return Terms(metrics=_METRICS, protocol=protocol, policy=_POLICY)


def _job(terms: Terms) -> Job:
    return Job(terms=terms, sizes=tuple(len(scores) for scores, _ in _OWNERS))


def _owners() -> list[Entry]:
    return [
        {"scores": scores, "labels": labels, "stream_key": seed(f"a run, owner {number}").hex()}
        for number, (scores, labels) in enumerate(_OWNERS)
    ]


def _vector(name: str, terms: Terms) -> Entry:
    job, owners = _job(terms), _owners()
    sent, parts = _run(job, owners)
    released = terms.protocol.combine([part[0] for part in parts], job.query, _names(owners))
    return {
        "name": name,
        "job": canonical_json(job).decode(),
        "owners": owners,
        "sent": sent,
        "parts": _texts(parts),
        "outcome": learnt(released),
    }


def _texts(parts: Sequence[Sequence[ResultShare]]) -> list[list[str]]:
    return [[part.to_bytes().hex() for part in by_recipient] for by_recipient in parts]


def _names(owners: Sequence[Entry]) -> list[str]:
    return [f"owner {number}" for number in range(len(owners))]


def make() -> list[Entry]:
    named = {str(protocol): _plain(protocol) for protocol in _PROTOCOLS}
    named |= {
        "released under a policy": _RELEASED,
        "suppressed by a policy": _SUPPRESSED,
        "released under a policy, from tables": _GRID,
        "released under a policy, with tables beside the lists": _TABLE,
    }
    return [_vector(name, terms) for name, terms in named.items()]


def check(vector: Entry) -> None:
    """The run itself, and that every recipient's parts combine to the same."""
    job = from_json(Job, vector["job"])
    sent, computed = _run(job, vector["owners"])
    assert sent == vector["sent"]
    assert _texts(computed) == vector["parts"]
    for recipient in range(RECIPIENTS):
        parts = [ResultShare.from_bytes(bytes.fromhex(texts[recipient])) for texts in vector["parts"]]
        released = job.terms.protocol.combine(parts, job.query, _names(vector["owners"]))
        assert learnt(released) == vector["outcome"]


def take(bad: Entry) -> object:
    return _run(from_json(Job, bad["job"]), bad["owners"], bad)


def spoil() -> list[Bad]:
    return [bad for protocol in (_PROTOCOLS[0], _PROTOCOLS[2], _PROTOCOLS[4]) for bad in _bad_runs(protocol)]


def _bad_runs(protocol: Protocol) -> list[Bad]:
    """Proxy 0 sends something else than its first frame to proxy 1."""
    job = _job(_plain(protocol))
    session = agreed(job.hash(), 1)[Role.PROXY_0].session
    instead = {
        "an empty frame": ("0 bytes in frame 0", Header(1, session, 0, 0)),
        "a later frame": ("frame number 1 where 0", Header(1, session, 1, 0)),
        "a frame of another session": ("another session", Header(1, seed("another session", 16), 0, 0)),
    }
    place = {"job": canonical_json(job).decode(), "owners": _owners(), "from": 0, "to": 1, "frame": 1}
    return [
        Bad(f"{protocol}: {why}", PeerMisbehavedError, says, {**place, "instead": header.pack().hex()})
        for why, (says, header) in instead.items()
    ]


FILE = VectorFile("run", WHAT, make, spoil, check, take)
