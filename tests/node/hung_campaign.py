"""How long a study takes beside others that wait for a silent node, measured.

    python -m tests.node.hung_campaign --studies 200
    python -m tests.node.hung_campaign --studies 200 --addresses 200

Starts three nodes on this machine, and times studies from their last submission to their release: alone,
beside 12 studies whose helper accepts connections and says nothing, and beside as many as are asked for. A
line for each: the median and the slowest, and the ratio of the medians; what the leader takes meanwhile.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
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


def measure(trials: Trials, hung: int, repeats: int, most: float) -> list[float]:
    """Time studies beside these hung ones, and print what was found."""
    found = []
    for number in range(repeats):
        found.append(seconds_to_release(trials, f"healthy-{hung}-{number}", most))
        if found[-1] == float("inf"):
            break
    pid = trials.process_id("proxy-0")
    before, start = processor_seconds(pid), time.monotonic()
    time.sleep(20)
    used = (processor_seconds(pid) - before) / (time.monotonic() - start)
    threads = len(os.listdir(f"/proc/{pid}/task"))
    print(
        f"{hung:>4} hung: released after {statistics.median(found):.2f} s (median of {len(found)}), "
        f"{max(found):.2f} s at most; leader then {100 * used:.0f} % of a core, {threads} threads, "
        f"{memory_of(pid) / MB:.0f} MB",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200, help="that hang, at most")
    parser.add_argument("--addresses", type=int, default=1, help="that they wait for")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=120.0, help="after which one is given up")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, SilentAddresses(arguments.addresses) as silent:
        trials = Trials(Path(folder))
        trials.accept()
        trials.start()
        try:
            measured, hung = {}, 0
            for count in (0, min(FEW, arguments.studies), arguments.studies):
                for number in range(hung, count):
                    hang(trials, f"hung-{number}", silent.ports[number % arguments.addresses])
                hung = count
                measured[count] = measure(trials, count, arguments.repeats, arguments.seconds)
            alone = statistics.median(measured[0])
            for count, found in measured.items():
                ratio = statistics.median(found) / alone
                print(f"{count:>4} hung: {ratio:.2f} times as long as alone")
            print(f"{silent.connections} connections to {arguments.addresses} silent addresses")
        finally:
            trials.stop()


if __name__ == "__main__":
    main()
