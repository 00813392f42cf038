"""`python -m ppaurora.node.worker`: one node's part of one attempt, in a process of its own.

A crash, a flood or a leak of memory here does not reach the node. In: one JSON line with the order. Out: JSON
lines, as every driven server writes them; the outcome has one part of the result for every owner.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from pathlib import Path
from typing import Any

from ppaurora.channel.tls import PassedSockets, connect_parties
from ppaurora.party.driven import Driver, Meeting, run_driven
from ppaurora.party.job import Job
from ppaurora.party.run import take_part
from ppaurora.suites.role import Role

_FIRST_TO_GO = "800"  # if memory runs out, the kernel takes this process rather than the node


def main() -> int:
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    return run_driven(_serve)


def _serve(driver: Driver) -> None:
    order: dict[str, Any] = json.loads(driver.commands.readline())
    meeting = Meeting.from_dict(order["meeting"])
    driver.stay_in_touch(meeting.timeout / 4)
    role, job = Role(order["role"]), Job.from_json(order["job"])
    inputs = [
        job.read_input(Path(path).read_bytes(), size)
        for path, size in zip(order["shares"], job.sizes, strict=not role.is_helper)
    ]
    with socket.socket(fileno=order["entrance"]) as entrance:
        transport = connect_parties(
            role,
            meeting.identity,
            PassedSockets(entrance),
            meeting.addresses,
            meeting.timeout,
            order["server_name"],
        )
    try:
        outcome = take_part(
            transport,
            job,
            inputs,
            driver.progress,
            study=bytes.fromhex(order["study"]),
            attempt=order["attempt"],
            recipients=len(job.sizes),
            announce=lambda session: driver.say(event="session", session=session.hex()),
        )
        transport.finish()
    finally:
        transport.close()
    driver.tell_outcome(outcome, releases=[release.words.tolist() for release in outcome.releases])


if __name__ == "__main__":
    sys.exit(main())
