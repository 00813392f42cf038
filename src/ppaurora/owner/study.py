"""An owner's part in a study, from its samples to the result."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import ArrayLike

from ppaurora.data import Samples, check_samples
from ppaurora.errors import (
    NotReleasedError,
    PeerError,
    PeerLostError,
    PeerMisbehavedError,
    PeerTimeoutError,
    ProtocolError,
    RefusedError,
)
from ppaurora.files import replace_file
from ppaurora.messages import VERSION
from ppaurora.messages.owners import Receipt, ReleasedPart, StudyStatus
from ppaurora.models import to_builtins, to_json
from ppaurora.owner.client import NodeClient
from ppaurora.owner.outbox import Outbox, OutgoingSubmission
from ppaurora.report import MetricValues
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.version import __version__

_SECONDS_BETWEEN_LOOKS = 1.0

Watch = Callable[[str], None]


@dataclass(frozen=True, repr=False)
class StudyReport(MetricValues):
    """The metrics on everyone's samples together, and the receipt.

    Attributes
    ----------
    metrics
        The values by name. Each is also an attribute: `report.auroc`.
    receipt
        What the result rests on: the manifest's hash, every participant's key, every owner's number of
        samples and commitments, and the acknowledgements of this owner's submission.
    """

    metrics: dict[str, float]
    receipt: Receipt

    def __repr__(self) -> str:
        return f"<StudyReport {self._in_short()}; study {self.receipt.study}, attempt {self.receipt.attempt}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it as dictionaries, texts and numbers."""
        return {"metrics": self.metrics, "receipt": to_builtins(self.receipt)}

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

    def __init__(self, kit: str | Path, study: str | None = None, timeout: float = 60.0) -> None:
        self.kit = OwnerKit.read(Path(kit))
        self.manifest: Manifest = self.kit.manifest(study)
        self.kit.check_own(self.manifest)
        self.kit.check_key()
        protocol = self.manifest.protocol
        servers = dict.fromkeys((*protocol.input_servers, *protocol.result_servers))
        self._clients = {server: NodeClient(self.kit, self.manifest, server, timeout) for server in servers}
        self._outbox = Outbox(self.kit, self.manifest)

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

    def submit(self, samples: Samples) -> OutgoingSubmission:
        """To every node that takes submissions. After a cut, the same call goes on with the same shares."""
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
        """Put the parts of the result together. What comes of it is told to nobody."""
        manifest, protocol = self.manifest, self.manifest.protocol
        try:
            answers = [self._clients[server].release() for server in protocol.result_servers]
        except RefusedError as error:
            if error.code in ("not-released", "expired"):
                raise NotReleasedError(str(error)) from None
            raise
        first = answers[0]
        for server, answer in zip(protocol.result_servers, answers, strict=True):
            if (answer.study, answer.owner) != (manifest.hash, self.kit.name):
                raise PeerMisbehavedError(server.title, "answered with another study's result")
            if answer.protocol_version != VERSION:
                raise PeerMisbehavedError(server.title, "computed with another version of the protocol")
            for what in ("attempt", "submissions"):
                if getattr(answer, what) != getattr(first, what):
                    raise ProtocolError(
                        f"the nodes do not agree on the {what} behind the result; try again later"
                    )
        self._check_own_submission(first)
        self._outbox.forget()
        metrics = protocol.combine(
            [answer.part for answer in answers], manifest.metrics, manifest.owner_names
        )
        return StudyReport(metrics, self._receipt(first))

    def _check_own_submission(self, answer: ReleasedPart) -> None:
        """Was it computed with what this owner sent?"""
        submission = self.submitted
        if submission is None:
            return
        used = [one.commitments for one in answer.submissions if one.owner == self.kit.name]
        if used != [submission.offer.commitments]:
            raise ProtocolError("the result was computed with something else than this owner submitted")

    def _receipt(self, answer: ReleasedPart) -> Receipt:
        manifest, submission = self.manifest, self.submitted
        return Receipt(
            study=manifest.study,
            manifest=manifest.hash,
            attempt=answer.attempt,
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
            collected_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )


def _summary(answers: dict[str, NodeStatus]) -> str:
    """One line for people."""
    heard = [answer for answer in answers.values() if isinstance(answer, StudyStatus)]
    missing = sorted({name for answer in heard for name in answer.missing})
    if missing:
        return f"waiting for submissions of {', '.join(missing)}"
    progress = next((answer.progress for answer in heard if answer.progress), "")
    said = [f"{title}: {answer.note}" for title, answer in answers.items() if answer.note]
    return progress or "; ".join(said) or next(iter(answers.values())).state
