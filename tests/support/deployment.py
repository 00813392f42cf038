"""A consortium for tests: three owners with made-up data, workers that can be broken."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ppaurora.node.store import Store
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.study.kit import NodeKit
from ppaurora.testing.consortium import NODES, Consortium, free_ports
from tests.support.forking import waits_to_be_forked

__all__ = ["NODES", "OWNERS", "Deployment", "command", "free_ports", "samples", "values_of", "write_csv"]

OWNERS = ("north", "harbour", "valley")


def command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """`ppaurora ...` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "ppaurora", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=options.pop("timeout", 300),
        check=False,
        **options,
    )


def samples(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores, with ties."""
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=count), 2)
    return random.random(count) < 1 / (1 + np.exp(-scores)), scores


def write_csv(path: Path, labels: np.ndarray, scores: np.ndarray) -> Path:
    rows = [f"{score!r},{int(label)}" for label, score in zip(labels, scores.tolist(), strict=True)]
    path.write_text("\n".join(["score,label", *rows]) + "\n")
    return path


def nodes_in(folder: Path) -> list[str]:
    """The command lines of all nodes that run with kits below this folder, however they were started.

    A process that a node is just starting has the node's own, until it has another.
    """
    found: dict[str, str] = {}
    parents: dict[str, str] = {}
    for number in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it may have ended
            words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(folder) in words and " serve " in words:
                parents[number] = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1]
                found[number] = words
    return [words for number, words in found.items() if parents[number] not in found]


def values_of(metrics: Mapping[str, Estimate | Table]) -> dict[str, float]:
    """Return the values of metrics that are one number each, of which none is suppressed."""
    values = {}
    for name, found in metrics.items():
        assert isinstance(found, Estimate)
        assert found.value is not None
        values[name] = found.value
    return values


class Deployment(Consortium):
    """With three owners, and means to break it."""

    def __init__(
        self, folder: Path, owners: Sequence[str] = OWNERS, *, jobs: int = 2, silence: float = 60.0
    ) -> None:
        """A `silence` that is short makes attempts fail on a busy machine that have no other reason to."""
        super().__init__(folder, owners, jobs=jobs, silence=silence)

    @contextlib.contextmanager
    def broken_workers(self, name: str) -> Iterator[None]:
        """Whatever process the node starts meanwhile is killed at once; the node itself lives."""
        mended = threading.Event()

        def break_them() -> None:
            while not mended.wait(0.02):
                for child in children(self.processes[name].pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)

        thread = threading.Thread(target=break_them, daemon=True)
        thread.start()
        try:
            yield
        finally:
            mended.set()
            thread.join()

    def health(self, node: str) -> tuple[int, list[str]]:
        """What it answers, and what stands in its way."""
        try:
            return 200, json.loads(self.get(node, "/healthz"))["problems"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())["problems"]

    @contextlib.contextmanager
    def store(self, node: str) -> Iterator[Store]:
        """What a node keeps, seen from beside it."""
        with Store(NodeKit.read(self.kit(node)).data) as store:
            yield store


def children(pid: int) -> list[int]:
    """Return those of all threads of a process; none of one that is gone, none that waits to be forked."""
    found = []
    threads = Path(f"/proc/{pid}/task")
    with contextlib.suppress(OSError):
        for thread in os.listdir(threads):
            with contextlib.suppress(OSError):
                found += [int(child) for child in (threads / thread / "children").read_text().split()]
    return [child for child in found if not waits_to_be_forked(child)]


def cleaned_environment(**more: str) -> dict[str, str]:
    """Without proxies of this machine's."""
    return {**{k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}, **more}
