"""A description beside the file of every share, so that a share whose row was lost can be taken back in.

A share itself tells nothing: not of which study it is, nor whose. Beside the file `TOKEN` lies `TOKEN.about`:
what its owner said when it sent the share, as the row has it, and a digest of that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Self

from ppaurora.io.files import replace_file
from ppaurora.io.models import StrictModel, from_json, to_json
from ppaurora.messages.owners import Digest, Submitted
from ppaurora.node.store.records import SubmissionRecord

_ENDING = ".about"


class ShareDescription(StrictModel):
    """What an owner said of a share, and when this node had it."""

    study: Digest
    submitted: Submitted
    received_at: float

    @classmethod
    def of(cls, study: str, submission: SubmissionRecord) -> Self:
        return cls(study=study, submitted=submission.submitted, received_at=submission.received_at)

    def record(self, file: str) -> SubmissionRecord:
        """Return this as the row that named the file."""
        said = self.submitted
        return SubmissionRecord(
            said.owner,
            said.samples,
            said.commitments,
            self.received_at,
            file=file,
            floors=said.floors,
            revision=said.revision,
        )


def description_path(share: Path) -> Path:
    return share.with_name(share.name + _ENDING)


def describe(share: Path, description: ShareDescription) -> None:
    """Write a description, durably, for this node's eyes only."""
    content = to_json(description)
    digest = hashlib.sha256(content).hexdigest().encode()
    replace_file(description_path(share), content + b"\n" + digest + b"\n", mode=0o600)


def described(folder: Path, named: Collection[str]) -> Iterator[tuple[str, ShareDescription]]:
    """Yield every share that has a description which can be read, but for those that a row has `named`."""
    return ((share.name, found) for share, found in _unnamed(folder, named) if found is not None)


def unreadable(folder: Path, named: Collection[str]) -> list[Path]:
    """Return shares of which the disk has changed what was said of them, and the descriptions."""
    unclear = [share for share, found in _unnamed(folder, named) if found is None]
    return [path for share in unclear for path in (share, description_path(share))]


def _unnamed(folder: Path, named: Collection[str]) -> Iterator[tuple[Path, ShareDescription | None]]:
    for path in sorted(folder.glob(f"*{_ENDING}")):
        share = path.with_name(path.name.removesuffix(_ENDING))
        if share.name not in named and share.exists():
            yield share, _read(path)


def _read(path: Path) -> ShareDescription | None:
    """Return a description; None if the disk has changed it, or does not give it."""
    try:
        content, _, digest = path.read_bytes().partition(b"\n")
        is_whole = digest == hashlib.sha256(content).hexdigest().encode() + b"\n"
        return from_json(ShareDescription, content) if is_whole else None
    except (OSError, ValueError):
        return None


def delete_share(share: Path) -> None:
    """Delete a share and its description; the description last, so that none is left alone by a crash."""
    share.unlink(missing_ok=True)
    description_path(share).unlink(missing_ok=True)
