"""The machine of a node: disk space and certificates, which an administrator keeps up."""

from __future__ import annotations

import contextlib
import datetime
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ppaurora.credentials.certificates import earliest_end, read_pem
from ppaurora.errors import InputError
from ppaurora.messages.owners import UNDER_WAY
from ppaurora.node.store import StudyRecord
from ppaurora.study.kit import NodeKit


class CertificateKind(StrEnum):
    """Whose certificates end: this node's own, or those of authorities that signed participants'."""

    OWN = "own"
    AUTHORITY = "authority"


@dataclass(frozen=True)
class DiskSpace:
    """Bytes of the disk with a node's data; nothing, if it cannot be looked at."""

    size: int = 0
    free: int = 0

    @classmethod
    def of(cls, kit: NodeKit) -> DiskSpace:
        try:
            found = shutil.disk_usage(kit.data)
        except OSError:
            return cls()
        return cls(found.total, found.free)


class Certificates:
    """When certificates end: that with which a node serves, until it is restarted, and its authorities'."""

    def __init__(self, kit: NodeKit) -> None:
        self._kit = kit
        self._served = earliest_end(read_pem(kit.certificate))

    def days_left(self, studies: Iterable[StudyRecord]) -> dict[CertificateKind, float]:
        """Return for how many days they are valid, the shortest of a kind; below zero if no longer."""
        own, authorities = [self._served], []
        with contextlib.suppress(InputError):  # it is told of as a finding
            own.append(earliest_end(read_pem(self._kit.certificate)))
        with contextlib.suppress(InputError):
            authorities.append(earliest_end(read_pem(self._kit.folder / "authority.pem")))
        for study in studies:
            if study.state in UNDER_WAY:
                with contextlib.suppress(ValueError):  # nobody is let in by what is none
                    authorities.append(earliest_end(study.manifest.authorities.encode()))
        ends = {CertificateKind.OWN: own, CertificateKind.AUTHORITY: authorities}
        now = datetime.datetime.now(datetime.UTC)
        return {
            kind: (min(found) - now) / datetime.timedelta(days=1) for kind, found in ends.items() if found
        }
