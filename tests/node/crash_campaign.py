"""Nodes killed at random moments, again and again: `python -m tests.node.crash_campaign --kills 300`.

Every round is a study of its own. Owners upload, as real owners would, until they are acknowledged;
meanwhile nodes are killed as by a power cut and started again. Every study must end with the right
result; no acknowledged submission may be lost; no two attempts may have opened the same session,
hence shared a mask.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.peers.exact import exact_auroc
from ppaurora.data.samples import check_samples
from ppaurora.errors import PeerError
from ppaurora.owner.study import Study
from tests.support.deployment import NODES, OWNERS, Deployment, samples

SIZES = (400, 3_000, 40_000)
SECONDS_TO_END = 600.0


class Campaign:
    def __init__(self, folder: Path, seed: int) -> None:
        self.deployment = Deployment(folder, silence=10.0)
        self.random = random.Random(seed)  # noqa: S311 (when to kill whom)
        self.kills = Counter[str]()
        self.studies = 0

    def run(self, kills: int) -> None:
        self.deployment.accept()
        self.deployment.start()
        try:
            while sum(self.kills.values()) < kills:
                self._round()
            self._check_sessions()
        finally:
            self.deployment.stop()

    def _round(self) -> None:
        number = self.studies
        self.studies += 1
        name = "trial" if number == 0 else f"trial-{number}"
        if number:
            kits = self.deployment.folder / f"kits-{number}"
            manifest = self.deployment.provision(name, kits, self.deployment.folder / "kits")
            self.deployment.accept(manifest, (*NODES, *OWNERS))
        data = {
            owner: samples(size, 100 * number + place)
            for place, (owner, size) in enumerate(zip(OWNERS, SIZES, strict=True))
        }
        uploads = [
            threading.Thread(target=self._upload, args=(name, owner, *data[owner]), daemon=True)
            for owner in OWNERS
        ]
        for upload in uploads:
            upload.start()
        for _ in range(self.random.randint(1, 4)):
            time.sleep(self.random.uniform(0.0, 2.5))
            victim = self.random.choice(NODES)
            self.deployment.kill(victim)
            self.kills[victim] += 1
            time.sleep(self.random.uniform(0.0, 0.5))
            self.deployment.start(victim)
        for upload in uploads:
            upload.join(SECONDS_TO_END)
            assert not upload.is_alive(), "an upload was never acknowledged"
        study = Study(self.deployment.kit("north"), name)
        report = study.wait(timeout=SECONDS_TO_END)
        assert report.auroc == float(exact_auroc(list(data.values()))), name
        self._check_acknowledged(name)

    def _upload(self, name: str, owner: str, labels: np.ndarray, scores: np.ndarray) -> None:
        study = Study(self.deployment.kit(owner), name, timeout=60.0)
        while True:
            try:
                study.submit(check_samples(owner, labels, scores, None))
            except PeerError:
                time.sleep(0.2)
            else:
                return

    def _check_acknowledged(self, name: str) -> None:
        """What an owner holds an acknowledgement of, the proxy has."""
        for owner in OWNERS:
            study = Study(self.deployment.kit(owner), name)
            submission = study.submitted
            assert submission is not None
            assert study.is_submitted
            for proxy in ("proxy-0", "proxy-1"):
                with sqlite3.connect(self.deployment.database(proxy)) as db:
                    (kept,) = db.execute(
                        "SELECT commitments FROM submissions WHERE study = ? AND owner = ?",
                        (study.manifest.hash, owner),
                    ).fetchone()
                db.close()
                assert tuple(json.loads(kept)) == submission.offer.commitments, (
                    "an acknowledged submission was lost"
                )

    def _check_sessions(self) -> None:
        """Of every node: a session belongs to one attempt of one study."""
        for name in NODES:
            opened = [event for event in self.deployment.events(name) if event["event"] == "session opened"]
            assert opened
            sessions = [event["session"] for event in opened]
            assert len(set(sessions)) == len(sessions), "two attempts shared a session"
            attempts = [(event["study"], event["attempt"]) for event in opened]
            assert len(set(attempts)) == len(attempts), "an attempt number was used twice"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        campaign = Campaign(Path(folder), options.seed)
        start = time.monotonic()
        campaign.run(options.kills)
        minutes = (time.monotonic() - start) / 60
        print(
            f"seed {options.seed}: {sum(campaign.kills.values())} kills {dict(campaign.kills)}, "
            f"{campaign.studies} studies, all ended with the right result; {minutes:.1f} min"
        )


if __name__ == "__main__":
    main()
