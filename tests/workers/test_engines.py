"""One conformance test for all engines: what workers do is the same wherever they run.

Here they are processes on this machine; test_on_ray.py runs the same tests with Ray.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.channel.servers import Server
from ppaurora.errors import PartyFailedError, PpauroraError
from ppaurora.local import processes as local_processes
from ppaurora.local.processes import run_in_processes
from ppaurora.messages.workers import Crew
from ppaurora.metrics import METRICS
from ppaurora.party.run import RunOutcome
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.session import Progress, no_progress
from ppaurora.sharing.stages import OwnerShare
from ppaurora.suites.role import Role
from tests.support.deployment import children
from tests.support.stand_in_part import BYTES
from tests.workers.conftest import Crews

PROTOCOL = Fast(key_bits=64)
TERMS = Terms(
    metrics=(METRICS["auroc"](),),
    protocol=PROTOCOL,
    limits=Limits(samples_per_owner=100),
    policy=Policy.exact(),
)
JOB = Job(terms=TERMS, sizes=(5, 6))


def run(
    crews: dict[Server, Crew], progress: Progress = no_progress, timeout: float = 120.0
) -> dict[Server, RunOutcome]:
    shape = TERMS.shape
    shares: dict[Server, list[OwnerShare]] = {
        server: [
            PROTOCOL.read_share(os.urandom(PROTOCOL.share_bytes(server, size, shape)), server, size, shape)
            for size in JOB.sizes
        ]
        for server in PROTOCOL.input_servers
    }
    return run_in_processes(JOB, shares, progress, timeout, crews=crews)


def processes(outcome: RunOutcome) -> list[int]:
    return [int(name.split()[1]) for name in outcome.openings if name.startswith("process ")]


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 120
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a worker was left behind"
        time.sleep(0.1)


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_meet_their_peers_and_hand_on_to_each_other(crews: Crews, workers: int) -> None:
    steps = []
    outcomes = run(crews(workers, "hand_on"), lambda *step: steps.append(step))
    pids = [pid for outcome in outcomes.values() for pid in processes(outcome)]
    assert len(set(pids)) == 3 * workers
    for outcome in outcomes.values():
        per_worker = [(workers - 1) * 2 * (BYTES + number) for number in range(workers)]
        assert outcome.openings["bytes handed on"] == sum(per_worker)
        assert outcome.meter.messages == workers * 2 * 3  # to two peers, three times
    assert [done for _, done, _ in steps] == [0, 1, 2]  # of one worker only
    wait_until_gone(pids)


@pytest.mark.long
def test_a_worker_may_wait_longer_for_a_peer_worker_than_a_peer_may_be_silent(crews: Crews) -> None:
    outcomes = run(crews(2, "work_longer"), timeout=12.0)
    assert {outcome.meter.messages for outcome in outcomes.values()} == {2 * 6}


def test_a_worker_that_fails_is_named_and_the_others_end(
    crews: Crews, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The others tell whom they lost; on a busy machine that may come first, by more than a moment.
    monkeypatch.setattr(local_processes, "_SECONDS_FOR_LAST_WORDS", 60.0)
    with pytest.raises(PpauroraError) as caught:
        run(crews(2, "fail", tested=Role.PROXY_1))
    told = str(caught.value)
    assert told.startswith("proxy 1: worker 1: internal error: ZeroDivisionError at stand_in_part.py:")
    assert "may quote data" not in told


@pytest.mark.parametrize(("victim", "title"), [(0, "proxy 0"), (1, "proxy 0")])
def test_a_worker_that_is_killed_is_named_and_nothing_is_left(crews: Crews, victim: int, title: str) -> None:
    """Neither processes nor, with Ray, places in the cluster."""
    started: dict[int, int] = {}
    killed = threading.Event()

    def kill(step: str, done: int, total: int) -> None:
        """The leader's first worker tells its process; a peer worker's is found beside it."""
        started[done] = int(step.removeprefix("process "))
        if not killed.is_set():
            killed.set()
            threading.Timer(0.5, os.kill, (sibling(crews, started[0], victim), signal.SIGKILL)).start()

    with pytest.raises(PartyFailedError, match=f"{title}: worker {victim} (was killed by|was lost)"):
        run(crews(2, "wait"), kill)
    wait_until_gone(list(started.values()))
    if crews.clusters is not None:
        cluster = crews.clusters["proxy-0"]
        eventually(lambda: not cluster.workers())
        eventually(lambda: cluster.placement_groups() <= {"REMOVED"})


def test_a_worker_that_hangs_is_named_and_ended(crews: Crews) -> None:
    hanging: list[int] = []

    def stop(step: str, done: int, total: int) -> None:
        if not hanging:
            hanging.append(sibling(crews, int(step.removeprefix("process ")), 1))
            os.kill(hanging[0], signal.SIGSTOP)

    with pytest.raises(PartyFailedError, match="proxy 0: worker 1 gave no sign of life for 10 seconds"):
        run(crews(2, "wait"), stop, timeout=10.0)
    wait_until_gone(hanging)


def sibling(crews: Crews, first: int, number: int) -> int:
    """The process of another worker of the same server."""
    if number == 0:
        return first
    if crews.clusters is not None:
        (other,) = set(crews.clusters["proxy-0"].workers()) - {first}
        return other
    parent = re.search(r"PPid:\s*(\d+)", Path(f"/proc/{first}/status").read_text())
    assert parent is not None
    for child in children(int(parent[1])):
        if f"worker {number}" in Path(f"/proc/{child}/cmdline").read_text():
            return child
    raise AssertionError("there is no such worker")


def eventually(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_all_servers_have_as_many_workers(crews: Crews) -> None:
    given = crews(2, "hand_on")
    given[Role.HELPER] = crews(4, "hand_on")[Role.HELPER]
    with pytest.raises(PpauroraError, match=r"has [24] workers, where this server has [24]"):
        run(given)
