"""Studies through three nodes that compute with several workers each."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ppaurora.data.samples import check_samples
from ppaurora.owner.study import Study
from tests.support.deployment import NODES, OWNERS, Deployment, children, samples
from tests.support.trials import becomes
from tests.support.worker_nodes import WorkerNodes, pooled, settings

SECONDS = 600.0


@contextlib.contextmanager
def running(deployment: WorkerNodes) -> Iterator[WorkerNodes]:
    deployment.start()
    try:
        yield deployment
    finally:
        deployment.stop()


def sessions(deployment: Deployment, node: str) -> list[dict[str, object]]:
    return [event for event in deployment.events(node) if event.get("event") == "session opened"]


@pytest.mark.parametrize("counts", [(2, 2, 2), (4, 2, 8), (2, 1, 2)], ids=str)
def test_nodes_compute_with_as_many_workers_as_all_of_them_have(
    tmp_path: Path, counts: tuple[int, ...]
) -> None:
    """Each worker has a session of its own. One that has fewer than the others is no reason to fail."""
    workers = {name: settings(count=count) for name, count in zip(NODES, counts, strict=True)}
    with running(WorkerNodes(tmp_path, workers)) as nodes:
        nodes.submit()
        assert nodes.released(SECONDS) == pytest.approx(pooled(), abs=1e-10)
        opened = [{str(event["session"]) for event in sessions(nodes, name)} for name in NODES]
    assert opened[0] == opened[1] == opened[2]
    assert len(opened[0]) == min(counts)


def test_a_lost_worker_fails_the_attempt_and_the_next_has_fresh_keys(tmp_path: Path) -> None:
    """Killed at a moment when it works; the study is computed all the same, and nothing is left behind."""
    with running(WorkerNodes(tmp_path, dict.fromkeys(NODES, settings(count=2)))) as nodes:

        def workers() -> list[int]:
            crews = children(nodes.processes["proxy-1"].pid)
            return [worker for crew in crews for worker in children(crew)]

        compute_in_spite_of_a_lost_worker(nodes, workers)


@pytest.mark.long
def test_a_lost_worker_is_named_with_its_server_everywhere(tmp_path: Path) -> None:
    """Killed while all compute: nobody names a worker of its own, but for the node that has lost one."""
    with running(WorkerNodes(tmp_path, dict.fromkeys(NODES, settings(count=2)))) as nodes:
        for place, owner in enumerate(OWNERS):
            Study(nodes.kit(owner), "trial").submit(check_samples(owner, *samples(4000, place)))
        assert becomes(lambda: len(sessions(nodes, "proxy-1")) == 2)
        crews = children(nodes.processes["proxy-1"].pid)
        os.kill(next(worker for crew in crews for worker in children(crew)), signal.SIGKILL)
        study = Study(nodes.kit("north"), "trial")
        notes: set[str] = set()

        def is_told() -> bool:
            notes.update(status.note for status in study.status().values())
            return any("worker" in note for note in notes)

        assert becomes(is_told)
        nodes.released(SECONDS)
        reasons = {
            name: [str(event["reason"]) for event in nodes.events(name) if event["event"] == "attempt failed"]
            for name in NODES
        }
    assert re.fullmatch(r"proxy 1: worker \d was killed by signal 9", reasons["proxy-1"][0])
    assert re.match(r"proxy 1 \(worker \d\) ", reasons["proxy-0"][0])
    told = [*notes, *reasons["proxy-0"], *reasons["helper"]]
    assert not re.search(r"proxy 0: worker|helper: worker|of proxy 0|of helper", " ".join(told)), told


def compute_in_spite_of_a_lost_worker(nodes: WorkerNodes, workers: Callable[[], list[int]]) -> None:
    """`workers` are those of the second proxy, by their processes."""
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(_kill_first, workers, nodes)  # it looks for them before there are any
        nodes.submit()
        killed.result()
    assert nodes.released(SECONDS) == pytest.approx(pooled(), abs=1e-10)
    failed = [event for event in nodes.events("proxy-1") if event.get("event") == "attempt failed"]
    assert failed
    assert re.search(r"worker \d", str(failed[0]["reason"]))
    opened = sessions(nodes, "proxy-0")
    assert max(int(str(event["attempt"])) for event in opened) > 1
    names = [str(event["session"]) for event in opened]
    assert len(set(names)) == len(names)
    assert becomes(lambda: workers() == [])  # Ray ends them a moment later


def _kill_first(workers: Callable[[], list[int]], nodes: WorkerNodes) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for found in workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(found, signal.SIGKILL)
                return
        time.sleep(0.01)
    raise AssertionError(nodes.log("proxy-1"))
