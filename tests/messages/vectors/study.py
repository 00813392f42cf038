"""study.json: how an attempt of nodes is bound to its study, and under which names nodes are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ppaurora.errors import PeerMisbehavedError
from ppaurora.io.models import checked, from_builtins, to_builtins
from ppaurora.messages.owners import Submitted
from ppaurora.node.attempt import AttemptPlan
from ppaurora.node.questions import CONTROL
from ppaurora.node.sni_router import job_name
from ppaurora.policy.rules import Floors
from ppaurora.study.manifest import Manifest
from ppaurora.suites.role import Role
from tests.messages.vectors import manifest, session
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed

WHAT = """
Attempts of nodes. `agreed` is what all nodes have of the owners' submissions, in the order of the owners
in the `manifest`. `study`, to which the job is bound (see job.json), is the JSON list of the version, the
manifest's hash and `agreed`, sorted and without blanks; `job_hash` is the hash of the manifest's job with
that. The job's policy is the strictest of the manifest's and the `floors` of all owners in `agreed`: the
largest of each minimum, the smallest fraction, "hidden" before "rounded" before "exact", and the fewest
digits, where "exact" are the most; whole_tables is set if an owner's minimum_per_cell is above the
manifest's. A node's port for other nodes is asked, as the server's name of TLS, for `control_name` if
there is a question, and for `attempt_name`, which has the attempt's `token` in it, if an attempt is
computed. Refused is the hello (see session.json) of a server that means something else.
"""

OWNERS = ("hospital-a", "hospital-b", "hospital-c")
SIZES = (600, 450, 400)
# What one owner demands is more than the policy asks for, what another one does is less.
FLOORS = (
    Floors(minimum_positives=25, digits=3, largest_owner_fraction=0.5),
    Floors(minimum_samples=1000, minimum_positives=5, minimum_per_cell=12, counts="rounded"),
    Floors(),
)
NO_FLOORS = (Floors(),) * len(OWNERS)
TOKEN = seed("a token", 16).hex()


def _manifest(**more: object) -> Manifest:
    return checked(Manifest, manifest.least(**more))


def _agreed(floors: Sequence[Floors] = NO_FLOORS, word: str = "") -> tuple[Submitted, ...]:
    return tuple(
        Submitted(
            owner=owner,
            samples=size,
            floors=demanded,
            commitments=tuple(seed(f"commitment {number} of {owner}{word}").hex() for number in range(2)),
        )
        for owner, size, demanded in zip(OWNERS, SIZES, floors, strict=True)
    )


def _job_hash(agreed_on: Manifest, agreed: Sequence[Submitted]) -> bytes:
    plan = AttemptPlan(agreed_on, 1, TOKEN, tuple(agreed))
    return agreed_on.job(agreed).hash(plan.binding())


def make() -> list[Entry]:
    agreed_on = _manifest()
    attempts = {
        "an attempt": _agreed(),
        "an attempt under owners' floors": _agreed(FLOORS),
    }
    return [
        {
            "name": name,
            "manifest": agreed_on.text(),
            "agreed": to_builtins(agreed),
            "token": TOKEN,
            "study": AttemptPlan(agreed_on, 1, TOKEN, agreed).binding().decode(),
            "job_hash": _job_hash(agreed_on, agreed).hex(),
            "control_name": CONTROL,
            "attempt_name": job_name(TOKEN),
        }
        for name, agreed in attempts.items()
    ]


def check(vector: Entry) -> None:
    agreed_on = Manifest.parse(vector["manifest"], "vector")
    agreed = from_builtins(tuple[Submitted, ...], vector["agreed"])
    assert AttemptPlan(agreed_on, 7, vector["token"], agreed).binding().decode() == vector["study"]
    assert _job_hash(agreed_on, agreed).hex() == vector["job_hash"]
    assert (CONTROL, job_name(vector["token"])) == (vector["control_name"], vector["attempt_name"])


def spoil() -> list[Bad]:
    """What another server may mean instead."""
    agreed_on, agreed = _manifest(), _agreed()
    one_more = msgspec.structs.replace(agreed[0], samples=SIZES[0] + 1)
    meant = {
        "another manifest": _job_hash(_manifest(limits={"attempts": 4}), agreed),
        "other shares of an owner": _job_hash(agreed_on, (*agreed[:2], _agreed(word=", again")[2])),
        "another number of samples": _job_hash(agreed_on, (one_more, *agreed[1:])),
        "another order of the owners": _job_hash(agreed_on, agreed[::-1]),
        "other floors of an owner": _job_hash(agreed_on, _agreed(FLOORS)),
        "another policy": _job_hash(_manifest(policy={"minimum_positives": 11}), agreed),
        "no study": agreed_on.job(agreed).hash(),
    }
    place = {"job_hash": _job_hash(agreed_on, agreed).hex(), "attempt": 1, "sender": 1, "receiver": 0}
    return [
        Bad(
            why,
            PeerMisbehavedError,
            "another job",
            {**place, "hello": session.hello(Role.PROXY_1, hash_, 1).hex()},
        )
        for why, hash_ in meant.items()
    ]


FILE = VectorFile("study", WHAT, make, spoil, check, session.take)
