"""Following: what a node answers to the one that leads a study."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Mapping, Sequence

from ppaurora.errors import InputError, PeerError
from ppaurora.io.text import listed, printable
from ppaurora.messages.nodes import (
    Amend,
    Answer,
    AnyQuestion,
    Begin,
    Hello,
    Outcome,
    Ready,
    Release,
    Rendezvous,
    Stop,
    Verdict,
    Withdrawn,
)
from ppaurora.messages.owners import StudyState, Submitted
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.attempt import Attempt
from ppaurora.node.logs import about, log_unforeseen
from ppaurora.node.rendezvous import all_endpoints, own_placement
from ppaurora.node.runner import AttemptFailedError, AttemptRunner
from ppaurora.node.statements import any_statement, keep_statements, own_statement
from ppaurora.node.states import NEW_STUDY, RETRY, THEY_RETRY, AttemptState, StateError
from ppaurora.node.status import lost_shares
from ppaurora.node.store import (
    STORAGE_ERRORS,
    BegunError,
    ClosedError,
    Store,
    StudyRecord,
    SupersededError,
    TooOftenError,
    trouble_of,
)
from ppaurora.session.worker import is_possible
from ppaurora.study.kit import NodeKit
from ppaurora.version import __version__

log = logging.getLogger(__name__)

_SECONDS_TO_END = 10.0  # less than a leader waits for an answer
_OUTCOMES = {
    None: Verdict.UNKNOWN_ATTEMPT,
    AttemptState.RUNNING: Verdict.RUNNING,
    AttemptState.FAILED: Verdict.FAILED,
    AttemptState.COMPUTED: Verdict.COMPUTED,
    AttemptState.RELEASED: Verdict.RELEASED,
}


class Follower:
    """Answers other nodes' questions; from any thread."""

    def __init__(
        self,
        kit: NodeKit,
        store: Store,
        activity: Activity,
        runner: AttemptRunner,
        amendments: StudyAmendments,
    ) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._runner = runner
        self._amendments = amendments
        self._beginning = threading.RLock()

    def answer(self, pin: str, question: AnyQuestion) -> Answer:
        """Answer who has this key; what this node cannot read or write is said, and nobody else's fault."""
        try:
            return self._answer(pin, question)
        except STORAGE_ERRORS as error:
            if not self._activity.health.note_error(error):
                log_unforeseen(log, "a question could not be answered", error)
            return Answer(answer=Verdict.IN_TROUBLE, note=trouble_of(error))

    def _answer(self, pin: str, question: AnyQuestion) -> Answer:
        """Answer: any node of the study may say hello; the rest is for its leader to ask."""
        study = self._store.study(question.study)
        if study is None:
            note = "its manifest has not been accepted there"
            return Answer(answer=Verdict.UNKNOWN_STUDY, note=note)
        if isinstance(question, Amend):
            return self._amendments.answer(study, pin, question)
        asker, leader = study.manifest.server_of(pin), study.manifest.protocol.leader
        if asker is not None:
            self._activity.peers.heard_from(study, asker)
        if asker is not None and isinstance(question, Hello):
            return Answer(
                answer=Verdict.HELLO,
                version=__version__,
                protocol_version=study.manifest.version,
                last=self._store.last_attempt(study.hash),
                statement=any_statement(self._kit, self._store, study.hash),
            )
        if asker is not leader or self._kit.server(study.manifest) is leader:
            return Answer(answer=Verdict.REFUSED, note=f"only {leader.title} of the study leads")
        match question:
            case Ready():
                return self._ready(study, question)
            case Begin():
                return self._begin(study, question)
            case Rendezvous():
                return self._meet(study, question)
            case Outcome():
                return self._told_outcome(study, question.attempt)
            case Release():
                return self._release(study, question)
            case Stop():
                return self._stop(study, question.note)
            case Withdrawn():
                return self._withdraw(study, question)
        raise AssertionError("every question has an answer")

    def _ready(self, study: StudyRecord, question: Ready | Begin) -> Answer:
        """Could an attempt begin here?"""
        with self._beginning:
            agreed = question.agreed
            unlike = self._amendments.problem(study, question.manifest)
            verdict, note = (Verdict.UNLIKE, unlike) if unlike else self._readiness(study, agreed)
            return Answer(
                answer=verdict,
                note=note,
                last=self._store.last_attempt(study.hash),
                statement=any_statement(self._kit, self._store, study.hash),
                workers=self._runner.workers_for(study, agreed) if verdict is Verdict.READY else 1,
            )

    def _readiness(self, study: StudyRecord, agreed: Sequence[Submitted]) -> tuple[Verdict, str]:
        manifest = study.manifest
        if study.state in (StudyState.EXPIRED, StudyState.DELETED, StudyState.RELEASED):
            return Verdict.CLOSED, f"the study is {study.state.value} there; {NEW_STUDY}"
        released = self._store.release_elsewhere(study.hash)
        if released:
            return Verdict.CLOSED, released
        if study.state is StudyState.STOPPED:
            return Verdict.STOPPED, study.note
        if [submitted.owner for submitted in agreed] != manifest.owner_names:
            return Verdict.MISMATCH, f"other owners than in the manifest were named; {RETRY}"
        trouble = self._runner.obstacle(study)
        if trouble:
            return Verdict.IN_TROUBLE, trouble
        self._let_change(study, {one.owner: one.revision for one in agreed})
        lost = self._runner.lost_shares(study)
        if lost:
            return Verdict.NOT_YET, lost_shares(lost, "there")
        if self._kit.server(manifest) in manifest.protocol.input_servers:
            verdict, note = self._compared(study, agreed)
            if verdict is not Verdict.READY:
                return verdict, note
        problem = manifest.problem_with_submissions(agreed)
        if problem:
            return Verdict.MISMATCH, problem
        spent = self._runner.limit_problem(study)
        if spent and self._activity.attempt(study.hash) is not None:
            return Verdict.BUSY, "an earlier attempt has not ended there"
        if spent:
            self._runner.stop(study, spent)
            return Verdict.STOPPED, spent
        if self._activity.attempts_of_others(study.hash) >= self._kit.settings.jobs:
            return Verdict.BUSY, "it computes for other studies"
        return Verdict.READY, ""

    def _compared(self, study: StudyRecord, agreed: Sequence[Submitted]) -> tuple[Verdict, str]:
        """Compare with what owners have sent here; what is newer on one side has yet to reach the other."""
        here = {one.owner: one for one in self._store.latest_revisions(study)}
        missing = [one.owner for one in agreed if one.owner not in here]
        if missing:
            have = "has" if len(missing) == 1 else "have"
            return Verdict.NOT_YET, f"{listed(missing)} {have} not submitted there"
        same = [one for one in agreed if here[one.owner].revision == one.revision]
        other = [one.owner for one in same if here[one.owner].submitted != one]
        if other:
            return Verdict.MISMATCH, (
                f"what {', '.join(other)} sent; these owners run 'ppaurora withdraw', then {THEY_RETRY}, and "
                "then they submit again"
            )
        newer = [one.owner for one in agreed if one not in same or here[one.owner].withdrawn]
        if newer:
            return Verdict.NOT_YET, (
                f"{', '.join(newer)} has withdrawn or replaced its submission, and not all nodes have it"
            )
        return Verdict.READY, ""

    def _let_change(self, study: StudyRecord, revisions: Mapping[str, int]) -> None:
        """Let owners change what they have sent, if the leader has something later of one of them.

        It takes that before its first attempt only, so it has forgotten what has begun here.
        """
        takes = self._kit.server(study.manifest) in study.manifest.protocol.input_servers
        if not takes or not self._store.has_begun(study.hash):
            return
        here = {one.owner: one.revision for one in self._store.latest_revisions(study)}
        if any(here.get(owner, 0) < revision for owner, revision in revisions.items()):
            with contextlib.suppress(BegunError):  # it runs, or is over
                self._store.forget_attempts(study.hash)
                log.warning("the leader has forgotten attempts", extra=about(study))

    def _withdraw(self, study: StudyRecord, question: Withdrawn) -> Answer:
        """Record a withdrawal that the leader passes on, which decides whether an attempt precedes it."""
        if question.owner not in study.manifest.owner_names:
            return Answer(answer=Verdict.MISMATCH, note="no owner of that name")
        self._let_change(study, {question.owner: question.revision})
        try:
            self._store.withdraw(study.hash, question.owner, question.revision)
        except SupersededError:
            pass  # by what its owner has sent here itself
        except (ClosedError, TooOftenError) as error:
            return Answer(answer=Verdict.CLOSED, note=str(error))
        else:
            log.info("submission withdrawn", extra={**about(study), "owner": question.owner})
        return Answer(answer=Verdict.WITHDRAWN)

    def _begin(self, study: StudyRecord, question: Begin) -> Answer:
        with self._beginning:
            ready = self._ready(study, question)
            if ready.answer is not Verdict.READY:
                return ready
            if not is_possible(question.workers):
                note = f"{question.workers} workers were asked for, which nobody can have"
                return Answer(answer=Verdict.MISMATCH, note=note)
            if question.workers > ready.workers:  # memory comes and goes: nobody's failure
                note = f"no room for {question.workers} workers now, but for {ready.workers}"
                return Answer(answer=Verdict.IN_TROUBLE, note=note)
            plan = self._runner.plan(
                study, question.attempt, question.token, question.agreed, question.workers
            )
            try:
                attempt = self._runner.start(study, plan)
            except StateError as error:
                return Answer(answer=Verdict.STALE, note=str(error))
            except AttemptFailedError as error:
                return Answer(answer=Verdict.FAILED, note=str(error))
        try:
            threading.Thread(target=self._finish, args=(study, attempt), daemon=True).start()
        except RuntimeError:  # no more threads
            attempt.abort("the node is overloaded")
            self._finish(study, attempt)
        return Answer(answer=Verdict.BEGUN)

    def _finish(self, study: StudyRecord, attempt: Attempt) -> None:
        with contextlib.suppress(AttemptFailedError):  # on record; the leader asks
            self._runner.finish(study, attempt)

    def _meet(self, study: StudyRecord, question: Rendezvous) -> Answer:
        """Have this node's workers connect to the others'."""
        attempt = self._activity.attempt(study.hash)
        if attempt is None or attempt.number != question.attempt:
            return Answer(answer=Verdict.STALE, note=f"attempt {question.attempt} does not run there")
        try:
            attempt.rendezvous(all_endpoints(attempt.plan, question.placements))
        except PeerError as error:
            return Answer(answer=Verdict.MISMATCH, note=str(error))
        return Answer(answer=Verdict.RUNNING)

    def _told_outcome(self, study: StudyRecord, number: int) -> Answer:
        verdict = self._outcome(study, number)
        attempt = self._activity.attempt(study.hash)
        if verdict is Verdict.RUNNING and attempt is not None:
            placement = (
                own_placement(self._kit, attempt.plan, attempt.endpoints) if attempt.endpoints else None
            )
            return Answer(answer=verdict, placement=placement)
        failed = self._store.study(study.hash) if verdict is Verdict.FAILED else None
        return Answer(answer=verdict, note=failed.note if failed is not None else "")

    def _outcome(self, study: StudyRecord, number: int) -> Verdict:
        """Answer how an attempt ended; one that nobody computes any longer has failed."""
        state = self._store.attempt_state(study.hash, number)
        attempt = self._activity.attempt(study.hash)
        if state is AttemptState.RUNNING and (attempt is None or attempt.number != number):
            # It may have ended between the two looks.
            state = self._store.attempt_state(study.hash, number)
            if state is AttemptState.RUNNING:
                self._runner.fail(study, number, "its outcome could not be written down", counts=False)
                state = AttemptState.FAILED
        return _OUTCOMES[state]

    def _stop(self, study: StudyRecord, note: str) -> Answer:
        with contextlib.suppress(StateError):  # it is over, or has stopped before
            self._runner.stop(study, printable(note))
        return Answer(answer=Verdict.STOPPED)

    def _release(self, study: StudyRecord, question: Release) -> Answer:
        number = question.attempt
        state = self._store.attempt_state(study.hash, number)
        if state is None:
            verdict = Verdict.STALE if self._gets_a_part(study) else Verdict.UNKNOWN_ATTEMPT
            return Answer(answer=verdict, note=f"attempt {number} was never begun there")
        if study.state is not StudyState.RELEASED:
            self._let_end(study, number)
            try:
                self._runner.release(study, number)
            except StateError as error:
                return Answer(answer=Verdict.STALE, note=str(error))
        elif self._gets_a_part(study) and state is not AttemptState.RELEASED:
            return Answer(answer=Verdict.STALE, note="another attempt was released before")
        keep_statements(self._store, study, question.statements)
        try:
            statement = own_statement(self._kit, self._store, study.hash)
        except InputError as error:  # its key cannot be read; the leader asks again
            return Answer(answer=Verdict.IN_TROUBLE, note=str(error))
        return Answer(answer=Verdict.RELEASED, statement=statement)

    def _let_end(self, study: StudyRecord, number: int) -> None:
        """Wait for this node's own part of what is released, which may end a moment after the others'."""
        deadline = time.monotonic() + _SECONDS_TO_END
        while time.monotonic() < deadline and not self._activity.stopping.is_set():
            attempt = self._activity.attempt(study.hash)
            if attempt is None or attempt.number != number:
                return
            time.sleep(0.05)

    def _gets_a_part(self, study: StudyRecord) -> bool:
        return self._kit.server(study.manifest) in study.manifest.protocol.result_servers
