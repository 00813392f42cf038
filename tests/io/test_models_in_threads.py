"""A type that many threads read for the first time at once."""

from __future__ import annotations

import subprocess
import sys

READ_AT_ONCE = """
import sys, threading
from ppaurora.messages import nodes
from ppaurora.io.models import from_json
sys.setswitchinterval(1e-6)
start = threading.Barrier(16)
line = b'{"ask":"ready","study":"' + b"0" * 64 + b'","agreed":[]}'
def read():
    start.wait()
    from_json(nodes.AnyQuestion, line)
threads = [threading.Thread(target=read) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_it_does_not_crash_the_process() -> None:
    """Of msgspec alone, one in some twenty such processes ends with a fault of memory."""
    for _ in range(10):
        ended = subprocess.run(
            [sys.executable, "-c", READ_AT_ONCE], check=False, capture_output=True, timeout=60
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
