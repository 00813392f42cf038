"""The example from its first file to its result: real kits, real nodes, made-up patients."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ppaurora.app.jobs import AppJob, BusyError, Jobs
from ppaurora.app.story.abandoned import CONSORTIUM, ExampleFolder, remove_abandoned
from ppaurora.app.story.hospitals import Hospital, PlainResult, make_hospitals, plain_result
from ppaurora.app.story.seen import ServerSeen, StoredShare, not_started
from ppaurora.errors import NotReleasedError, PartyFailedError
from ppaurora.statistics.estimates import Estimate

# Kits, nodes and protocols are loaded by the methods that first need them: the first page shows none of them.
if TYPE_CHECKING:
    from ppaurora.app.story.splitting import ShownRecord, SplitRecord
    from ppaurora.owner.report import StudyReport
    from ppaurora.poc.consortium import ProofOfConcept

_SECONDS_TO_COMPUTE = 120.0
_SECONDS_BETWEEN_LOOKS = 0.1
_SECONDS_TO_END = 30.0
_RECORD = 1  # of the first hospital: the one that is split in front of one's eyes
_MOST_SPLITS = 4


class _EndedError(Exception):
    """The app ends; what was under way is not wanted any longer."""


@dataclass(frozen=True)
class ExampleResult:
    """The example's result, and how long it took from the first share to it."""

    report: StudyReport
    auroc: Estimate  # as the report has it
    aupr: Estimate
    plain: PlainResult
    seconds: float


class Example:
    """One run of the app has one. Its threads write, pages read; whatever is begun twice is begun once."""

    def __init__(self) -> None:
        self._folder = ExampleFolder()
        self.hospitals: Sequence[Hospital] = make_hospitals(self._folder.path / "data")
        self.record: ShownRecord | None = None  # until it is split
        self.splits: tuple[SplitRecord, ...] = ()
        self.servers: tuple[ServerSeen, ...] = not_started()
        self.submitted: tuple[str, ...] = ()
        self.stored: tuple[StoredShare, ...] = ()
        self.outcome: ExampleResult | None = None
        self.tries = 0
        self.preparation = Jobs()
        self.computation = Jobs()
        self._ending = threading.Event()
        self._consortium: ProofOfConcept | None = None

    def prepare(self) -> None:
        """Kits and nodes, in a thread: pages are there before that is done."""
        self.preparation.start("starting the three servers", self._prepare)

    def _prepare(self, job: AppJob) -> None:
        from ppaurora.app.story.servers import look_at_servers

        remove_abandoned()
        # The nodes are on this machine, whatever web proxy is in between to others.
        os.environ["no_proxy"] = f"127.0.0.1,{os.environ.get('no_proxy', '')}"
        job.tell("making keys and certificates for everybody")
        if self._consortium is None:
            self._consortium = self._make_consortium()
        job.tell("starting three server programs")
        self._consortium.start(self._check_not_ending)
        self.servers = look_at_servers(self._consortium)

    def _make_consortium(self) -> ProofOfConcept:
        from ppaurora.data import Columns
        from ppaurora.metrics.precision_recall import Aupr
        from ppaurora.metrics.roc import Auroc
        from ppaurora.poc.consortium import make_poc, owners_of
        from ppaurora.policy.rules import Policy

        columns = Columns()
        owners = owners_of([hospital.file for hospital in self.hospitals], columns)
        metrics = (Auroc.name, Aupr.name)
        return make_poc(self._folder.path / CONSORTIUM, owners, columns, metrics, Policy())

    @property
    def kits(self) -> Path | None:
        """Where everybody's kits are, once the servers have started."""
        ready = self._consortium is not None and self.preparation.running is None
        return self._folder.path / CONSORTIUM / "kits" if ready else None

    def split(self) -> None:
        """The record once more; another one every time."""
        from ppaurora.app.story.splitting import show_record, split_record

        first = self.hospitals[0]
        self.record = show_record(first.title, first.samples, _RECORD)
        self.splits = (*self.splits, split_record(first.samples, _RECORD))[-_MOST_SPLITS:]

    def compute(self) -> None:
        """All hospitals submit, the servers compute, the hospitals put the result together."""
        with contextlib.suppress(BusyError):  # another tab was first
            preparing = self.preparation.last
            if preparing is None or preparing.error is not None:
                self.prepare()
            if self.outcome is None:
                self.computation.start("computing the example", self._compute)
                self.tries += 1

    def _compute(self, job: AppJob) -> None:
        from ppaurora.app.story.servers import stored_shares
        from ppaurora.owner.study import Study

        consortium = self._prepared(job)
        began = time.monotonic()
        for hospital in self.hospitals:
            self._check_not_ending()
            job.tell(f"{hospital.title} splits its records, and sends one share to each proxy")
            study = Study(consortium.kit(hospital.name))
            study.send(study.prepare(consortium.data[hospital.name]))
            self.submitted = tuple(dict.fromkeys((*self.submitted, hospital.name)))
            if not self.stored:
                self.stored = stored_shares(consortium, hospital.name)
        job.tell("the servers compute on shares")
        self._wait_for_release(consortium)
        job.tell("each hospital puts the two parts of the result together")
        reports = [Study(consortium.kit(hospital.name)).result() for hospital in self.hospitals]
        seconds = time.monotonic() - began
        self.outcome = _example_result(reports[0], plain_result(self.hospitals), seconds)

    def _prepared(self, job: AppJob) -> ProofOfConcept:
        preparing = self.preparation.last
        job.tell("waiting for the three servers to start")
        while preparing is not None and not preparing.wait(_SECONDS_BETWEEN_LOOKS):
            self._check_not_ending()
        if preparing is None or self._consortium is None or preparing.error is not None:
            said = "" if preparing is None else f": {preparing.problem}"
            raise PartyFailedError(f"the example's servers did not start{said}")
        return self._consortium

    def _wait_for_release(self, consortium: ProofOfConcept) -> None:
        """Wait for the release by all servers; a moment later, each has logged what it cost."""
        from ppaurora.app.story.servers import look_at_servers

        deadline = time.monotonic() + _SECONDS_TO_COMPUTE
        while True:
            self._check_not_ending()
            self.servers = look_at_servers(consortium)
            are_done = all(server.is_done for server in self.servers)
            if are_done and all(server.cost is not None for server in self.servers):
                return
            for server in self.servers:
                if server.has_given_up:
                    raise NotReleasedError(f"{server.title} {server.state}: {consortium.study().note}")
            if time.monotonic() > deadline:
                if are_done:
                    return
                raise NotReleasedError("there is no result yet; end the app, and start it again")
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _check_not_ending(self) -> None:
        if self._ending.is_set():
            raise _EndedError

    def close(self) -> None:
        """Nodes are ended, and nothing is left of it. Ctrl-C does not come in between."""
        from ppaurora.poc.background import interruptions

        with interruptions():
            self._ending.set()
            for jobs in (self.preparation, self.computation):
                if jobs.last is not None:
                    jobs.last.wait(_SECONDS_TO_END)
            if self._consortium is not None:
                self._consortium.stop()
            self._folder.remove()


def _example_result(report: StudyReport, plain: PlainResult, seconds: float) -> ExampleResult:
    from ppaurora.metrics.precision_recall import Aupr
    from ppaurora.metrics.roc import Auroc

    auroc, aupr = report.metrics[Auroc.name], report.metrics[Aupr.name]
    assert isinstance(auroc, Estimate)  # noqa: S101 (each is one number)
    assert isinstance(aupr, Estimate)  # noqa: S101
    return ExampleResult(report, auroc, aupr, plain, seconds)
