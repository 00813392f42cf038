"""What a server says when its workers fail: who is to blame, with the worker's number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ppaurora.errors import PartyFailedError, PeerLostError
from ppaurora.messages.process import Event, Failed
from ppaurora.workers import crew
from ppaurora.workers.engine import Ended

LOST = Failed(kind="PeerLostError", message="proxy 1 closed the connection in the middle", peer="proxy 1")
ECHO = Failed(kind="PartyFailedError", message="worker 0 of proxy 0 is gone")


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
