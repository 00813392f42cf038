"""Kits: one folder per participant, with all that it needs.

    certificate.pem   who it is
    key.pem           its private key, mode 0600
    authority.pem     who signed the certificates of the study that it was made for
    node.toml         a node's own settings, or
    owner.toml        an owner's
    studies/          manifests: an owner's studies, with the amendments that it has agreed to or that all
                      agreed to beforehand; of a node, those proposed to its operator

A kit outlives a study: `ppaurora accept KIT MANIFEST` adds another one.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Identity, tls_context
from ppaurora.credentials.certificates import Validity, pin_of_pem, read_pem
from ppaurora.errors import InputError, StudyNotNamedError
from ppaurora.io.files import others_can_read, replace_file
from ppaurora.io.models import StrictModel
from ppaurora.io.system import quoted
from ppaurora.policy.rules import Floors
from ppaurora.study.amendments import Amendments
from ppaurora.study.manifest import Manifest, is_hash_of
from ppaurora.study.names import Address, LocalAddress, Name
from ppaurora.study.plan import read_toml
from ppaurora.study.workers import WorkerSettings

STUDIES = "studies"
AMENDMENTS = ".amendments.json"  # ends the name of a file with amendments


def amendments_path(folder: Path, study: str) -> Path:
    """Return where a folder has the amendments to a study, if it has any."""
    return folder / f"{study}{AMENDMENTS}"


class NodeSettings(StrictModel):
    """The settings of a node, in `node.toml`."""

    role: str
    listen_nodes: Address
    listen_owners: Address | None = None
    listen_admin: LocalAddress = LocalAddress("127.0.0.1:9464")  # health and metrics, without TLS
    data: str = "data"
    jobs: Annotated[int, Meta(ge=1, le=64)] = 2  # attempts at the same time
    silence_seconds: Annotated[float, Meta(gt=0, le=86400)] = 60.0
    # How many times longer than on a slow network an attempt may take before it counts as failed.
    budget_factor: Annotated[float, Meta(gt=0, le=1000)] = 10.0
    workers: WorkerSettings = WorkerSettings()


class OwnerSettings(StrictModel):
    """The settings of an owner, in `owner.toml`."""

    name: Name
    authority: str | None = None  # further authorities to trust, when a node's has changed
    floors: Floors = Floors()  # what this owner demands of every study


@dataclass(frozen=True)
class _Kit:
    """What the kits of nodes and owners have in common."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    @property
    def pin(self) -> str:
        return pin_of_pem(read_pem(self.certificate))

    def validity(self) -> tuple[Path, Validity]:
        """Return the file that is valid for the shortest time, certificate or authority, and for how long."""
        paths = [self.certificate, self.folder / "authority.pem"]
        found = [(path, Validity.of(read_pem(path))) for path in paths if path == paths[0] or path.exists()]
        return min(found, key=lambda one: (not one[1].is_yet_to_begin, one[1].ends))

    def check_certificate(self) -> None:
        """Raise unless it is valid by this machine's clock: nobody would let this participant in."""
        path, validity = self.validity()
        if validity.problem:
            raise InputError(f"{path}: {validity.problem}; {validity.remedy}")

    def check_key(self) -> None:
        """Present, for this certificate, and for nobody else to read."""
        try:
            is_readable = others_can_read(self.key)
            content = self.key.read_bytes()
        except OSError as error:
            raise InputError(
                f"{self.key}: cannot be read: {error.strerror}; put the key of {self.certificate} there"
            ) from None
        if b"ENCRYPTED" in content:
            raise InputError(f"{self.key}: has a passphrase; a node starts without anybody to type it")
        if is_readable:
            raise InputError(f"{self.key}: others on this machine can read it; run: chmod 600 {self.key}")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(self.certificate, self.key)
        except (ssl.SSLError, OSError):
            raise InputError(f"{self.key}: is not the key of {self.certificate}") from None

    def manifests(self) -> list[Manifest]:
        """Return the manifests in the kit, by name of the study, as the amendments here have left them."""
        paths = sorted((self.folder / STUDIES).glob("*.json"))
        found = [Manifest.read(path) for path in paths if not path.name.endswith(AMENDMENTS)]
        amended = [self.amendments(manifest.study) for manifest in found]
        return [first if one is None else one.latest for first, one in zip(found, amended, strict=True)]

    def amendments(self, study: str) -> Amendments | None:
        """Return the amendments to a study that are in the kit; None if there are none."""
        path = amendments_path(self.folder / STUDIES, study)
        return Amendments.read(path) if path.exists() else None

    def amend(self, amendments: Amendments) -> None:
        """Keep what a study's manifest has become; whole or not at all."""
        path = amendments_path(self.folder / STUDIES, amendments.first.study)
        replace_file(path, amendments.text().encode())

    def expect(self, manifest: Manifest, expected_hash: str | None) -> None:
        """Refuses a manifest of another hash than a person expects, by all its digits or the first ones."""
        if expected_hash is None:
            return
        if not is_hash_of(expected_hash, manifest):
            raise InputError(
                f"study {manifest.study}: its manifest has the hash {manifest.hash}, which is not the "
                "expected one; nothing was done"
            )
        others = [known for known in self.manifests() if known.hash != manifest.hash]
        if any(is_hash_of(expected_hash, other) for other in others):
            raise InputError("the expected hash: two manifests of this kit begin like that; give more digits")

    def add(self, manifest: Manifest) -> Path:
        """Keep a manifest in the kit; whole or not at all."""
        path = self.folder / STUDIES / f"{manifest.study}.json"
        check_first(manifest)
        if path.exists() and path.read_bytes() != manifest.text().encode():
            raise InputError(f"{path}: is another manifest of the same name; give the new study its own name")
        replace_file(path, manifest.text().encode())
        return path


@dataclass(frozen=True)
class NodeKit(_Kit):
    """The kit of a node, as a folder."""

    settings: NodeSettings

    @classmethod
    def read(cls, folder: Path) -> NodeKit:
        _expect(folder, "node.toml", "owner.toml")
        return cls(folder, read_toml(NodeSettings, folder / "node.toml"))

    @property
    def title(self) -> str:
        """As people call this node."""
        return self.settings.role.replace("-", " ")

    def server(self, manifest: Manifest) -> Server:
        """Return which of a study's servers this node is."""
        for server in manifest.protocol.servers:
            if server.file_name == self.settings.role:
                return server
        names = ", ".join(server.file_name for server in manifest.protocol.servers)
        raise InputError(
            f"{self.folder / 'node.toml'}: role: study {manifest.study} has no '{self.settings.role}'; "
            f"there are: {names}"
        )

    @property
    def data(self) -> Path:
        return self.folder / self.settings.data

    def identity(self, manifest: Manifest) -> Identity:
        """Return the identity for the links to the other nodes of a study."""
        pins = {peer: manifest.node(peer).pin for peer in self.server(manifest).peers}
        return Identity(self.certificate, self.key, manifest.authorities, pins)

    def check_own(self, manifest: Manifest) -> None:
        """Is this node the one that the manifest means, and does it listen where it must?"""
        server = self.server(manifest)
        if manifest.node(server).pin != self.pin:
            raise InputError(
                f"study {manifest.study}: the manifest names another key for {server.title}; "
                "provision it with this node's certificate"
            )
        if manifest.node(server).owners_address is not None and self.settings.listen_owners is None:
            raise InputError(
                f"{self.folder / 'node.toml'}: listen_owners is missing; {server.title} needs it"
            )


@dataclass(frozen=True)
class ProposedStudy:
    """A manifest that lies in a node's kit, which its operator has not accepted."""

    kit: Path
    path: Path
    manifest: Manifest

    @property
    def command(self) -> str:
        """Return the command that accepts it."""
        return f"ppaurora accept {quoted(str(self.kit))} {quoted(str(self.path))}"


def unaccepted_manifests(kit: NodeKit, accepted: Collection[str]) -> Iterator[ProposedStudy]:
    """Yield what lies in a node's kit and is of none of the accepted studies, which are given by name.

    A file that is no manifest of this version is left out, and one that takes no submissions any more.
    """
    for path in sorted((kit.folder / STUDIES).glob("*.json")):
        try:
            manifest = Manifest.read(path)
        except InputError:
            continue
        if manifest.study not in accepted and manifest.evaluation.takes_submissions(time.time()):
            yield ProposedStudy(kit.folder, path, manifest)


@dataclass(frozen=True)
class OwnerKit(_Kit):
    """The kit of an owner, as a folder."""

    settings: OwnerSettings

    @classmethod
    def read(cls, folder: Path) -> OwnerKit:
        _expect(folder, "owner.toml", "node.toml")
        return cls(folder, read_toml(OwnerSettings, folder / "owner.toml"))

    @property
    def name(self) -> str:
        return self.settings.name

    def manifest(self, study: str | None = None) -> Manifest:
        """Return the manifest of the study of this name, or the only one."""
        found = self.manifests()
        if study is not None:
            for manifest in found:
                if manifest.study == study:
                    return manifest
            raise InputError(f"{self.folder}: there is no study '{study}'; there are: {_names(found)}")
        if not found:
            raise InputError(
                f"{self.folder}: its studies: none yet; add one: ppaurora accept {self.folder} MANIFEST"
            )
        if len(found) != 1:
            raise StudyNotNamedError(str(self.folder), _names(found))
        return found[0]

    def check_own(self, manifest: Manifest) -> None:
        """Is this owner the one that the manifest means?"""
        known = manifest.owner_of(self.pin)
        if known is None:
            raise InputError(
                f"study {manifest.study}: the manifest does not name this owner's key as '{self.name}'; its "
                f"owners are: {', '.join(manifest.owner_names)}. Take the kit of one of them"
            )
        if known != self.name:
            raise InputError(
                f"{self.folder / 'owner.toml'}: name: is '{self.name}', but the key of this kit is that of "
                f"'{known}' in study {manifest.study}; take the kit as it was handed over"
            )

    def client_context(self, manifest: Manifest) -> ssl.SSLContext:
        context = tls_context(ssl.Purpose.SERVER_AUTH, self.certificate, self.key, manifest.authorities)
        if self.settings.authority is not None:
            context.load_verify_locations(cadata=read_pem(self.folder / self.settings.authority).decode())
        return context


def check_first(manifest: Manifest) -> None:
    """Raise unless a study began with this manifest: an amended one is accepted with its history."""
    if manifest.amends is not UNSET:
        raise InputError(
            f"study {manifest.study}: this is what an amendment has made of its manifest; take the file "
            f"{manifest.study}{AMENDMENTS} from the coordinator, which tells how"
        )


_MOST_SHOWN = 5
_KINDS = {"node.toml": "a node's kit", "owner.toml": "an owner's kit"}


def _expect(folder: Path, settings: str, others: str) -> None:
    kind = _KINDS[settings]
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; {kind} is needed{_kits_in(folder.parent)}")
    if (folder / others).exists() and not (folder / settings).exists():
        raise InputError(f"{folder}: is {_KINDS[others]}, and this command takes {kind}")
    if not (folder / settings).exists():
        raise InputError(f"{folder}: is not {kind}; it holds no {settings}{_kits_in(folder)}")


def _kits_in(folder: Path) -> str:
    """Return which kits lie in a folder, for whoever has named something else; empty if none does."""
    found = sorted({path.parent for name in _KINDS for path in folder.glob(f"*/{name}")})
    packed = sorted(path for path in folder.glob("*.kit") if path.is_file())
    if found:
        return f". Kits here: {', '.join(map(str, found[:_MOST_SHOWN]))}"
    if packed:
        return f". To set up the kit that is here: ppaurora unpack {quoted(str(packed[0]))}"
    return ""


def _names(manifests: list[Manifest]) -> str:
    return ", ".join(manifest.study for manifest in manifests) or "none"


def read_kit(folder: Path) -> NodeKit | OwnerKit:
    """Whose kit it is, its settings tell."""
    if (folder / "node.toml").exists():
        return NodeKit.read(folder)
    if (folder / "owner.toml").exists():
        return OwnerKit.read(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; a kit is needed{_kits_in(folder.parent)}")
    raise InputError(
        f"{folder}: is not a kit folder; it holds neither node.toml nor owner.toml{_kits_in(folder)}"
    )
