"""The other nodes as this one reaches them: who does not answer, and when it is asked again.

Silence belongs to a node at an address, not to a study. A node that cannot be reached, or says nothing, is
asked again after a pause that doubles, by one study at a time; all others that need it wait without a
thread. Whatever is heard from it ends that for all of them at once. A node that breaks off a connection is
not silent: it may do so for one study only, which its operator has not accepted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import HungUpError
from ppaurora.errors import PeerLostError, PeerTimeoutError
from ppaurora.messages.nodes import Answer, AnyQuestion
from ppaurora.node.questions import ask
from ppaurora.node.store import StudyRecord
from ppaurora.study.kit import NodeKit

_SHORTEST_PAUSE = 0.5
_LONGEST_PAUSE = 60.0
_PROMPT = 1.0  # seconds within which a node that is well usually answers


def next_pause(before: float) -> float:
    """Return how long to wait now, after a pause of so many seconds; the first follows none."""
    return min(2 * before, _LONGEST_PAUSE) or _SHORTEST_PAUSE


class NotAskedError(PeerLostError):
    """A node was not even asked: it is silent, and it is not its time, or another study asks it just now."""


@dataclass(frozen=True)
class Silence:
    """A node that does not answer: which, for how many seconds, and which studies wait for it."""

    title: str
    address: str
    seconds: float
    studies: frozenset[str]

    def __str__(self) -> str:
        since = f"{self.seconds:.0f} seconds" if self.seconds < 120 else f"{self.seconds / 60:.0f} minutes"
        count = len(self.studies)
        waiting = "1 study waits" if count == 1 else f"{count} studies wait"
        return f"{self.title} at {self.address} has not answered for {since}; {waiting} for it"


@dataclass(eq=False)
class _Node:
    """What is known of a node at an address; at first nothing."""

    title: str
    address: str
    answers: bool = False  # it answered when it was last asked
    heard: float = float("-inf")  # when it last answered
    asked_for: str = ""  # the only study that may ask, until it is known to answer
    reason: str = ""  # why it does not answer; empty unless it is silent
    since: float = 0.0  # when it fell silent
    missed: float = float("-inf")  # when its pause began
    pause: float = 0.0
    waiting: set[str] = field(default_factory=set)  # studies that wait for it


class Peers:
    """All questions to other nodes are asked through this; from any thread.

    `go_on` is told of studies that have waited for a node from which something was heard.
    """

    def __init__(self, go_on: Callable[[Collection[str]], None]) -> None:
        self._go_on = go_on
        self._lock = threading.Lock()
        self._nodes: dict[tuple[str, str], _Node] = {}  # by address and pin
        self._open: dict[object, tuple[_Node, str, float]] = {}  # questions: to whom, for which, since when

    def ask(
        self, kit: NodeKit, study: StudyRecord, peer: Server, question: AnyQuestion, seconds: float
    ) -> Answer:
        """Return another node's answer; raise a `PeerError` if there is none, or if it is not its time."""
        with self._asking(study, peer) as node:
            answer = ask(kit, study.manifest, peer, question, seconds)
            self._hear(node)
        return answer

    @contextmanager
    def _asking(self, study: StudyRecord, peer: Server) -> Iterator[_Node]:
        this, start = object(), time.monotonic()
        with self._lock:
            node = self._node(study, peer)
            if not self._may_be_asked(node, study, start):
                node.waiting.add(study.hash)
                raise NotAskedError(peer.title, node.reason or f"at {node.address} has yet to answer another")
            if not node.answers:
                node.asked_for = study.hash
            self._open[this] = node, study.hash, start
        try:
            yield node
        except HungUpError:
            raise
        except (PeerLostError, PeerTimeoutError) as error:
            self._miss(node, study.hash, start, error.problem)
            raise
        finally:
            with self._lock:
                del self._open[this]
                if node.asked_for == study.hash:
                    node.asked_for = ""

    def _hear(self, node: _Node) -> None:
        with self._lock:
            node.answers, node.heard = True, time.monotonic()
            node.reason, node.pause = "", 0.0
            waited, node.waiting = node.waiting, set()
        if waited:
            self._go_on(waited)

    def _miss(self, node: _Node, study: str, start: float, reason: str) -> None:
        """Note that a question found no answer, and pause; twice as long as before."""
        with self._lock:
            if start < node.heard:  # it has answered another since
                return
            node.waiting.add(study)
            if start < node.missed:  # another found none, and this pause has begun
                return
            if not node.reason:
                node.since = start
            node.answers, node.reason, node.missed = False, reason, time.monotonic()
            node.pause = next_pause(node.pause)

    def heard_from(self, study: StudyRecord, peer: Server) -> None:
        """Note that another node has asked something: if it was silent, it may be asked again now."""
        with self._lock:
            node = self._node(study, peer)
            node.pause = 0.0
            waiting = set(node.waiting)
        if waiting:
            self._go_on(waiting)

    def claim(self, study: StudyRecord, peers: Sequence[Server]) -> bool:
        """Return whether a study may ask all of these now; if not, it is known to wait for them.

        The first that is not known to answer is asked for no other study then, until `give_up_claims`.
        """
        now = time.monotonic()
        with self._lock:
            nodes = [self._node(study, peer) for peer in peers]
            late = {node for node, _, since in self._open.values() if now > since + _PROMPT}
            held = [node for node in nodes if node in late or not self._may_be_asked(node, study, now)]
            for node in held:
                node.waiting.add(study.hash)
            unsure = [node for node in nodes if not node.answers]
            if unsure and not held:
                unsure[0].asked_for = study.hash
        return not held

    def give_up_claims(self, study: str) -> None:
        """Let other studies ask what this one has claimed."""
        with self._lock:
            for node in self._nodes.values():
                if node.asked_for == study:
                    node.asked_for = ""

    def forget(self, study: str) -> None:
        """Count a study no longer as waiting for anybody."""
        with self._lock:
            for node in self._nodes.values():
                node.waiting.discard(study)

    def all_answer(self, study: StudyRecord, peers: Sequence[Server]) -> bool:
        """Return whether all of these are known to answer."""
        with self._lock:
            return all(self._node(study, peer).answers for peer in peers)

    def unsure_first(self, study: StudyRecord, peers: Sequence[Server]) -> list[Server]:
        """Return these in the order to ask them: who may be silent first, so that nobody is asked in vain."""
        with self._lock:
            return sorted(peers, key=lambda peer: self._node(study, peer).answers)

    def is_silent(self, study: StudyRecord, peer: Server) -> bool:
        """Return whether another node is not to be asked now."""
        with self._lock:
            return not self._may_be_asked(self._node(study, peer), study, time.monotonic())

    def is_late(self, study: str) -> bool:
        """Return whether a question of this study has been open for longer than an answer usually takes."""
        late = time.monotonic() - _PROMPT
        with self._lock:
            return any(of == study and since < late for _, of, since in self._open.values())

    def reason(self, study: str) -> str:
        """Return for whom a study waits, and why; empty if for nobody."""
        with self._lock:
            found = (node for node in self._nodes.values() if node.reason and study in node.waiting)
            return next((f"{node.title} {node.reason}" for node in found), "")

    def silences(self) -> list[Silence]:
        """Return the nodes that do not answer and that studies wait for, the longest silence first."""
        now = time.monotonic()
        with self._lock:
            silent = [node for node in self._nodes.values() if node.reason and node.waiting]
            return [
                Silence(node.title, node.address, now - node.since, frozenset(node.waiting))
                for node in sorted(silent, key=lambda node: node.since)
            ]

    def _may_be_asked(self, node: _Node, study: StudyRecord, now: float) -> bool:
        """Return whether a node answers, or it is time to see whether it does; the lock is held."""
        if node.answers:
            return True
        is_asked = any(asked is node for asked, _, _ in self._open.values())
        is_due = now >= node.missed + node.pause
        return is_due and not is_asked and node.asked_for in ("", study.hash)

    def _node(self, study: StudyRecord, peer: Server) -> _Node:
        entry = study.manifest.node(peer)
        address = str(entry.nodes_address)
        if (address, entry.pin) not in self._nodes:
            self._nodes[address, entry.pin] = _Node(peer.title, address)
        return self._nodes[address, entry.pin]
