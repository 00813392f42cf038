"""The manifest: everything that the participants of a study agree on, in one canonical text.

Its hash names the study. Submissions, sessions, keys and results are bound to that hash, so two
participants who mean different manifests cannot compute together by mistake.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.certificates import describe_certificates
from ppaurora.errors import InputError
from ppaurora.files import read_text
from ppaurora.messages import VERSION
from ppaurora.models import StrictModel, canonical_json, checked
from ppaurora.servers import Server
from ppaurora.study.names import Address, Name, Organisation, Pin, split_address
from ppaurora.terms import Job, Terms


class NodeEntry(StrictModel):
    """A server: where it is, and the key it is known by. Owners talk only to those that take submissions."""

    nodes_address: Address
    owners_address: Address | None = None
    organisation: Organisation = Organisation("")
    pin: Pin


class OwnerEntry(StrictModel):
    name: Name
    organisation: Organisation = Organisation("")
    pin: Pin


class Manifest(Terms):
    version: int = VERSION
    study: Name
    nodes: dict[str, NodeEntry]
    owners: tuple[OwnerEntry, ...]
    authorities: str  # PEM; whom certificates must be signed by

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.version != VERSION:
            raise InputError(f"version: this ppaurora takes part in studies of version {VERSION} only")
        _check_nodes(self)
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
        if self.limits.samples_per_owner + len(self.owners) - 1 > MOST_SAMPLES:
            raise InputError(f"limits.samples_per_owner: {MOST_SAMPLES:,} samples in all are the most")

    @classmethod
    def read(cls, path: Path) -> Manifest:
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Manifest:
        """Only the canonical text is taken: what people read is what is hashed."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(f"{source}: is not a manifest (no JSON)") from None
        manifest = checked(cls, content, source)
        if manifest.text() != text:
            raise InputError(f"{source}: is not in canonical form; take the file that 'provision' wrote")
        return manifest

    def text(self) -> str:
        """Sorted, indented, every field written out."""
        return canonical_json(self, indent=2).decode() + "\n"

    @property
    def hash(self) -> str:
        return hashlib.sha256(b"ppaurora manifest\0" + self.text().encode()).hexdigest()

    @property
    def terms(self) -> Terms:
        return Terms(metrics=self.metrics, protocol=self.protocol, limits=self.limits, release=self.release)

    def job(self, sizes: Sequence[int]) -> Job:
        return Job(terms=self.terms, sizes=tuple(sizes))

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
        """Where the nodes find each other."""
        return {server: split_address(self.node(server).nodes_address) for server in self.protocol.servers}

    def owners_address(self, server: Server) -> tuple[str, int]:
        """Where owners find a node that takes submissions or gives out results."""
        address = self.node(server).owners_address
        assert address is not None  # noqa: S101 (checked when it was read)
        return split_address(address)

    def describe(self) -> list[tuple[str, str]]:
        """What a person agrees to, line by line."""
        limits, release = self.limits, self.release
        lines = [
            ("study", self.study),
            ("hash", self.hash),
            ("metrics", ", ".join(self.metrics)),
            ("protocol", str(self.protocol)),
            *((f"learnt by {party}", what) for party, what in self.protocol.discloses().items()),
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
        lines += [
            (
                "at most",
                f"{limits.samples_per_owner:,} samples of an owner, {limits.attempts} attempts",
            ),
            (
                "release",
                f"from {release.minimum_samples:,} samples in all and "
                f"{release.minimum_samples_per_owner:,} of every owner",
            ),
            ("kept", f"{release.retention_days} days; shares until the release"),
        ]
        return lines


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
    if len(set(addresses)) != len(addresses):
        raise InputError("nodes: two addresses are the same; every port needs its own")
