"""Nodes and owners' commands allow no core dumps of what they hold, and so do processes that nodes start."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.deployment import NODES, children, samples, write_csv
from tests.support.dumps import core_limit, leaves_dump
from tests.support.trials import Trials, becomes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")


@contextlib.contextmanager
def dumps_allowed() -> Iterator[None]:
    """To what is started meanwhile, unless it forbids itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        pytest.skip("this user may have no core files")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@pytest.mark.parametrize("name", NODES)
def test_a_node_and_its_warm_process(nodes: Trials, name: str) -> None:
    pid = nodes.process_id(name)
    assert core_limit(pid) == 0
    assert becomes(lambda: [core_limit(child) for child in children(pid)] == [0])


@pytest.mark.usefixtures("ordinary_starts")
@pytest.mark.parametrize("limited", [True, False], ids=["as it is", "with its limit lifted"])
def test_an_owners_command_that_crashes_leaves_no_dump(nodes: Trials, tmp_path: Path, limited: bool) -> None:
    """While it asks whether to send what it has read."""
    study = nodes.study(f"dumps-{int(limited)}").study
    data = write_csv(tmp_path / "data.csv", *samples(40, 3))
    command = ["-m", "ppaurora", "submit", nodes.kit("north"), data, "--study", study]
    with (
        dumps_allowed(),
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
        ) as process,
    ):
        assert process.stdout is not None
        said = b""
        while b"[y/N]" not in said:
            piece = os.read(process.stdout.fileno(), 1 << 16)
            assert piece, said
            said += piece
        assert core_limit(process.pid) == 0
        assert not leaves_dump(process, limited=limited)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]
