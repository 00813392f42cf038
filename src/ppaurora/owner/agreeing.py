"""An owner's side of amendments: what is proposed, the agreement to it, and on what a result was computed.

Amendments come from nodes or as a file; either way they count by the coordinator's signature, whose key the
manifest in the kit pins. What an owner has agreed to is in its kit before any node hears of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from ppaurora.channel.servers import Server
from ppaurora.errors import (
    InputError,
    NotVerifiedError,
    PeerError,
    PeerMisbehavedError,
    ProtocolError,
    RefusedError,
)
from ppaurora.messages.owners import ReleasedPart, SignedAgreement, StudyStatus
from ppaurora.messages.refusals import RefusalCode
from ppaurora.owner.client import NodeClient
from ppaurora.owner.records import keep_record, read_record
from ppaurora.study.amendments import (
    Amendments,
    Change,
    problem_with_agreement,
    sign_agreement,
)
from ppaurora.study.kit import STUDIES, OwnerKit, amendments_path
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import AgreedAmendments

_NOT_THERE = frozenset({RefusalCode.NOT_AMENDED, RefusalCode.UNKNOWN_STUDY})


@dataclass(frozen=True)
class Proposal:
    """Amendments to a study that an owner may agree to, and what they change for it.

    Attributes
    ----------
    changes
        Each line of the agreement that is another: what it is about, before, and after.
    reasons
        What the coordinator says of each amendment.
    new_keys
        Other participants with another key; whoever has that takes their place, so ask whether it is theirs.
    is_dropped
        Whether this owner takes part no longer.
    needs_agreement
        Whether the study waits for this owner; not if it has agreed to such changes beforehand.
    """

    amendments: Amendments
    changes: tuple[Change, ...]
    reasons: tuple[str, ...]
    new_keys: tuple[str, ...]
    is_dropped: bool
    needs_agreement: bool

    @property
    def number(self) -> int:
        return len(self.amendments.steps)


@dataclass(frozen=True)
class Agreements:
    """What one owner has agreed to of one study since its first manifest."""

    kit: OwnerKit
    manifest: Manifest  # as the kit has it

    @property
    def _path(self) -> Path:
        return self.kit.folder / "agreements" / f"{self.manifest.study}.json"

    def signed(self) -> SignedAgreement | None:
        """Return the latest agreement of this owner; None if it has signed none."""
        return read_record(SignedAgreement, self._path)

    def _agreed(self, amendments: Amendments) -> Mapping[str, int]:
        signed, known = self.signed(), self.kit.amendments(self.manifest.study)
        longest = known if known is not None and known.follows(amendments) else amendments
        if signed is None or problem_with_agreement(signed, longest):
            return {}
        return {signed.agreement.owner: signed.agreement.amendment}

    def is_awaited(self, amendments: Amendments, number: int) -> bool:
        """Return whether this owner has yet to agree to so many amendments."""
        return self.kit.name in amendments.to_agree(number, self._agreed(amendments))

    def proposal(self, amendments: Amendments) -> Proposal | None:
        """Return what amendments mean for this owner; None if the kit has them, and they are agreed to."""
        self.check(amendments)
        known = self.kit.amendments(self.manifest.study)
        since = 0 if known is None else len(known.steps)
        number = len(amendments.steps)
        is_awaited = self.is_awaited(amendments, number)
        if number <= since and not is_awaited:
            return None
        since = min(since, number - 1)
        return Proposal(
            amendments,
            tuple(amendments.changes(since)),
            tuple(amendments.reasons(since)),
            tuple(name for name in amendments.new_keys(since) if name != self.kit.name),
            self.kit.name not in amendments.latest.owner_names,
            is_awaited,
        )

    def check(self, amendments: Amendments) -> None:
        """Raise unless these are amendments to the study as this kit has it, more of them or fewer."""
        known = self.kit.amendments(self.manifest.study)
        if known is not None and not (amendments.follows(known) or known.follows(amendments)):
            path = amendments_path(self.kit.folder / STUDIES, self.manifest.study)
            raise InputError(
                f"study {self.manifest.study}: these are other amendments ({amendments.latest.hash[:12]}) "
                f"than this kit has ({known.latest.hash[:12]}); ask the coordinator which count. If these "
                f"do, delete {path} and accept them"
            )
        if known is None and amendments.number_of(self.manifest.hash) is None:
            raise InputError(
                f"study {self.manifest.study}: these are amendments to another manifest than this kit has "
                f"({self.manifest.hash[:12]}); ask the coordinator"
            )

    def fetch(self, clients: Iterable[NodeClient]) -> Amendments | None:
        """Return the amendments that nodes have, of several the longest; None if they have none.

        Raises if no node answers, or if they have different ones: an owner agrees to one of them only.
        """
        found: list[Amendments] = []
        unanswered: list[PeerError] = []
        answered = False
        for client in clients:
            try:
                text = client.amended().amendments.decode()
                found.append(Amendments.parse(text, client.server.title))
                self.check(found[-1])
            except RefusedError as error:
                if error.code not in _NOT_THERE:
                    raise
            except PeerError as error:
                unanswered.append(error)
                continue
            except (InputError, UnicodeDecodeError) as error:
                raise PeerMisbehavedError(
                    client.server.title, f"has amendments that do not fit: {error}"
                ) from None
            answered = True
        if unanswered and not answered:
            raise unanswered[0]
        longest = max(found, key=lambda one: len(one.steps), default=None)
        if longest is not None and not all(longest.follows(one) for one in found):
            hashes = " and ".join(sorted({one.latest.hash[:12] for one in found}))
            raise InputError(
                f"study {self.manifest.study}: its servers have different amendments, with the hashes "
                f"{hashes}; ask the coordinator which counts. There is nothing to agree to until they have "
                "the same"
            )
        return longest

    def agree(self, proposal: Proposal) -> SignedAgreement | None:
        """Keep amendments in the kit, and sign them if this owner's agreement is awaited."""
        if proposal.is_dropped:
            raise InputError(
                f"amendment {proposal.number}: {self.kit.name} takes part no longer; there is nothing to "
                "agree to. Ask the coordinator if that is not meant"
            )
        if proposal.amendments.latest.owner_of(self.kit.pin) is None:
            raise InputError(
                f"amendment {proposal.number}: names another key for {self.kit.name} than this kit has; go "
                "on with the kit that the coordinator has made with it"
            )
        signed = None
        if proposal.needs_agreement:
            signed = sign_agreement(proposal.amendments, self.kit.name, time.time(), self.kit.key)
            self._path.parent.mkdir(exist_ok=True, mode=0o700)
            keep_record(self._path, signed)
        self.kit.amend(proposal.amendments)
        return signed

    def counted(
        self, answers: Sequence[ReleasedPart], servers: Sequence[Server]
    ) -> tuple[Manifest, AgreedAmendments | UnsetType]:
        """Return the manifest that a result was computed on, which this owner must have agreed to."""
        if all(answer.amended is UNSET for answer in answers) and self.manifest.amends is UNSET:
            return self.manifest, UNSET
        amendments = self._amendments(answers)
        if amendments is None:
            raise ProtocolError(
                "the nodes do not tell how the study was amended; there is no result to trust"
            )
        number = amendments.number_of(_manifest_hash(answers[0], servers[0]))
        if number is None or self.is_awaited(amendments, number):
            raise ProtocolError(
                "the result was computed on terms that this owner has not agreed to; there is none to trust"
            )
        if number == 0:
            return amendments.first, UNSET
        until = msgspec.structs.replace(amendments, steps=amendments.steps[:number])
        signed = {
            one.agreement.owner: one
            for answer in answers
            for one in (() if answer.amended is UNSET else answer.amended.agreements)
            if not problem_with_agreement(one, until)
        }
        basis = AgreedAmendments(
            amendments=until, agreements=tuple(signed[owner] for owner in sorted(signed))
        )
        known = self.kit.amendments(self.manifest.study)
        if known is None or len(known.steps) < number:
            self.kit.amend(until)
        return until.latest, basis

    def _amendments(self, answers: Sequence[ReleasedPart]) -> Amendments | None:
        """Return the amendments that nodes tell of with a result, or that are in the kit: the longest.

        Nodes tell of fewer if the computation began before their operators had accepted what owners have.
        """
        known = self.kit.amendments(self.manifest.study)
        found = [] if known is None else [known]
        for answer in answers:
            if answer.amended is not UNSET:
                try:
                    found.append(Amendments.parse(answer.amended.amendments.decode(), "the result"))
                    self.check(found[-1])
                except (InputError, UnicodeDecodeError) as error:
                    raise ProtocolError(f"a node tells of amendments that do not fit: {error}") from None
        return max(found, key=lambda one: len(one.steps), default=None)


def amended_since(manifest: Manifest, owner: str, answers: Iterable[object]) -> bool:
    """Return whether a node knows of a later amendment, or awaits this owner's agreement."""
    heard = [one for one in answers if isinstance(one, StudyStatus)]
    is_later = any(one.amendment is not UNSET and one.amendment > manifest.amendment for one in heard)
    return is_later or any(one.to_agree is not UNSET and owner in one.to_agree for one in heard)


def _manifest_hash(answer: ReleasedPart, server: Server) -> str:
    """Return the hash of the manifest that a node has signed for."""
    said = [one.statement for one in answer.statements if one.statement.server == server.file_name]
    if not said:
        raise NotVerifiedError(f"{server.title} has signed nothing")
    return said[0].manifest
