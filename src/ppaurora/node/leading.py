"""Leading: what the node of a protocol's leader does beyond the others.

When all owners have submitted to it, it asks the other nodes whether they are ready, begins an attempt, and
has them begin it too. When every server that gets a part of the result has it on disk, it releases the
result and tells the others, as often as it takes.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import HungUpError
from ppaurora.errors import InputError, PeerError, PeerLostError, PeerMisbehavedError, PpauroraError
from ppaurora.messages.nodes import (
    Answer,
    AnyQuestion,
    Begin,
    Outcome,
    Ready,
    Release,
    Stop,
    Verdict,
)
from ppaurora.messages.owners import GOING_ON, GONE, StudyState, Submitted
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments, counted
from ppaurora.node.attempt import Attempt, AttemptPlan, fresh_token
from ppaurora.node.health import not_ready
from ppaurora.node.logs import about, log_unforeseen
from ppaurora.node.peers import NotAskedError
from ppaurora.node.rendezvous import connect_workers
from ppaurora.node.runner import AttemptFailedError, AttemptRunner
from ppaurora.node.statements import all_statements, keep_statements, problem_with_release
from ppaurora.node.states import NEW_STUDY, THEY_RETRY, AttemptState, StateError
from ppaurora.node.status import lost_shares, still_to_agree
from ppaurora.node.store import STORAGE_ERRORS, TO_GO_ON, Store, StudyRecord
from ppaurora.node.turns import MOST, NoSlotError, Step, Turns
from ppaurora.node.waiting import WaitReason
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.session.worker import is_possible
from ppaurora.study.kit import NodeKit

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_ANSWER = 15.0
_MOST_AHEAD = 1_000_000  # attempts that another node may know of and this one not

log = logging.getLogger(__name__)


class NotReadyError(PpauroraError):
    """Another node cannot go on yet. No attempt was made, so none has failed."""


class NotAcceptedError(NotReadyError):
    """Another node's operator has not accepted the study."""


class MustStopError(PpauroraError):
    """Nothing will come of another attempt before a person has looked."""


class Leader:
    """Takes studies further that this node leads, the one that has waited longest first."""

    def __init__(
        self,
        kit: NodeKit,
        store: Store,
        activity: Activity,
        runner: AttemptRunner,
        withdrawals: Withdrawals,
        amendments: StudyAmendments,
    ) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._runner = runner
        self._withdrawals = withdrawals
        self._amendments = amendments
        self._turns = Turns(kit.settings.jobs, activity.peers.is_late)
        self._threads = ThreadPoolExecutor(MOST, thread_name_prefix="leader")

    def close(self) -> None:
        self._threads.shutdown(wait=True)

    def consider(self, study: StudyRecord) -> None:
        """Put a study in line if there is something to be done for it."""
        step = self._next(study)
        if step is None:
            self.forget(study)
        elif self._activity.pauses.is_paused(study.hash):
            self._turns.leave(study.hash)
        else:
            self._turns.wait(step)

    def forget(self, study: StudyRecord) -> None:
        """Take a study out of the line for which nothing is to be done."""
        self._activity.peers.forget(study.hash)
        self._turns.leave(study.hash)

    def give_turns(self) -> None:
        """Take those studies further, in threads, whose turn it is and whose nodes can be asked."""
        peers = self._activity.peers
        for step in self._turns.line():
            if not peers.claim(step.study, step.peers):
                continue
            if self._turns.begin(step, answered=peers.all_answer(step.study, step.peers)):
                self._threads.submit(self._lead, step.study.hash)
            else:
                peers.give_up_claims(step.study.hash)

    def _next(self, study: StudyRecord) -> Step | None:
        """Return what comes next for a study; None if that is not for this node to do, or not yet."""
        protocol, peers = study.manifest.protocol, self._peers(study)
        if self._kit.server(study.manifest) is not protocol.leader or study.state in GONE:
            return None
        if self._store.withdrawals_to_tell(study):
            takers = [peer for peer in peers if peer in protocol.input_servers]
            return Step(study, self._tell_changes, takers)
        if self._has_amendments_to_tell(study):
            return Step(study, self._amendments.tell, peers)
        match study.state:
            case StudyState.COLLECTING if not (self._missing(study) or self._waits(study)):
                return Step(study, self._gather)
            case StudyState.RUNNING if self._is_computed(study):
                awaited = [peer for peer in peers if peer in protocol.result_servers]
                return Step(study, self._settle_last, awaited)
            case StudyState.RUNNING if self._runner.limit_problem(study):
                return Step(study, self._attempt)  # it stops
            case StudyState.RUNNING:
                return Step(study, self._attempt, peers, computes=True)
            case StudyState.RELEASED if not study.told_peers:
                return Step(study, self._tell)  # one that is silent is left out
        return None

    def _has_amendments_to_tell(self, study: StudyRecord) -> bool:
        """Return whether another node has yet to hear of an amendment; what is computed waits for none."""
        is_open = study.state in GOING_ON and not self._is_computed(study)
        return is_open and self._amendments.is_untold(study)

    def _tell_changes(self, study: StudyRecord) -> None:
        """Tell of withdrawals, and of amendments also where they are not taken.

        A node that has yet to hear that the leader has another key takes no withdrawal from it.
        """
        try:
            self._withdrawals.tell(study)
        finally:
            if self._has_amendments_to_tell(study):
                self._amendments.tell(study)

    def _missing(self, study: StudyRecord) -> set[str]:
        """Owners whose submissions are not here; whoever leads takes submissions."""
        return set(study.manifest.owner_names) - {one.owner for one in self._store.submissions(study)}

    def _waits(self, study: StudyRecord) -> bool:
        """Return whether an owner has yet to agree to an amendment, or submissions break a public rule."""
        submitted = [submission.submitted for submission in self._store.submissions(study)]
        return bool(self._store.to_agree(study) or study.manifest.problem_with_submissions(submitted))

    def _is_computed(self, study: StudyRecord) -> bool:
        last = self._store.last_attempt(study.hash)
        return self._store.attempt_state(study.hash, last) is AttemptState.COMPUTED

    def _lead(self, hash_: str) -> None:
        keeps_place = False
        try:
            study = self._store.study(hash_)
            if study is not None and not self._activity.stopping.is_set():
                self._take_next_step(study)
        except NoSlotError:
            keeps_place = True
        except NotAskedError:
            self._activity.pauses.pause(hash_, WaitReason.NODE_SILENT)
        except (NotReadyError, AttemptFailedError, PeerError, StateError, InputError) as error:
            self._pause(hash_, str(error), _wait_reason(error))
        except Exception as error:
            trouble = self._activity.health.note_error(error)
            if not trouble:
                log_unforeseen(log, "leading an attempt failed", error)
            reason = (
                not_ready(trouble, self._kit.title) if trouble else f"internal error: {type(error).__name__}"
            )
            self._pause(hash_, reason, WaitReason.OTHER)
        finally:
            self._activity.peers.give_up_claims(hash_)
            self._turns.end(hash_, keeps_place=keeps_place)
            self._activity.news.set()

    def _take_next_step(self, study: StudyRecord) -> None:
        step = self._next(study)
        try:
            if step is not None:
                step.take(study)
        except MustStopError as error:
            self._stop(study, str(error))

    def _pause(self, hash_: str, reason: str, kind: WaitReason) -> None:
        """Wait before the next step, longer every time."""
        self._activity.pauses.pause(hash_, kind)
        with contextlib.suppress(*STORAGE_ERRORS):  # then it is the reason, and known in memory
            study = self._store.study(hash_)
            if study is not None and study.note != reason:
                log.info("waiting", extra={**about(study), "reason": reason})
                if study.state is StudyState.RUNNING:
                    self._store.set_note(hash_, reason)

    def _gather(self, study: StudyRecord) -> None:
        """Let attempts be made, now that all have submitted what the terms allow."""
        self._check_known_trouble()
        self._store.gather(study)

    def _attempt(self, study: StudyRecord) -> None:
        """Make an attempt, if all nodes are ready for one, and settle it."""
        self._check_known_trouble()
        self._runner.end_unwritten(study)
        plan = self._plan(study, self._store.last_attempt(study.hash))
        self._try(study, plan)

    def _agreed(self, study: StudyRecord) -> tuple[Submitted, ...]:
        """Return what to compute with; raise if the terms rule it out.

        They did not when attempts were let be made. If submissions have changed since without the store's
        being asked, as when shares are taken back in, the study collects again.
        """
        agreed = tuple(submission.submitted for submission in self._store.submissions(study))
        problem = study.manifest.problem_with_submissions(agreed)
        if problem and self._store.has_begun(study.hash):
            sizes, floors = [one.samples for one in agreed], [one.floors for one in agreed]
            raise MustStopError(f"{study.manifest.terms.problem_with(sizes, floors)}; {NEW_STUDY}")
        if problem:
            self._store.set_state(study.hash, StudyState.COLLECTING, "", among=GOING_ON)
            raise NotReadyError(problem)
        return agreed

    def _check_known_trouble(self) -> None:
        trouble = self._activity.health.trouble
        if trouble:
            raise NotReadyError(not_ready(trouble, self._kit.title))

    def _settle_last(self, study: StudyRecord) -> None:
        """Settle an attempt that was computed before."""
        self._check_writing(study)
        self._settle(study, self._store.last_attempt(study.hash))

    def _check_writing(self, study: StudyRecord) -> None:
        trouble = self._runner.obstacle(study)
        if trouble:
            raise NotReadyError(not_ready(trouble, self._kit.title))

    def _plan(self, study: StudyRecord, last: int) -> AttemptPlan:
        """Return the next attempt, which all nodes are ready for; raise if there is none, or not yet."""
        spent = self._runner.limit_problem(study)
        if spent:
            raise MustStopError(spent)
        missing = self._missing(study)
        if missing:
            raise NotReadyError(lost_shares(sorted(missing)))
        awaited = still_to_agree(self._store.to_agree(study), study.manifest)
        if awaited:
            raise NotReadyError(awaited)
        agreed = self._agreed(study)
        workers = self._runner.workers_for(study, agreed)
        for peer in self._activity.peers.unsure_first(study, self._peers(study)):
            question = Ready(study=study.hash, agreed=agreed, manifest=counted(study))
            answer = self._ask(study, peer, question)
            self._check_not_rolled_back(study, peer, answer, last)
            if answer.answer is Verdict.UNLIKE:
                self._amendments.tell_again(study, peer)
            _check_ready(peer, answer)
            workers = min(workers, answer.workers)
        # What is looked at here takes longer than to hear that another node is not ready.
        self._check_writing(study)
        lost = self._runner.lost_shares(study)
        if lost:
            raise NotReadyError(lost_shares(lost))
        return self._runner.plan(study, last + 1, fresh_token(), agreed, workers)

    def _check_not_rolled_back(self, study: StudyRecord, peer: Server, answer: Answer, last: int) -> None:
        """Raise if another node knows of a release or an attempt that this one does not.

        An attempt begins here first. So what others know of and this node does not, it has forgotten.
        """
        if answer.statement is not None and not problem_with_release(answer.statement, study):
            self._store.learn_of_release(study.hash, answer.statement)
            raise NotReadyError(self._store.release_elsewhere(study.hash) or "its result was released before")
        if answer.last > last + _MOST_AHEAD:
            # Numbers are never used twice: one that is made up could use up all of them.
            raise PeerMisbehavedError(peer.title, f"says that there was an attempt {answer.last:,}")
        if answer.last > last:
            self._store.learn_of_attempt(study.hash, answer.last)
            raise MustStopError(
                f"{peer.title} knows of attempt {answer.last}, and this node did not: it was rolled back; "
                f"{TO_GO_ON} {THEY_RETRY}"
            )

    def _try(self, study: StudyRecord, plan: AttemptPlan) -> None:
        """Begin an attempt, and see it through."""
        with self._turns.slot(study.hash):
            attempt = self._runner.start(study, plan)
            self._have_others_begin(study, plan, attempt)
            if plan.workers > 1:
                connect_workers(self._kit, attempt)
            self._runner.finish(study, attempt)
        self._settle(study, plan.number)

    def _have_others_begin(self, study: StudyRecord, plan: AttemptPlan, attempt: Attempt) -> None:
        """Whatever comes between ends the attempt here too, and costs those none who were not asked yet."""
        begin = Begin(
            study=study.hash,
            attempt=plan.number,
            token=plan.token,
            agreed=plan.agreed,
            workers=plan.workers,
            manifest=counted(study),
        )
        try:
            for peer in self._peers(study):
                answer = self._ask(study, peer, begin)
                if answer.answer is Verdict.IN_TROUBLE:
                    attempt.abort(not_ready(_told(answer), peer.title), blameless=True)
                    return
                if answer.answer is not Verdict.BEGUN:
                    attempt.abort(f"{peer.title} did not begin: {_told(answer)}")
                    return
        except PeerError as error:
            attempt.abort(str(error), blameless=isinstance(error, NotAskedError))
        except Exception as error:
            attempt.abort(f"internal error: {type(error).__name__}")

    def _stop(self, study: StudyRecord, note: str) -> None:
        self._runner.stop(study, note)
        for peer in self._peers(study):
            # For the people there to see; whoever does not hear it is none the worse.
            with contextlib.suppress(PeerError):
                self._ask(study, peer, Stop(study=study.hash, note=note))

    def _settle(self, study: StudyRecord, number: int) -> None:
        """Release the result once all who get a part have it, this node included; else the attempt failed."""
        deadline = time.monotonic() + self._kit.settings.silence_seconds + _SECONDS_TO_ANSWER
        awaited = [peer for peer in self._peers(study) if peer in study.manifest.protocol.result_servers]
        while awaited and not self._activity.stopping.is_set():
            peer = awaited[0]
            if time.monotonic() > deadline:
                raise NotReadyError(f"{peer.title} does not say how attempt {number} ended")
            match self._ask(study, peer, Outcome(study=study.hash, attempt=number)).answer:
                case Verdict.COMPUTED | Verdict.RELEASED:
                    awaited.remove(peer)
                case Verdict.RUNNING | Verdict.IN_TROUBLE:
                    self._activity.stopping.wait(_SECONDS_BETWEEN_LOOKS)
                case _:
                    reason = f"{peer.title} did not finish its part"
                    self._runner.fail(study, number, reason)
                    raise AttemptFailedError(reason)
        if not awaited:
            self._runner.release(study, number)
            self._tell(study)

    def _tell(self, study: StudyRecord) -> None:
        """Tell all others of the release; one that does not hear it keeps it from nobody else."""
        number = self._store.last_attempt(study.hash)
        problems = []
        # Those without a part come first: what they have signed goes to owners through those with one.
        with_parts = study.manifest.protocol.result_servers
        for peer in sorted(self._peers(study), key=with_parts.__contains__):
            if self._activity.stopping.is_set():
                return
            signed = all_statements(self._kit, self._store, study.hash)
            try:
                answer = self._ask(study, peer, Release(study=study.hash, attempt=number, statements=signed))
            except PeerError as error:
                problems.append(str(error))
                continue
            keep_statements(self._store, study, [answer.statement] if answer.statement else [])
            without_part = peer not in with_parts
            if without_part and answer.answer is Verdict.UNKNOWN_ATTEMPT:
                continue  # it was restored from before the attempt: it has nothing to release
            if answer.answer is not Verdict.RELEASED:
                problems.append(f"{peer.title} could not release attempt {number}: {_told(answer)}")
        if problems:
            raise NotReadyError("; ".join(problems))
        self._store.told_peers(study.hash)

    def _peers(self, study: StudyRecord) -> Sequence[Server]:
        return self._kit.server(study.manifest).peers

    def _ask(self, study: StudyRecord, peer: Server, question: AnyQuestion) -> Answer:
        return self._activity.peers.ask(self._kit, study, peer, question, _SECONDS_TO_ANSWER)


def _wait_reason(error: PpauroraError) -> WaitReason:
    """Return what a study waits for after an error that ended a step of it."""
    match error:
        case NotAcceptedError() | HungUpError():
            return WaitReason.NOT_ACCEPTED
        case PeerLostError():
            return WaitReason.NODE_SILENT
        case NotReadyError() | PeerError():
            return WaitReason.NODE_NOT_READY
        case AttemptFailedError():
            return WaitReason.ATTEMPT_FAILED
    return WaitReason.OTHER


def _check_ready(peer: Server, answer: Answer) -> None:
    match answer.answer:
        case Verdict.READY:
            if not is_possible(answer.workers):
                raise PeerMisbehavedError(peer.title, f"has {answer.workers} workers, which nobody can have")
            return
        case Verdict.UNKNOWN_STUDY:
            raise NotAcceptedError(f"{peer.title} is not ready: {_told(answer)}")
        case Verdict.MISMATCH | Verdict.CLOSED:
            raise MustStopError(f"{peer.title} does not agree: {_told(answer)}")
        case Verdict.IN_TROUBLE:
            raise NotReadyError(not_ready(_told(answer), peer.title))
        case Verdict.STOPPED:
            reason = f" (stopped because: {answer.note})" if answer.note else ""
            raise NotReadyError(
                f"{peer.title} has stopped this study; its operator must run 'ppaurora retry'{reason}"
            )
    raise NotReadyError(f"{peer.title} is not ready: {_told(answer)}")


def _told(answer: Answer) -> str:
    """Return an answer in words: its note, or its verdict."""
    return answer.note or answer.answer.value
