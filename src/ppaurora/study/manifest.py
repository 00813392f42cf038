"""The manifest: everything that the participants of a study agree on, in one canonical text.

Its hash names the study. Submissions, sessions, keys and results are bound to that hash, so two
participants who mean different manifests cannot compute together by mistake.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.agreement.terms import Job, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.channel.servers import Server
from ppaurora.credentials.certificates import describe_certificates
from ppaurora.errors import InputError
from ppaurora.io.files import read_text
from ppaurora.io.models import StrictModel, canonical_json, checked
from ppaurora.messages import SUPPORTED, VERSION, VERSIONS
from ppaurora.messages.owners import Digest, Submitted
from ppaurora.policy.rules import Floors
from ppaurora.protocols import Protocol
from ppaurora.study.names import Address, Name, Organisation, Pin, split_address

_TAKE_ANOTHER = "take the file STUDY.json that 'ppaurora provision' wrote"
_ANOTHER_VERSION = (
    f"version: this ppaurora takes part in studies of version {SUPPORTED} only; "
    "take the ppaurora that the study was made with, or make it anew from its plan"
)
_HASH_DIGITS = re.compile(r"[0-9a-f]{12,64}")
WITH_AMENDMENTS = 10  # the first version whose manifests can be amended


class NodeEntry(StrictModel):
    """A server: where it is, and the key it is known by. Owners talk only to those that take submissions."""

    nodes_address: Address
    owners_address: Address | None = None
    organisation: Organisation = Organisation("")
    pin: Pin


class OwnerEntry(StrictModel):
    """A data owner, and the key it is known by."""

    name: Name
    organisation: Organisation = Organisation("")
    pin: Pin


class AgreedChanges(StrictModel):
    """Which later changes owners agree to beforehand, with the manifest: they are not asked again."""

    minimum_owners: Annotated[int, Meta(ge=2, le=100_000)] | None = None  # of whom others may be dropped
    deadline_days: Annotated[int, Meta(ge=0, le=3650)] = 0  # by which the last day may move at most

    def describe(self) -> str:
        """Return this as a sentence, for people."""
        allowed = []
        if self.minimum_owners is not None:
            allowed.append(f"owners may be dropped as long as {self.minimum_owners} remain")
        if self.deadline_days:
            allowed.append(f"the last day for submissions may move by up to {self.deadline_days} days")
        return "; ".join([*allowed, "every owner is asked about any other amendment"])


class Amends(StrictModel):
    """Of which study an amended manifest is, and in whose place it stands."""

    study: Digest  # the hash of the study's first manifest
    number: Annotated[int, Meta(ge=1, le=1000)]  # of the amendment, from 1 on
    previous: Digest  # the hash of the manifest before


class Manifest(StrictModel):
    """The terms, what is evaluated, and who takes part, with everybody's key. All agree to its hash.

    The last three fields are not there in studies of version 9, which cannot be amended.
    """

    version: int = VERSION
    study: Name
    evaluation: EvaluationSpec = EvaluationSpec()
    terms: Terms
    nodes: dict[str, NodeEntry]
    owners: tuple[OwnerEntry, ...]
    authorities: str  # PEM; whom certificates must be signed by
    coordinator: Pin | UnsetType = UNSET  # the key that amendments are signed with
    agreed_changes: AgreedChanges | UnsetType = UNSET
    amends: Amends | UnsetType = UNSET  # if it takes the place of an earlier one

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise InputError(_ANOTHER_VERSION)
        if self.version < WITH_AMENDMENTS and self.of_amendments:
            raise InputError(
                f"{', '.join(self.of_amendments)}: studies of version {self.version} cannot be amended"
            )
        if self.amends is not UNSET and self.coordinator is UNSET:
            raise InputError("amends: there is no coordinator whose amendments count")
        _check_nodes(self)
        _check_direction(self)
        try:
            describe_certificates(self.authorities)
        except ValueError:
            raise InputError("authorities: no certificates in PEM form") from None
        pins = [node.pin for node in self.nodes.values()] + [owner.pin for owner in self.owners]
        if len(set(pins)) != len(pins):
            raise InputError("two participants have the same key; each needs its own")
        if len(set(self.owner_names)) != len(self.owner_names):
            raise InputError("two owners have the same name")
        if len(self.owners) < 2:
            raise InputError(f"at least two owners are needed, got {len(self.owners)}")
        minimum_owners = self.terms.policy.minimum_owners
        if len(self.owners) < minimum_owners:
            raise InputError(
                f"policy.minimum_owners: at least {minimum_owners} owners are needed, "
                f"got {len(self.owners)}; with two, each learns the other's part by subtracting its own"
            )
        self._check_scale()
        if self.terms.limits.samples_per_owner + len(self.owners) - 1 > MOST_SAMPLES:
            most = MOST_SAMPLES - len(self.owners) + 1
            raise InputError(
                f"limits.samples_per_owner: {MOST_SAMPLES:,} samples in all are the most; with "
                f"{len(self.owners)} owners write at most {most:_}"
            )

    def _check_scale(self) -> None:
        of_probabilities = [metric.name for metric in self.terms.metrics if metric.of_probabilities]
        if of_probabilities and self.evaluation.score_scale != "probability":
            raise InputError(
                f"metrics: '{of_probabilities[0]}' takes probabilities; say so in the plan, with "
                'score_scale = "probability" in [evaluation]'
            )

    @classmethod
    def read(cls, path: Path) -> Manifest:
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Manifest:
        """Read the canonical text, and no other: what people read is what is hashed."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(f"{source}: is not a manifest (not JSON); {_TAKE_ANOTHER}") from None
        if isinstance(content, dict) and content.get("version", VERSION) not in VERSIONS:
            raise InputError(f"{source}: {_ANOTHER_VERSION}")  # whatever its fields were
        manifest = checked(cls, content, source)
        if manifest.text() != text:
            raise InputError(f"{source}: was changed (it is not in canonical form); {_TAKE_ANOTHER}")
        return manifest

    def text(self) -> str:
        """Sorted, indented, every field written out."""
        return canonical_json(self, indent=2).decode() + "\n"

    @property
    def hash(self) -> str:
        """The SHA-256 of the text in UTF-8: what `sha256sum` prints of the file."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    @property
    def study_hash(self) -> str:
        """The hash of the study's first manifest, which names the study whatever was amended since."""
        return self.hash if self.amends is UNSET else self.amends.study

    @property
    def amendment(self) -> int:
        """The number of the amendment that it comes from; 0 for the first manifest."""
        return 0 if self.amends is UNSET else self.amends.number

    @property
    def of_amendments(self) -> list[str]:
        """The names of those fields that only studies have which can be amended."""
        names = ("coordinator", "agreed_changes", "amends")
        return [name for name in names if getattr(self, name) is not UNSET]

    @property
    def protocol(self) -> Protocol:
        """The protocol of the terms, whose servers are the nodes."""
        return self.terms.protocol

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Take a field of the terms for one of the manifest, with a warning."""
            if name not in Terms.__struct_fields__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"manifest.{name}: is manifest.terms.{name}", DeprecationWarning, stacklevel=2)
            return getattr(self.terms, name)

    def job(self, agreed: Sequence[Submitted]) -> Job:
        """Make the job of what was submitted, under the strictest of the policy and all owners' floors."""
        sizes = tuple(submitted.samples for submitted in agreed)
        terms = self.terms.under([submitted.floors for submitted in agreed])
        return Job(terms=terms, sizes=sizes, negated=self.evaluation.lower_is_positive)

    def problem_with_submissions(self, agreed: Sequence[Submitted], at: float | None = None) -> str:
        """Return which public rule submissions break and who can do what about it `at` this time, or nothing.

        While owners are missing, only what cannot become right without a change is a problem.
        """
        sizes, floors = [one.samples for one in agreed], [one.floors for one in agreed]
        broken = self.terms.broken_rule(sizes, floors, awaited=len(self.owners) - len(agreed))
        if broken is None:
            return ""
        is_open = at is None or self.evaluation.takes_submissions(at)
        too_late = "" if is_open else self.evaluation.too_late
        return broken.note([one.owner for one in agreed], too_late=too_late)

    def problem_with_own(self, samples: int, floors: Floors) -> str:
        """Return which public rule one owner's submission breaks whatever others submit, or nothing."""
        broken = self.terms.broken_rule([samples], [floors], awaited=len(self.owners) - 1)
        return "" if broken is None else broken.advice()

    def node(self, server: Server) -> NodeEntry:
        return self.nodes[server.file_name]

    def server_of(self, pin: str) -> Server | None:
        """Whose node this is."""
        return next((server for server in self.protocol.servers if self.node(server).pin == pin), None)

    def owner_of(self, pin: str) -> str | None:
        return next((owner.name for owner in self.owners if owner.pin == pin), None)

    @property
    def owner_names(self) -> list[str]:
        return [owner.name for owner in self.owners]

    def addresses(self) -> dict[Server, tuple[str, int]]:
        """Return where the nodes find each other."""
        return {server: split_address(self.node(server).nodes_address) for server in self.protocol.servers}

    def owners_address(self, server: Server) -> tuple[str, int]:
        """Return where owners find a node that takes submissions or gives out results."""
        address = self.node(server).owners_address
        assert address is not None  # noqa: S101 (checked when it was read)
        return split_address(address)

    def describe(self) -> list[tuple[str, str]]:
        """Return what a person agrees to, line by line."""
        lines = [
            ("study", self.study),
            ("hash", self.hash),
            *self.evaluation.describe(),
            *self.terms.describe(),
            ("version", f"{self.version} of the protocol between participants"),
        ]
        for server in self.protocol.servers:
            node = self.node(server)
            lines.append((server.title, node.organisation or "of an organisation that is not named"))
            lines.append(("", f"nodes connect to {node.nodes_address}"))
            if node.owners_address is not None:
                lines.append(("", f"owners connect to {node.owners_address}"))
            lines.append(("", f"key {node.pin}"))
        for owner in self.owners:
            whose = f"{owner.organisation}, " if owner.organisation else ""
            lines.append((f"owner {owner.name}", f"{whose}key {owner.pin}"))
        lines += [("authority", described) for described in describe_certificates(self.authorities)]
        if self.coordinator is not UNSET:
            lines.append(("coordinator", f"key {self.coordinator}, which signs amendments"))
        if self.agreed_changes is not UNSET:
            lines.append(("agreed changes", self.agreed_changes.describe()))
        if self.amends is not UNSET:
            lines.append(("amendment", f"{self.amends.number} of the study {self.amends.study}"))
        return lines


@functools.lru_cache(maxsize=1024)
def version_of(text: str) -> int | str:
    """Return the version in a manifest's text, whatever it is, or "unknown"."""
    try:
        return int(json.loads(text)["version"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "unknown"


def is_supported(text: str) -> bool:
    """Return whether a manifest is of a version that this ppaurora supports."""
    return version_of(text) in VERSIONS


def is_hash_of(digits: str, manifest: Manifest) -> bool:
    """Return whether a person means this manifest by its hash, by all digits or at least the first 12."""
    digits = digits.strip().lower()
    if not _HASH_DIGITS.fullmatch(digits):
        raise InputError("the expected hash: 64 digits from 0 to 9 and a to f, or at least the first 12")
    return manifest.hash.startswith(digits)


def _check_direction(manifest: Manifest) -> None:
    """Scores of which the lower one is the more positive are negated; not every protocol takes that."""
    protocol = manifest.protocol
    if manifest.evaluation.lower_is_positive and not protocol.takes_negated:
        raise InputError(
            f"evaluation: score_direction: the protocol '{protocol.name}' takes scores from 0 to 1 of which "
            "the higher one is the more positive; take the probability of the other class"
        )


def _check_nodes(manifest: Manifest) -> None:
    """One node for every server of the protocol, each at addresses of its own."""
    protocol, nodes = manifest.protocol, manifest.nodes
    expected = {server.file_name for server in protocol.servers}
    if set(nodes) - expected:
        names = ", ".join(sorted(set(nodes) - expected))
        raise InputError(
            f"nodes: {names}: no server of '{protocol.name}'; there are: {', '.join(sorted(expected))}"
        )
    if expected - set(nodes):
        raise InputError(f"nodes: {', '.join(sorted(expected - set(nodes)))} is missing")
    for server in {*protocol.input_servers, *protocol.result_servers}:
        if manifest.node(server).owners_address is None:
            raise InputError(f"nodes.{server.file_name}: owners_address is missing")
    addresses = [node.nodes_address for node in nodes.values()]
    addresses += [node.owners_address for node in nodes.values() if node.owners_address is not None]
    for address in addresses:
        if addresses.count(address) > 1:
            raise InputError(f"nodes: two addresses are the same, {address}; every port needs its own")
