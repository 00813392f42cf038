"""What a server says when its workers fail: who is to blame, with the worker's number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ppaurora.channel.meter import MeterReading
from ppaurora.errors import PartyFailedError, PeerLostError
from ppaurora.messages.process import Event, Failed, Finished
from ppaurora.workers import crew
from ppaurora.workers.engine import Ended

LOST = Failed(kind="PeerLostError", message="proxy 1 closed the connection in the middle", peer="proxy 1")
ECHO = Failed(kind="LostWorkerError", message="worker 0 of proxy 0 is gone", peer="0")


@dataclass
class Heard:
    """An engine that only tells."""

    events: Iterator[tuple[int, Event | Ended]]

    def next_event(self, seconds: float) -> tuple[int, Event | Ended] | None:
        return next(self.events, None)


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_SECONDS_FOR_LAST_WORDS", 0.2)


def cause(first: tuple[int, Failed | Ended], *later: tuple[int, Event | Ended]) -> Exception:
    return crew._root_cause(Heard(iter(later)), *first)  # type: ignore[arg-type]


def test_a_lost_peer_is_named_with_its_worker() -> None:
    error = cause((2, LOST))
    assert isinstance(error, PeerLostError)
    assert error.peer == "proxy 1"
    assert str(error) == "proxy 1 (worker 2) closed the connection in the middle"


def test_that_a_worker_ends_after_its_last_words_says_nothing() -> None:
    assert str(cause((2, LOST), (2, Ended("ended with exit code 3")))).startswith("proxy 1 (worker 2)")


def test_a_worker_of_our_own_that_is_lost_is_the_cause_of_what_others_tell() -> None:
    killed = (0, Ended("was killed by signal 9"))
    error = cause((2, LOST), (1, ECHO), killed)
    assert isinstance(error, PartyFailedError)
    assert str(error) == "worker 0 was killed by signal 9"
    assert str(cause((2, LOST), (1, ECHO))) == "worker 0 of proxy 0 is gone"


def test_a_worker_that_ends_with_its_work_done_is_not_the_cause() -> None:
    done = Finished(parts=(), seconds=1.0, meter=MeterReading(0, 0, 0, {}), openings={}, peak_bytes=1)
    for told in ([(1, done)], []):
        failure = Heard(iter([*told, (1, Ended("ended with exit code 0"))]))
        error = crew._root_cause(failure, 0, LOST, [] if told else [1])  # type: ignore[arg-type]
        assert str(error).startswith("proxy 1 (worker 0)")


@pytest.mark.parametrize("first", [0, 1])
def test_a_worker_that_left_because_of_a_peer_is_not_the_cause(first: int) -> None:
    """A worker of another server was killed; ours of the same number tells, and is missed by our others."""
    told = [(0, LOST), (1, ECHO)]
    error = cause(told[first], told[1 - first], (0, Ended("ended with exit code 3")))
    assert isinstance(error, PeerLostError)
    assert str(error) == "proxy 1 (worker 0) closed the connection in the middle"
