"""What an owner has submitted to which study, so that nearly the same data in another one is recognised.

Two results on nearly the same data can be subtracted. The ledger holds no data but a sketch of each list:
every sample is hashed with a secret key of the kit, and the smallest hashes are kept. They are a random
choice of samples, the same one wherever the same samples are, so what two lists have in common can be
estimated.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ppaurora.data import Samples
from ppaurora.models import StrictModel
from ppaurora.owner.records import keep_record, read_record
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

KEPT_HASHES = 1024
_LARGEST_HASH = np.uint64(2**64 - 1)
_SAMPLES_AT_ONCE = 1 << 16
_SAMPLE = np.dtype([("score", "<f8"), ("label", "u1"), ("copy", "<u8")])
_WORTH_A_WARNING = 0.5  # of the samples, from which on a second study is on nearly the same data


class OverlapWarning(UserWarning):
    """About to submit nearly the same data to a second study."""


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a list, ascending: all of them if it is short."""

    hashes: NDArray[np.uint64] = field(repr=False)
    samples: int
    different: int | None = None  # pairs of score and label, where the list itself was seen

    @classmethod
    def of(cls, samples: Samples, key: bytes) -> Sketch:
        """Of scores' bits and labels. Samples that are alike are numbered, so that each one counts."""
        records, different = _numbered(samples)
        smallest = np.empty(0, dtype=np.uint64)
        for start in range(0, len(records), _SAMPLES_AT_ONCE):
            hashes = _hashed(records[start : start + _SAMPLES_AT_ONCE], key)
            smallest = np.unique(np.concatenate([smallest, hashes]))[:KEPT_HASHES]
        return cls(smallest, len(samples), different)

    @property
    def limit(self) -> np.uint64:
        """Up to here the list has no other hashes than those that are kept."""
        return self.hashes[-1] if self.samples > KEPT_HASHES else _LARGEST_HASH

    def overlap(self, other: Sketch) -> float:
        """About which fraction of these samples the other list has, too.

        Of the samples whose hashes both would have kept. Exact if both lists are short; else its standard
        error is below 1/(2·sqrt(m)) for m such samples, 0.016 if the lists are of one size.
        """
        compared = self.hashes[self.hashes <= min(self.limit, other.limit)]
        return float(np.isin(compared, other.hashes).mean()) if len(compared) else 0.0


def _numbered(samples: Samples) -> tuple[NDArray[Any], int]:
    """Every sample with how many like it came before, and how many different ones there are."""
    order = np.lexsort((samples.labels, samples.scores))
    records = np.empty(len(samples), dtype=_SAMPLE)
    records["score"] = samples.scores[order] + 0.0  # -0.0 is 0.0
    records["label"] = samples.labels[order]
    is_new = np.ones(len(samples), dtype=bool)
    is_new[1:] = (np.diff(records["score"]) != 0) | (np.diff(records["label"].astype(np.int8)) != 0)
    starts = np.flatnonzero(is_new)
    records["copy"] = np.arange(len(samples)) - starts[np.cumsum(is_new) - 1]
    return records, len(starts)


def _hashed(records: NDArray[Any], key: bytes) -> NDArray[np.uint64]:
    """Eight bytes of keyed BLAKE2b each."""
    raw, size = records.tobytes(), _SAMPLE.itemsize
    digests = (
        hashlib.blake2b(raw[start : start + size], key=key, digest_size=8).digest()
        for start in range(0, len(raw), size)
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


class _Redacted(StrictModel):
    """Does not print what it holds."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Without this, `rich` would print the fields of any model."""
        return []


class LedgerEntry(_Redacted):
    """What was submitted to one study."""

    name: str
    samples: int
    hashes: bytes  # of eight bytes each, ascending, little endian

    @property
    def sketch(self) -> Sketch:
        return Sketch(np.frombuffer(self.hashes, dtype="<u8").astype(np.uint64), self.samples)


class LedgerContent(_Redacted):
    """`ledger.json`."""

    key: bytes
    studies: dict[str, LedgerEntry]  # by their manifests' hashes


class Ledger:
    """The file `ledger.json` of an owner's kit."""

    def __init__(self, kit: OwnerKit) -> None:
        self._folder = kit.folder
        self._path = kit.folder / "ledger.json"

    def sketch(self, samples: Samples) -> Sketch:
        with self._locked():
            key = self._content().key
        return Sketch.of(samples, key)

    def concerns(self, sketch: Sketch, manifest: Manifest) -> list[str]:
        """Other studies that had nearly the same data, in words; the most similar first."""
        earlier = [entry for hash_, entry in self._content().studies.items() if hash_ != manifest.hash]
        found = [(sketch.overlap(entry.sketch), entry.name) for entry in earlier]
        alike = sorted((one for one in found if one[0] >= _WORTH_A_WARNING), reverse=True)
        return [_in_words(overlap, name, sketch) for overlap, name in alike]

    def record(self, sketch: Sketch, manifest: Manifest) -> None:
        """Durable, for its owner's eyes only."""
        hashes = sketch.hashes.astype("<u8").tobytes()
        entry = LedgerEntry(name=manifest.study, samples=sketch.samples, hashes=hashes)
        with self._locked():
            content = self._content()
            studies = {**content.studies, manifest.hash: entry}
            self._write(msgspec.structs.replace(content, studies=studies))

    def _content(self) -> LedgerContent:
        """With a key of its own from the first time on."""
        found = read_record(LedgerContent, self._path)
        if found is None:
            found = LedgerContent(key=secrets.token_bytes(32), studies={})
            self._write(found)
        return found

    def _write(self, content: LedgerContent) -> None:
        keep_record(self._path, content)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Against others who submit from the same kit to another study."""
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _in_words(overlap: float, study: str, sketch: Sketch) -> str:
    few = sketch.different is not None and 2 * sketch.different < sketch.samples
    unsure = ". There are few different scores, so other samples may only look the same" if few else ""
    return (
        f"about {100 * overlap:.0f} % of these samples were part of study {study}: two results on nearly "
        f"the same data can be subtracted to learn about the samples that differ{unsure}"
    )
