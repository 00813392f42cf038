"""A consortium that runs, studies to break, and what must hold of each of them afterwards."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ppaurora.data.samples import check_samples
from ppaurora.errors import PartyFailedError, PeerError, RefusedError, UnsortedListError
from ppaurora.owner.outbox import OutgoingSubmission
from ppaurora.owner.report import StudyReport
from ppaurora.owner.study import Study
from ppaurora.study.manifest import Manifest
from tests.campaign.tally import BreachError, Tally
from tests.support.deployment import NODES, OWNERS, samples
from tests.support.oracles import exact_auroc
from tests.support.repository import ROOT
from tests.support.sending import send
from tests.support.trials import PAIR, Trials

SECONDS_TO_END = 600.0
SILENCE = 10.0  # a busy machine's processes are not silent for so long
SAMPLES = 60
PROXIES = ("proxy-0", "proxy-1")


class World(Trials):
    """Nodes of three owners, of which each may have a fault; most studies are of two of them."""

    def __init__(self, folder: Path) -> None:
        self._numbers = itertools.count(1)
        self._provisioning = threading.Lock()
        self.setbacks: Counter[str] = Counter()  # why owners had to submit again
        super().__init__(folder, OWNERS, silence=SILENCE)

    def trial(self, kind: str) -> Trial:
        """A new study, accepted everywhere, with data of its own; each owner has a kit of its own for it."""
        with self._provisioning:
            name = self.fresh_name(kind)
            manifest = self.study(name)
        return Trial(self, manifest, self.own_kits(name, PAIR), self.fresh_data(PAIR))

    def fresh_name(self, kind: str) -> str:
        return f"{kind}-{next(self._numbers)}"

    def fresh_data(self, owners: Sequence[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        first = 10 * next(self._numbers)
        return {owner: samples(SAMPLES, first + place) for place, owner in enumerate(owners)}

    def own_kits(self, name: str, owners: Sequence[str]) -> dict[str, Path]:
        """Return kits for one study alone."""
        return {owner: self._own_kit(owner, name) for owner in owners}

    def _own_kit(self, owner: str, name: str) -> Path:
        folder = self.folder / f"kit-{name}-{owner}"
        shutil.copytree(self.kit(owner), folder)
        for path in (folder / "studies").glob("*.json"):
            if path.stem != name:
                path.unlink()
        return folder

    def start_faulty(self, node: str, fault: str) -> None:
        """It may be dead already when this returns."""
        with (self.folder / f"{node}.log").open("ab") as log:
            self.processes[node] = subprocess.Popen(
                [sys.executable, "-m", "tests.campaign.faulty", fault, str(self.kit(node))],
                stdout=log,
                stderr=log,
                cwd=ROOT,
            )
        with contextlib.suppress(PartyFailedError):
            self.wait_until_healthy(node)

    def is_dead(self, node: str) -> bool:
        return self.processes[node].poll() is not None

    def end(self, node: str) -> None:
        """As its operator would; what is not there any longer is fine."""
        if not self.is_dead(node):
            self.processes[node].terminate()
        self.processes[node].wait(180)

    def restart(self, node: str) -> None:
        self.end(node)
        self.start(node)

    def kill_one(self, chance: random.Random, tally: Tally, among: Sequence[str] = NODES) -> None:
        """Any of them, as by a power cut; it is started again soon."""
        victim = chance.choice(among)
        self.kill(victim)
        tally.details[f"kills of {victim}"] += 1
        time.sleep(chance.uniform(0.0, 0.3))
        self.start(victim)

    def clear_of_logs(self) -> None:
        """So that a long campaign does not read the same lines for ever."""
        for node in NODES:
            (self.folder / f"{node}.log").write_text("")

    @contextlib.contextmanager
    def revived(self, node: str) -> Iterator[None]:
        """Whenever it is dead meanwhile, it is started again."""
        over = threading.Event()

        def revive() -> None:
            while not over.wait(0.05):
                if self.is_dead(node):
                    with contextlib.suppress(PartyFailedError):
                        self.start(node)

        thread = threading.Thread(target=revive, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextlib.contextmanager
def running(folder: Path) -> Iterator[World]:
    world = World(folder)
    world.start()
    try:
        yield world
    finally:
        for node in NODES:
            world.end(node)


@dataclass
class Trial:
    """One study, with what its result must be."""

    world: World
    manifest: Manifest
    kits: dict[str, Path]
    data: dict[str, tuple[np.ndarray, np.ndarray]] = field(repr=False)

    @property
    def name(self) -> str:
        return self.manifest.study

    def owner(self, name: str) -> Study:
        return Study(self.kits[name], self.name, timeout=60.0)

    def submit(self, owner: str) -> OutgoingSubmission | None:
        """Once. A refusal because something else was sent before accuses an owner who did nothing wrong."""
        try:
            return send(self.owner(owner), check_samples(owner, *self.data[owner]))
        except RefusedError as error:
            if error.code == "conflict":
                raise BreachError(f"{self.name}: {owner} was accused: {error}") from None
            raise

    def submit_patiently(self, *owners: str) -> None:
        """Until it is acknowledged, as a real owner would."""
        for owner in owners or tuple(self.data):
            deadline = time.monotonic() + SECONDS_TO_END
            while True:
                try:
                    self.submit(owner)
                    break
                except (PeerError, RefusedError) as error:
                    self.world.setbacks[type(error).__name__] += 1
                    if time.monotonic() > deadline:
                        raise BreachError(f"{self.name}: never acknowledged: {error}") from None
                    time.sleep(0.2)

    def expected(self) -> float:
        pairs = [
            (score, int(label))
            for labels, scores in self.data.values()
            for label, score in zip(labels, scores, strict=True)
        ]
        found = exact_auroc(pairs)
        assert found is not None
        return float(found)

    def check_result(self, seconds: float = SECONDS_TO_END, owners: tuple[str, ...] = ()) -> StudyReport:
        """Every owner's is right; a number that is not is a breach, and so is an owner's list that is."""
        for owner in owners or tuple(self.data):
            try:
                report = self.owner(owner).wait(timeout=seconds)
            except UnsortedListError as error:
                raise BreachError(f"{self.name}: an owner was accused: {error}") from None
            if report.auroc != self.expected():
                raise BreachError(f"{self.name}: {report.auroc} instead of {self.expected()} at {owner}")
        return report

    def check_kept(self) -> None:
        """Nothing acknowledged is lost, nothing was released twice, no session was opened twice."""
        for owner in self.data:
            submission = self.owner(owner).submitted
            for proxy in PROXIES if submission is not None else ():
                if submission is None or proxy not in submission.acknowledged:
                    continue
                kept = self._rows(
                    proxy, "SELECT commitments FROM submissions WHERE study = ? AND owner = ?", owner
                )
                if [tuple(json.loads(str(text))) for (text,) in kept] != [submission.offer.commitments]:
                    raise BreachError(f"{self.name}: what {proxy} had acknowledged to {owner} was lost")
        released = set()
        for node in NODES:
            numbers = self._rows(node, "SELECT number FROM attempts WHERE study = ? AND state = 'released'")
            if len(numbers) > 1:
                raise BreachError(f"{self.name}: {node} has released twice")
            released.update(numbers)
        if len(released) > 1:
            raise BreachError(f"{self.name}: two attempts were released: {sorted(released)}")
        self._check_sessions()

    def _check_sessions(self) -> None:
        for node in NODES:
            opened = [event for event in self.world.events(node) if event.get("event") == "session opened"]
            sessions = [event["session"] for event in opened]
            attempts = [event["attempt"] for event in opened if event["study"] == self.name]
            if len(set(sessions)) != len(sessions) or len(set(attempts)) != len(attempts):
                raise BreachError(f"{self.name}: {node} opened a session twice")

    def _rows(self, node: str, query: str, *values: str) -> list[tuple[object, ...]]:
        database = sqlite3.connect(self.world.database(node), timeout=60)
        with contextlib.closing(database):
            return database.execute(query, (self.manifest.hash, *values)).fetchall()

    def begun(self) -> int:
        """How many attempts all nodes have begun together."""
        return sum(len(self._rows(node, "SELECT number FROM attempts WHERE study = ?")) for node in NODES)

    def failures(self) -> list[str]:
        """Why attempts failed that count as failures, by the nodes' records."""
        counted = [self._rows(node, "SELECT failures FROM studies WHERE hash = ?") for node in NODES]
        if not any(count for rows in counted for (count,) in rows):
            return []
        query = "SELECT note FROM attempts WHERE study = ? AND state = 'failed'"
        return [f"{node}: {note}" for node in NODES for (note,) in self._rows(node, query)]

    def finish(self) -> None:
        """Both submit until they are heard; the result is right and all is kept."""
        self.submit_patiently()
        self.check_result()
        self.check_kept()

    def finish_again(self) -> None:
        """The same of a study that may have its result already."""
        for owner in self.data:
            if not self.has_result(owner):
                self.submit_patiently(owner)
        self.check_result()
        self.check_kept()

    def has_result(self, owner: str) -> bool:
        return (self.kits[owner] / "inbox" / f"{self.name}.json").exists()
