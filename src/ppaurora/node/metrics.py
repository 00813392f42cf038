"""Metrics that an administrator watches with Prometheus: numbers of things, never what they hold."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ppaurora.messages.owners import StudyState
from ppaurora.node.peers import Silence
from ppaurora.node.store import StudyRecord


class Metrics:
    """The counters and gauges of one node."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self._studies = Gauge("ppaurora_studies", "Studies by state.", ["state"], registry=registry)
        self.submissions = Counter("ppaurora_submissions", "Submissions stored.", registry=registry)
        self.refused = Counter("ppaurora_refused", "Requests refused, by code.", ["code"], registry=registry)
        self.running = Gauge("ppaurora_attempts_running", "Attempts under way.", registry=registry)
        self.failed = Counter("ppaurora_attempts_failed", "Attempts that failed.", registry=registry)
        self.released = Counter("ppaurora_releases", "Results released.", registry=registry)
        self.not_ready = Gauge(
            "ppaurora_not_ready", "1 while this node cannot write what an attempt needs.", registry=registry
        )
        self.clock_not_believed = Gauge(
            "ppaurora_clock_not_believed", "1 while the machine's clock is not trusted.", registry=registry
        )
        self.lost_shares = Gauge(
            "ppaurora_lost_shares", "Shares to be submitted again by their owners.", registry=registry
        )
        self._silent = Gauge(
            "ppaurora_silent_peers",
            "Other nodes that do not answer, and that studies wait for.",
            registry=registry,
        )
        self._waiting = Gauge(
            "ppaurora_waiting_studies", "Studies that wait for a silent node.", registry=registry
        )
        self.attempt_seconds = Histogram(
            "ppaurora_attempt_seconds",
            "How long attempts took.",
            buckets=(0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200),
            registry=registry,
        )

    def studies(self, studies: Sequence[StudyRecord]) -> None:
        tally = Tally(study.state for study in studies)
        for state in StudyState:
            self._studies.labels(state.value).set(tally[state])

    def silences(self, silences: Sequence[Silence]) -> None:
        self._silent.set(len(silences))
        self._waiting.set(len(frozenset().union(*(silence.studies for silence in silences))))

    def text(self) -> bytes:
        return generate_latest(self._registry)
