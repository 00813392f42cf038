"""A proof of concept: a folder with a plan, kits, nodes in the background, and their logs.

    poc.json     what this folder is, and where each owner's data is
    study.toml   the plan that the kits were made from
    kits/        as 'ppaurora provision' writes them, one per participant
    data/        the example hospitals, if no files were named
    logs/        of the nodes
    processes/   of the nodes, while they run

Everything is what it would be between organisations, but for the addresses: all are on this machine.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ppaurora.data import Columns, read_dataset
from ppaurora.errors import InputError, PartyFailedError
from ppaurora.io.files import read_text
from ppaurora.io.models import StrictModel, from_json, to_json
from ppaurora.io.text import printable
from ppaurora.messages.owners import StudyStatus
from ppaurora.metrics import find_metric
from ppaurora.node.status import study_status
from ppaurora.node.store import Store
from ppaurora.poc.background import Background, only_one
from ppaurora.poc.hospitals import write_hospitals
from ppaurora.poc.machine import PROTOCOL, get, listen_here, participants, ports_for_nodes, program
from ppaurora.policy.rules import Policy
from ppaurora.protocols import DEFAULT_PROTOCOL, Protocol, find_protocol
from ppaurora.setup.acceptance import accept
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.names import Name, split_address
from ppaurora.study.provision import AUTHORITY, provision

STUDY = "poc"
_RECORD = "poc.json"
_SECONDS_TO_START = 60.0
_LONGEST_NAME = 50


class PocRecord(StrictModel):
    """What stands in the file `poc.json`."""

    version: Literal[1] = 1
    owners: dict[Name, str]  # where each one's data is, seen from the folder
    columns: Columns
    protocol: str = DEFAULT_PROTOCOL


@dataclass(frozen=True)
class PocOwner:
    """Who has which file, with how many samples."""

    name: str
    file: Path
    samples: int


@dataclass(frozen=True)
class NodeSeen:
    """A node as it is now."""

    name: str
    title: str
    process: int | None
    log: Path


def owners_of(files: Sequence[Path], columns: Columns, protocol: Protocol = PROTOCOL) -> list[PocOwner]:
    """Return an owner per file, called like it; a file that cannot be submitted is refused here."""
    if len(files) == 1:
        raise InputError(f"{files[0]}: is one owner's file; a study needs at least two, with a file each")
    nodes = [server.file_name for server in protocol.servers]
    seen: set[Path] = set()
    owners: list[PocOwner] = []
    for file in files:
        if file.resolve() in seen:
            raise InputError(f"{file}: is named twice; every owner has a file of its own")
        seen.add(file.resolve())
        name = _new_name(file, [*nodes, AUTHORITY, *(owner.name for owner in owners)])
        samples = protocol.read(read_dataset(file, columns).samples(columns.pos_label))
        owners.append(PocOwner(name, file, len(samples)))
    return owners


def _new_name(file: Path, taken: Iterable[str]) -> str:
    """Return a name as a plan takes it: small letters, digits and hyphens."""
    stem = re.sub(r"[^a-z0-9]+", "-", file.name.split(".")[0].lower())[:_LONGEST_NAME].strip("-") or "owner"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    return name


def make_poc(
    folder: Path,
    owners: Sequence[PocOwner],
    columns: Columns,
    metrics: Sequence[str],
    policy: Policy,
    protocol: Protocol = PROTOCOL,
) -> ProofOfConcept:
    """Set everything up in a new folder, whole or not at all; without owners, with the example hospitals."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: exists, and is not a proof of concept; name another one with --folder")
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
        try:
            _fill(building, owners, columns, metrics, policy, protocol)
            building.rename(folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}") from None
    return find_poc(folder)


def _fill(
    folder: Path,
    owners: Sequence[PocOwner],
    columns: Columns,
    metrics: Sequence[str],
    policy: Policy,
    protocol: Protocol,
) -> None:
    for name in ("data", "logs", "processes"):
        (folder / name).mkdir()
    places = {owner.name: str(owner.file.resolve()) for owner in owners} or {
        name: str(path.relative_to(folder)) for name, path in write_hospitals(folder / "data").items()
    }
    most = max((owner.samples for owner in owners), default=0)
    _make_kits(folder, places, columns, metrics, policy, protocol, most)
    (folder / _RECORD).write_bytes(to_json(PocRecord(owners=places, columns=columns, protocol=protocol.name)))


def _make_kits(
    folder: Path,
    owners: Iterable[str],
    columns: Columns,
    metrics: Sequence[str],
    policy: Policy,
    protocol: Protocol,
    most: int,
) -> None:
    ports = ports_for_nodes(protocol)
    is_probability = any(find_metric(name).of_probabilities for name in metrics)
    plan = [
        f'name = "{STUDY}"',
        f"metrics = {json.dumps(metrics)}",
        *(["confidence_level = 0.95"] if protocol.rounds_inside else []),
        "[evaluation]",
        'description = "A proof of concept: everybody is on one machine."',
        f'score_scale = "{"probability" if is_probability else "any"}"',
        *([] if columns.pos_label is None else [f"positive_class = {json.dumps(columns.pos_label)}"]),
        participants(ports, owners, {name: f"Organisation of {name}" for name in ports}),
        "[protocol]",
        *(f"{name} = {_in_toml(value)}" for name, value in protocol.to_plain().items()),
        "[limits]",
        f"samples_per_owner = {max(most, 1_000_000)}",
        "[policy]",
        *(f"{rule} = {json.dumps(value)}" for rule, value in policy.given().items()),
    ]
    (folder / "study.toml").write_text("\n".join(plan) + "\n")
    manifest = provision(folder / "study.toml", folder / "kits")
    for name, at in ports.items():
        kit = folder / "kits" / name
        listen_here(kit, at)
        accept(NodeKit.read(kit), manifest)


def _in_toml(value: Any) -> str:
    """Return a number, a text or a table of them, as it stands in a plan."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_in_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def find_poc(folder: Path) -> ProofOfConcept:
    """Return the proof of concept that is in this folder."""
    path = folder / _RECORD
    if not path.exists():
        raise InputError(f"{folder}: there is no proof of concept; begin one with: ppaurora poc start")
    try:
        return ProofOfConcept(folder, from_json(PocRecord, read_text(path)))
    except ValueError:
        raise InputError(
            f"{path}: is damaged, or of another version; delete the folder, and begin anew"
        ) from None


class ProofOfConcept:
    """Kits in `folder`, and nodes that are found again by whoever looks next."""

    def __init__(self, folder: Path, record: PocRecord) -> None:
        self.folder = folder
        self.columns = record.columns
        self.data = {owner: folder / place for owner, place in record.owners.items()}
        self._protocol = find_protocol(record.protocol)
        names = [server.file_name for server in self._protocol.servers]
        self._processes = {
            name: Background(folder / "processes" / f"{name}.pid", self.log(name)) for name in names
        }

    def kit(self, name: str) -> Path:
        return self.folder / "kits" / name

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def result(self, owner: str) -> Path:
        return self.kit(owner) / "results" / f"{STUDY}.json"

    def nodes(self) -> list[NodeSeen]:
        return [
            NodeSeen(name, name.replace("-", " "), process.process_id, self.log(name))
            for name, process in self._processes.items()
        ]

    @property
    def manifest(self) -> Manifest:
        return Manifest.read(self.folder / "kits" / f"{STUDY}.json")

    def study(self) -> StudyStatus:
        """Return the study as the node that leads has it on disk, whether it runs or not."""
        kit = NodeKit.read(self.kit(self._protocol.leader.file_name))
        with Store(kit.data) as store:
            accepted = {study.hash: study for study in store.studies()}
            return study_status(kit, store, accepted[self.manifest.study_hash])

    def start(self, interrupted: Callable[[], None]) -> list[str]:
        """Start the nodes that do not run; they answer when this returns. `interrupted` raises what came.

        If it fails, nothing that was started here runs on.
        """
        with self._alone():
            started: list[str] = []
            try:
                for name, process in self._processes.items():
                    if process.process_id is None:
                        started.append(name)
                        process.start(program("serve", str(self.kit(name).absolute())))
                    interrupted()
                for name in started:
                    self._wait(name, interrupted)
            except BaseException:
                for name in started:
                    self._processes[name].stop()
                raise
        return started

    def _wait(self, name: str, interrupted: Callable[[], None]) -> None:
        _, admin = split_address(NodeKit.read(self.kit(name)).settings.listen_admin)
        deadline = time.monotonic() + _SECONDS_TO_START
        while self._processes[name].process_id is not None and time.monotonic() < deadline:
            interrupted()
            try:
                get(admin, "/healthz")
            except OSError:
                time.sleep(0.05)
            else:
                return
        last = self.log(name).read_text("utf-8").rstrip().rpartition("\n")[2]
        raise PartyFailedError(
            f"{name.replace('-', ' ')} did not start: {printable(last).removeprefix('ppaurora: ')} "
            f"(log {self.log(name)}); if it stays, begin anew after 'ppaurora poc clean'"
        )

    def stop(self) -> list[str]:
        """Stop all nodes, and return those that ran."""
        with self._alone():
            return [name for name, process in self._processes.items() if process.stop()]

    def remove(self) -> None:
        """Stop all nodes, and delete everything, results included."""
        self.stop()
        shutil.rmtree(self.folder)

    def _alone(self) -> AbstractContextManager[None]:
        return only_one(
            self.folder / "processes" / "lock",
            f"{self.folder}: another 'ppaurora poc' is at work there; try again when it is done",
        )
