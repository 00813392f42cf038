"""A submission as an owner keeps it until there is a result.

The shares are drawn at random once and written to the kit before anything is sent. So when an upload
is cut off, running it again sends the very same bytes, which the nodes recognise. To which server bytes
have left is on record before they leave; as long as there is none, nothing was submitted.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ppaurora.channel.servers import Server
from ppaurora.data import CountTable, Samples
from ppaurora.errors import InputError, Wording
from ppaurora.io.files import sync, write_secret
from ppaurora.io.locks import lock, unlock
from ppaurora.io.models import StrictModel, canonical_json
from ppaurora.messages.owners import Acknowledgement, Offer
from ppaurora.owner.records import keep_record, read_record, writing
from ppaurora.sharing.commitment import commit, fresh_salt
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

_RECORD = "submission.json"

OutboxState = tuple[Offer, int, bool] | None
"""What was prepared last, the revision of its withdrawal, and whether it has left; None if nothing was."""


class Fingerprint(StrictModel):
    """A salted digest of samples, to recognise them; on this machine only, until there is a result."""

    salt: bytes
    digest: bytes

    def __repr__(self) -> str:
        return "<Fingerprint>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Without this, `rich` would print the fields of any model."""
        return []

    @classmethod
    def of(cls, samples: Samples | CountTable, salt: bytes) -> Fingerprint:
        """Return the fingerprint of samples, the same in any order, or of a table."""
        if isinstance(samples, CountTable):
            content = canonical_json(samples.grid) + samples.positives.tobytes() + samples.negatives.tobytes()
            return cls(salt=salt, digest=hashlib.sha256(salt + content).digest())
        columns: list[NDArray[Any]] = [samples.scores + 0.0, samples.labels]  # -0.0 is 0.0
        further = samples.further
        if further is not None:
            unlinked = replace(further, patients=None).arrays
            columns += [column + 0.0 if column.dtype.kind == "f" else column for column in unlinked]
        order = np.lexsort(columns[::-1])
        content = b"".join(column[order].tobytes() for column in columns)
        if further is not None and any(further.left_out.counts):
            content += canonical_json(further.left_out.counts)
        if further is not None and further.patients is not None:
            content += _patients_content([column[order] for column in columns], further.patients[order])
        return cls(salt=salt, digest=hashlib.sha256(salt + content).digest())


def _patients_content(columns: list[NDArray[Any]], patients: NDArray[np.int64]) -> bytes:
    """Return which rows belong together, whatever patients are called: the same in any order of rows.

    Rows come sorted. Every patient is the numbers of the different rows that it has, ascending; patients are
    sorted by these.
    """
    is_new = np.ones(len(patients), dtype=bool)
    is_new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    numbers = np.cumsum(is_new)
    order = np.argsort(patients, kind="stable")
    starts = np.flatnonzero(np.diff(patients[order])) + 1
    own = sorted(some.astype("<i8").tobytes() for some in np.split(numbers[order], starts))
    return b"".join(len(some).to_bytes(8, "little") + some for some in own)


class OutgoingSubmission(StrictModel):
    """A submission on its way: what was prepared, for whom it has left, and who has acknowledged it."""

    study: str
    offer: Offer
    fingerprint: Fingerprint | None
    sent: tuple[str, ...] = ()  # servers that may have it, as their file names are
    acknowledged: dict[str, Acknowledgement]  # by server, likewise
    withdrawal: int = 0  # its revision, once it was asked for
    withdrawn: tuple[str, ...] = ()  # servers that have acknowledged that
    previous: OutgoingSubmission | None = None  # what this is to replace, until the leader has taken it

    @property
    def samples(self) -> int:
        return self.offer.samples

    @property
    def revision(self) -> int:
        return max(self.offer.revision, self.withdrawal)

    @property
    def offers(self) -> list[Offer]:
        """This one, and what it is to replace: until the leader has taken it, either may be there."""
        return [self.offer, *([] if self.previous is None else self.previous.offers)]

    def without_data(self) -> OutgoingSubmission:
        """Return it as it stays on record when shares and fingerprints are needed no longer."""
        previous = None if self.previous is None else self.previous.without_data()
        return msgspec.structs.replace(self, fingerprint=None, previous=previous)


class Outbox:
    """The folder `outbox/STUDY` of an owner's kit."""

    def __init__(self, kit: OwnerKit, manifest: Manifest) -> None:
        self._manifest = manifest
        self._floors = kit.settings.floors
        self._servers = manifest.protocol.input_servers
        self._leader = manifest.protocol.leader.file_name
        self._folder = kit.folder / "outbox" / manifest.study

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Against another process that submits to, or withdraws from, the same study with the same kit."""
        with contextlib.ExitStack() as opened:
            with writing(self._folder.parent):
                self._folder.parent.mkdir(exist_ok=True, mode=0o700)
                path = self._folder.parent / f".{self._folder.name}.lock"
                file = opened.enter_context(path.open("ab"))
            try:
                lock(file)
            except BlockingIOError:
                said = (
                    f"another process is submitting to the study '{self._manifest.study}' with this kit, or "
                    "withdrawing from it; nothing was done now. Wait until it has ended:"
                )
                raise InputError(
                    Wording(
                        f"{said} 'ppaurora status' shows what has arrived",
                        f"{said} the study's page shows what has arrived",
                    )
                ) from None
            try:
                yield
            finally:
                # A process that another thread starts just now may have a copy of this file for a moment.
                unlock(file)

    def find(self) -> OutgoingSubmission | None:
        submission = read_record(OutgoingSubmission, self._folder / _RECORD)
        if submission is not None and submission.study != self._manifest.study_hash:
            raise InputError(f"{self._folder}: belongs to another manifest; move it away")
        if submission is not None and submission.previous is not None and not submission.sent:
            return submission.previous  # its replacement has never left
        return submission

    def state(self) -> OutboxState:
        """Return what matters of this to somebody who agrees to submit something else."""
        found = self.find()
        return None if found is None else (found.offer, found.withdrawal, bool(found.sent))

    def has(self, samples: Samples | CountTable) -> bool:
        """Return whether these samples have left, and were not withdrawn."""
        found = self.find()
        return found is not None and bool(found.sent) and self.is_for(samples)

    def is_for(self, samples: Samples | CountTable) -> bool:
        """Return whether the last submission is of these samples, has left or not, and was not withdrawn."""
        found = self.find()
        return found is not None and not found.withdrawal and self._is_same(found, samples)

    def is_complete(self, submission: OutgoingSubmission) -> bool:
        """Return whether every node that takes submissions has acknowledged it, and it was not withdrawn."""
        everybody = all(server.file_name in submission.acknowledged for server in self._servers)
        return everybody and not submission.withdrawal

    def has_other(self, samples: Samples | CountTable, *, replace: bool = False) -> bool:
        """Return whether something else than this has left, which this would have to replace.

        With `replace`, the same data under other floors is something else, too.
        """
        found = self.find()
        if found is None or found.withdrawal or not found.sent:
            return False
        if found.fingerprint is None:
            raise has_result(self._manifest.study)
        return not self._is_same(found, samples) or (replace and found.offer.floors != self._floors)

    def check_other(self, samples: Samples | CountTable) -> None:
        """Raise if a node has acknowledged something else, which stays if it is not replaced."""
        found = self.find()
        if found is not None and found.acknowledged and self.has_other(samples):
            raise self.other_data(found)

    def prepare(
        self, samples: Samples | CountTable, *, replace: bool = False, above: int = 0
    ) -> OutgoingSubmission:
        """Return the one that was begun with the same samples; or a new one, of a revision that is above.

        Something else that has left is replaced only if that is asked for. It is kept until the leader has
        taken the new one.
        """
        found = self.find()
        if found is None:
            return self._begin(samples, above + 1)
        if found.withdrawal:
            is_decided = self._leader in found.withdrawn
            return self._begin(samples, max(above, found.revision) + 1, None if is_decided else found)
        if found.fingerprint is None:
            raise has_result(self._manifest.study)
        if not found.sent and (above >= found.revision or not self._is_same(found, samples)):
            self.discard()  # its record first: it must not name the new shares if this is cut off
            return self._begin(samples, max(above + 1, found.revision))
        other = self.has_other(samples, replace=replace)
        if not other and above <= found.revision:
            return found
        if other and not replace:
            raise self.other_data(found)
        return self._begin(samples, max(above, found.revision) + 1, found.previous or found)

    def _is_same(self, found: OutgoingSubmission, samples: Samples | CountTable) -> bool:
        kept = found.fingerprint
        return kept is not None and Fingerprint.of(samples, kept.salt) == kept

    def other_data(self, found: OutgoingSubmission) -> InputError:
        """Return the error of whoever submits something else than before."""
        said = (
            f"other data was submitted to the study '{self._manifest.study}' from this kit before "
            f"({found.samples:,} samples: {self.delivered(found)}); nothing was sent now. Until the "
            "computation begins,"
        )
        return InputError(
            Wording(
                f"{said} 'ppaurora submit --replace' sends this in its place, and 'ppaurora withdraw' takes "
                "it back",
                f"{said} it can be replaced by this, or withdrawn, on the study's page",
            )
        )

    def delivered(self, submission: OutgoingSubmission) -> str:
        """Who has it, in words."""
        has = [server.title for server in self._servers if server.file_name in submission.acknowledged]
        may = [
            server.title
            for server in self._servers
            if server.file_name in submission.sent and server.file_name not in submission.acknowledged
        ]
        parts = [f"acknowledged by {' and '.join(has)}"] if has else []
        parts += [f"perhaps at {' and '.join(may)}, which has not acknowledged it"] if may else []
        return ", ".join(parts) or "delivered to nobody"

    def check(self, samples: Samples | CountTable) -> None:
        """Raise if the study does not take these samples, or takes none now."""
        manifest = self._manifest
        self.check_time()
        problem = manifest.problem_with_own(len(samples), self._floors)
        if problem:
            raise InputError(f"{samples.source}: has {len(samples):,} samples: {problem}")
        read = manifest.evaluation.read(samples)
        if isinstance(read, CountTable):
            manifest.protocol.check_table(read)
        elif manifest.terms.is_plain:
            manifest.protocol.read(read)
        elif isinstance(samples, Samples):
            self._check_wholes(samples)

    def _check_wholes(self, samples: Samples) -> None:
        """Raise if a score of any model is not on the agreed scale, or outside of its grid."""
        terms, evaluation = self._manifest.terms, self._manifest.evaluation
        for whole in terms.wholes:
            own = evaluation.read(samples.of(whole))
            if terms.layout.needs_grids:
                terms.layout.grid_of(whole.model).read(own)

    def check_time(self) -> None:
        """Raise if the study takes submissions no longer."""
        manifest = self._manifest
        if not manifest.evaluation.takes_submissions(time.time()):
            extended = (
                "Ask the coordinator to move the last day by an amendment; if that is done, 'ppaurora accept "
                "KIT' takes it into your kit. "
                if manifest.coordinator is not UNSET
                else ""
            )
            raise InputError(
                f"the study '{manifest.study}': {manifest.evaluation.too_late}; nothing was sent. {extended}"
                "If this machine's clock is wrong, set it"
            )

    def _begin(
        self, samples: Samples | CountTable, revision: int, previous: OutgoingSubmission | None = None
    ) -> OutgoingSubmission:
        """The record is written last: what it does not name is nothing."""
        manifest = self._manifest
        shares = manifest.terms.share(manifest.evaluation.read(samples))
        bodies = [(fresh_salt(), share.to_bytes()) for share in shares]
        submission = OutgoingSubmission(
            study=manifest.study_hash,
            offer=Offer(
                samples=len(samples),
                floors=self._floors,
                commitments=tuple(commit(salt, share) for salt, share in bodies),
                revision=revision,
            ),
            fingerprint=Fingerprint.of(samples, fresh_salt()),
            acknowledged={},
            previous=previous,
        )
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for server, (salt, share) in zip(self._servers, bodies, strict=True):
                path = self._folder / _body_name(server, revision)
                path.unlink(missing_ok=True)
                write_secret(path, salt + share)
                sync(path)
            sync(self._folder.parent)
        return self._keep(submission)

    def body(self, server: Server, submission: OutgoingSubmission | None = None) -> bytes:
        """Salt and share for this server; of what was found, if nothing else is said."""
        found = submission or self.find()
        revision = 1 if found is None else found.offer.revision
        try:
            return (self._folder / _body_name(server, revision)).read_bytes()
        except FileNotFoundError:
            raise InputError(
                f"{self._folder}: the shares were deleted when the result was there, or the submission "
                "was withdrawn"
            ) from None

    def leaves_for(self, submission: OutgoingSubmission, server: Server) -> OutgoingSubmission:
        """Write down that this server may have it from now on."""
        if server.file_name in submission.sent:
            return submission
        return self._keep(msgspec.structs.replace(submission, sent=(*submission.sent, server.file_name)))

    def acknowledge(
        self, submission: OutgoingSubmission, server: Server, answer: Acknowledgement
    ) -> OutgoingSubmission:
        """Write it down. What the leader has taken stands in the place of what was before."""
        acknowledged = {**submission.acknowledged, server.file_name: answer}
        sent = tuple(dict.fromkeys((*submission.sent, server.file_name)))
        previous = None if server.file_name == self._leader else submission.previous
        return self._keep(
            msgspec.structs.replace(submission, sent=sent, acknowledged=acknowledged, previous=previous)
        )

    def not_taken(self, submission: OutgoingSubmission, server: Server) -> OutgoingSubmission:
        """A server has refused it: it does not have it. If that is the leader, what was before stands."""
        if server.file_name == self._leader and submission.previous is not None:
            return self._keep(msgspec.structs.replace(submission.previous, withdrawal=0, withdrawn=()))
        if server.file_name in submission.acknowledged:
            return submission  # it had it once, and may again
        sent = tuple(name for name in submission.sent if name != server.file_name)
        return self._keep(msgspec.structs.replace(submission, sent=sent))

    def withdraws(self, submission: OutgoingSubmission, revision: int) -> OutgoingSubmission:
        """Write down that it is about to be withdrawn; 0 if that was refused."""
        return self._keep(msgspec.structs.replace(submission, withdrawal=revision, withdrawn=()))

    def acknowledge_withdrawal(self, submission: OutgoingSubmission, server: Server) -> OutgoingSubmission:
        """Write it down. Once the leader has acknowledged it, the shares are needed no longer."""
        withdrawn = tuple(dict.fromkeys((*submission.withdrawn, server.file_name)))
        return self._keep(msgspec.structs.replace(submission, withdrawn=withdrawn, fingerprint=None))

    def is_withdrawn(self, submission: OutgoingSubmission) -> bool:
        """Return whether all who take submissions have acknowledged its withdrawal."""
        return all(server.file_name in submission.withdrawn for server in self._servers)

    def discard(self) -> None:
        """Delete a submission that has never left."""
        (self._folder / _RECORD).unlink(missing_ok=True)
        self._delete_bodies(set())
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def discard_unsent(self) -> None:
        """Shares of which no byte has left are of no use. What they were to replace is kept as it was."""
        prepared = read_record(OutgoingSubmission, self._folder / _RECORD)
        if prepared is None:
            self.discard()
        elif not prepared.sent and prepared.previous is not None:
            self._keep(prepared.previous)
        elif not prepared.sent and prepared.revision == 1:  # else its number tells what was withdrawn before
            self.discard()

    def forget(self) -> None:
        """Delete shares once there is a result; until then a node may lose its disk and need them again."""
        submission = self.find()
        if submission is not None and submission.fingerprint is not None:
            self._keep(submission.without_data())
        self._delete_bodies(set())

    def _keep(self, submission: OutgoingSubmission) -> OutgoingSubmission:
        """Write it down, with the shares that may still be needed, and no others."""
        keep_record(self._folder / _RECORD, submission)
        needed = (submission, submission.previous)
        self._delete_bodies({one.offer.revision for one in needed if one is not None and one.fingerprint})
        return submission

    def _delete_bodies(self, needed: set[int]) -> None:
        kept = {_body_name(server, revision) for server in self._servers for revision in needed}
        for path in self._folder.glob("*.share"):
            if path.name not in kept:
                path.unlink(missing_ok=True)


def has_result(study: str) -> InputError:
    """Return the error of whoever submits to a study that has its result."""
    said = (
        f"the study '{study}' has its result, with what was submitted from this kit before; "
        "nothing was sent now."
    )
    return InputError(
        Wording(
            f"{said} 'ppaurora result' shows it again, in Python Study.result()",
            f"{said} The study's page shows it",
        )
    )


def _body_name(server: Server, revision: int) -> str:
    return f"{server.file_name}.{revision}.share"
