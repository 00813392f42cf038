"""Processes that hold shares or keys leave no core dump."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.party.starting import discard, start_process
from ppaurora.protocols import Fast
from tests.support.dumps import core_limit, leaves_dump

pytestmark = [
    pytest.mark.usefixtures("ordinary_starts"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them"),
]

ALIVE = b'{"event":"alive"}\n'
SERVERS = [Fast.process, "ppaurora.workers", "ppaurora.workers.process"]


@pytest.fixture(autouse=True)
def dumps_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is started inherits the limit, and would write to this folder."""
    monkeypatch.chdir(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        pytest.skip("this user may have no core files")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def server(module: str) -> subprocess.Popen[bytes]:
    """One that has said that it is alive."""
    process = start_process(module, "proxy 0")
    assert process.stdout is not None
    assert process.stdout.readline() == ALIVE
    return process


@pytest.mark.parametrize("limited", [True, False], ids=["as it is", "with its limit lifted"])
@pytest.mark.parametrize("module", SERVERS)
def test_a_server_process_that_crashes_leaves_no_dump(module: str, limited: bool) -> None:
    """Its limit forbids a file; its memory is not given to a program either, which may ignore limits."""
    process = server(module)
    try:
        assert core_limit(process.pid) == 0
        assert not leaves_dump(process, limited=limited)
        assert [name for name in os.listdir() if name.startswith("core")] == []
    finally:
        discard(process)


def test_another_process_leaves_one() -> None:
    """The positive control: the same in a process that has not asked for this."""
    code = f"import sys; print({ALIVE.decode().strip()!r}, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == ALIVE
        assert core_limit(process.pid) != 0
        assert leaves_dump(process, limited=True)


def test_what_a_process_reads_of_itself_can_still_be_read() -> None:
    """By an ordinary user, to whom the files in /proc/self no longer belong: connections, memory, a key."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become an ordinary user")
    code = """
import os
from pathlib import Path
from ppaurora.app.accounts import _TABLES
from ppaurora.io.dumps import forbid_dumps
from ppaurora.party.run import peak_memory
from ppaurora.workers.credentials import _in_memory
from ppaurora.workers.local import _available_bytes
os.setgid(65534)
os.setuid(65534)
forbid_dumps()
assert all(table.read_text() for table in _TABLES if table.exists())
assert peak_memory() > 1 << 20 and _available_bytes() < 1 << 40
with _in_memory(b"a key") as path:
    assert path.read_bytes() == b"a key"
try:
    Path("/proc/self/environ").read_bytes()
except PermissionError:
    print("protected")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("protected\n", "")
