"""The files that an owner keeps: the result, the parts that it was put together from, the receipt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.errors import NotVerifiedError
from ppaurora.evaluation.designed import DesignedResults
from ppaurora.evaluation.report import MetricValues
from ppaurora.io.files import replace_file
from ppaurora.io.models import StrictModel, to_builtins, to_json
from ppaurora.messages.owners import ReleasedPart, SignedStatement
from ppaurora.policy.rules import Policy
from ppaurora.sharing.commitment import Salt, commit
from ppaurora.sharing.stages import ResultShare
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import AgreedAmendments, Receipt, problem_with_statement, verify


class OwnPart(StrictModel):
    """One server's part of the result, and the salt that shows that the server committed to it."""

    server: str
    salt: Salt
    part: ResultShare


@dataclass(frozen=True, repr=False)
class StudyReport(MetricValues):
    """The metrics on everyone's samples together, and the receipt.

    Attributes
    ----------
    metrics
        By name an `Estimate` or a `Table`: `report["auroc"].interval`. Values are also attributes:
        `report.auroc`. What is suppressed is None.
    positives
        How many there were, if the policy releases that.
    suppressed
        Whether a policy rule on secret counts was not met, so that there are no values.
    policy
        The rules of the release: the strictest of the study's policy and all owners' floors.
    owner
        Whose report it is.
    parts
        What the values were combined from: one part of each server that gave one.
    receipt
        The basis of the result, signed by the nodes; `ppaurora.verify_receipt` verifies it.
    results
        Of several models, outcomes, subgroups, sites and rows left out: everything, as `Report` has it.

    Examples
    --------
    >>> import ppaurora
    >>> report = ppaurora.Study("kits/north", "sepsis-2026").result()
    >>> report
    <StudyReport auroc=0.958333, aupr=0.958333, ap=0.916667; study sepsis-2026, attempt 1>
    >>> report["auroc"].value, report.suppressed, report.owner
    (0.9583333333333334, False, 'north')
    """

    metrics: dict[str, Estimate | Table]
    positives: int | None
    suppressed: bool
    policy: Policy
    owner: str
    parts: tuple[OwnPart, ...]
    receipt: Receipt
    results: DesignedResults = field(default_factory=DesignedResults)

    @classmethod
    def of(cls, receipt: Receipt, owner: str, parts: Sequence[OwnPart]) -> StudyReport:
        """Put the parts together; raises `NotVerifiedError` if they are not those that were signed for."""
        manifest, protocol = receipt.manifest, receipt.manifest.protocol
        if [one.server for one in parts] != [server.file_name for server in protocol.result_servers]:
            raise NotVerifiedError("there is not one part of every server that gives one")
        for server, one in zip(protocol.result_servers, parts, strict=True):
            said = receipt.statement(server)
            if said is None or said.parts.get(owner) != commit(one.salt.raw, one.part.to_bytes()):
                raise NotVerifiedError(f"{one.server}: has signed for another part of the result of {owner}")
        job = manifest.job(receipt.statements[0].statement.submissions)
        released = protocol.combine([one.part for one in parts], job.query, manifest.owner_names)
        results = DesignedResults.of(released, job.query)
        return cls(
            results.first_metrics or released.metrics,
            released.positives,
            released.suppressed,
            job.terms.policy,
            owner,
            tuple(parts),
            receipt,
            results,
        )

    @property
    def evaluation(self) -> EvaluationSpec:
        """Return what was evaluated: model and version, outcome, positive class, how scores were read."""
        return self.receipt.evaluation

    @property
    def samples(self) -> int:
        """Return how many samples all owners have together."""
        return sum(self.receipt.samples.values())

    def __repr__(self) -> str:
        return f"<StudyReport {self._in_short()}; study {self.receipt.study}, attempt {self.receipt.attempt}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, strings and numbers."""
        return {
            **self._released(),
            "policy": to_builtins(self.policy),
            "owner": self.owner,
            "parts": to_builtins(self.parts),
            "receipt": to_builtins(self.receipt),
        }

    def to_json(self) -> str:
        """Return the JSON text that `ppaurora result --format json` prints."""
        return msgspec.json.format(to_json(self.to_dict()), indent=2).decode()

    def save(self, path: str | Path) -> None:
        """Save the report with its receipt, and the receipt alone next to it; atomically, with mode 0600.

        `Study.result` has already saved both in the kit; this is for another place.
        """
        path = Path(path)
        save_receipt(self.receipt, path)
        replace_file(path, self.to_json().encode() + b"\n", mode=0o600)


def receipt_path(path: Path) -> Path:
    """Return where the receipt of a result in this file is, by itself: without any part of the result."""
    return path.with_suffix(".receipt.json")


def save_receipt(receipt: Receipt, path: Path) -> None:
    """Beside the result, which may not exist: also an undefined result has a receipt."""
    replace_file(receipt_path(path), receipt.to_json().encode(), mode=0o600)


def receipt_from(
    answers: Sequence[ReleasedPart], manifest: Manifest, amended: AgreedAmendments | UnsetType = UNSET
) -> Receipt:
    """Make a receipt of the statements of all nodes, as far as those with parts of the result have them."""
    chosen: dict[str, SignedStatement] = {}
    for signed in (one for answer in answers for one in answer.statements):
        if signed.statement.server not in chosen and not problem_with_statement(signed, manifest):
            chosen[signed.statement.server] = signed
    for server, answer in zip(manifest.protocol.result_servers, answers, strict=True):
        own = [one for one in answer.statements if one.statement.server == server.file_name]
        if not own:
            raise NotVerifiedError(f"{server.title} has signed nothing")
        chosen[server.file_name] = own[0]
        said = own[0].statement
        if (said.attempt, said.submissions) != (answer.attempt, answer.submissions):
            raise NotVerifiedError(f"{server.title} has signed something else than it says")
    names = [server.file_name for server in manifest.protocol.servers if server.file_name in chosen]
    return verify(Receipt.of(manifest, [chosen[name] for name in names], amended)).receipt
