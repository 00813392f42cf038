"""The parts of a result as an owner first got them.

They are on disk before anything is made of them, and whatever is asked later is answered from there. So no
server sees from a second request, or from there being none, whether the owner could use what it got.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel
from ppaurora.io.times import Time, as_time
from ppaurora.messages.owners import ReleasedPart
from ppaurora.owner.records import keep_record, read_record
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest


class CollectedResult(StrictModel):
    """One answer of every server that gets a part of the result, in their order."""

    study: str
    answers: tuple[ReleasedPart, ...]
    collected_at: Time


class Inbox:
    """The file `inbox/STUDY.json` of an owner's kit."""

    def __init__(self, kit: OwnerKit, manifest: Manifest) -> None:
        self._manifest = manifest
        self._path = kit.folder / "inbox" / f"{manifest.study}.json"

    def find(self) -> CollectedResult | None:
        found = read_record(CollectedResult, self._path)
        if found is not None and found.study != self._manifest.study_hash:
            raise InputError(f"{self._path}: belongs to another manifest; move it away")
        if found is not None and len(found.answers) != len(self._manifest.protocol.result_servers):
            raise InputError(f"{self._path}: is damaged; restore it from a backup")
        return found

    def keep(self, answers: Sequence[ReleasedPart]) -> CollectedResult:
        """Durable, whole or not at all, for its owner's eyes only."""
        now = as_time(time.time())
        collected = CollectedResult(study=self._manifest.study_hash, answers=tuple(answers), collected_at=now)
        self._path.parent.mkdir(exist_ok=True, mode=0o700)
        keep_record(self._path, collected)
        return collected
