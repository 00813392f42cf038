"""The manifest: everything that the participants of a study agree on, in one canonical text.

Its hash names the study. Submissions, sessions, keys and results are bound to that hash, so two
participants who mean different manifests cannot compute together by mistake.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from ppaurora.algorithms.curves import MOST_SAMPLES
from ppaurora.certificates import describe_certificates
from ppaurora.errors import InputError
from ppaurora.files import read_text
from ppaurora.party.job import Job
from ppaurora.servers import Server
from ppaurora.study.checking import StrictModel, checked
from ppaurora.suites.role import Role
from ppaurora.text import printable

PROTOCOL_VERSION = 1

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
Organisation = Annotated[str, StringConstraints(max_length=200), AfterValidator(printable)]
Pin = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")


def split_address(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _address(text: str) -> str:
    try:
        host, port = split_address(text)
    except ValueError:
        host, port = "", 0
    if not _HOST.fullmatch(host) or not 0 < port < 1 << 16:
        raise ValueError("an address is a host and a port, such as proxy.example.org:8443")
    return text


def _authorities(text: str) -> str:
    try:
        describe_certificates(text)
    except ValueError:
        raise ValueError("no certificates in PEM form") from None
    return text


Authorities = Annotated[str, AfterValidator(_authorities)]
Address = Annotated[str, AfterValidator(_address)]


class Node(StrictModel):
    """A server: where it is, and the key it is known by. Owners do not talk to the helper."""

    nodes_address: Address
    owners_address: Address | None = None
    organisation: Organisation = ""
    pin: Pin


class Owner(StrictModel):
    name: Name
    organisation: Organisation = ""
    pin: Pin


class Limits(StrictModel):
    """What the servers take on."""

    samples_per_owner: int = Field(1_000_000, ge=1)
    attempts: int = Field(5, ge=1, le=1000)


class Release(StrictModel):
    """When there is a result, and how long it and the shares are kept."""

    minimum_samples: int = Field(2, ge=2)
    minimum_samples_per_owner: int = Field(1, ge=1)
    retention_days: int = Field(30, ge=1)


class Terms(StrictModel):
    """What is computed and how, and within which limits."""

    metrics: tuple[str, ...]
    protocol: Literal["fast", "paper"] = "fast"
    delta: int = 1
    key_bits: Literal[32, 64] = 64
    limits: Limits = Limits()
    release: Release = Release()


class Manifest(Terms):
    version: Literal[1] = 1
    study: Name
    nodes: dict[Literal["proxy-0", "proxy-1", "helper"], Node]
    owners: tuple[Owner, ...]
    authorities: Authorities  # PEM; whom certificates must be signed by

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        missing = {kit_name(role) for role in Role} - set(self.nodes)
        if missing:
            raise ValueError(f"nodes: {', '.join(sorted(missing))} is missing")
        for role in (Role.PROXY_0, Role.PROXY_1):
            if self.node(role).owners_address is None:
                raise ValueError(f"nodes.{kit_name(role)}: owners_address is missing")
        pins = [node.pin for node in self.nodes.values()] + [owner.pin for owner in self.owners]
        if len(set(pins)) != len(pins):
            raise ValueError("two participants have the same key; each needs its own")
        addresses = [node.nodes_address for node in self.nodes.values()]
        addresses += [node.owners_address for node in self.nodes.values() if node.owners_address is not None]
        if len(set(addresses)) != len(addresses):
            raise ValueError("nodes: two addresses are the same; every port needs its own")
        names = [owner.name for owner in self.owners]
        if len(set(names)) != len(names):
            raise ValueError("two owners have the same name")
        self.job([1] * len(self.owners))
        if self.limits.samples_per_owner + len(self.owners) - 1 > MOST_SAMPLES:
            raise ValueError(f"limits.samples_per_owner: {MOST_SAMPLES:,} samples in all are the most")
        return self

    @classmethod
    def read(cls, path: Path) -> Manifest:
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, source: str) -> Manifest:
        """Only the canonical text is taken: what people read is what is hashed."""
        try:
            content = json.loads(text)
        except ValueError:
            raise InputError(f"{source}: is not a manifest (no JSON)") from None
        manifest = checked(cls, content, source)
        if manifest.text() != text:
            raise InputError(f"{source}: is not in canonical form; take the file that 'provision' wrote")
        return manifest

    def text(self) -> str:
        """Sorted, indented, every field written out."""
        return json.dumps(self.model_dump(mode="json"), indent=2, sort_keys=True) + "\n"

    @property
    def hash(self) -> str:
        return hashlib.sha256(b"ppaurora manifest\0" + self.text().encode()).hexdigest()

    def node(self, role: Role) -> Node:
        return self.nodes[kit_name(role)]

    def role_of(self, pin: str) -> Role | None:
        return next((role for role in Role if self.node(role).pin == pin), None)

    def owner_of(self, pin: str) -> str | None:
        return next((owner.name for owner in self.owners if owner.pin == pin), None)

    @property
    def owner_names(self) -> list[str]:
        return [owner.name for owner in self.owners]

    def job(self, sizes: list[int]) -> Job:
        return Job(tuple(sizes), self.metrics, self.protocol, self.key_bits, self.delta)

    def addresses(self) -> dict[Server, tuple[str, int]]:
        """Where the nodes find each other."""
        return {role: split_address(self.node(role).nodes_address) for role in Role}

    def owners_address(self, role: Role) -> tuple[str, int]:
        address = self.node(role).owners_address
        assert address is not None  # noqa: S101 (checked when it was read)
        return split_address(address)

    def describe(self) -> list[tuple[str, str]]:
        """What a person agrees to, line by line."""
        opened = "nothing"
        if self.protocol == "paper":
            opened = "to the helper, gaps between scores in an imperfect disguise"
            opened += "; to all, comparisons of scores (delta above 1)" if self.delta > 1 else ""
        delta = f", delta {self.delta}" if self.delta > 1 else ""
        limits, release = self.limits, self.release
        lines = [
            ("study", self.study),
            ("hash", self.hash),
            ("metrics", ", ".join(self.metrics)),
            ("protocol", f"{self.protocol}, {self.key_bits}-bit keys{delta}"),
            ("opened to servers", opened),
            ("version", f"{self.version} of the protocol between participants"),
        ]
        for role in Role:
            node = self.node(role)
            lines.append((role.title, node.organisation or "of an organisation that is not named"))
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


def kit_name(role: Role) -> Any:
    """A role as the manifest's keys write it."""
    return role.file_name
