"""The life of studies at one node.

Proxy 0 leads. When all owners have submitted to it, it asks the other two whether they are ready,
begins an attempt, and has them begin it too; every node writes the number down before its first
message. When both proxies have their parts of the result on disk, proxy 0 releases it and
tells proxy 1, as often as it takes. Whatever is cut off in between ends as a failed attempt, and the
next one starts from the stored shares with fresh keys.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import ppaurora
from ppaurora.algorithms.curves import MOST_SAMPLES
from ppaurora.errors import InputError, PeerError, PeerMisbehavedError, PpauroraError, place_of
from ppaurora.node.attempts import Attempt, Order, fresh_token
from ppaurora.node.gate import Gate, ask
from ppaurora.node.metrics import Metrics
from ppaurora.node.store import (
    AttemptState,
    StaleAttemptError,
    Store,
    Study,
    StudyState,
    Submission,
)
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import PROTOCOL_VERSION, Manifest, split_address
from ppaurora.suites.role import Role
from ppaurora.text import is_hex, printable

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_ANSWER = 15.0
_LONGEST_PAUSE = 60.0
_SECONDS_PER_DAY = 86_400.0
_HIGHEST_ATTEMPT = 1_000_000_000

log = logging.getLogger(__name__)


class NotReadyError(PpauroraError):
    """Another node cannot begin yet. No attempt was made, so none has failed."""


class Node:
    """Everything that a node does by itself; owners reach it through `service`."""

    def __init__(self, kit: NodeKit, metrics: Metrics) -> None:
        self.kit = kit
        self.role = kit.role
        self.store = Store(kit.data)
        self._only_one = _lock(kit.data / "serving")
        self.metrics = metrics
        self.accepted: set[str] = set()
        self._attempts: dict[str, Attempt] = {}
        self._lock = threading.Lock()
        self._beginning = threading.Lock()
        self._stopping = threading.Event()
        self._news = threading.Event()
        self._busy: set[str] = set()
        self._pauses: dict[str, tuple[float, float]] = {}  # by study: until when, and how long it is
        self.store.fail_interrupted()
        strays = self.store.remove_strays()
        if strays:
            log.info("files of unfinished uploads were deleted", extra={"files": strays})
        try:
            self.gate = Gate(kit, split_address(kit.settings.listen_nodes), self.answer)
        except OSError as error:
            where = kit.settings.listen_nodes
            raise InputError(f"cannot listen at {where}: {error.strerror or error}") from None
        self._leaders = ThreadPoolExecutor(kit.settings.jobs, thread_name_prefix="leader")
        self._watcher = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Stop what runs; a study goes on when the node is back."""
        self._stopping.set()
        self._news.set()
        self.gate.close()
        with self._lock:
            attempts = list(self._attempts.values())
        for attempt in attempts:
            attempt.abort("the node was stopped")
        self._watcher.join()
        self._leaders.shutdown(wait=True)
        while True:
            with self._lock:
                if not self._attempts:
                    break
            time.sleep(0.05)
        self.store.close()
        self._only_one.close()

    def notice(self) -> None:
        """Something was submitted or accepted."""
        self._news.set()

    def progress(self, study: str) -> str:
        """How far a running attempt is, for people."""
        with self._lock:
            attempt = self._attempts.get(study)
        return "" if attempt is None else f"attempt {attempt.number}: {attempt.progress or 'starting'}"

    # What happens by itself

    def _watch(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
            except Exception as error:
                _log_unforeseen("looking after the studies failed", error)
            self._news.wait(_SECONDS_BETWEEN_LOOKS)
            self._news.clear()

    def _look(self) -> None:
        now = time.time()
        for study in self.store.studies():
            try:
                self._look_at(study, now)
            except Exception as error:
                # One study's trouble is not the others'.
                _log_unforeseen(f"looking after {study.manifest.study} failed", error)
        self.metrics.studies(self.store.studies())

    def _look_at(self, study: Study, now: float) -> None:
        if study.hash not in self.accepted:
            self.gate.trust(study.manifest)
            self.accepted.add(study.hash)
            log.info("study accepted", extra=_about(study))
        if self._retain(study, now):
            return
        if study.state is StudyState.RELEASED and self.store.holds_shares(study.hash):
            self._forget_shares(study)
        if self.role is Role.PROXY_0 and self._needs_leading(study):
            with self._lock:
                free = study.hash not in self._busy and len(self._busy) < self.kit.settings.jobs
                if free:
                    self._busy.add(study.hash)
            if free:
                self._leaders.submit(self._lead, study.hash)

    def _retain(self, study: Study, now: float) -> bool:
        """Delete what the manifest says is not kept any longer. True if the study's time is over."""
        kept_seconds = study.manifest.release.retention_days * _SECONDS_PER_DAY
        if study.state is StudyState.EXPIRED:
            return True
        times = [submission.received_at for submission in self.store.submissions(study)]
        since = study.ended_at or max(times, default=None)
        if since is None or now < since + kept_seconds:
            return False  # without a submission or a result there is nothing to delete
        files = self.store.expire(study.hash)
        log.info("study expired; shares and results were deleted", extra={**_about(study), "files": files})
        return True

    def _forget_shares(self, study: Study) -> None:
        files = self.store.forget_shares(study.hash)
        log.info("shares were deleted after the release", extra={**_about(study), "files": files})

    # Leading: proxy 0

    def _needs_leading(self, study: Study) -> bool:
        if study.state is StudyState.RELEASED:
            waiting = not study.told_peers
        elif study.state is StudyState.RUNNING:
            waiting = True
        else:
            complete = len(self.store.submissions(study)) == len(study.manifest.owners)
            waiting = study.state is StudyState.COLLECTING and complete
        return waiting and time.monotonic() >= self._pauses.get(study.hash, (0.0, 0.0))[0]

    def _lead(self, hash_: str) -> None:
        try:
            study = self.store.study(hash_)
            if study is not None and not self._stopping.is_set():
                self._lead_on(study)
        except (NotReadyError, PeerError) as error:
            self._pause(hash_, str(error))
        except Exception as error:
            _log_unforeseen("leading an attempt failed", error)
            self._pause(hash_, f"internal error: {type(error).__name__}")
        finally:
            with self._lock:
                self._busy.discard(hash_)
            self._news.set()

    def _lead_on(self, study: Study) -> None:
        """One step further: try, settle, or tell."""
        if study.state is StudyState.RELEASED:
            self._tell(study)
            return
        if study.state not in (StudyState.COLLECTING, StudyState.RUNNING):
            return
        if study.state is StudyState.COLLECTING:
            self.store.set_state(study.hash, StudyState.RUNNING)
        last = self.store.last_attempt(study.hash)
        if last and self.store.attempt_state(study.hash, last) is AttemptState.COMPUTED:
            self._settle(study, last)
        elif study.failures >= study.manifest.limits.attempts:
            self._stop(study, f"{study.failures} attempts failed; the last one: {study.note}")
        else:
            self._try(study, last)

    def _try(self, study: Study, last: int) -> None:
        """Begin the next attempt, and see it through."""
        submissions = self.store.submissions(study)
        lost = set(study.manifest.owner_names) - {submission.owner for submission in submissions}
        if lost:
            names = ", ".join(sorted(lost))
            raise NotReadyError(f"shares of {names} were lost here; they have to submit again")
        agreed = [submission.agreed() for submission in submissions]
        if not self._may_release(study, submissions):
            return
        for peer in self.role.peers:
            answer = self._ask(study, peer, {"ask": "ready", "agreed": agreed})
            last = max(last, _attempt_number(answer.get("last", 0)))
            if answer["answer"] in ("mismatch", "closed"):
                self._stop(study, f"{peer.title} does not agree: {answer['note']}")
                return
            if answer["answer"] != "ready":
                raise NotReadyError(f"{peer.title} is not ready: {answer['note'] or answer['answer']}")
        order = self._order(study, submissions, last + 1, fresh_token(), agreed)
        self.store.begin_attempt(study.hash, order.number)
        log.info("attempt begins", extra={**_about(study), "attempt": order.number})
        attempt = self._start(study, order)
        try:
            for peer in self.role.peers:
                begin = {"ask": "begin", "attempt": order.number, "token": order.token, "agreed": agreed}
                answer = self._ask(study, peer, begin)
                if answer["answer"] != "begun":
                    attempt.abort(f"{peer.title} did not begin: {answer['note'] or answer['answer']}")
        except PeerError as error:
            attempt.abort(str(error))
        except Exception as error:
            attempt.abort(f"internal error: {type(error).__name__}")
        if self._finish(study, order, attempt):
            self._settle(study, order.number)

    def _may_release(self, study: Study, submissions: Sequence[Submission]) -> bool:
        problem = policy_problem(study.manifest, [submission.samples for submission in submissions])
        if problem:
            self._stop(study, problem)
        return not problem

    def _stop(self, study: Study, note: str) -> None:
        self.store.set_state(study.hash, StudyState.STOPPED, note)
        log.warning("study stopped", extra={**_about(study), "note": note})
        for peer in self.role.peers:
            # For the people there to see; whoever does not hear it is none the worse.
            with contextlib.suppress(PeerError):
                self._ask(study, peer, {"ask": "stop", "note": note})

    def _settle(self, study: Study, number: int) -> None:
        """Our part is on disk. Release it if proxy 1 has its own; else the attempt has failed."""
        deadline = time.monotonic() + self.kit.settings.silence_seconds + _SECONDS_TO_ANSWER
        while not self._stopping.is_set():
            if time.monotonic() > deadline:
                raise NotReadyError(f"proxy 1 does not say how attempt {number} ended")
            answer = self._ask(study, Role.PROXY_1, {"ask": "outcome", "attempt": number})["answer"]
            if answer in (AttemptState.COMPUTED, AttemptState.RELEASED):
                self.store.release(study.hash, number)
                self.metrics.released.inc()
                log.info("result released", extra={**_about(study), "attempt": number})
                self._forget_shares(study)
                self._tell(study)
                return
            if answer != AttemptState.RUNNING:
                self._fail(study, number, "proxy 1 did not finish its part")
                return
            self._stopping.wait(_SECONDS_BETWEEN_LOOKS)

    def _tell(self, study: Study) -> None:
        number = self.store.last_attempt(study.hash)
        for peer in self.role.peers:
            answer = self._ask(study, peer, {"ask": "release", "attempt": number})["answer"]
            if answer != "released":
                raise NotReadyError(f"{peer.title} could not release attempt {number}: {answer}")
        self.store.told_peers(study.hash)

    def _ask(self, study: Study, peer: Role, question: dict[str, Any]) -> dict[str, Any]:
        """What a peer answers, and a note for people, in its words as far as they can be shown."""
        told = ask(self.kit, study.manifest, peer, question, _SECONDS_TO_ANSWER)
        if not isinstance(told.get("answer"), str):
            raise PeerMisbehavedError(peer.title, "gave no answer to a question")
        return {**told, "answer": printable(told["answer"]), "note": printable(told.get("note", ""))}

    def _pause(self, study: str, reason: str) -> None:
        """Wait before the next try, longer every time."""
        _, before = self._pauses.get(study, (0.0, 0.0))
        pause = min(max(2 * before, _SECONDS_BETWEEN_LOOKS), _LONGEST_PAUSE)
        self._pauses[study] = (time.monotonic() + pause, pause)
        known = self.store.study(study)
        if known is not None and known.note != reason:
            if known.state is StudyState.RUNNING:
                self.store.set_note(study, reason)
            log.info("waiting", extra={**_about(known), "reason": reason})

    # An attempt at this node, whoever leads

    def _order(
        self,
        study: Study,
        submissions: Sequence[Submission],
        number: int,
        token: str,
        agreed: Sequence[dict[str, Any]],
    ) -> Order:
        files = [self.store.shares / submission.file for submission in submissions if submission.file]
        return Order(study.manifest, number, token, tuple(agreed), tuple(files))

    def _start(self, study: Study, order: Order) -> Attempt:
        try:
            attempt = Attempt(self.kit, self.gate, order)
        except Exception as error:
            self._fail(study, order.number, f"could not start: {type(error).__name__}")
            raise NotReadyError(f"attempt {order.number} could not start") from error
        with self._lock:
            self._attempts[study.hash] = attempt
        self.metrics.running.inc()
        if self._stopping.is_set():
            attempt.abort("the node was stopped")
        return attempt

    def _finish(self, study: Study, order: Order, attempt: Attempt) -> bool:
        """Wait for the end; True if this node's part is on disk."""
        start = time.monotonic()
        try:
            results = attempt.results()
            owners = study.manifest.owner_names
            self.store.computed(study.hash, order.number, dict(zip(owners, results, strict=False)))
        except PpauroraError as error:
            self._fail(study, order.number, str(error))
            return False
        except Exception as error:
            self._fail(study, order.number, f"internal error: {type(error).__name__}")
            return False
        finally:
            with self._lock:
                if self._attempts.get(study.hash) is attempt:
                    del self._attempts[study.hash]
            self.metrics.running.dec()
            self.metrics.attempt_seconds.observe(time.monotonic() - start)
        self._pauses.pop(study.hash, None)
        log.info("attempt computed", extra={**_about(study), "attempt": order.number})
        return True

    def _fail(self, study: Study, number: int, reason: str) -> None:
        self.store.fail_attempt(study.hash, number, reason, counts=not self._stopping.is_set())
        self.metrics.failed.inc()
        log.warning("attempt failed", extra={**_about(study), "attempt": number, "reason": reason})
        if self.role is Role.PROXY_0:
            self._pause(study.hash, reason)

    # Following: what the leader asks

    def answer(self, pin: str, question: dict[str, Any]) -> dict[str, Any]:
        """To another node. What it may not ask, and what is not understood, is refused alike."""
        study = self.store.study(str(question.get("study", "")))
        if study is None:
            return {"answer": "unknown study", "note": "its manifest has not been accepted there"}
        asker = study.manifest.role_of(pin)
        if asker is not None and question.get("ask") == "hello":
            return {
                "answer": "hello",
                "version": ppaurora.__version__,
                "protocol_version": PROTOCOL_VERSION,
            }
        if asker is not Role.PROXY_0:
            return {"answer": "refused", "note": "only proxy 0 of the study leads"}
        try:
            match question.get("ask"):
                case "ready":
                    return self._is_ready(study, question["agreed"])
                case "begin":
                    return self._begin(study, question)
                case "outcome":
                    return {"answer": self._outcome(study, int(question["attempt"]))}
                case "stop":
                    if study.state in (StudyState.COLLECTING, StudyState.RUNNING):
                        self.store.set_state(study.hash, StudyState.STOPPED, printable(question["note"]))
                    return {"answer": "stopped"}
                case "release":
                    return self._release(study, int(question["attempt"]))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            log.warning("a question could not be understood", extra={"reason": type(error).__name__})
        except NotReadyError as error:
            return {"answer": "not ready", "note": str(error)}
        return {"answer": "not understood", "note": f"this node speaks version {PROTOCOL_VERSION}"}

    def _outcome(self, study: Study, number: int) -> str:
        """What came of an attempt. One that nobody computes any longer has failed, whatever the disk says."""
        state = self.store.attempt_state(study.hash, number)
        if state is None:
            return "unknown"
        with self._lock:
            attempt = self._attempts.get(study.hash)
        if state is AttemptState.RUNNING and (attempt is None or attempt.number != number):
            # It may have ended between the two looks.
            state = self.store.attempt_state(study.hash, number)
            if state is AttemptState.RUNNING:
                self._fail(study, number, "its outcome could not be written down")
                return AttemptState.FAILED.value
        return "unknown" if state is None else state.value

    def _is_ready(self, study: Study, agreed: list[dict[str, Any]]) -> dict[str, Any]:
        last = self.store.last_attempt(study.hash)
        if study.state in (StudyState.EXPIRED, StudyState.RELEASED):
            return {"answer": "closed", "note": f"the study is {study.state.value} there", "last": last}
        problem = policy_problem(study.manifest, [int(entry["samples"]) for entry in agreed])
        if problem or [entry["owner"] for entry in agreed] != study.manifest.owner_names:
            return {
                "answer": "mismatch",
                "note": problem or "other owners than in the manifest",
                "last": last,
            }
        if self.role is Role.PROXY_1:
            own = [submission.agreed() for submission in self.store.submissions(study)]
            here = {entry["owner"]: entry for entry in own}
            other = [entry["owner"] for entry in agreed if here.get(entry["owner"], entry) != entry]
            if other:
                return {"answer": "mismatch", "note": f"what {', '.join(other)} sent", "last": last}
            missing = [entry["owner"] for entry in agreed if entry["owner"] not in here]
            if missing:
                return {
                    "answer": "not yet",
                    "note": f"{', '.join(missing)} has not submitted there",
                    "last": last,
                }
        with self._lock:
            others = [hash_ for hash_ in self._attempts if hash_ != study.hash]
        if len(others) >= self.kit.settings.jobs:
            return {"answer": "busy", "note": "it computes for other studies", "last": last}
        return {"answer": "ready", "last": last}

    def _begin(self, study: Study, question: dict[str, Any]) -> dict[str, Any]:
        ready = self._is_ready(study, question["agreed"])
        if ready["answer"] != "ready":
            return ready
        with self._beginning:
            return self._begin_now(study, question)

    def _begin_now(self, study: Study, question: dict[str, Any]) -> dict[str, Any]:
        token = str(question["token"])
        if not is_hex(token, 32):
            return {"answer": "not understood", "note": "the token is not one"}
        submissions = self.store.submissions(study) if self.role is Role.PROXY_1 else []
        number = _attempt_number(question["attempt"])
        order = self._order(study, submissions, number, token, question["agreed"])
        try:
            self.store.begin_attempt(study.hash, order.number)
        except StaleAttemptError as error:
            return {"answer": "stale", "note": str(error)}
        with self._lock:
            earlier = self._attempts.get(study.hash)
        if earlier is not None:
            earlier.abort("a later attempt began")
        log.info("attempt begins", extra={**_about(study), "attempt": order.number})
        attempt = self._start(study, order)
        try:
            threading.Thread(target=self._finish, args=(study, order, attempt), daemon=True).start()
        except RuntimeError:  # no more threads
            attempt.abort("the node is overloaded")
            self._finish(study, order, attempt)
        return {"answer": "begun"}

    def _release(self, study: Study, number: int) -> dict[str, Any]:
        if study.state is StudyState.RELEASED:
            return {"answer": "released"}
        try:
            if self.role.is_helper:
                if study.state is StudyState.RUNNING:
                    self.store.set_state(study.hash, StudyState.RELEASED)
            else:
                self.store.release(study.hash, number)
        except StaleAttemptError as error:
            return {"answer": "stale", "note": str(error)}
        with self._lock:
            attempt = self._attempts.get(study.hash)
        if attempt is not None and attempt.number != number:
            attempt.abort("another attempt was released")
        self.metrics.released.inc()
        log.info("result released", extra={**_about(study), "attempt": number})
        self._forget_shares(study)
        return {"answer": "released"}


def policy_problem(manifest: Manifest, samples: Sequence[int]) -> str:
    """Why these numbers of samples may not be evaluated, or nothing. Every node checks for itself."""
    release, limits = manifest.release, manifest.limits
    if sum(samples) > MOST_SAMPLES:
        return f"there are more than {MOST_SAMPLES:,} samples in all, which the arithmetic does not hold"
    if any(count > limits.samples_per_owner for count in samples):
        return f"an owner has more than {limits.samples_per_owner:,} samples"
    if any(count < release.minimum_samples_per_owner for count in samples):
        return f"an owner has fewer than {release.minimum_samples_per_owner:,} samples"
    if sum(samples) < release.minimum_samples:
        return f"there are fewer than {release.minimum_samples:,} samples in all"
    return ""


def _lock(path: Path) -> IO[bytes]:
    """Held as long as the process lives: two nodes on one folder would undo each other's work."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise InputError(f"{path.parent}: another process serves this kit") from None
    return file


def _attempt_number(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= _HIGHEST_ATTEMPT:
        raise ValueError("no such attempt")
    return number


def _log_unforeseen(what: str, error: Exception) -> None:
    """Its type and place only: a traceback with values might quote data."""
    log.error(what, extra={"reason": type(error).__name__, "line": place_of(error)[1]})


def _about(study: Study) -> dict[str, Any]:
    return {"study": study.manifest.study, "hash": study.hash[:16]}
