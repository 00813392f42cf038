"""An owner's side of a study: submit, watch, collect."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import ppaurora
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
from ppaurora.owner.client import ProxyClient
from ppaurora.owner.collect import combine
from ppaurora.owner.outbox import PROXIES, Outbox, Submission
from ppaurora.owner.samples import Samples, check_samples
from ppaurora.report import MetricValues
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import PROTOCOL_VERSION, Manifest
from ppaurora.suites.role import Role

_SECONDS_BETWEEN_LOOKS = 1.0

Watch = Callable[[str], None]


@dataclass(frozen=True)
class Receipt:
    """What a result rests on, to be filed with it."""

    study: str
    manifest: str
    attempt: int
    protocol: str
    protocol_version: int
    ppaurora: str
    owner: str
    participants: dict[str, str]  # name and key of every owner and node
    samples: dict[str, int]
    commitments: dict[str, list[str]]
    acknowledged: dict[str, dict[str, Any]]
    collected_at: str


@dataclass(frozen=True)
class StudyReport(MetricValues):
    """The metrics on everyone's samples together, and the receipt."""

    metrics: dict[str, float]
    receipt: Receipt

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.metrics.items())
        return f"<StudyReport {values}; study {self.receipt.study}, attempt {self.receipt.attempt}>"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    def save(self, path: Path) -> None:
        """Whole or not at all."""
        replace_file(path, self.to_json().encode() + b"\n")


class Study:
    """One owner's part in a study, by its start-up kit.

    study = ppaurora.Study("kits/hospital-a")
    report = study.evaluate(y_true, y_score)
    """

    def __init__(self, kit: str | Path, study: str | None = None, timeout: float = 60.0) -> None:
        self.kit = OwnerKit.read(Path(kit))
        self.manifest: Manifest = self.kit.manifest(study)
        self.kit.check_own(self.manifest)
        self.kit.check_key()
        self._clients = [ProxyClient(self.kit, self.manifest, role, timeout) for role in PROXIES]
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
        """Submit, wait until all owners have, and return the result. `watch` hears how far it is."""
        samples = check_samples(self.kit.name, y_true, y_score, pos_label)
        self.submit(samples)
        return self.wait(watch, timeout)

    def submit(self, samples: Samples) -> Submission:
        """To both proxies. After a cut, the same call goes on with the same shares."""
        submission = self._outbox.prepare(samples)
        for client in self._clients:
            if client.role.title in submission.acknowledged and self._knows_us(client):
                continue
            answer = client.submit(submission.samples, submission.commitments, self._outbox.body(client.role))
            if (
                answer.get("study") != self.manifest.hash
                or answer.get("owner") != self.kit.name
                or answer.get("commitments") != list(submission.commitments)
            ):
                raise PeerMisbehavedError(client.role.title, "acknowledged something else than was sent")
            self._outbox.acknowledge(submission, client.role, answer)
        return submission

    def _knows_us(self, client: ProxyClient) -> bool:
        """An acknowledged submission is there, unless the proxy's disk was lost since."""
        answer = client.status()
        return answer["state"] == "released" or self.kit.name in answer["submitted"]

    @property
    def submitted(self) -> Submission | None:
        return self._outbox.find()

    def status(self) -> dict[str, dict[str, Any]]:
        """What each proxy says of the study; of one that cannot be reached, why."""

        def ask(client: ProxyClient) -> dict[str, Any]:
            try:
                return client.status()
            except (PeerError, RefusedError) as error:
                return {"state": "unknown", "note": str(error)}

        with ThreadPoolExecutor(len(self._clients)) as pool:
            return {
                client.role.title: answer
                for client, answer in zip(self._clients, pool.map(ask, self._clients), strict=True)
            }

    def wait(self, watch: Watch | None = None, timeout: float | None = None) -> StudyReport:
        """Until the result is there, a person has to look, or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        last = ""
        while True:
            answers = self.status()
            states = [answer["state"] for answer in answers.values()]
            if all(state == "released" for state in states):
                # Whoever has waited for days does not mind a cut at the very end.
                with contextlib.suppress(PeerLostError, PeerTimeoutError):
                    return self.result()
            for title, answer in answers.items():
                # Proxy 0 leads: it may be trying again when the other has not heard of it yet.
                stopped = answer["state"] == "stopped" and title == Role.PROXY_0.title
                if stopped or answer["state"] == "expired":
                    raise NotReleasedError(f"{title}: the study is {answer['state']}: {answer['note']}")
            said = _summary(answers)
            if watch is not None and said != last:
                watch(said)
                last = said
            if deadline is not None and time.monotonic() > deadline:
                raise NotReleasedError(f"there is no result yet: {said}")
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def result(self) -> StudyReport:
        """Add the two proxies' parts. What comes of it is told to nobody."""
        try:
            answers = [client.release() for client in self._clients]
        except RefusedError as error:
            if error.code in ("not-released", "expired"):
                raise NotReleasedError(str(error)) from None
            raise
        first = answers[0]
        for client, answer in zip(self._clients, answers, strict=True):
            if answer.get("study") != self.manifest.hash or answer.get("owner") != self.kit.name:
                raise PeerMisbehavedError(client.role.title, "answered with another study's result")
            if answer.get("protocol_version") != PROTOCOL_VERSION:
                raise PeerMisbehavedError(client.role.title, "computed with another version of the protocol")
        for what in ("attempt", "samples", "commitments"):
            if answers[1].get(what) != first.get(what):
                raise ProtocolError(
                    f"the proxies do not agree on the {what} behind the result; try again later"
                )
        self._check_own_submission(first)
        self._outbox.forget_shares()
        metrics = combine([_share(answer) for answer in answers], self.manifest.metrics, self._checked())
        submission = self.submitted
        manifest = self.manifest
        return StudyReport(
            metrics,
            Receipt(
                study=manifest.study,
                manifest=manifest.hash,
                attempt=int(first["attempt"]),
                protocol=manifest.protocol,
                protocol_version=PROTOCOL_VERSION,
                ppaurora=ppaurora.__version__,
                owner=self.kit.name,
                participants={
                    **{name: node.pin for name, node in manifest.nodes.items()},
                    **{owner.name: owner.pin for owner in manifest.owners},
                },
                samples=first["samples"],
                commitments=first["commitments"],
                acknowledged={} if submission is None else submission.acknowledged,
                collected_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            ),
        )

    def _check_own_submission(self, answer: dict[str, Any]) -> None:
        """Was it computed with what this owner sent?"""
        submission = self.submitted
        if submission is None:
            return
        if answer["commitments"].get(self.kit.name) != list(submission.commitments):
            raise ProtocolError("the result was computed with something else than this owner submitted")

    def _checked(self) -> list[str]:
        job = self.manifest.job([1] * len(self.manifest.owners))
        return self.manifest.owner_names if job.checks_order else []


def _share(answer: dict[str, Any]) -> ResultShare:
    try:
        return ResultShare(np.array(answer["share"], dtype=np.uint64))
    except (KeyError, ValueError, OverflowError, TypeError):
        raise ProtocolError("a proxy's part of the result cannot be read") from None


def _summary(answers: dict[str, dict[str, Any]]) -> str:
    """One line for people."""
    leader = next(iter(answers.values()))
    missing = sorted({name for answer in answers.values() for name in answer.get("missing", [])})
    if missing:
        return f"waiting for submissions of {', '.join(missing)}"
    said = [f"{title}: {answer['note']}" for title, answer in answers.items() if answer.get("note")]
    return leader.get("progress") or "; ".join(said) or leader["state"]
