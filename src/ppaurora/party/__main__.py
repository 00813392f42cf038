"""`python -m ppaurora.party ROLE`: one embedded server, driven through its standard input and output.

In:   one JSON line with the job, then the input shares as raw bytes.
Out:  JSON lines: "listening" with a port, "alive" now and then, "progress", and "outcome" or "error".
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ppaurora.channel.shaped import Network
from ppaurora.channel.tls import connect_parties, listen
from ppaurora.party.driven import Driver, Meeting, run_driven
from ppaurora.party.job import Job
from ppaurora.party.run import take_part
from ppaurora.sharing.stages import InputShare
from ppaurora.suites.role import Role


def main() -> int:
    role = next(role for role in Role if role.title == sys.argv[1])
    return run_driven(lambda driver: _serve(role, driver))


def _serve(role: Role, driver: Driver) -> None:
    with listen() as listener:
        driver.say(event="listening", port=listener.getsockname()[1])
        order: dict[str, Any] = json.loads(driver.commands.readline())
        job = Job.from_json(order["job"])
        inputs: list[InputShare] = []
        if not role.is_helper:
            inputs = [job.read_input(driver.commands.read(job.input_bytes(size)), size) for size in job.sizes]
        meeting = Meeting.from_dict(order["meeting"])
        driver.stay_in_touch(meeting.timeout / 4)
        transport = connect_parties(role, meeting.identity, listener, meeting.addresses, meeting.timeout)
    network = None if order["network"] is None else Network(**order["network"])
    try:
        outcome = take_part(transport, job, inputs, driver.progress, network)
        transport.finish()
    finally:
        transport.close()
    driver.tell_outcome(outcome, result=None if outcome.result is None else outcome.result.words.tolist())


if __name__ == "__main__":
    sys.exit(main())
