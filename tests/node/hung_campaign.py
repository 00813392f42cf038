"""How long a study takes beside others that wait for a silent node, measured.

    python -m tests.node.hung_campaign --studies 200
    python -m tests.node.hung_campaign --studies 200 --addresses 200

Starts two consortia on this machine, and times studies from their last submission to their release: in one
of them alone, in the other beside no, 12 and as many studies as are asked for, whose helper accepts
connections and says nothing. A line for each: medians, the slowest, the ratio of the medians, and what the
leader takes while only hung studies are there.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ppaurora.data.samples import check_samples
from ppaurora.owner.study import Study
from tests.support.crowds import memory_of
from tests.support.deployment import samples
from tests.support.silent import SilentAddresses
from tests.support.trials import PAIR, PROXY_0, PROXY_1, Trials

FEW = 12
_SEEDS = itertools.count()  # of data that no other study has
MB = 1 << 20


@contextlib.contextmanager
def consortium(folder: Path) -> Iterator[Trials]:
    """Three nodes that run."""
    folder.mkdir()
    trials = Trials(folder)
    trials.accept()
    trials.start()
    try:
        yield trials
    finally:
        trials.stop()


def hang(trials: Trials, name: str, port: int) -> None:
    """Let a study begin to wait for a helper at a port that stays silent."""
    manifest = trials.study(name, ports={str(trials.addresses["helper"][1]): port})
    for owner in PAIR:
        upload = trials.upload(manifest)
        for server in (PROXY_1, PROXY_0):
            upload.send(trials.client(owner, manifest, server))


def seconds_to_release(trials: Trials, name: str, most: float) -> float:
    """Return how long a study with a helper that answers takes; infinite if it takes longer than this."""
    manifest = trials.study(name)
    for owner in PAIR:
        Study(trials.kit(owner), name).submit(check_samples(owner, *samples(40, next(_SEEDS))))
    client, start = trials.client("north", manifest), time.monotonic()
    while client.status().state != "released":
        if time.monotonic() > start + most:
            return float("inf")
        time.sleep(0.05)
    return time.monotonic() - start


def processor_seconds(pid: int) -> float:
    """Return what a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(beside: Trials, alone: Trials, hung: int, repeats: int, most: float) -> None:
    """Time studies beside these hung ones and alone, in turn, so that whatever else runs slows both down."""
    times: dict[Trials, list[float]] = {alone: [], beside: []}
    for number in range(repeats):
        for trials, found in times.items():
            found.append(seconds_to_release(trials, f"healthy-{hung}-{number}", most))
        if max(times[beside]) == float("inf"):
            break
    pid = beside.process_id("proxy-0")
    before, start = processor_seconds(pid), time.monotonic()
    time.sleep(20)
    used = (processor_seconds(pid) - before) / (time.monotonic() - start)
    threads = len(os.listdir(f"/proc/{pid}/task"))
    without, with_hung = (statistics.median(found) for found in times.values())
    print(
        f"{hung:>4} hung: {with_hung:.2f} s, {max(times[beside]):.2f} s at most; "
        f"alone {without:.2f} s, {max(times[alone]):.2f} s at most; ratio {with_hung / without:.2f}; "
        f"leader at rest {100 * used:.0f} % of a core, {threads} threads, {memory_of(pid) / MB:.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200, help="that hang, at most")
    parser.add_argument("--addresses", type=int, default=1, help="that they wait for")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=120.0, help="after which one is given up")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        SilentAddresses(arguments.addresses) as silent,
        consortium(Path(folder) / "alone") as alone,
        consortium(Path(folder) / "beside") as beside,
    ):
        hung = 0
        for count in sorted({0, min(FEW, arguments.studies), arguments.studies}):
            for number in range(hung, count):
                hang(beside, f"hung-{number}", silent.ports[number % arguments.addresses])
            hung = count
            measure(beside, alone, count, arguments.repeats, arguments.seconds)
        print(f"{silent.connections} connections to {arguments.addresses} silent addresses")


if __name__ == "__main__":
    main()
