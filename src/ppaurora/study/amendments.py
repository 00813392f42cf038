"""Amendments: how the terms of a study change before anything was computed, and who has agreed to that.

An amendment is the study's next manifest, signed with the coordinator's key, which the first manifest pins.
Operators accept it as they accept a manifest. Every owner agrees to it with its own signature, unless it is a
change that all have agreed to beforehand. No attempt begins on terms that not all have agreed to, and nothing
is amended after an attempt has begun: two results that differ by one owner would be about that owner.
"""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET

from ppaurora.credentials.signatures import Signature, problem_with, sign
from ppaurora.errors import InputError
from ppaurora.io.files import read_text
from ppaurora.io.models import StrictModel, canonical_json, checked
from ppaurora.io.text import LongLine
from ppaurora.io.times import as_time
from ppaurora.messages.owners import Agreement, SignedAgreement
from ppaurora.study.manifest import AgreedChanges, Amends, Manifest

FORMAT: Literal["ppaurora amendments"] = "ppaurora amendments"
MOST_BYTES = 1 << 23
_TAKE_ANOTHER = "take the file STUDY.amendments.json that 'ppaurora amend' wrote"
_AMENDMENT = b"ppaurora amendment 1\0"
_AGREEMENT = b"ppaurora agreement 1\0"
# Lines of a manifest's description that every amendment changes.
_ALWAYS_ANOTHER = ("hash", "amendment")


class Amendment(StrictModel):
    """The next manifest and why, signed by the coordinator. `key` is the public key in DER form."""

    manifest: Manifest
    reason: LongLine
    algorithm: str
    key: bytes
    signature: bytes


@dataclass(frozen=True)
class Change:
    """A line of what people agree to, before and after; empty where there is none."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.after or 'no longer'} (before: {self.before or 'nothing'})"


class Amendments(StrictModel):
    """A study's first manifest and all amendments to it: each follows from the one before, or it is refused.

    Whoever has this has all that was agreed on, also if it takes part since an amendment only.
    """

    format: Literal["ppaurora amendments"] = FORMAT
    first: Manifest
    steps: tuple[Amendment, ...]

    def __post_init__(self) -> None:
        if not self.steps or self.first.amends is not UNSET:
            raise InputError("amendments: there is not a first manifest, and an amendment to it")
        for number, step in enumerate(self.steps, start=1):
            problem = _problem_with(step, self.manifests[number - 1], self.first)
            if problem:
                raise InputError(f"amendment {number}: {problem}")

    @classmethod
    def read(cls, path: Path) -> Amendments:
        return cls.parse(read_text(path, MOST_BYTES), str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Amendments:
        """Read the canonical text, and no other."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(f"{source}: is not JSON; {_TAKE_ANOTHER}") from None
        try:
            amendments = checked(cls, content, source)
        except InputError as error:
            raise InputError(f"{error}; {_TAKE_ANOTHER}") from None
        if amendments.text() != text:
            raise InputError(f"{source}: was changed (it is not in canonical form); {_TAKE_ANOTHER}")
        return amendments

    def text(self) -> str:
        return canonical_json(self, indent=2).decode() + "\n"

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        """Return the first manifest, and those that the amendments have led to, by their numbers."""
        return (self.first, *(step.manifest for step in self.steps))

    @property
    def latest(self) -> Manifest:
        return self.steps[-1].manifest

    def with_step(self, step: Amendment) -> Amendments:
        return msgspec.structs.replace(self, steps=(*self.steps, step))

    def follows(self, earlier: Amendments) -> bool:
        """Return whether these lead to the same manifests as the earlier ones, and perhaps on.

        Signatures are not compared: anybody can make two valid ones of one, where ECDSA is used.
        """
        return self.number_alike(earlier.manifests) == len(earlier.steps)

    def number_alike(self, manifests: Sequence[Manifest]) -> int:
        """Return the number of the last amendment that has led to the same manifest, 0 if there is none.

        The manifests are those of the same study, by their numbers.
        """
        pairs = zip(self.manifests, manifests, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)) - 1

    def changes(self, since: int) -> list[Change]:
        """Return what the amendments after this number change, line by line, for people."""
        return changes(self.manifests[since], self.latest)

    def reasons(self, since: int) -> list[str]:
        """Return what the coordinator says of each amendment after this number."""
        return [str(step.reason) for step in self.steps[since:]]

    def new_keys(self, since: int) -> list[str]:
        """Return whose keys are others after the amendments after this number."""
        before, after = self.manifests[since], self.latest
        keys = {owner.name: owner.pin for owner in before.owners}
        servers = [one.title for one in after.protocol.servers if before.node(one).pin != after.node(one).pin]
        return [*servers, *(owner.name for owner in after.owners if keys[owner.name] != owner.pin)]

    def is_agreed_beforehand(self, number: int) -> bool:
        """Return whether an amendment changes only what all have agreed to with the first manifest."""
        before, after, rules = self.manifests[number - 1], self.manifests[number], self.first.agreed_changes
        if rules is UNSET:
            return False
        return after == msgspec.structs.replace(
            before,
            amends=after.amends,
            owners=after.owners if _may_drop(before, after, rules) else before.owners,
            evaluation=after.evaluation if self._may_move(before, after, rules) else before.evaluation,
        )

    def _may_move(self, before: Manifest, after: Manifest, rules: AgreedChanges) -> bool:
        """Return whether nothing but the last day is another, and it is later, by no more than agreed."""
        days = [one.evaluation.submissions_until for one in (self.first, before, after)]
        first, earlier, later = days
        if first is None or earlier is None or later is None:
            return False
        is_only = after.evaluation == msgspec.structs.replace(before.evaluation, submissions_until=later)
        latest = first.end + datetime.timedelta(days=rules.deadline_days)
        return is_only and earlier.end <= later.end <= latest

    def to_agree(self, number: int, agreed: Mapping[str, int]) -> list[str]:
        """Return the owners who have yet to agree to this amendment or one before it.

        `agreed` has, by owner, the number of the last amendment that it has agreed to.
        """
        asked = [one for one in range(1, number + 1) if not self.is_agreed_beforehand(one)]
        last_asked = max(asked, default=0)
        return [owner for owner in self.manifests[number].owner_names if agreed.get(owner, 0) < last_asked]

    def asked(self, since: int) -> list[str]:
        """Return the owners whose agreement the amendments after this number need."""
        return self.to_agree(len(self.steps), dict.fromkeys(self.latest.owner_names, since))

    def number_of(self, manifest_hash: str) -> int | None:
        """Return which amendment has led to this manifest, 0 for the first one; None if none has."""
        hashes = [manifest.hash for manifest in self.manifests]
        return hashes.index(manifest_hash) if manifest_hash in hashes else None


def _may_drop(before: Manifest, after: Manifest, rules: AgreedChanges) -> bool:
    """Return whether owners were dropped and nothing else, and as many remain as agreed."""
    remaining = all(owner in before.owners for owner in after.owners)
    return remaining and rules.minimum_owners is not None and len(after.owners) >= rules.minimum_owners


def are_amendments(text: str) -> bool:
    """Return whether a file says that it is one of amendments, so that it is read as such."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def changes(before: Manifest, after: Manifest) -> list[Change]:
    """Return the lines of what people agree to in which two manifests differ."""
    lines = [_lines(manifest) for manifest in (before, after)]
    found = []
    for what in dict.fromkeys((*lines[0], *lines[1])):
        old, new = (of.get(what, []) for of in lines)
        if old != new:
            gone = [text for text in old if text not in new]
            come = [text for text in new if text not in old]
            found.append(Change(what, "; ".join(gone), "; ".join(come)))
    return found


def _lines(manifest: Manifest) -> dict[str, list[str]]:
    """Return the description of a manifest by what lines are about; one without a title is of the last."""
    lines: dict[str, list[str]] = {}
    title = ""
    for label, text in manifest.describe():
        title = label or title
        if title not in _ALWAYS_ANOTHER:
            lines.setdefault(title, []).append(text)
    return lines


def amended(before: Manifest, after: Manifest) -> Manifest:
    """Return the manifest that takes the place of `before`, with the content of `after`.

    Raises if nothing is another, or something that no amendment can change.
    """
    numbered = Amends(study=before.study_hash, number=before.amendment + 1, previous=before.hash)
    following = msgspec.structs.replace(
        after,
        version=before.version,
        coordinator=before.coordinator,
        agreed_changes=before.agreed_changes,
        amends=numbered,
    )
    if following == msgspec.structs.replace(before, amends=numbered):
        raise InputError("nothing differs from what was agreed on; there is nothing to amend")
    problem = _problem_with_content(before, following)
    if problem:
        raise InputError(problem)
    return following


def sign_amendment(manifest: Manifest, reason: str, key_file: Path) -> Amendment:
    """Sign an amended manifest with the coordinator's key."""
    reason = LongLine.from_plain(reason)
    signed = sign(key_file, _signed_of(manifest, reason))
    return Amendment(
        manifest=manifest,
        reason=reason,
        algorithm=signed.algorithm,
        key=signed.key,
        signature=signed.signature,
    )


def _signed_of(manifest: Manifest, reason: str) -> bytes:
    return _AMENDMENT + canonical_json([manifest.hash, str(reason)])


def _problem_with(step: Amendment, before: Manifest, first: Manifest) -> str:
    """Return why it is no amendment to the manifest before; nothing if it is one."""
    after = step.manifest
    if first.coordinator is UNSET:
        return "this study cannot be amended: its manifest names no coordinator's key"
    signature = Signature(step.key, step.algorithm, step.signature)
    if signature.pin != first.coordinator:
        return "it is signed with another key than the coordinator's, which the first manifest names"
    wrong = problem_with(signature, _signed_of(after, step.reason))
    if wrong:
        return f"{wrong}; it was changed after it was signed"
    follows = Amends(study=first.hash, number=before.amendment + 1, previous=before.hash)
    if after.amends != follows:
        return "it does not follow from the manifest before"
    return _problem_with_content(before, after)


def _problem_with_content(before: Manifest, after: Manifest) -> str:
    """Return what is another that no amendment can change, or nothing.

    Who takes part and how they are reached, the last day, limits, and the rules of a policy can be amended;
    owners can be dropped, not added. What is computed cannot, as submissions that stand are made for it.
    """
    allowed = msgspec.structs.replace(
        before,
        amends=after.amends,
        evaluation=msgspec.structs.replace(
            before.evaluation, submissions_until=after.evaluation.submissions_until
        ),
        terms=msgspec.structs.replace(before.terms, limits=after.terms.limits, policy=after.terms.policy),
        nodes=after.nodes,
        owners=after.owners,
        authorities=after.authorities,
    )
    another = [
        *_differing(allowed, after, apart_from=("evaluation", "terms")),
        *(f"evaluation.{name}" for name in _differing(allowed.evaluation, after.evaluation)),
        *_differing(allowed.terms, after.terms),
    ]
    if before.terms.policy.kind != after.terms.policy.kind:
        another.append("policy.kind")
    if before.terms.policy.is_private and before.terms.policy != after.terms.policy:
        another.append("policy of a private study")
    if another:
        return f"an amendment cannot change {', '.join(another)}; make a new study"
    names = iter(before.owner_names)
    if not all(name in names for name in after.owner_names):  # each is found after the one before
        return "owners can be dropped, but neither added nor put into another order; make a new study"
    same_content = (before.terms.shape, before.terms.policy.rows_per_person)
    if same_content != (after.terms.shape, after.terms.policy.rows_per_person):
        return "under this policy owners would submit something else; make a new study"
    return ""


def _differing(one: StrictModel, other: StrictModel, apart_from: tuple[str, ...] = ()) -> list[str]:
    names = (name for name in one.__struct_fields__ if name not in apart_from)
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def sign_agreement(amendments: Amendments, owner: str, now: float, key_file: Path) -> SignedAgreement:
    """Agree to the latest amendment, in an owner's name."""
    agreement = Agreement(
        study=amendments.first.hash,
        owner=owner,
        amendment=len(amendments.steps),
        manifest=amendments.latest.hash,
        agreed_at=as_time(now),
    )
    signed = sign(key_file, _AGREEMENT + canonical_json(agreement))
    return SignedAgreement(
        agreement=agreement, algorithm=signed.algorithm, key=signed.key, signature=signed.signature
    )


def problem_with_agreement(signed: SignedAgreement, amendments: Amendments) -> str:
    """Return why it is not an owner's agreement to one of these amendments; nothing if it is."""
    said = signed.agreement
    if said.study != amendments.first.hash or said.amendment > len(amendments.steps):
        return "it is of another study, or of an amendment that is not known here"
    manifest = amendments.manifests[said.amendment]
    if said.manifest != manifest.hash:
        return f"it is to another amendment {said.amendment} than is known here"
    signature = Signature(signed.key, signed.algorithm, signed.signature)
    if manifest.owner_of(signature.pin) != said.owner:
        return f"it is not signed with the key of {said.owner}"
    return problem_with(signature, _AGREEMENT + canonical_json(said))
