"""`python -m tests.campaign.writer FOLDER MANIFESTS SEED`: changes a data folder until it is killed.

Prints a line after every change, which is durable then: what the database says. `CHECKPOINT` is printed
before SQLite writes its log back.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ppaurora.errors import PpauroraError
from ppaurora.io.files import sync
from ppaurora.node.store import Store, SubmissionRecord
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.manifest import Manifest
from tests.campaign.facts import Facts

PAIR = ("north", "harbour")
CHECKPOINT = "checkpoint"
_CHECKPOINTS = 0.06  # of all that it does


@dataclass
class Writer:
    """A proxy's store in the hands of chance: what it refuses did not happen."""

    store: Store
    manifests: Sequence[Manifest]
    chance: random.Random

    def go_on(self) -> None:
        while True:
            if self.chance.random() < _CHECKPOINTS:
                print(CHECKPOINT, flush=True)
                self.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try:
                self._change(self.chance.choice(self.manifests))
            except PpauroraError:
                continue
            self.tell()

    def tell(self) -> None:
        print(json.dumps(Facts.of(self.store._file).to_dict()), flush=True)

    def _change(self, manifest: Manifest) -> None:
        study = self.store.study(manifest.hash)
        if study is None:
            self.store.accept(manifest)
            return
        changes: list[Callable[[str], object]] = [self._submit] * 4
        changes += [self._submit, self._submit, self._attempt, self._attempt, self._withdraw, self._note]
        self.chance.choice(changes)(manifest.hash)

    def _submit(self, study: str) -> None:
        owner = self.chance.choice(PAIR)
        before = self.store.latest_revision(study, owner)
        revision = 1 if before is None else before.revision + 1
        submission = made_up(self.store, owner, revision, self.chance)
        try:
            self.store.submit(study, submission)
        except PpauroraError:
            assert submission.file is not None
            delete_share(self.store.shares / submission.file)
            raise

    def _withdraw(self, study: str) -> None:
        owner = self.chance.choice(PAIR)
        before = self.store.latest_revision(study, owner)
        self.store.withdraw(study, owner, 1 if before is None else before.revision + 1)

    def _attempt(self, study: str) -> None:
        """Begun if all have submitted; the one that runs comes to its end, of one kind or the other."""
        number = self.store.last_attempt(study)
        (record,) = (one for one in self.store.studies() if one.hash == study)
        agreed = [one.submitted for one in self.store.submissions(record)]
        if record.state == "running" and self.store.attempt_state(study, number) == "computed":
            self.store.release(study, number)
        elif self.store.attempt_state(study, number) == "running" and self.chance.random() < 0.7:
            words = np.frombuffer(self.chance.randbytes(32), dtype=np.uint64).reshape(2, 2)
            self.store.computed(study, number, {owner: ResultShare(words) for owner in PAIR})
        elif self.store.attempt_state(study, number) == "running":
            self.store.fail_attempt(study, number, "made up")
        elif record.state == "released":
            self.store.forget_shares(study)
        elif len(agreed) == len(PAIR):
            self.store.begin_attempt(study, number + 1, agreed)

    def _note(self, study: str) -> None:
        self.store.set_note(study, self.chance.randbytes(10).hex())


def start(store: Store) -> None:
    """As a node's start does, whatever the process before was killed in."""
    store.fail_interrupted()
    if hasattr(store, "take_back"):  # which earlier states, with which we compare, do not have
        store.describe_shares()
        for study in store.studies():
            store.take_back(study, 0)
    store.remove_strays()


def delete_share(share: Path) -> None:
    """With what was said of it, if this state of the store says anything."""
    for path in share.parent.glob(f"{share.name}*"):
        path.unlink()


def made_up(store: Store, owner: str, revision: int, chance: random.Random) -> SubmissionRecord:
    """A share in its file, as an upload leaves it."""
    share = chance.randbytes(chance.randint(100, 5_000))
    path = store.shares / chance.randbytes(16).hex()
    with path.open("wb") as file:
        file.write(share)
        file.flush()
        os.fsync(file.fileno())
    sync(path.parent)
    commitments = (hashlib.sha256(share).hexdigest(), chance.randbytes(32).hex())
    return SubmissionRecord(owner, len(share), commitments, store.now(), path.name, revision=revision)


def main() -> None:
    folder, manifests, seed = sys.argv[1:]
    with Store(Path(folder)) as store:
        start(store)
        paths = sorted(Path(manifests).glob("*.json"))
        writer = Writer(store, [Manifest.read(path) for path in paths], random.Random(seed))  # noqa: S311
        writer.tell()
        writer.go_on()


if __name__ == "__main__":
    main()
