"""Is everything in place? Each check on its own, each problem with how to fix it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import HungUpError
from ppaurora.errors import InputError, PeerError, PpauroraError, RefusedError, StudyNotNamedError
from ppaurora.io.system import quoted
from ppaurora.io.text import printable
from ppaurora.io.times import as_people_say
from ppaurora.messages.findings import Finding
from ppaurora.messages.nodes import Hello, Verdict
from ppaurora.messages.refusals import RefusalCode, remedy_of
from ppaurora.messages.workers import Crew
from ppaurora.node.admin_client import find_running
from ppaurora.node.attention import DAYS_OF_WARNING, not_accepted
from ppaurora.node.operating import opened
from ppaurora.node.questions import ask
from ppaurora.node.store import NeedsRecoveryError
from ppaurora.owner.client import NodeClient
from ppaurora.study.kit import NodeKit, OwnerKit, unaccepted_manifests
from ppaurora.study.manifest import Manifest
from ppaurora.version import __version__
from ppaurora.workers.cluster import Cluster, installed_ray
from ppaurora.workers.inspecting import inspect

_SECONDS_TO_ANSWER = 10.0
_MOST_SECONDS_APART = 60.0
_RAY_DASHBOARD, _RAY_CLIENT = 8265, 10001
_ASK = "ask the operator of {}"


def _check(name: str, look: Callable[[], str], fix: str = "") -> Finding:
    try:
        return Finding.good(name, look())
    except StudyNotNamedError:
        raise  # it is for the caller to name one
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

    folder = quoted(str(kit.folder))
    fix = (
        f"add the manifest that the coordinator sent: ppaurora accept {folder} MANIFEST; if it is there and "
        "does not fit, ask for the kit that was made for this owner"
    )
    yield _check("manifest", read_manifest, fix)
    if manifest is None:
        return
    protocol = manifest.protocol
    for server in dict.fromkeys((*protocol.input_servers, *protocol.result_servers)):
        yield from _node(NodeClient(kit, manifest, server, _SECONDS_TO_ANSWER), manifest)


def _own_files(kit: OwnerKit | NodeKit) -> Iterator[Finding]:
    yield _certificate(kit)

    def key() -> str:
        kit.check_key()
        return "is the certificate's, and private"

    mode = "" if sys.platform == "win32" else f", and: chmod 600 {quoted(str(kit.key))}"
    yield _check("key", key, f"put the kit's own key there, without a pass phrase{mode}")


def _certificate(kit: OwnerKit | NodeKit) -> Finding:
    """Return for how long the certificate is valid, which is as long as its authority is."""
    try:
        path, validity = kit.validity()
    except InputError as error:
        return Finding.bad("certificate", str(error), "take the file from the kit as it was handed over")
    if validity.problem:
        return Finding.bad("certificate", f"{path}: {validity.problem}", validity.remedy)
    warning = "; renew it soon" if validity.days_left < DAYS_OF_WARNING else ""
    return Finding.good("certificate", f"valid for {validity.days_left:.0f} more days{warning}")


def _node(client: NodeClient, manifest: Manifest) -> Iterator[Finding]:
    title = client.server.title
    try:
        before = time.time()
        answer = client.status()
        apart = answer.time - (before + time.time()) / 2
    except RefusedError as error:
        yield Finding.good(f"{title} reached", client.where)
        yield Finding.bad(f"{title} knows the study", str(error), remedy_of(error.code) or _ASK.format(title))
        return
    except HungUpError as error:
        yield Finding.good(f"{title} reached", client.where)
        yield Finding.bad(f"{title} knows the study", str(error), error.advice)
        return
    except PeerError as error:
        yield Finding.bad(f"{title} reached", str(error), error.advice or _ASK.format(title))
        return
    except InputError as error:
        yield Finding.bad(f"{title} reached", str(error))
        return
    yield Finding.good(f"{title} reached", client.where)
    same = (answer.protocol_version, answer.study) == (manifest.version, manifest.study_hash)
    yield Finding.judge(
        f"{title} knows the study",
        same,
        f"{answer.state}; ppaurora {answer.version} there, {__version__} here",
        "use versions that speak the same protocol",
    )
    yield _clock(title, apart)


def _clock(title: str, apart: float) -> Finding:
    """Return how far a node's clock is ahead of this machine's, and whether that matters."""
    name, shown = f"clock against {title}", f"{abs(apart):.0f} s apart"
    if abs(apart) < _MOST_SECONDS_APART:
        return Finding.good(name, shown)
    ours = time.time()
    here, there = as_people_say(ours), as_people_say(ours + apart)
    return Finding.bad(
        name,
        f"{shown}: this machine's clock says {here}, that of {title} {there}",
        f"if this machine's is wrong, set it, for instance with NTP; else tell the operator of {title}",
    )


def check_node(kit: NodeKit) -> Iterator[Finding]:
    own = list(_own_files(kit))
    yield from own
    yield _running(kit)
    studies: list[Manifest] = []
    accepted: set[str] = set()
    data = Finding.good("data folder", str(kit.data))
    try:
        with opened(kit) as store:
            records = store.studies()
        accepted.update(record.manifest.study for record in records)
        studies.extend(record.manifests[-1] for record in records if record.ended_at is None)
    except NeedsRecoveryError as error:
        data = Finding.bad("data folder", str(error))
    except InputError as error:
        data = Finding.bad("data folder", str(error), f"let this user read and write {kit.data}")
    yield data
    yield from check_workers(kit)
    if not data.ok or not all(check.ok for check in own):
        return
    names = ", ".join(manifest.study for manifest in studies)
    review = f"review one: ppaurora accept {quoted(str(kit.folder))} MANIFEST"
    proposed = [not_accepted(one) for one in unaccepted_manifests(kit, accepted)]
    if studies or not proposed:
        yield Finding.judge("studies under way", bool(studies), names or "none accepted", review)
    for finding in proposed:
        yield Finding.bad(finding.name, finding.detail, finding.fix)
    for manifest in studies:
        yield _check(
            f"manifest of {manifest.study}",
            partial(_means_this_node, kit, manifest),
            "provision the study with this node's certificate",
        )
        for peer in kit.server(manifest).peers:
            yield _reach(kit, manifest, peer)


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


def _reach(kit: NodeKit, manifest: Manifest, peer: Server) -> Finding:
    """Return whether another node answers, and takes part in the study."""
    name, title = f"{peer.title} reached for {manifest.study}", peer.title
    try:
        answer = ask(kit, manifest, peer, Hello(study=manifest.study_hash), _SECONDS_TO_ANSWER)
    except PeerError as error:
        return Finding.bad(name, str(error), error.advice or _ASK.format(title))
    codes = {Verdict.UNKNOWN_STUDY: RefusalCode.UNKNOWN_STUDY, Verdict.IN_TROUBLE: RefusalCode.NOT_READY}
    if answer.answer in codes:
        code = codes[answer.answer]
        told = RefusedError(title, code, answer.note or code.meaning)
        return Finding.bad(name, str(told), remedy_of(code))
    if answer.protocol_version != manifest.version:
        said = f"{title} speaks another version of the protocol, ppaurora {answer.version}"
        return Finding.bad(
            name, said, f"this is ppaurora {__version__}: use versions that speak the same one"
        )
    where = manifest.node(peer).nodes_address
    return Finding.good(name, f"{where}; ppaurora {answer.version} there, {__version__} here")


def _running(kit: NodeKit) -> Finding:
    """Return whether this node runs, and how it is by its own account."""
    where, start = kit.settings.listen_admin, f"start it: ppaurora serve {quoted(str(kit.folder))}"
    running = find_running(kit)
    if running is None:
        return Finding.bad(
            "node",
            f"is not running: nothing answers at {where} as {kit.title}; owners and the other nodes cannot "
            "reach it",
            start,
        )
    detail = f"runs ppaurora {running.version}"
    if running.version != __version__:
        return Finding.warn(
            "node", f"{detail}, and this is {__version__}", f"restart it: stop it, and {start}"
        )
    if running.status == "ok":
        return Finding.good("node", detail)
    told = printable(f"{detail}, {running.status}: {'; '.join(running.problems)}")
    return Finding(name="node", severity=running.severity, detail=told)
