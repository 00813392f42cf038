"""An owner's part in a study, from its samples to the result."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import ArrayLike

from ppaurora.data import Samples, check_samples
from ppaurora.errors import (
    InputError,
    NotReleasedError,
    PeerError,
    PeerLostError,
    PeerMisbehavedError,
    PeerTimeoutError,
    ProtocolError,
    RefusedError,
)
from ppaurora.estimates import Estimate, Table
from ppaurora.evaluated import Evaluated
from ppaurora.files import replace_file
from ppaurora.messages import VERSION
from ppaurora.messages.owners import Receipt, ReleasedPart, StudyStatus
from ppaurora.models import to_builtins, to_json
from ppaurora.owner.client import NodeClient
from ppaurora.owner.inbox import Inbox
from ppaurora.owner.ledger import Ledger, OverlapWarning
from ppaurora.owner.outbox import Outbox, OutgoingSubmission, has_result
from ppaurora.policy import Policy
from ppaurora.report import MetricValues
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.terms import Job
from ppaurora.version import __version__

_SECONDS_BETWEEN_LOOKS = 1.0

Watch = Callable[[str], None]
Review = Callable[[Sequence[str]], None]


@dataclass(frozen=True, repr=False)
class StudyReport(MetricValues):
    """The metrics on everyone's samples together, and the receipt.

    Attributes
    ----------
    metrics
        By name an `Estimate` or a `Table`: `report["auroc"].interval`. Values are also attributes:
        `report.auroc`. What is suppressed is None.
    positives
        How many there were, if the policy lets that out.
    suppressed
        Whether a rule of the policy on secret counts failed, so that there are no values.
    policy
        What was let out: the strictest of the study's policy and all owners' floors.
    receipt
        What the result rests on: the manifest's hash, every participant's key, every owner's number of
        samples and commitments, and the acknowledgements of this owner's submission.
    """

    metrics: dict[str, Estimate | Table]
    positives: int | None
    suppressed: bool
    policy: Policy
    receipt: Receipt

    @property
    def evaluation(self) -> Evaluated:
        """What was evaluated: model and version, outcome, positive class, how scores were read."""
        return self.receipt.evaluation

    def __repr__(self) -> str:
        return f"<StudyReport {self._in_short()}; study {self.receipt.study}, attempt {self.receipt.attempt}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it as dictionaries, texts and numbers."""
        return {
            **self._released(),
            "policy": to_builtins(self.policy),
            "receipt": to_builtins(self.receipt),
        }

    def to_json(self) -> str:
        """As `ppaurora result --format json` prints it."""
        return msgspec.json.format(to_json(self.to_dict()), indent=2).decode()

    def save(self, path: Path) -> None:
        """Whole or not at all, for its owner's eyes only."""
        replace_file(path, self.to_json().encode() + b"\n", mode=0o600)


@dataclass(frozen=True)
class Unreachable:
    """A node that gave no status, and why."""

    note: str
    state: str = "unknown"


NodeStatus = StudyStatus | Unreachable


class Study:
    """One owner's part in a study, by its start-up kit.

    Parameters
    ----------
    kit
        The folder of the kit.
    study
        The study's name; may be left out if the kit has one study only.
    timeout
        Seconds to wait for an answer of a node.
    expect_hash
        The hash of the manifest that this owner agreed to, or at least its first 12 digits. If the kit holds
        another manifest, nothing is done. Who does not trust the maker of the manifest gives all 64 digits.

    Examples
    --------
    The other owner of this study has submitted `([0, 1, 0], [0.3, 0.6, 0.6])` before:

    >>> import ppaurora
    >>> study = ppaurora.Study("kits/north", "sepsis-2026")
    >>> report = study.evaluate([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2])
    >>> report.auroc
    0.9583333333333334
    >>> report.receipt.samples
    {'north': 4, 'harbour': 3}
    """

    def __init__(
        self,
        kit: str | Path,
        study: str | None = None,
        timeout: float = 60.0,
        *,
        expect_hash: str | None = None,
    ) -> None:
        self.kit = OwnerKit.read(Path(kit))
        self.manifest: Manifest = self.kit.manifest(study)
        self.kit.expect(self.manifest, expect_hash)
        self.kit.check_own(self.manifest)
        self.kit.check_key()
        protocol = self.manifest.protocol
        servers = dict.fromkeys((*protocol.input_servers, *protocol.result_servers))
        self._clients = {server: NodeClient(self.kit, self.manifest, server, timeout) for server in servers}
        self._outbox = Outbox(self.kit, self.manifest)
        self._inbox = Inbox(self.kit, self.manifest)
        self._ledger = Ledger(self.kit)

    def __repr__(self) -> str:
        return f"<Study {self.manifest.study} of {self.kit.name}>"

    def evaluate(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        pos_label: object | None = None,
        watch: Watch | None = None,
        timeout: float | None = None,
    ) -> StudyReport:
        """Submit, wait until all owners have, and return the result.

        Parameters
        ----------
        y_true, y_score
            True labels and scores, as scikit-learn's metrics take them. They do not leave this machine.
            Scores as the model gives them: if the study says that lower means more positive, they are
            negated here.
        pos_label
            The label of the positive class, if labels are not 0/1 or true/false.
        watch
            Called with a line for people whenever there is news; `print` will do.
        timeout
            Seconds to wait for the result; by default as long as it takes. When they are over,
            `NotReleasedError` is raised, and the same call later goes on with the same submission.

        Returns
        -------
        StudyReport
            The metrics, by name and as attributes, and the receipt.
        """
        samples = check_samples(self.kit.name, y_true, y_score, pos_label)
        self.submit(samples)
        return self.wait(watch, timeout)

    def submit(self, samples: Samples, review: Review | None = None) -> OutgoingSubmission:
        """To every node that takes submissions. After a cut, the same call goes on with the same shares.

        If nearly the same data was submitted to another study from this kit, an `OverlapWarning` says so.
        With `review`, that is called instead, in any case, with what there is to say; when the samples are
        in order, and before anything is kept or sent. It raises if a person declines.
        """
        if self._inbox.find() is not None:
            self._outbox.forget()
            raise has_result(self.manifest.study)
        if self.submitted is None:
            self._outbox.check(samples)
            sketch = self._ledger.sketch(samples)
            (review or _warn)(self._ledger.concerns(sketch, self.manifest))
            self._ledger.record(sketch, self.manifest)
        submission = self._outbox.prepare(samples)
        for server in self.manifest.protocol.input_servers:
            client = self._clients[server]
            if server.file_name in submission.acknowledged and self._knows_us(client):
                continue
            answer = client.submit(submission.offer, self._outbox.body(server))
            if (answer.study, answer.owner, answer.commitments) != (
                self.manifest.hash,
                self.kit.name,
                submission.offer.commitments,
            ):
                raise PeerMisbehavedError(server.title, "acknowledged something else than was sent")
            submission = self._outbox.acknowledge(submission, server, answer)
        return submission

    def _knows_us(self, client: NodeClient) -> bool:
        """An acknowledged submission is there, unless the node's disk was lost since."""
        answer = client.status()
        return answer.state == "released" or self.kit.name in answer.submitted

    @property
    def submitted(self) -> OutgoingSubmission | None:
        """What was prepared from this kit, whether or not all of it has arrived; None before that."""
        return self._outbox.find()

    @property
    def is_submitted(self) -> bool:
        """Whether every node that takes submissions has acknowledged one from this kit."""
        submission = self.submitted
        return submission is not None and self._outbox.is_complete(submission)

    def status(self) -> dict[str, NodeStatus]:
        """What each node says of the study, by title; of one that cannot be reached, why."""

        def ask(client: NodeClient) -> NodeStatus:
            try:
                return client.status()
            except (PeerError, RefusedError) as error:
                return Unreachable(str(error))

        with ThreadPoolExecutor(len(self._clients)) as pool:
            answers = pool.map(ask, self._clients.values())
            return {server.title: answer for server, answer in zip(self._clients, answers, strict=True)}

    def wait(self, watch: Watch | None = None, timeout: float | None = None) -> StudyReport:
        """Until the result is there, a person has to look, or the time is over."""
        if self._inbox.find() is not None:
            return self.result()
        deadline = None if timeout is None else time.monotonic() + timeout
        leader = self.manifest.protocol.leader.title
        last = ""
        while True:
            answers = self.status()
            if all(answer.state == "released" for answer in answers.values()):
                # Whoever has waited for days does not mind a cut at the very end.
                with contextlib.suppress(PeerLostError, PeerTimeoutError):
                    return self.result()
            for title, answer in answers.items():
                # The leader may be trying again when the others have not heard of it yet.
                stopped = answer.state == "stopped" and title == leader
                if stopped or answer.state == "expired":
                    raise NotReleasedError(f"{title}: the study is {answer.state}: {answer.note}")
            said = _summary(answers)
            if watch is not None and said != last:
                watch(said)
                last = said
            if deadline is not None and time.monotonic() > deadline:
                raise NotReleasedError(f"there is no result yet: {said}")
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def result(self) -> StudyReport:
        """Put the parts of the result together. What comes of it is told to nobody.

        The parts are fetched once, and kept in the kit before they are looked at. Every later call answers
        from there, with the same result or the same error, and no server hears of it.
        """
        manifest, protocol = self.manifest, self.manifest.protocol
        collected = self._inbox.find() or self._inbox.keep(self._fetch())
        self._outbox.forget()
        answers, first = collected.answers, collected.answers[0]
        for server, answer in zip(protocol.result_servers, answers, strict=True):
            if (answer.study, answer.owner) != (manifest.hash, self.kit.name):
                raise PeerMisbehavedError(server.title, "answered with another study's result")
            if answer.protocol_version != VERSION:
                raise PeerMisbehavedError(server.title, "computed with another version of the protocol")
            for what in ("attempt", "submissions"):
                if getattr(answer, what) != getattr(first, what):
                    raise ProtocolError(
                        f"the nodes do not agree on the {what} behind the result; there is none to trust"
                    )
        self._check_own_submission(first)
        job = self._job(first)
        released = protocol.combine([answer.part for answer in answers], job.asked, manifest.owner_names)
        return StudyReport(
            released.metrics,
            released.positives,
            released.suppressed,
            job.terms.policy,
            self._receipt(first, job.terms.policy, collected.collected_at),
        )

    def _job(self, answer: ReleasedPart) -> Job:
        """What was computed, from what the nodes say was submitted."""
        if [one.owner for one in answer.submissions] != self.manifest.owner_names:
            raise ProtocolError("the nodes do not name one submission of every owner behind the result")
        try:
            return self.manifest.job(answer.submissions)
        except InputError as error:
            raise ProtocolError(f"the nodes name submissions that cannot have a result: {error}") from None

    def _fetch(self) -> list[ReleasedPart]:
        try:
            return [self._clients[server].release() for server in self.manifest.protocol.result_servers]
        except RefusedError as error:
            if error.code in ("not-released", "expired"):
                raise NotReleasedError(str(error)) from None
            raise

    def _check_own_submission(self, answer: ReleasedPart) -> None:
        """Was it computed with what this owner sent?"""
        submission = self.submitted
        if submission is None:
            return
        used = [(one.commitments, one.floors) for one in answer.submissions if one.owner == self.kit.name]
        if used != [(submission.offer.commitments, submission.offer.floors)]:
            raise ProtocolError("the result was computed with something else than this owner submitted")

    def _receipt(self, answer: ReleasedPart, policy: Policy, collected_at: str) -> Receipt:
        manifest, submission = self.manifest, self.submitted
        return Receipt(
            study=manifest.study,
            manifest=manifest.hash,
            attempt=answer.attempt,
            evaluation=manifest.evaluation,
            policy=policy,
            protocol=manifest.protocol.name,
            protocol_version=VERSION,
            ppaurora=__version__,
            owner=self.kit.name,
            participants={
                **{name: node.pin for name, node in manifest.nodes.items()},
                **{owner.name: owner.pin for owner in manifest.owners},
            },
            samples={one.owner: one.samples for one in answer.submissions},
            commitments={one.owner: one.commitments for one in answer.submissions},
            acknowledged={} if submission is None else submission.acknowledged,
            collected_at=collected_at,
        )


def _warn(concerns: Sequence[str]) -> None:
    for said in concerns:
        warnings.warn(said, OverlapWarning, stacklevel=3)


def _summary(answers: dict[str, NodeStatus]) -> str:
    """One line for people."""
    heard = [answer for answer in answers.values() if isinstance(answer, StudyStatus)]
    missing = sorted({name for answer in heard for name in answer.missing})
    if missing:
        return f"waiting for submissions of {', '.join(missing)}"
    progress = next((answer.progress for answer in heard if answer.progress), "")
    said = [f"{title}: {answer.note}" for title, answer in answers.items() if answer.note]
    return progress or "; ".join(said) or next(iter(answers.values())).state
