"""What a crowd of connections does to a node, measured.

    python -m tests.node.crowd_campaign --connections 20000

Starts proxy 0 on this machine, lets the crowd in, has an owner ask and submit all the while, and prints a
line for every kind of crowd: memory before, at most and a minute after, an owner's slowest request, and how
much the log grew.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.support.crowds import HELLO_BEGUN, crowd, memory_of, start_with_descriptors
from tests.support.server_processes import descriptors_of
from tests.support.trials import Trials

MB = 1 << 20


def measure(trials: Trials, name: str, size: int, word: bytes, seconds: float) -> str:
    pid, port = trials.process_id("proxy-0"), trials.addresses["proxy-0"][0] or 0
    manifest = trials.study(f"crowd-{name}")
    time.sleep(1.5)
    upload, client = trials.upload(manifest, 10_000), trials.client("north", manifest)
    before, peak, slowest, served, log = memory_of(pid), 0, 0.0, 0, len(trials.log("proxy-0"))
    descriptors = 0
    with crowd(port, size, word) as strangers:
        deadline = None
        while deadline is None or time.monotonic() < deadline:
            if deadline is None and strangers.arrived.is_set():
                deadline = time.monotonic() + seconds
            start = time.monotonic()
            client.status()
            upload.send(client)
            slowest, served = max(slowest, time.monotonic() - start), served + 1
            peak, descriptors = max(peak, memory_of(pid)), max(descriptors, len(descriptors_of(pid)))
        came = strangers.came
    time.sleep(60)
    grew = len(trials.log("proxy-0")) - log
    return (
        f"{name}: {size:,} connections ({came:,} with those that came again); "
        f"memory {before / MB:.0f} MB before, "
        f"{peak / MB:.0f} MB at most, {memory_of(pid) / MB:.0f} MB a minute after; "
        f"{descriptors} descriptors; "
        f"an owner served {served} times, the slowest in {slowest:.2f} s; log {grew / 1024:.1f} kB"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--descriptors", type=int, default=20_000, help="limit of the node")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(Path(folder))
        start_with_descriptors(trials, "proxy-0", arguments.descriptors)
        try:
            for name, word in (("silent", b""), ("stalling", HELLO_BEGUN)):
                print(measure(trials, name, arguments.connections, word, arguments.seconds), flush=True)
        finally:
            trials.stop()


if __name__ == "__main__":
    main()
