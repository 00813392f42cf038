"""A submission as an owner keeps it until there is a result.

The shares are drawn at random once and written to the kit before anything is sent. So when an upload
is cut off, running it again sends the very same bytes, which the nodes recognise.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from ppaurora.data import Samples
from ppaurora.errors import InputError
from ppaurora.files import sync, write_secret
from ppaurora.messages.owners import Acknowledgement, Offer
from ppaurora.models import StrictModel
from ppaurora.owner.records import keep_record, read_record
from ppaurora.servers import Server
from ppaurora.sharing.commitment import commit, fresh_salt
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

_RECORD = "submission.json"


class Fingerprint(StrictModel):
    """Of the samples, to recognise them; for this machine only, and only until there is a result."""

    salt: bytes
    digest: bytes

    def __repr__(self) -> str:
        return "<Fingerprint>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Without this, `rich` would print the fields of any model."""
        return []

    @classmethod
    def of(cls, samples: Samples, salt: bytes) -> Fingerprint:
        content = samples.scores.tobytes() + samples.labels.tobytes()
        return cls(salt=salt, digest=hashlib.sha256(salt + content).digest())


class OutgoingSubmission(StrictModel):
    """What was prepared for a study, and which nodes have acknowledged it."""

    study: str
    offer: Offer
    fingerprint: Fingerprint | None
    acknowledged: dict[str, Acknowledgement]  # by server, as its file name is

    @property
    def samples(self) -> int:
        return self.offer.samples


class Outbox:
    """The folder `outbox/STUDY` of an owner's kit."""

    def __init__(self, kit: OwnerKit, manifest: Manifest) -> None:
        self._manifest = manifest
        self._floors = kit.settings.floors
        self._servers = manifest.protocol.input_servers
        self._folder = kit.folder / "outbox" / manifest.study

    def find(self) -> OutgoingSubmission | None:
        submission = read_record(OutgoingSubmission, self._folder / _RECORD)
        if submission is not None and submission.study != self._manifest.hash:
            raise InputError(f"{self._folder}: belongs to another manifest; move it away")
        return submission

    def is_complete(self, submission: OutgoingSubmission) -> bool:
        """Whether every node that takes submissions has acknowledged it."""
        return all(server.file_name in submission.acknowledged for server in self._servers)

    def prepare(self, samples: Samples) -> OutgoingSubmission:
        """New, or the one that was begun with the same samples."""
        name = self._manifest.study
        found = self.find()
        if found is None:
            return self._begin(samples)
        if found.fingerprint is None:
            raise has_result(name)
        if Fingerprint.of(samples, found.fingerprint.salt) != found.fingerprint:
            raise InputError(
                f"other data was submitted to the study '{name}' from this kit before; "
                "a study takes one submission of every owner"
            )
        return found

    def check(self, samples: Samples) -> Samples:
        """As the study reads them; or what is wrong with them, or with beginning a submission now."""
        manifest = self._manifest
        if not manifest.evaluation.takes_submissions(time.time()):
            raise InputError(
                f"the study '{manifest.study}': {manifest.evaluation.too_late}; nothing was sent. If this "
                "machine's clock is wrong, set it"
            )
        awaited = len(manifest.owners) - 1
        problem = manifest.terms.problem_with([len(samples)], [self._floors], awaited=awaited)
        if problem:
            raise InputError(f"{samples.source}: has {len(samples):,} samples: {problem}")
        return manifest.evaluation.read(samples)

    def _begin(self, samples: Samples) -> OutgoingSubmission:
        manifest = self._manifest
        shares = manifest.terms.share(self.check(samples))
        bodies = [(fresh_salt(), share.to_bytes()) for share in shares]
        submission = OutgoingSubmission(
            study=manifest.hash,
            offer=Offer(
                samples=len(samples),
                floors=self._floors,
                commitments=tuple(commit(salt, share) for salt, share in bodies),
            ),
            fingerprint=Fingerprint.of(samples, fresh_salt()),
            acknowledged={},
        )
        self._folder.parent.mkdir(exist_ok=True, mode=0o700)
        for left_over in self._folder.parent.glob(f"{self._folder.name}.*"):
            shutil.rmtree(left_over)
        building = Path(tempfile.mkdtemp(prefix=f"{self._folder.name}.", dir=self._folder.parent))
        for server, (salt, share) in zip(self._servers, bodies, strict=True):
            write_secret(building / _body_name(server), salt + share)
        keep_record(building / _RECORD, submission)
        for path in (*building.iterdir(), building):
            sync(path)
        try:
            building.rename(self._folder)
        except OSError:
            shutil.rmtree(building, ignore_errors=True)
            raise InputError(f"{self._folder}: another submission is being prepared; try again") from None
        sync(self._folder.parent)
        return submission

    def body(self, server: Server) -> bytes:
        try:
            return (self._folder / _body_name(server)).read_bytes()
        except FileNotFoundError:
            raise InputError(f"{self._folder}: the shares were deleted when the result was there") from None

    def acknowledge(
        self, submission: OutgoingSubmission, server: Server, answer: Acknowledgement
    ) -> OutgoingSubmission:
        """Write it down."""
        acknowledged = {**submission.acknowledged, server.file_name: answer}
        return self._keep(msgspec.structs.replace(submission, acknowledged=acknowledged))

    def forget(self) -> None:
        """Once there is a result. Until then a node may lose its disk, and want its share again."""
        for server in self._servers:
            (self._folder / _body_name(server)).unlink(missing_ok=True)
        submission = self.find()
        if submission is not None and submission.fingerprint is not None:
            self._keep(msgspec.structs.replace(submission, fingerprint=None))

    def _keep(self, submission: OutgoingSubmission) -> OutgoingSubmission:
        keep_record(self._folder / _RECORD, submission)
        return submission


def has_result(study: str) -> InputError:
    """What to raise when somebody submits to a study that has its result."""
    return InputError(
        f"the study '{study}' has its result, with what was submitted from this kit before; "
        "nothing was sent now. 'ppaurora result' shows it again, in Python Study.result()"
    )


def _body_name(server: Server) -> str:
    return f"{server.file_name}.share"
