"""Is everything in place? Each check on its own, each problem with how to fix it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ppaurora.channel.servers import Server
from ppaurora.credentials.certificates import days_left, read_pem
from ppaurora.errors import InputError, PeerError, PeerMisbehavedError, PpauroraError, RefusedError
from ppaurora.messages.findings import Finding
from ppaurora.messages.nodes import Hello, Verdict
from ppaurora.messages.refusals import RefusalCode
from ppaurora.messages.workers import Crew
from ppaurora.node.questions import ask
from ppaurora.node.store import Store
from ppaurora.owner.client import NodeClient
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.version import __version__
from ppaurora.workers.cluster import Cluster, installed_ray
from ppaurora.workers.inspecting import inspect

_SECONDS_TO_ANSWER = 10.0
_MOST_SECONDS_APART = 60.0
_DAYS_OF_WARNING = 30
_RAY_DASHBOARD, _RAY_CLIENT = 8265, 10001


def _check(name: str, look: Callable[[], str], fix: str = "") -> Finding:
    try:
        return Finding.good(name, look())
    except PpauroraError as error:
        return Finding.bad(name, str(error), fix)


def check_owner(kit: OwnerKit, study: str | None = None) -> Iterator[Finding]:
    own = list(_own_files(kit))
    yield from own
    if not all(check.ok for check in own):
        return  # nothing can be reached without them
    manifest: Manifest | None = None

    def read_manifest() -> str:
        nonlocal manifest
        manifest = kit.manifest(study)
        kit.check_own(manifest)
        return f"{manifest.study}, hash {manifest.hash}"

    yield _check("manifest", read_manifest, "ask whoever provisioned the study for this owner's kit")
    if manifest is None:
        return
    protocol = manifest.protocol
    for server in dict.fromkeys((*protocol.input_servers, *protocol.result_servers)):
        yield from _node(NodeClient(kit, manifest, server, _SECONDS_TO_ANSWER), manifest)


def _own_files(kit: OwnerKit | NodeKit) -> Iterator[Finding]:
    yield _check(
        "certificate",
        lambda: _valid(kit.certificate, kit.folder / "authority.pem"),
        "ask for a renewed certificate: 'ppaurora renew' makes one for the same key",
    )

    def key() -> str:
        kit.check_key()
        return "is the certificate's, and private"

    yield _check("key", key, f"chmod 600 {kit.key}, or put the kit's own key there")


def _valid(certificate: Path, authority: Path) -> str:
    """Return for how long a certificate is valid, which is as long as its authority is, or raise."""
    ends = {path: days_left(read_pem(path)) for path in (certificate, authority) if path.exists()}
    if not certificate.exists() or ends[certificate] == float("inf"):
        raise InputError(f"{certificate}: is missing, or not valid yet; is this machine's clock right?")
    path, left = min(ends.items(), key=lambda item: item[1])
    if left <= 0:
        raise InputError(f"{path}: expired {-left:.0f} days ago")
    warning = "; renew it soon" if left < _DAYS_OF_WARNING else ""
    return f"valid for {left:.0f} more days{warning}"


def _node(client: NodeClient, manifest: Manifest) -> Iterator[Finding]:
    title = client.server.title
    try:
        before = time.time()
        answer = client.status()
        apart = answer.time - (before + time.time()) / 2
    except RefusedError as error:
        yield Finding.good(f"{title} reached", client.where)
        fixes: dict[str, str] = {
            RefusalCode.UNKNOWN_STUDY: f"the operator of {title} has not accepted it yet: ppaurora accept",
            RefusalCode.NOT_AN_OWNER: "the node knows another key for this owner: compare manifests' hashes",
        }
        yield Finding.bad(f"{title} knows the study", str(error), fixes.get(error.code, ""))
        return
    except PeerMisbehavedError as error:
        fix = "is this the right kit? does something on the way open TLS? compare the manifests' hashes"
        yield Finding.bad(f"{title} reached", str(error), fix)
        return
    except PeerError as error:
        fix = f"open outgoing TCP to {client.where}, or set HTTPS_PROXY; ask its operator whether it runs"
        yield Finding.bad(f"{title} reached", str(error), fix)
        return
    yield Finding.good(f"{title} reached", client.where)
    same = (answer.protocol_version, answer.study) == (manifest.version, manifest.study_hash)
    yield Finding.judge(
        f"{title} knows the study",
        same,
        f"{answer.state}; ppaurora {answer.version} there, {__version__} here",
        "use versions that speak the same protocol",
    )
    yield Finding.judge(
        f"clock against {title}",
        abs(apart) < _MOST_SECONDS_APART,
        f"{abs(apart):.0f} s apart",
        "set this machine's clock, for instance with NTP",
    )


def check_node(kit: NodeKit) -> Iterator[Finding]:
    own = list(_own_files(kit))
    yield from own
    studies: list[Manifest] = []

    def read_studies() -> str:
        with Store(kit.data) as store:
            studies.extend(study.manifests[-1] for study in store.studies() if study.ended_at is None)
        return str(kit.data)

    data = _check("data folder", read_studies, f"let this user read and write {kit.data}")
    yield data
    yield from check_workers(kit)
    if not data.ok or not all(check.ok for check in own):
        return
    names = ", ".join(manifest.study for manifest in studies)
    yield Finding.judge(
        "studies under way", bool(studies), names or "none accepted", "review one: ppaurora accept"
    )
    for manifest in studies:
        yield _check(
            f"manifest of {manifest.study}",
            partial(_means_this_node, kit, manifest),
            "provision the study with this node's certificate",
        )
        for peer in kit.server(manifest).peers:
            yield _check(
                f"{peer.title} reached for {manifest.study}",
                partial(_reach, kit, manifest, peer),
                f"open TCP to {manifest.node(peer).nodes_address}; ask its operator whether it runs, and "
                "has accepted the study",
            )


def check_workers(kit: NodeKit) -> Iterator[Finding]:
    """Return where this node would compute: on this machine, or on a cluster of its own that is in order."""
    settings = kit.settings.workers
    place = settings.cluster(kit.folder)
    if place is None:
        yield Finding.good("workers", f"{settings.most()} on this machine for large studies")
        return
    cluster = Cluster.of(place)
    first = [
        _check("Ray is installed", installed_ray),
        _check("Ray's credentials", cluster.check_credentials),
    ]
    if all(check.ok for check in first):
        first.append(_check("Ray reached by TLS", cluster.reach))
    yield from first
    if not all(check.ok for check in first):
        return
    for port, what in ((_RAY_DASHBOARD, "dashboard"), (_RAY_CLIENT, "client port")):
        is_open = cluster.answers_at(port)
        fix = f"start the cluster without its {what}: docs/workers.md says how"
        detail = f"somebody answers at {cluster.host}:{port}" if is_open else "closed"
        yield Finding.judge(f"Ray's {what}", not is_open, detail, fix)
    if settings.most() < 2:
        return
    yield from inspect(Crew(workers=settings.most(), ray=place), kit.data)


def _means_this_node(kit: NodeKit, manifest: Manifest) -> str:
    kit.check_own(manifest)
    return "means this node"


def _reach(kit: NodeKit, manifest: Manifest, peer: Server) -> str:
    answer = ask(kit, manifest, peer, Hello(study=manifest.study_hash), _SECONDS_TO_ANSWER)
    if answer.answer is Verdict.UNKNOWN_STUDY:
        raise RefusedError(peer.title, RefusalCode.UNKNOWN_STUDY, RefusalCode.UNKNOWN_STUDY.meaning)
    if answer.answer is Verdict.IN_TROUBLE:
        raise RefusedError(peer.title, RefusalCode.NOT_READY, answer.note)
    if answer.protocol_version != manifest.version:
        raise PeerMisbehavedError(peer.title, "speaks another version of the protocol")
    return f"{manifest.node(peer).nodes_address}; ppaurora {answer.version} there, {__version__} here"
