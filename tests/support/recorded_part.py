"""What workers compute, with a record of every stream they open that outlives a worker that is killed.

A record holds digests of keys, no key. Where it is kept, processes learn from their environment: so do those
of a Ray cluster that was started with it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ppaurora.channel.base import Buffer
from ppaurora.messages.process import Finished
from ppaurora.session import context
from ppaurora.session.agreement import SessionSecrets
from ppaurora.testing.ledger import OpenedStream, StreamLedger, keep_ledger
from ppaurora.workers.computing import compute
from ppaurora.workers.part import Station
from tests.support.stand_in_crew import does

if TYPE_CHECKING:
    import pytest

_FOLDER = "PPAURORA_TESTS_STREAMS"


class _Record(StreamLedger):
    """In a file, line by line; a line is there before its stream is used."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / os.urandom(8).hex(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def note(self, entry: OpenedStream) -> None:
        words = (entry.party.file_name, entry.peer.file_name, entry.key, entry.label)
        os.write(self._file, "\t".join(words).encode() + b"\n")


class Streams:
    """All streams that workers have opened in all runs while they were recorded."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch

    def do(self, part: str) -> None:
        """Have workers of the next run do this part."""
        does(self._monkeypatch, f"{__name__}:{part}")

    def opened(self) -> Counter[str]:
        """Each with how often its own party opened it."""
        return Counter(line for file in self._folder.iterdir() for line in file.read_text().splitlines())

    def keys(self) -> int:
        """How many different ones."""
        return len({line.split("\t")[2] for line in self.opened()})

    def repeated(self) -> list[str]:
        """What may never be: a party has opened a stream again, and so used the same masks again."""
        return [line for line, times in self.opened().items() if times > 1]


@contextmanager
def recorded_streams() -> Iterator[Streams]:
    """Record the streams of all workers, in the processes of runs that are started meanwhile."""
    import pytest  # which no worker needs

    with (
        tempfile.TemporaryDirectory(prefix="ppaurora-") as folder,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        monkeypatch.setenv(_FOLDER, folder)
        streams = Streams(Path(folder), monkeypatch)
        streams.do("compute_recorded")
        yield streams


def compute_recorded(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """Compute a worker's part, and record its streams."""
    with keep_ledger(_Record(Path(os.environ[_FOLDER]))):
        return compute(station, inputs)


def compute_with_old_keys(station: Station, inputs: Sequence[Buffer]) -> Finished:
    """As `compute_recorded`, but by a party that makes the same contribution to every session's keys."""
    seed = hashlib.sha256(f"{station.order.server.title} {station.worker.index}".encode()).digest()
    secrets = SessionSecrets(nonce=seed, private=X25519PrivateKey.from_private_bytes(seed))
    with patch.object(context, "SessionSecrets", lambda: secrets):
        return compute_recorded(station, inputs)
