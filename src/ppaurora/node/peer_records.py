"""What other nodes have on record of a study, compared with what this one has, which may be older.

A node whose whole folder was restored from a backup agrees with itself. Whether a release was forgotten, only
others can tell: a node that has released a result has signed a statement of it, and gives it with its answer
to a greeting.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import HungUpError
from ppaurora.errors import InputError, PeerError, PeerLostError, PeerTimeoutError
from ppaurora.messages.nodes import Hello
from ppaurora.messages.owners import OVER, UNDER_WAY, SignedStatement
from ppaurora.node.activity import Activity
from ppaurora.node.logs import about, log_unforeseen
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.statements import problem_with_release
from ppaurora.node.states import StateError
from ppaurora.node.store import STORAGE_ERRORS, Store, StudyRecord
from ppaurora.study.kit import NodeKit

_SECONDS_TO_ANSWER = 10.0
_SECONDS_BETWEEN_GREETINGS = 600.0
_SECONDS_AFTER_A_REFUSAL = 30.0
_SECONDS_BETWEEN_LOOKS = 1.0
_MOST = 32  # addresses that are greeted at a time

log = logging.getLogger(__name__)


class PeerRecords:
    """Greets the other nodes of studies under way, at a start and every ten minutes.

    The studies at one address follow each other in one thread, so a silent node holds up no other.
    """

    def __init__(self, kit: NodeKit, store: Store, activity: Activity, runner: AttemptRunner) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._runner = runner
        self._due: dict[tuple[str, Server], float] = {}  # by study and node, when it is greeted next
        self._greeted: set[str] = set()  # addresses at which somebody is being greeted
        self._thread = threading.Thread(target=self._watch, name="peer records", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _watch(self) -> None:
        while not self._activity.stopping.wait(_SECONDS_BETWEEN_LOOKS):
            with self._logged():
                for address, due in self._greetings_due().items():
                    if address not in self._greeted and len(self._greeted) < _MOST:
                        self._begin(address, due)

    def _begin(self, address: str, due: Sequence[tuple[StudyRecord, Server]]) -> None:
        self._greeted.add(address)
        try:
            threading.Thread(target=self._greet_all, args=(address, due), daemon=True).start()
        except RuntimeError:  # no more threads
            self._greeted.discard(address)

    @contextlib.contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except STORAGE_ERRORS:
            pass  # the watcher tells of it
        except Exception as error:
            log_unforeseen(log, "comparing with other nodes failed", error)

    def _greetings_due(self) -> dict[str, list[tuple[StudyRecord, Server]]]:
        """Return who is to be greeted for which studies, by address; those that are silent have a pause."""
        due: dict[str, list[tuple[StudyRecord, Server]]] = defaultdict(list)
        now = time.monotonic()
        for study in self._store.studies():
            for peer in self._kit.server(study.manifest).peers if study.state in UNDER_WAY else ():
                is_due = now >= self._due.get((study.hash, peer), 0.0)
                if is_due and not self._activity.peers.is_silent(study, peer):
                    due[study.manifest.node(peer).nodes_address].append((study, peer))
        return due

    def _greet_all(self, address: str, due: Sequence[tuple[StudyRecord, Server]]) -> None:
        with self._logged():
            for study, peer in due:
                if self._activity.stopping.is_set() or not self._greet(study, peer):
                    break
        self._greeted.discard(address)

    def _greet(self, study: StudyRecord, peer: Server) -> bool:
        """Greet a node for a study; False if it is silent."""
        hello, pause = Hello(study=study.hash), _SECONDS_BETWEEN_GREETINGS
        try:
            answer = self._activity.peers.ask(self._kit, study, peer, hello, _SECONDS_TO_ANSWER)
            if answer.statement is not None:
                self.learn(study, answer.statement)
        except (PeerError, InputError) as error:
            is_silent = isinstance(error, PeerLostError | PeerTimeoutError)
            if is_silent and not isinstance(error, HungUpError):
                return False
            pause = _SECONDS_AFTER_A_REFUSAL
        self._due[study.hash, peer] = time.monotonic() + pause
        return True

    def learn(self, study: StudyRecord, signed: SignedStatement) -> str:
        """Take note of a release that somebody shows; return why it shows none, or nothing.

        If this node took part in that attempt, and the leader has signed, it is released here too.
        """
        problem = problem_with_release(signed, study)
        if problem or study.state in OVER:
            return problem
        said = signed.statement
        running = self._activity.attempt(study.hash)
        if running is not None and running.number == said.attempt:
            return ""  # this node's own part ends a moment after the others'
        protocol = study.manifest.protocol
        is_leaders = said.server == protocol.leader.file_name
        gets_a_part = self._kit.server(study.manifest) in protocol.result_servers
        is_known = self._store.attempt_state(study.hash, said.attempt) is not None
        if is_known and (is_leaders or not gets_a_part):
            try:
                self._runner.release(study, said.attempt)
            except StateError as error:
                log.warning("not released", extra={**about(study), "reason": str(error)})
        self._store.learn_of_release(study.hash, signed)
        if self._store.release_elsewhere(study.hash):
            log.warning("rolled back", extra={**about(study), "attempt": said.attempt})
        return ""
