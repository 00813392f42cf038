"""Receipts: what a result rests on, signed by the nodes, for anybody to verify from the file alone.

Every node signs a statement of what it knows: with which submissions it took part in the attempt that was
released, under which policy, and a commitment to the part of the result that it gave each owner. A receipt is
the manifest and these statements. It holds no part of the result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.channel.servers import Server
from ppaurora.credentials.signatures import Signature, problem_with, sign
from ppaurora.errors import InputError, NotVerifiedError
from ppaurora.io.models import StrictModel, canonical_json, checked, to_builtins
from ppaurora.messages import SUPPORTED, VERSIONS
from ppaurora.messages.owners import (
    AttemptNumber,
    Count,
    Digest,
    HistoryEvent,
    SignedAgreement,
    SignedStatement,
    Statement,
)
from ppaurora.policy.rules import Policy
from ppaurora.study.amendments import Amendments, problem_with_agreement
from ppaurora.study.manifest import Manifest

FORMAT: Literal["ppaurora receipt"] = "ppaurora receipt"
TAKE_ANOTHER = "take the file STUDY.receipt.json that 'ppaurora result' wrote"
_CONTEXT = b"ppaurora receipt 1\0"


class AgreedAmendments(StrictModel):
    """How a study was amended, and which agreements of owners with that a receipt has."""

    amendments: Amendments
    agreements: tuple[SignedAgreement, ...]

    @property
    def given_reasons(self) -> tuple[str, ...]:
        """Return what the coordinator has said of each amendment."""
        return tuple(str(step.reason) or "no reason was given" for step in self.amendments.steps)

    @property
    def reasons(self) -> str:
        """Return what the coordinator has said of each amendment, in one line."""
        return "; ".join(f"{number}: {why}" for number, why in enumerate(self.given_reasons, start=1))

    def problem(self, manifest: Manifest) -> str:
        """Return why these are not what has led to a manifest, with every owner's agreement, or nothing."""
        if self.amendments.latest != manifest:
            return "its amendments lead to another manifest"
        agreed = {}
        for signed in self.agreements:
            problem = problem_with_agreement(signed, self.amendments)
            if problem:
                return f"the agreement of {signed.agreement.owner}: {problem}"
            agreed[signed.agreement.owner] = signed.agreement.amendment
        awaited = self.amendments.to_agree(manifest.amendment, agreed)
        return f"{', '.join(awaited)} has not agreed to its amendments" if awaited else ""


class Receipt(StrictModel):
    """The basis of a result, signed by the nodes. The file is indented JSON, with the fields in this order.

    Attributes
    ----------
    format, version
        "ppaurora receipt", 1.
    study, manifest_hash, attempt
        The study, the hash of its manifest, and which attempt was released.
    samples
        The number of samples of each owner, by name.
    policy
        The policy of the release: the strictest of the study's and all owners' floors.
    manifest
        The full agreement.
    statements
        What each node stated and signed, in the order of the protocol's servers.
    amended
        If the study was amended before anything was computed: its first manifest, all amendments as the
        coordinator has signed them, and owners' agreements as these have.

    Examples
    --------
    >>> import ppaurora
    >>> receipt = ppaurora.Study("kits/north", "sepsis-2026").result().receipt
    >>> receipt.study, receipt.attempt, receipt.samples
    ('sepsis-2026', 1, {'north': 4, 'harbour': 3})
    >>> receipt.manifest_hash == ppaurora.Study("kits/north", "sepsis-2026").manifest.hash
    True
    """

    format: Literal["ppaurora receipt"] = FORMAT
    version: Literal[1] = 1
    study: str
    manifest_hash: Digest
    attempt: AttemptNumber
    samples: dict[str, Count]
    policy: Policy
    manifest: Manifest
    statements: tuple[SignedStatement, ...]
    amended: AgreedAmendments | UnsetType = UNSET

    def __repr__(self) -> str:
        signed = ", ".join(one.statement.server for one in self.statements)
        return f"<Receipt of {self.study}, attempt {self.attempt}; statements of {signed}>"

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        statements: Sequence[SignedStatement],
        amended: AgreedAmendments | UnsetType = UNSET,
    ) -> Receipt:
        """Return the receipt with these statements; its other fields summarise them and the manifest."""
        if not statements:
            raise NotVerifiedError("no node has signed anything")
        said = statements[0].statement
        return cls(
            study=manifest.study,
            manifest_hash=manifest.hash,
            attempt=said.attempt,
            samples={one.owner: one.samples for one in said.submissions},
            policy=said.policy,
            manifest=manifest,
            statements=tuple(statements),
            amended=amended,
        )

    @property
    def evaluation(self) -> EvaluationSpec:
        """Return what was evaluated, according to the manifest."""
        return self.manifest.evaluation

    @property
    def commitments(self) -> dict[str, tuple[str, ...]]:
        """Return each owner's commitments to its shares."""
        return {one.owner: one.commitments for one in self.statements[0].statement.submissions}

    def statement(self, server: Server) -> Statement | None:
        """Return a server's statement; None if it has not signed."""
        found = [one.statement for one in self.statements if one.statement.server == server.file_name]
        return found[0] if found else None

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(to_builtins(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, content: Any) -> Receipt:
        """Read a receipt only as it is written: no value may have two forms, so that all read the same."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise NotVerifiedError(f"it is not a receipt; {TAKE_ANOTHER}")
        manifest = content.get("manifest")
        version = manifest.get("version") if isinstance(manifest, dict) else None
        if version not in VERSIONS:
            raise NotVerifiedError(
                f"its study is of another version of the protocol than {SUPPORTED}, which this ppaurora "
                "knows; verify it with the ppaurora that its statements name"
            )
        try:
            receipt = checked(cls, content)
        except InputError as error:
            raise NotVerifiedError(f"{error}; it was changed") from None
        if canonical_json(to_builtins(receipt)) != canonical_json(content):
            raise NotVerifiedError("it was changed after it was written")
        return receipt


def sign_statement(statement: Statement, key_file: Path) -> SignedStatement:
    signed = sign(key_file, _CONTEXT + canonical_json(statement))
    return SignedStatement(
        statement=statement, algorithm=signed.algorithm, key=signed.key, signature=signed.signature
    )


def problem_with_statement(signed: SignedStatement, manifest: Manifest) -> str:
    """Return why it is not what a node of the study signed of it; nothing if it is."""
    said = signed.statement
    servers = {server.file_name: server for server in manifest.protocol.servers}
    if said.server not in servers:
        return f"the study has no {said.server}"
    signature = Signature(signed.key, signed.algorithm, signed.signature)
    if signature.pin != manifest.node(servers[said.server]).pin:
        return f"{said.server}: signed with another key than the manifest names"
    wrong = problem_with(signature, _CONTEXT + canonical_json(said))
    if wrong:
        return f"{said.server}: {wrong}: what it signed was changed, or it never signed this"
    if said.manifest != manifest.hash:
        return f"{said.server}: signed another manifest"
    return _problem_with_content(said, servers[said.server], manifest)


def _problem_with_content(said: Statement, server: Server, manifest: Manifest) -> str:
    """Does it say what this manifest leads to?"""
    protocol = manifest.protocol
    if said.protocol_version != manifest.version:
        return f"{said.server}: computed with another version of the protocol"
    if [one.owner for one in said.submissions] != manifest.owner_names:
        return f"{said.server}: does not name one submission of every owner"
    try:
        policy = manifest.job(said.submissions).terms.policy
    except InputError as error:
        return f"{said.server}: names submissions that cannot have a result: {error}"
    if said.policy != policy:
        return f"{said.server}: names a policy that is not the strictest of the study's and the owners'"
    owners = manifest.owner_names if server in protocol.result_servers else []
    if sorted(said.parts) != sorted(owners):
        return f"{said.server}: does not name one part of the result for every owner"
    return _problem_with_history(said, server, manifest)


def _problem_with_history(said: Statement, server: Server, manifest: Manifest) -> str:
    """The last that happened to every owner's submission is that what was computed with was submitted."""
    if server not in manifest.protocol.input_servers:
        return f"{said.server}: takes no submissions, and tells of some" if said.history else ""
    last = {entry.owner: entry for entry in said.history}
    for one in said.submissions:
        entry = last.get(one.owner)
        if entry is None or entry.event is HistoryEvent.WITHDRAWN or entry.commitments != one.commitments:
            return f"{said.server}: computed with something else than {one.owner} had submitted last"
    return ""


@dataclass(frozen=True)
class Verification:
    """What a receipt proves and what it does not; a receipt that is refused has none.

    Attributes
    ----------
    receipt
        What was verified.
    proves, does_not_prove
        In sentences, for people.
    signed_by, missing
        Servers with a statement, and those without one, which have no part of the result.

    Examples
    --------
    >>> import ppaurora
    >>> found = ppaurora.verify_receipt("kits/north/results/sepsis-2026.json")
    >>> found.proves[-1]
    'the values in this file are what the parts give that the servers have committed to for north'
    >>> "that owners' scores and labels are true" in found.does_not_prove
    True
    """

    receipt: Receipt
    proves: tuple[str, ...]
    does_not_prove: tuple[str, ...]
    signed_by: tuple[str, ...]
    missing: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Verification of {self.receipt!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora verify --format json` prints."""
        receipt = self.receipt
        return {
            "verified": True,
            "study": receipt.study,
            "manifest_hash": receipt.manifest_hash,
            "attempt": receipt.attempt,
            "samples": dict(receipt.samples),
            "signed_by": list(self.signed_by),
            "missing": list(self.missing),
            "proves": list(self.proves),
            "does_not_prove": list(self.does_not_prove),
        }


def verify(receipt: Receipt) -> Verification:
    """Raises `NotVerifiedError` with the first thing that is wrong."""
    manifest = receipt.manifest
    servers = [server.file_name for server in manifest.protocol.servers]
    signers = [one.statement.server for one in receipt.statements]
    for signed in receipt.statements:
        problem = problem_with_statement(signed, manifest)
        if problem:
            raise NotVerifiedError(problem)
    if signers != [name for name in servers if name in signers]:
        raise NotVerifiedError("there is not one statement of a server, in the order of the servers")
    for server in manifest.protocol.result_servers:
        if server.file_name not in signers:
            raise NotVerifiedError(
                f"{server.file_name}: its statement is missing; without it there is no result"
            )
    first = receipt.statements[0].statement
    for signed in receipt.statements[1:]:
        for what in ("attempt", "submissions"):
            if getattr(signed.statement, what) != getattr(first, what):
                raise NotVerifiedError(
                    f"{signed.statement.server} and {first.server} signed different {what}; "
                    "there is no result to trust"
                )
    problem = _problem_with_amendments(receipt)
    if problem:
        raise NotVerifiedError(problem)
    if Receipt.of(manifest, receipt.statements, receipt.amended) != receipt:
        raise NotVerifiedError("the summary at the beginning is not that of the manifest and the statements")
    missing = tuple(name for name in servers if name not in signers)
    return Verification(receipt, _proves(receipt), _does_not_prove(receipt, missing), tuple(signers), missing)


def _problem_with_amendments(receipt: Receipt) -> str:
    if (receipt.amended is UNSET) != (receipt.manifest.amends is UNSET):
        return "it does not tell how its study was amended"
    return "" if receipt.amended is UNSET else receipt.amended.problem(receipt.manifest)


def _proves(receipt: Receipt) -> tuple[str, ...]:
    manifest = receipt.manifest
    names = []
    for signed in receipt.statements:
        said = signed.statement
        organisation = manifest.nodes[said.server].organisation
        of = f" ({organisation})" if organisation else ""
        names.append(f"{said.server}{of} with ppaurora {said.ppaurora}")
    samples = ", ".join(f"{owner} {count:,}" for owner, count in receipt.samples.items())
    first = receipt.statements[0].statement
    return (
        *_proves_of_amendments(receipt),
        f"signed by {'; '.join(names)}: each with the key that the manifest names",
        f"they agree on the manifest with the hash {receipt.manifest_hash}, and on attempt "
        f"{receipt.attempt}; {first.server} says that it was released at {first.released_at}",
        f"they agree on the submissions, by commitments to all shares; numbers of samples: {samples}",
        "every owner's was the last one in the histories that this receipt has",
        "the policy of the release is the strictest of the study's and of all owners' floors",
        "each server that gives out parts of the result is bound to them by commitments, one for every owner",
    )


def _proves_of_amendments(receipt: Receipt) -> list[str]:
    if receipt.amended is UNSET:
        return []
    amendments = receipt.amended.amendments
    signed = {one.agreement.owner for one in receipt.amended.agreements}
    owners = [name for name in receipt.manifest.owner_names if name in signed]
    told = f"signed with their own keys: {', '.join(owners)}" if owners else "as agreed beforehand"
    return [
        f"the first manifest, {amendments.first.hash[:12]}, was amended before anything was computed, "
        f"signed by the coordinator, and all owners agreed, {told}. Reasons given: {receipt.amended.reasons}"
    ]


def _does_not_prove(receipt: Receipt, missing: Sequence[str]) -> tuple[str, ...]:
    return (
        *(f"that {name} says the same: its statement is missing" for name in missing),
        f"that this is the manifest that you agreed to: compare the hash, {receipt.manifest_hash}, with what "
        "sha256sum prints of yours",
        "that the keys belong to the organisations that the manifest names",
        "that owners' scores and labels are true",
        "that the nodes computed as the program does, or did not put together what they hold: whoever has a "
        "node's key can sign anything",
        "at what time anything happened: times are those of the nodes' own clocks",
    )
