"""A look into a Ray cluster, from a process of its own: it may hang or abort, and its settings stay here.

`python -m ppaurora.workers.inspecting` reads where the cluster is on standard input, and says what it finds,
a line for each.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ppaurora.errors import PartyFailedError
from ppaurora.io.dumps import forbid_dumps
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.findings import Finding
from ppaurora.messages.workers import Crew, RayPlace
from ppaurora.workers.cluster import Cluster

_MODULE = "ppaurora.workers.inspecting"
_SECONDS = 120.0
_LEAST_STORE = 100_000_000
_BYTES_PER_SAMPLE = 64  # that are in the object store while records move between workers
_EXIT_REFUSED = 77  # nothing that goes wrong by itself ends with this
_WITHOUT_TOKEN = "--without-token"  # noqa: S105 (no secret)


_UNFINISHED = Finding.bad(
    "Ray answers",
    "no: the look into the cluster ended before everything was seen",
    "see what Ray's own logs say at the cluster's head",
)


def inspect(crew: Crew, data: Path) -> list[Finding]:
    """Return all that only Ray itself can tell; `data` is the folder that the node keeps its secrets in."""
    assert crew.ray is not None  # noqa: S101 (there is nothing to look into otherwise)
    environment = {**os.environ, **Cluster.of(crew.ray).environment()}
    command = [sys.executable, "-P", "-m", _MODULE, str(data)]
    try:
        done = subprocess.run(  # noqa: S603 (this interpreter, our own words)
            command,
            input=to_json(crew) + b"\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [Finding.bad("Ray answers", f"not within {_SECONDS:g} seconds")]
    findings = []
    for line in done.stdout.splitlines():
        with contextlib.suppress(ValueError):  # what Ray prints itself
            findings.append(from_json(Finding, line))
    return [*findings, _UNFINISHED] if done.returncode else findings


def main() -> int:
    forbid_dumps()
    crew = from_json(Crew, sys.stdin.readline())
    assert crew.ray is not None  # noqa: S101
    if _WITHOUT_TOKEN in sys.argv:
        return 0 if _knock(Cluster.of(crew.ray)) else _EXIT_REFUSED
    for finding in _findings(crew, crew.ray, Path(sys.argv[1])):
        sys.stdout.write(to_json(finding).decode() + "\n")
        sys.stdout.flush()
    return 0


def _knock(cluster: Cluster) -> bool:
    """Return whether the cluster lets this process in, with what its environment gives it."""
    from ray._raylet import GcsClient
    from ray.exceptions import AuthenticationError

    try:
        GcsClient(address=cluster.address)
    except AuthenticationError:
        return False
    return True


def _findings(crew: Crew, place: RayPlace, data: Path) -> Iterator[Finding]:
    from ppaurora.workers.ray import connect

    cluster = Cluster.of(place)
    token = cluster.credentials / "token"
    fix = f"put the cluster's token in {token}; 'ray get-auth-token' shows it where the cluster was started"
    is_right = _knock(cluster)
    yield Finding.judge("Ray takes the token", is_right, str(token), fix)
    yield _asks_for_token(crew)
    if not is_right:
        return
    try:
        ray = connect(cluster)
    except PartyFailedError as error:
        fix = "install the same versions of Ray and Python on all machines of the cluster and on this one"
        yield Finding.bad("Ray's version", str(error), fix)
        return
    yield Finding.good("Ray's version", f"{ray.__version__} here and there")
    yield _free_places(crew, place, ray.available_resources())
    yield _object_store(ray.cluster_resources())
    yield _spilling(ray, data)
    yield _ports(crew, place)


def _asks_for_token(crew: Crew) -> Finding:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    query = subprocess.run(  # noqa: S603 (this interpreter, our own words)
        [sys.executable, "-P", "-m", _MODULE, _WITHOUT_TOKEN],
        input=to_json(crew) + b"\n",
        env={**environment, "RAY_AUTH_MODE": "disabled"},
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    refused = query.returncode == _EXIT_REFUSED
    return Finding.judge(
        "Ray asks for a token",
        refused,
        "it refuses who has none" if refused else "it does not refuse who has none",
        "stop the cluster, and start all of it with RAY_AUTH_MODE=token",
    )


def _free_places(crew: Crew, place: RayPlace, free: dict[str, float]) -> Finding:
    places = int(free.get("CPU", 0.0) / place.cpus)
    if place.memory:
        places = min(places, int(free.get("memory", 0.0) / place.memory))
    ok = places >= crew.workers
    return Finding.judge(
        "Ray has room",
        ok,
        f"for {places} workers, where {crew.workers} are asked for",
        "have fewer with count in [workers] of node.toml, or add machines to the cluster",
    )


def _object_store(resources: dict[str, float]) -> Finding:
    size = resources.get("object_store_memory", 0.0)
    ok = size >= _LEAST_STORE
    return Finding.judge(
        "Ray's object store",
        ok,
        f"{size / 1e6:,.0f} MB, for some {size / _BYTES_PER_SAMPLE / 1e6:,.1f} million samples",
        f"start the cluster with --object-store-memory {_LEAST_STORE} or more",
    )


def _spilling(ray: Any, data: Path) -> Finding:
    config = ray._private.state.state.get_system_config()
    name = "Ray spills"
    if not config.get("automatic_object_spilling_enabled", True):
        return Finding.good(name, "nowhere: it is off")
    try:
        told = json.loads(config["object_spilling_config"])["params"]["directory_path"]
    except (KeyError, ValueError):
        told = "/"
    folders = [Path(folder).resolve() for folder in ([told] if isinstance(told, str) else told)]
    fix = f"start the cluster with --object-spilling-directory {data / 'ray'}, which only this user can open"
    for folder in folders:
        if not folder.is_relative_to(data.resolve()):
            return Finding.bad(name, f"into {folder}, outside of {data}", fix)
        if not folder.is_dir() or stat.S_IMODE(folder.stat().st_mode) & 0o077:
            return Finding.bad(name, f"into {folder}, which others can read", fix)
    return Finding.good(name, f"into {', '.join(map(str, folders))}")


def _ports(crew: Crew, place: RayPlace) -> Finding:
    name = "ports of workers"
    if place.ports is None:
        return Finding.good(name, "none: the node lets in for them")
    first, last = place.ports
    ok = last - first + 1 >= crew.workers
    return Finding.judge(
        name,
        ok,
        f"{first} to {last}, to be open to the other nodes' workers",
        f"name at least {crew.workers} ports in [workers] of node.toml",
    )


if __name__ == "__main__":
    sys.exit(main())
