"""From a plan to a manifest and one kit per participant."""

from __future__ import annotations

import datetime
import shutil
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import UNSET

from ppaurora.credentials.certificates import Authority, days_left, pin_of_pem, public_key_of, read_pem
from ppaurora.errors import InputError
from ppaurora.io.files import put_in_place, write_secret
from ppaurora.messages import VERSION
from ppaurora.study.kit import STUDIES
from ppaurora.study.manifest import WITH_AMENDMENTS, Manifest, NodeEntry, OwnerEntry
from ppaurora.study.names import split_address
from ppaurora.study.organisations import check_nodes_apart
from ppaurora.study.pack import KEY, PACKED, new_passphrase, pack, write_kit
from ppaurora.study.plan import Certified, Plan, PlannedNode, read_plan
from ppaurora.study.units import unit_file
from ppaurora.study.workers import SAMPLE as WORKERS_SAMPLE

LIFETIME = datetime.timedelta(days=3 * 365)
AUTHORITY_LIFETIME = datetime.timedelta(days=20 * 365)  # it has to outlive what it renews
AUTHORITY = "authority"
PASSPHRASES = "passphrases.txt"
# Of files and folders on Windows, whatever their ending.
_RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}


@dataclass(frozen=True)
class Credentials:
    """A participant's certificate, who signed it, and the key if it was made here."""

    certificate: bytes
    authority: bytes
    key: bytes | None = field(default=None, repr=False)


def provision(
    plan_path: Path,
    out: Path,
    reuse: Path | None = None,
    *,
    force: bool = False,
    packed: bool = False,
    encrypted: bool = False,
    units: Collection[str] = (),
    version: int = VERSION,
) -> Manifest:
    """Write the kits to a folder that does not exist yet. Two nodes of one organisation have to be forced.

    With `reuse`, participants whose kit is there keep the certificate that they have. Their new
    folder has no key: they go on with the kit that they hold, and accept the new manifest into it.

    With `packed`, each of the others also gets its kit as one file to hand over, `NAME.kit`, and its key is
    nowhere else; `encrypted` ones have a pass phrase each. `units` are files for the machines of nodes.
    An earlier `version` of the protocol is for a study of which not all participants have upgraded.
    """
    plan = read_plan(plan_path)
    if out.exists():
        raise InputError(f"{out}: exists; name a new folder, so that no kit is overwritten")
    if not plan.evaluation.takes_submissions(time.time()):
        raise InputError(f"{plan_path}: evaluation.submissions_until: is over; name a later date")
    authority = _authority(plan, reuse)
    names = participants(plan, plan_path)
    credentials = {
        name: credentials_of(name, participant, plan_path.parent, reuse, authority)
        for name, participant in names.items()
    }
    coordinator = pin_of_pem(authority.certificate)
    manifest = manifest_of(plan, credentials, str(plan_path), force, version, coordinator)
    out.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f"{out.name}.", dir=out.parent))
    try:
        handed_over = [name for name in names if reuse is None or not (reuse / name).exists()]
        passphrases = {name: new_passphrase() for name in handed_over} if encrypted else {}
        for name in names:
            files = kit_files(name, plan, credentials[name], manifest, units)
            if packed and name in handed_over:
                pack(building / f"{name}{PACKED}", name, manifest, files, passphrases.get(name))
                files.pop(KEY, None)
            write_kit(building / name, files)
        if passphrases:
            lines = "".join(f"{name} {passphrase}\n" for name, passphrase in passphrases.items())
            write_secret(building / PASSPHRASES, lines.encode())
        _write_authority(building / AUTHORITY, authority, reuse)
        (building / f"{plan.name}.json").write_bytes(manifest.text().encode())
        put_in_place(building, out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return manifest


def participants(plan: Plan, plan_path: Path) -> dict[str, Certified]:
    """Return all nodes and owners of a plan, by name."""
    for name in (plan.name, *plan.nodes, *plan.owners):
        if name in _RESERVED:
            raise InputError(f"{plan_path}: '{name}': Windows can have no file of this name; choose another")
    for name in plan.owners:
        if name in plan.nodes or name == AUTHORITY:
            raise InputError(
                f"{plan_path}: owners.{name}: an owner may not be called like a node, nor '{AUTHORITY}'; "
                "give it another name"
            )
    return {**plan.nodes, **plan.owners}


def _authority(plan: Plan, reuse: Path | None) -> Authority:
    if reuse is None:
        return Authority.make(f"ppaurora {plan.name}", AUTHORITY_LIFETIME)
    if not (reuse / AUTHORITY).is_dir():
        raise InputError(
            f"{reuse}: holds no folder '{AUTHORITY}'; after --reuse, name a folder that 'ppaurora provision' "
            "wrote"
        )
    return load_authority(reuse)


def load_authority(kits: Path) -> Authority:
    """Return the authority beside kits, which is the coordinator's."""
    return Authority.load(kits / AUTHORITY / "certificate.pem", authority_key(kits))


def authority_key(kits: Path) -> Path:
    return kits / AUTHORITY / "key.pem"


def credentials_of(
    name: str, participant: Certified, beside: Path, reuse: Path | None, authority: Authority
) -> Credentials:
    """Return a participant's own certificate, that of its earlier kit, or a new one."""
    if participant.certificate is not None:
        certificate = read_pem(beside / participant.certificate)
        signer = participant.authority or participant.certificate
        return Credentials(certificate, read_pem(beside / signer))
    if participant.authority is not None:
        raise InputError(
            f"{name}: an authority without a certificate; add the certificate, or leave both out"
        )
    if reuse is not None and (reuse / name / "certificate.pem").exists():
        certificate = read_pem(reuse / name / "certificate.pem")
        return Credentials(certificate, read_pem(reuse / name / "authority.pem"))
    issued = authority.issue(name, LIFETIME)
    return Credentials(issued.certificate, authority.certificate, issued.key)


def manifest_of(
    plan: Plan,
    credentials: Mapping[str, Credentials],
    source: str,
    force: bool,
    version: int,
    coordinator: str,
) -> Manifest:
    """Return the manifest of a plan; the coordinator's key is that which amendments are signed with."""
    pins = {name: pin_of_pem(held.certificate) for name, held in credentials.items()}
    for name, held in credentials.items():
        if days_left(held.certificate) <= 0:
            raise InputError(f"{name}: its certificate has expired; renew it first")
    authorities = sorted({held.authority.decode().strip() for held in credentials.values()})
    try:
        manifest = Manifest(
            version=version,
            study=plan.name,
            evaluation=plan.evaluation,
            terms=plan.terms,
            nodes={
                name: NodeEntry(
                    nodes_address=node.nodes_address,
                    owners_address=node.owners_address,
                    organisation=node.organisation,
                    pin=pins[name],
                )
                for name, node in plan.nodes.items()
            },
            owners=tuple(
                OwnerEntry(name=name, organisation=owner.organisation, pin=pins[name])
                for name, owner in plan.owners.items()
            ),
            authorities="\n".join(authorities) + "\n",
            coordinator=coordinator if version >= WITH_AMENDMENTS else UNSET,
            agreed_changes=plan.agreed_changes if version >= WITH_AMENDMENTS else UNSET,
        )
        check_nodes_apart(manifest, force=force)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    if impossible := manifest.terms.problem_with((), awaited=len(manifest.owners)):
        raise InputError(f"{source}: nothing could be computed, whatever owners submit: {impossible}")
    return manifest


def kit_files(
    name: str, plan: Plan, held: Credentials, manifest: Manifest, units: Collection[str]
) -> dict[str, bytes]:
    """Return the files of a participant's kit, by name."""
    files = {
        f"{STUDIES}/{plan.name}.json": manifest.text().encode(),
        "certificate.pem": held.certificate,
        "authority.pem": held.authority,
    }
    if held.key is not None:
        files[KEY] = held.key
    if name not in plan.nodes:
        return files | {"owner.toml": f'name = "{name}"\n'.encode()}
    files["node.toml"] = _node_toml(name, plan.nodes[name]).encode()
    return files | {unit: unit_file(unit, name, manifest.nodes[name]) for unit in units}


def _node_toml(name: str, node: PlannedNode) -> str:
    """A node listens on all its addresses, at the ports that the plan names."""
    lines = [
        f'role = "{name}"',
        "",
        "# Where this node listens; the study's plan says how others reach it.",
        f'listen_nodes = "0.0.0.0:{split_address(node.nodes_address)[1]}"',
    ]
    if node.owners_address is not None:
        lines.append(f'listen_owners = "0.0.0.0:{split_address(node.owners_address)[1]}"')
    lines += [
        "",
        "# /healthz and /metrics, without TLS and password, for this machine alone.",
        'listen_admin = "127.0.0.1:9464"',
        "",
        "# Submissions, attempts and results. Back it up as one folder while the node is stopped.",
        'data = "data"',
        "",
        "# Attempts at the same time, and the silence after which another node is given up.",
        "jobs = 2",
        "silence_seconds = 60.0",
        "# An attempt that takes so many times longer than it would on a slow network has failed.",
        "budget_factor = 10.0",
        "",
        "# Workers, of which large studies have several. This is what there is without it; docs/workers.md",
        "# says more, also how workers run on a Ray cluster.",
        *(f"# {line}" for line in WORKERS_SAMPLE.splitlines()),
        "",
    ]
    return "\n".join(lines)


def _write_authority(folder: Path, authority: Authority, reuse: Path | None) -> None:
    """Write the authority, for renewals and the next study. Whoever provisions keeps it to themselves."""
    folder.mkdir(mode=0o700)
    (folder / "certificate.pem").write_bytes(authority.certificate)
    write_secret(folder / "key.pem", authority.key)
    if reuse is not None:
        (folder / "README").write_bytes(f"The same authority as in {reuse.name}.\n".encode())


def renew(kits: Path, name: str) -> Path:
    """Make a new certificate for a participant's key; its pin, and so its studies, stay valid.

    Needs the authority of the kits; the participant's old certificate is enough.
    """
    authority = load_authority(kits)
    path = kits / name / "certificate.pem"
    if not path.exists():
        raise InputError(f"{kits}: holds no kit of '{name}'")
    if not authority.has_signed(read_pem(path)):
        raise InputError(f"{path}: was signed by somebody else; have it renewed there")
    path.write_bytes(authority.certify(name, public_key_of(path), LIFETIME))
    return path
