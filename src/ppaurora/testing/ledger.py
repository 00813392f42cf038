"""A ledger of streams: which were opened, by whom, under which key. So that no mask is ever used twice."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from ppaurora.channel.servers import Server
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context


@dataclass(frozen=True)
class OpenedStream:
    """One stream, as one party opened it."""

    party: Server
    peer: Server
    key: str  # a digest
    label: str  # with the worker's


@dataclass
class StreamLedger:
    """Every stream that any worker of any party has opened while it was kept."""

    entries: list[OpenedStream] = field(default_factory=list)

    def note(self, entry: OpenedStream) -> None:
        """Note a stream, from any thread, before it is used."""
        self.entries.append(entry)

    def shared(self) -> list[OpenedStream]:
        """Streams that a party opened more than once: by two of its workers, or by one of them twice."""
        return [entry for entry, times in Counter(self.entries).items() if times > 1]

    def labels(self, party: Server) -> list[str]:
        return [entry.label for entry in self.entries if entry.party is party]


@contextmanager
def keep_ledger(ledger: StreamLedger | None = None) -> Iterator[StreamLedger]:
    """Keep a ledger of all contexts of this process, in a new ledger or in the one that is given."""
    kept = StreamLedger() if ledger is None else ledger
    lock, open_stream = threading.Lock(), Context.stream

    def noted(context: Context, peer: Server, label: str) -> Stream:
        stream = open_stream(context, peer, label)
        key = hashlib.sha256(context._families[peer]._key).hexdigest()
        with lock:
            kept.note(OpenedStream(context.role, peer, key, context.worker.label + label))
        return stream

    with patch.object(Context, "stream", noted):
        yield kept
