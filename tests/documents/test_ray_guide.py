"""docs/workers.md, "Workers on a Ray cluster": its commands, run on a cluster on this machine."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.study.kit import NodeKit
from ppaurora.study.workers import WorkerSettings
from ppaurora.testing.ray_clusters import SHORT_LIVED
from tests.support.deployment import NODES, free_ports
from tests.support.guide import FENCE, PAGES, sections
from tests.support.worker_nodes import WorkerNodes, pooled, settings
from tests.workers.conftest import needs_ray

PAGE = PAGES["workers"]
BLOCKS = [text for kind, text in FENCE.findall(PAGE) if kind == "bash"]
SECONDS = 600.0

# As a service would: in the foreground, in a session of its own, so that it can be ended alone.
RAY = """\
#!/bin/sh
setsid "{ray}" "$@" --block > "{folder}/ray.log" 2>&1 < /dev/null &
echo $! > "{folder}/ray.pid"
until grep -q "Ray runtime started" "{folder}/ray.log"; do kill -0 $! && sleep 0.2; done
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, for Ray keeps sockets in it; and no cluster is left behind."""
    with tempfile.TemporaryDirectory(prefix="ppr", ignore_cleanup_errors=True) as name:
        try:
            yield Path(name)
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(OSError, ValueError):
                    os.killpg(int((Path(name) / "ray.pid").read_text()), number)


def test_every_setting_is_in_the_table() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (.*?) \|", sections(PAGE)["Settings of workers"], re.MULTILINE)
    assert [name for name, _ in listed] == list(WorkerSettings.__struct_fields__)
    for name, default in listed:
        value = getattr(WorkerSettings(), name)
        shown = f'`"{value}"`' if isinstance(value, str) else "none" if value is None else str(value)
        assert default == shown, name


@pytest.mark.long
@needs_ray
def test_from_a_cluster_to_a_study_on_it(tmp_path: Path, folder: Path) -> None:
    assert len(BLOCKS) == 4
    (port,) = free_ports(1)
    nodes = WorkerNodes(tmp_path, {name: "" if name == "proxy-0" else settings(count=2) for name in NODES})
    bin_ = folder / "bin"
    bin_.mkdir()
    ray = Path(sys.executable).with_name("ray")
    for name, text in (
        ("ray", RAY.format(ray=ray, folder=folder)),
        ("ppaurora", f'#!/bin/sh\nexec "{sys.executable}" -m ppaurora "$@"\n'),
    ):
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)
    here = {"10.0.0.5": "127.0.0.1", "6379": str(port), "/srv/ppaurora/ray": str(folder / "t")}
    text = "".join(BLOCKS[:3])
    for there, replaced in here.items():
        assert there in text
        text = text.replace(there, replaced)
    text = text.replace("kit/", f"{nodes.kit('proxy-0')}/").replace("$PWD/", "")
    environment = {**os.environ, **SHORT_LIVED, "PATH": f"{bin_}:{os.environ['PATH']}"}
    environment["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's way to stay on this machine alone
    done = subprocess.run(
        ["bash", "-eu", "-c", text],  # noqa: S607
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    settings_file = nodes.kit("proxy-0") / "node.toml"
    settings_file.write_text(settings_file.read_text() + "samples_per_worker = 1\n")
    assert NodeKit.read(nodes.kit("proxy-0")).settings.workers.engine == "ray"
    nodes.start()
    try:
        looked = subprocess.run(
            ["bash", "-eu", "-c", BLOCKS[3].replace(" kit", f" {nodes.kit('proxy-0')}")],  # noqa: S607
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert looked.returncode == 0, looked.stdout + looked.stderr
        assert looked.stdout.count("Ray") >= 11
        nodes.submit()
        assert nodes.released(SECONDS) == pytest.approx(pooled(), abs=1e-10)
        opened = [event for event in nodes.events("proxy-0") if event["event"] == "session opened"]
        assert len({event["session"] for event in opened}) == 2  # as many as the others have
    finally:
        nodes.stop()
