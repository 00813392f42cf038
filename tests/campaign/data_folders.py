"""The data folder of a killed process that wrote to it, with one file damaged: opened, as a node does.

What was acknowledged is there, or it is refused in words, with every file as it was; then the backup is as
good as ever, and recovering leads on: shares on disk are taken back in, owners send again what is missing.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from ppaurora.errors import InputError
from ppaurora.messages.owners import StudyState
from ppaurora.node.audit import check_log
from ppaurora.node.store import (
    DamagedDatabaseError,
    NeedsRecoveryError,
    RolledBackError,
    Store,
    StudyRecord,
    recover_folder,
)
from ppaurora.study.manifest import Manifest
from tests.campaign.facts import Facts
from tests.campaign.tally import (
    DAMAGED,
    NOT_REACHED,
    NOTHING_LOST,
    RECOVERED,
    BreachError,
    LossError,
    Tally,
)
from tests.campaign.world import World
from tests.campaign.wreckage import HARMLESS, KILLED, SORTS, NothingToDamageError, in_turn, wreck
from tests.campaign.writer import CHECKPOINT, start
from tests.support.repository import ROOT

ROLLED_BACK, DAMAGED_WORDS = "rolled back", "the database is damaged"
_STUDIES = 4


def run(world: World, trials: int, chance: random.Random, sorts: Sequence[str] = tuple(SORTS)) -> Tally:
    """One sort of damage after the other."""
    tally = Tally("damaged logs, pages and files of killed writers")
    manifests = [world.trial("folder").manifest for _ in range(_STUDIES)]
    for sort, variant in itertools.islice(in_turn(sorts), trials):
        with tempfile.TemporaryDirectory(dir=world.folder) as folder:
            case = _Case(Path(folder), manifests, sort, variant, chance)
            tally.trial_of(sort, variant, case.carry_out)
    return tally


def contents(folder: Path) -> dict[str, bytes]:
    """All files but SQLite's shared memory, which says nothing."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".db-shm"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@dataclass
class _Case:
    folder: Path
    manifests: list[Manifest]
    sort: str
    variant: str
    chance: random.Random

    def __post_init__(self) -> None:
        (self.folder / "manifests").mkdir()
        for manifest in self.manifests:
            (self.folder / "manifests" / f"{manifest.study}.json").write_text(manifest.text())

    def carry_out(self) -> str:
        data, earlier, whole = (self.folder / name for name in ("data", "earlier", "whole"))
        self._write(data, self.chance.randint(1, 25))
        shutil.copytree(data, earlier)
        acknowledged = self._write(data, self.chance.randint(2, 25), in_checkpoint=self.variant == KILLED)
        shutil.copytree(data, whole)
        durable = Facts.of_copy(whole)
        if durable.lacks(acknowledged):
            raise LossError(f"before any damage: {durable.lacks(acknowledged)}")
        try:
            wreck(self.sort, self.variant, data, earlier, self.chance)
        except NothingToDamageError:
            return NOT_REACHED
        before = contents(data)
        try:
            with Store(data):
                pass
        except NeedsRecoveryError as error:
            return self._refused(error, data, before, acknowledged, durable)
        found = Facts.of(data / "node.db")
        if found not in (acknowledged, durable):
            raise LossError(found.lacks(acknowledged) or "not as it was")
        return NOTHING_LOST

    def _write(self, data: Path, changes: int, *, in_checkpoint: bool = False) -> Facts:
        """Have a process make changes and kill it; return what it said last."""
        words = [
            "-m",
            "tests.campaign.writer",
            str(data),
            str(self.folder / "manifests"),
            str(self.chance.random()),
        ]
        process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, cwd=ROOT, text=True)
        assert process.stdout is not None
        with process:
            last = self._listen(process.stdout, changes, in_checkpoint)
            time.sleep(self.chance.uniform(0.0, 0.004))
            process.kill()
            told = [last, *process.stdout.read().split("\n")[:-1]]
        return Facts(**json.loads([line for line in told if line.startswith("{")][-1]))

    def _listen(self, lines: IO[str], changes: int, in_checkpoint: bool) -> str:
        said = ""
        for line in lines:
            if line.strip() != CHECKPOINT:
                said, changes = line, changes - 1
            if changes <= 0 and (line.strip() == CHECKPOINT or not in_checkpoint):
                break
        assert said, "the writer did not begin"
        return said

    def _refused(
        self,
        error: NeedsRecoveryError,
        data: Path,
        before: dict[str, bytes],
        acknowledged: Facts,
        durable: Facts,
    ) -> str:
        if self.sort in HARMLESS:
            raise BreachError(f"refused, and nothing was lost: {error}") from error
        after = contents(data)
        changed = [name for name, content in before.items() if after.get(name) != content]
        if isinstance(error, DamagedDatabaseError):  # SQLite has written its log back
            changed = [name for name in changed if not name.startswith("node.db")]
        if changed:
            raise BreachError(f"refused, and changed {', '.join(changed)}")
        self._recover(error, data, acknowledged, durable)
        with Store(self.folder / "whole"):  # the backup
            pass
        if Facts.of(self.folder / "whole" / "node.db") != durable:
            raise LossError("with the backup")
        return RECOVERED if isinstance(error, RolledBackError) else DAMAGED

    def _recover(self, error: NeedsRecoveryError, data: Path, acknowledged: Facts, durable: Facts) -> None:
        """As `ppaurora recover` does, the start after it, and what it tells people to do."""
        recover_folder(data, error.rollback)
        with Store(data) as store, Store(self.folder / "whole") as whole:
            known = [study.hash for study in store.studies()]
            start(store)
            for manifest in self.manifests:
                if manifest.hash in acknowledged.studies and store.study(manifest.hash) is None:
                    self._accept_again(store, manifest, durable)
            start(store)
            for study in store.studies():
                if study.hash in acknowledged.studies:
                    self._go_on(store, study, whole, acknowledged, was_known=study.hash in known)
            problem = check_log(*store.audit_log()).problem
        if problem:
            raise BreachError(f"the audit log after recovering: {problem}")
        with Store(data):
            pass

    def _accept_again(self, store: Store, manifest: Manifest, durable: Facts) -> None:
        """Accept a study again; it may have been released just before the kill, which nobody was told."""
        try:
            store.accept(manifest)
        except InputError as error:
            if durable.studies[manifest.hash] != StudyState.RELEASED:
                raise BreachError(f"{manifest.study}: cannot be accepted again: {error}") from error

    def _go_on(
        self, store: Store, study: StudyRecord, whole: Store, acknowledged: Facts, *, was_known: bool
    ) -> None:
        name, state = study.manifest.study, acknowledged.studies[study.hash]
        numbers = [int(key[65:]) for key in acknowledged.attempts if key.startswith(study.hash)]
        if (
            was_known
            and state == StudyState.RELEASED
            and study.state in (StudyState.COLLECTING, StudyState.RUNNING)
        ):
            raise BreachError(f"{name}: goes on after its release")
        if was_known and max(numbers, default=0) > store.last_attempt(study.hash):
            raise BreachError(f"{name}: would use a number again")
        if state not in (StudyState.COLLECTING, StudyState.RUNNING) or study.state == StudyState.DELETED:
            return
        if study.state is StudyState.STOPPED:
            store.retry(study.hash)
        start(store)
        (record,) = (one for one in whole.studies() if one.hash == study.hash)
        for submission in whole.acknowledged(record):
            self._submit_again(store, study, whole, submission.owner)

    def _submit_again(self, store: Store, study: StudyRecord, whole: Store, owner: str) -> None:
        """What an owner sends who is missing; of a share that was taken back in, nothing is sent."""
        kept = whole.submission(study.hash, owner)
        assert kept is not None
        assert kept.file is not None
        (now,) = (one for one in store.studies() if one.hash == study.hash)
        if owner not in [one.owner for one in store.submissions(now)]:
            copy = store.shares / random.Random(kept.file).randbytes(16).hex()  # noqa: S311
            shutil.copyfile(whole.shares / kept.file, copy)
            store.submit(study.hash, replace(kept, file=copy.name))
        found = store.submission(study.hash, owner)
        if found is None or (found.revision <= kept.revision and found.submitted != kept.submitted):
            raise LossError(f"{study.manifest.study}: {owner}, after sending again")
