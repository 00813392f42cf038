"""Metrics that an administrator watches with Prometheus: numbers of things, never what they hold.

`examples/monitoring` has alerts and a dashboard that use them.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

from ppaurora.messages.owners import StudyState
from ppaurora.messages.refusals import RefusalCode
from ppaurora.node.health import Health
from ppaurora.node.peers import Silence
from ppaurora.node.store import StudyRecord
from ppaurora.node.upkeep import CertificateKind, DiskSpace
from ppaurora.node.waiting import WaitReason
from ppaurora.version import Versions

_Labelled = TypeVar("_Labelled", Counter, Gauge)


class Metrics:
    """The counters and gauges of one node. Every value of a label is there from the start, as zero."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._build = Info("ppaurora_build", "The versions of this node.", registry=self._registry)
        self._studies = self._gauge("ppaurora_studies", "Studies by state.", state=StudyState)
        self._waiting = self._gauge(
            "ppaurora_waiting_studies", "Studies that wait, by what they wait for.", reason=WaitReason
        )
        self._unaccepted = self._gauge(
            "ppaurora_unaccepted_manifests", "Manifests in the kit that the operator has not accepted."
        )
        self.submissions = self._counter("ppaurora_submissions", "Submissions stored.")
        self.refused = self._counter("ppaurora_refused", "Requests refused, by code.", code=RefusalCode)
        self.running = self._gauge("ppaurora_attempts_running", "Attempts under way.")
        self.begun = self._counter("ppaurora_attempts_begun", "Attempts that began.")
        self.failed = self._counter("ppaurora_attempts_failed", "Attempts that failed.")
        self.computed = self._counter("ppaurora_attempts_computed", "Attempts whose part here was computed.")
        self.released = self._counter("ppaurora_releases", "Results released.")
        self._not_ready = self._gauge(
            "ppaurora_not_ready",
            "1 while this node cannot write what an attempt needs, or looks after nothing.",
        )
        self.clock_not_trusted = self._gauge(
            "ppaurora_clock_not_trusted", "1 while the machine's clock is not trusted."
        )
        self.lost_shares = self._gauge(
            "ppaurora_lost_shares", "Shares lost or damaged, to be submitted again by their owners."
        )
        self._silent = self._gauge(
            "ppaurora_silent_peers", "Other nodes that do not answer, and that studies wait for."
        )
        self._certificates = self._gauge(
            "ppaurora_certificate_days_left",
            "Days until a certificate ends: this node's, or the first of an authority's; below 0 afterwards.",
            kind=CertificateKind,
        )
        self._disk_size = self._gauge("ppaurora_disk_size_bytes", "Size of the disk with the data folder.")
        self._disk_free = self._gauge(
            "ppaurora_disk_free_bytes", "Space left on the disk with the data folder."
        )
        self.attempt_seconds = Histogram(
            "ppaurora_attempt_seconds",
            "How long attempts took.",
            buckets=(0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200),
            registry=self._registry,
        )
        for kind in CertificateKind:
            self._certificates.labels(kind.value).set(math.nan)  # nobody has looked yet
        versions = Versions()
        self._build.info(
            {
                "version": versions.version,
                "wire_versions": ",".join(map(str, versions.wire_versions)),
                "schema_version": str(versions.schema_version),
                "python": versions.python,
            }
        )

    def _gauge(self, name: str, meaning: str, **labels: type[StrEnum]) -> Gauge:
        return _from_the_start(Gauge(name, meaning, list(labels), registry=self._registry), labels)

    def _counter(self, name: str, meaning: str, **labels: type[StrEnum]) -> Counter:
        return _from_the_start(Counter(name, meaning, list(labels), registry=self._registry), labels)

    def watch(self, health: Health) -> None:
        """Tell whether a node is ready as it is when somebody asks: who would write it down may be stuck."""
        self._not_ready.set_function(lambda: not all(finding.ok for finding in health.findings))

    def studies(self, studies: Sequence[StudyRecord]) -> None:
        tally = Tally(study.state for study in studies)
        for state in StudyState:
            self._studies.labels(state.value).set(tally[state])

    def waits(self, reasons: Iterable[WaitReason | None]) -> None:
        """Count studies by what they wait for; those that do not wait have no reason."""
        tally = Tally(reasons)
        for reason in WaitReason:
            self._waiting.labels(reason.value).set(tally[reason])

    def silences(self, silences: Sequence[Silence]) -> None:
        self._silent.set(len(silences))

    def upkeep(
        self, disk: DiskSpace, certificates: Mapping[CertificateKind, float], unaccepted_manifests: int
    ) -> None:
        """Tell of the machine and the kit."""
        self._disk_size.set(disk.size)
        self._disk_free.set(disk.free)
        for kind, days in certificates.items():
            self._certificates.labels(kind.value).set(days)
        self._unaccepted.set(unaccepted_manifests)

    def text(self) -> bytes:
        return generate_latest(self._registry)


def _from_the_start(metric: _Labelled, labels: Mapping[str, type[StrEnum]]) -> _Labelled:
    """Show every value of a label, so that the first change is one that an alert can see."""
    for label, values in labels.items():
        for value in values:
            metric.labels(**{label: value.value})
    return metric
