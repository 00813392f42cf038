"""A submission as an owner keeps it until there is a result.

The shares are drawn at random once and written to the kit before anything is sent. So when an upload
is cut off, running it again sends the very same bytes, which the proxies recognise.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ppaurora.errors import InputError
from ppaurora.files import replace_file, sync, write_secret
from ppaurora.owner.prepare import prepare, split
from ppaurora.owner.samples import Samples
from ppaurora.sharing.commitment import SALT_BYTES, commit, fresh_salt
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.suites.role import Role

PROXIES = (Role.PROXY_0, Role.PROXY_1)


@dataclass
class Submission:
    """What was prepared for a study, and which proxies have acknowledged it."""

    study: str
    samples: int
    commitments: tuple[str, str]
    # Of the samples, to recognise them; for this machine only.
    fingerprint_salt: str = field(repr=False)
    fingerprint: str = field(repr=False)
    acknowledged: dict[str, dict[str, Any]]

    @property
    def complete(self) -> bool:
        return all(proxy.title in self.acknowledged for proxy in PROXIES)


class Outbox:
    """The folder `outbox/STUDY` of an owner's kit."""

    def __init__(self, kit: OwnerKit, manifest: Manifest) -> None:
        self._manifest = manifest
        self._folder = kit.folder / "outbox" / manifest.study

    def find(self) -> Submission | None:
        try:
            content = json.loads((self._folder / "submission.json").read_text())
        except FileNotFoundError:
            return None
        content["commitments"] = tuple(content["commitments"])
        submission = Submission(**content)
        if submission.study != self._manifest.hash:
            raise InputError(f"{self._folder}: belongs to another manifest; move it away")
        return submission

    def prepare(self, samples: Samples) -> Submission:
        """New, or the one that was begun with the same samples."""
        found = self.find()
        if found is not None:
            if _fingerprint(bytes.fromhex(found.fingerprint_salt), samples) != found.fingerprint:
                raise InputError(
                    f"other data was submitted to the study '{self._manifest.study}' from this kit before; "
                    "a study takes one submission of every owner"
                )
            return found
        manifest = self._manifest
        release, limits = manifest.release, manifest.limits
        if not release.minimum_samples_per_owner <= len(samples) <= limits.samples_per_owner:
            raise InputError(
                f"{samples.source}: has {len(samples):,} samples; the study takes "
                f"{release.minimum_samples_per_owner:,} to {limits.samples_per_owner:,} of an owner"
            )
        prepared = prepare(samples, manifest.protocol, manifest.key_bits)
        shares = split(prepared, manifest.protocol, manifest.key_bits)
        bodies = [(fresh_salt(), share.to_bytes()) for share in shares]
        commitments = [commit(salt, share) for salt, share in bodies]
        marker = fresh_salt()
        submission = Submission(
            manifest.hash,
            len(samples),
            (commitments[0], commitments[1]),
            marker.hex(),
            _fingerprint(marker, samples),
            {},
        )
        self._folder.parent.mkdir(exist_ok=True, mode=0o700)
        for left_over in self._folder.parent.glob(f"{self._folder.name}.*"):
            shutil.rmtree(left_over)
        building = Path(tempfile.mkdtemp(prefix=f"{self._folder.name}.", dir=self._folder.parent))
        for proxy, (salt, share) in zip(PROXIES, bodies, strict=True):
            write_secret(building / _body_name(proxy), salt + share)
        write_secret(building / "submission.json", json.dumps(asdict(submission), indent=1).encode())
        for path in (*building.iterdir(), building):
            sync(path)
        try:
            building.rename(self._folder)
        except OSError:
            shutil.rmtree(building, ignore_errors=True)
            raise InputError(f"{self._folder}: another submission is being prepared; try again") from None
        sync(self._folder.parent)
        return submission

    def body(self, proxy: Role) -> bytes:
        try:
            return (self._folder / _body_name(proxy)).read_bytes()
        except FileNotFoundError:
            raise InputError(f"{self._folder}: the shares were deleted when the result was there") from None

    def acknowledge(self, submission: Submission, proxy: Role, answer: dict[str, Any]) -> None:
        """Write it down."""
        submission.acknowledged[proxy.title] = answer
        content = json.dumps(asdict(submission), indent=1).encode()
        replace_file(self._folder / "submission.json", content, mode=0o600)

    def forget_shares(self) -> None:
        """Once there is a result. Until then a proxy may lose its disk, and want its share again."""
        for role in PROXIES:
            (self._folder / _body_name(role)).unlink(missing_ok=True)


def _body_name(proxy: Role) -> str:
    return f"{proxy.file_name}.share"


def _fingerprint(salt: bytes, samples: Samples) -> str:
    content = samples.scores.tobytes() + samples.labels.tobytes()
    return hashlib.sha256(salt[:SALT_BYTES] + content).hexdigest()
