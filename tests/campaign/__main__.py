"""`python -m tests.campaign`: the long form; `--only kits=200 --only shares=80` chooses kinds and trials.

Prints a line for every kind when it is done; writes `campaign.json` and `campaign.md`, the table for
docs/assurance.md, to `--out`. The exit code is 1 if anything happened that must not be.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.campaign import cases
from tests.campaign.plan import KINDS, carry_out
from tests.campaign.tally import Tally
from tests.support.forking import forked_starts
from tests.support.repository import ROOT

CASES = "cases"


def main() -> None:
    options = _options()
    chosen = dict(_chosen(text) for text in options.only) or {name: kind.long for name, kind in KINDS.items()}
    rounds = chosen.pop(CASES, 0 if options.only else 1)
    tallies: list[Tally] = []
    starts = forked_starts() if options.forked else contextlib.nullcontext()
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder, starts:
        for name, tally in carry_out(chosen, Path(folder), options.seed) if chosen else ():
            _keep(tallies, tally, options.out, options.seed, name)
    if rounds:
        start = time.monotonic()
        tally = cases.run(rounds)
        tally.seconds = time.monotonic() - start
        _keep(tallies, tally, options.out, options.seed, CASES)
    sys.exit(any(tally.breaches for tally in tallies))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join((*KINDS, CASES))
    parser.add_argument("--only", action="append", default=[], metavar="KIND=TRIALS", help=names)
    parser.add_argument("--forked", action="store_true", help="nodes are forks: more trials in an hour")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "campaign")
    return parser.parse_args()


def _chosen(text: str) -> tuple[str, int]:
    name, _, trials = text.partition("=")
    if name not in (*KINDS, CASES):
        sys.exit(f"there is no kind '{name}'; there are: {', '.join((*KINDS, CASES))}")
    return name, int(trials or (1 if name == CASES else KINDS[name].long))


def _keep(tallies: list[Tally], tally: Tally, out: Path, seed: int, name: str) -> None:
    """After every kind, so that a campaign that is cut off has its figures, too."""
    tallies.append(tally)
    print(f"{name}: {tally.trials} trials in {tally.seconds / 60:.1f} min: {tally.happened()}", flush=True)
    for breach in tally.breaches:
        print(f"  MUST NOT BE: {breach}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    commit = _commit()
    content = {"commit": commit, "seed": seed, "kinds": [one.to_dict() for one in tallies]}
    (out / "campaign.json").write_text(json.dumps(content, indent=2) + "\n")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{day}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    lines = ["| campaign | commit | day, machine | tried | happened |", "|---|---|---|---|---|"]
    lines += [
        f"| {one.kind} | `{commit}` | {machine} | {_tried(one)} | {one.happened()} |" for one in tallies
    ]
    (out / "campaign.md").write_text("\n".join(lines) + "\n")


def _tried(tally: Tally) -> str:
    kills = tally.details.get("kills")
    return f"{kills:,} kills in {tally.trials:,} studies" if kills else f"{tally.trials:,}"


def _commit() -> str:
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
