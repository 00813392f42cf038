"""The ledger of an owner's submissions, by which the same data in another study is recognised.

Two results on nearly the same data can be subtracted, and what studies with noise tell of a person adds up:
the ledger warns of the one, and keeps account of the other. It holds no data but a sketch of each list: every
sample is hashed with a secret key of the kit, and the smallest hashes are kept. They are a random choice of
samples, the same one wherever the same samples are, so what two lists have in common can be estimated. Where
a study has several models or outcomes, a sample is its first model's score and its first outcome's label.

Of data that was counted on a grid, the rows are gone. Its sketch is of the table: of every value and class,
and every so many copies. Rows are compared with it as they are read on its grid, and another table on the
same grid as it is. That tells distributions that differ, and little more: it counts as the same people rather
too often. A table and an earlier list, or two tables on different grids, cannot be compared: for the budget
they are the same people, which is never too little.

What a study spends counts from before the first share leaves, and whether or not it ever has a result: an
attempt that failed may have told somebody, and an owner cannot see that it did not. It counts no longer once
all who take submissions have acknowledged a withdrawal, as they do only before the first attempt; nor once
the study is over, and no node has an attempt on record. Data that is replaced counts beside the other until
all have acknowledged the replacement: then nothing can be computed with it any more.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ppaurora.check import Concern, DataWarning
from ppaurora.data import CountTable, Grid, Samples
from ppaurora.io.locks import folder_locked
from ppaurora.io.models import StrictModel
from ppaurora.owner.records import keep_record, read_record
from ppaurora.policy.budget import Spending
from ppaurora.policy.rules import Policy
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

KEPT_HASHES = 1024
_LARGEST_HASH = np.uint64(2**64 - 1)
_SAMPLES_AT_ONCE = 1 << 16
_SAMPLE = np.dtype([("score", "<f8"), ("label", "u1"), ("copy", "<u8")])
_FEW_DECIMALS = 4
_PAIRS_PER_SAMPLE = 4  # with fewer that there can be, a quarter or more is alike by chance
_WORTH_A_WARNING = 0.5  # of the samples, from which on a second study is on nearly the same data
_SAME_DATA = 0.01  # of the smaller list, from which on both draw on one budget; less may be chance


class OverlapWarning(DataWarning):
    """Nearly the same data as in another study is about to be submitted.

    Examples
    --------
    >>> import warnings
    >>> import ppaurora
    >>> study = ppaurora.Study("kits/north", "corrected-2026")
    >>> with warnings.catch_warnings():  # doctest: +ELLIPSIS
    ...     warnings.simplefilter("error", ppaurora.OverlapWarning)
    ...     study.submit(([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]))
    Traceback (most recent call last):
    ...
    ppaurora.owner.ledger.OverlapWarning: ...
    """


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a list, ascending: all of them if it is short."""

    hashes: NDArray[np.uint64] = field(repr=False)
    samples: int
    possible: float = float("inf")  # pairs of score and label that there can be, by the decimals of scores
    grid: Grid | None = None  # on which samples were counted, of which no row was there
    views: Mapping[Grid, Sketch] = field(default_factory=dict, repr=False)  # of rows, as read on these grids

    @classmethod
    def of(cls, samples: Samples, key: bytes) -> Sketch:
        """Hash scores' bits and labels. Samples that are alike are numbered, so that each one counts."""
        return cls(_smallest(_numbered(samples), key), len(samples), _possible_pairs(samples))

    @classmethod
    def of_table(cls, table: CountTable, key: bytes) -> Sketch:
        """Hash values, classes, and the numbers of copies that have few digits: all copies up to 32 count.

        Above, so do 16 to every doubling, so that a billion samples take seconds.
        """
        smallest = np.empty(0, dtype=np.uint64)
        for label, counts in enumerate((table.negatives, table.positives)):
            for copy in _few_digits(int(counts.max(initial=0))):
                there = np.flatnonzero(counts > copy)
                records = np.empty(len(there), dtype=_SAMPLE)
                records["score"], records["label"], records["copy"] = table.grid.values[there], label, copy
                smallest = np.unique(np.concatenate([smallest, _smallest(records, key)]))[:KEPT_HASHES]
        return cls(smallest, len(table), 2.0 * table.grid.cells, table.grid)

    @property
    def limit(self) -> np.uint64:
        """Up to here the list has no other hashes than those that are kept."""
        is_all = len(self.hashes) < KEPT_HASHES or self.samples <= KEPT_HASHES
        return _LARGEST_HASH if is_all else self.hashes[-1]

    def on(self, grid: Grid | None) -> Sketch | None:
        """Return the sketch to compare with one of this kind; None if these cannot be compared."""
        if grid == self.grid:
            return self
        return None if grid is None else self.views.get(grid)

    def overlap(self, other: Sketch) -> float:
        """Estimate which fraction of these samples the other list has, too.

        Of the samples whose hashes both would have kept. Exact if both lists are short; else its standard
        error is below 1/(2·sqrt(m)) for m such samples, 0.016 if the lists are of one size.
        """
        compared = self.hashes[self.hashes <= min(self.limit, other.limit)]
        return float(np.isin(compared, other.hashes).mean()) if len(compared) else 0.0

    def draws_on(self, other: Sketch) -> bool:
        """Return whether people are in both lists, as far as can be seen: one may be a small part of one."""
        return max(self.overlap(other), other.overlap(self)) >= _SAME_DATA


def _smallest(records: NDArray[Any], key: bytes) -> NDArray[np.uint64]:
    smallest = np.empty(0, dtype=np.uint64)
    for start in range(0, len(records), _SAMPLES_AT_ONCE):
        hashes = _hashed(records[start : start + _SAMPLES_AT_ONCE], key)
        smallest = np.unique(np.concatenate([smallest, hashes]))[:KEPT_HASHES]
    return smallest


def _few_digits(end: int) -> Iterator[int]:
    """Yield the numbers below `end` that have at most five binary digits before their zeros."""
    number = 0
    while number < end:
        yield number
        number += 1 << max(0, number.bit_length() - 5)


def _on_grid(samples: Samples, grid: Grid) -> CountTable:
    """Count the samples that a grid holds; others cannot be part of a table on it."""
    places = grid.nearest(samples.scores_of_source)
    is_inside = (places >= 0) & (places < grid.cells)
    inside = Samples(samples.source, samples.scores[is_inside], samples.labels[is_inside])
    return CountTable.of(replace(inside, negated=samples.negated), grid)


def _possible_pairs(samples: Samples) -> float:
    """Scores of few decimals are often alike by chance."""
    for decimals in range(_FEW_DECIMALS + 1):
        steps = samples.scores * 10.0**decimals
        if np.allclose(steps, np.round(steps), rtol=0.0, atol=1e-6):
            return 2.0 * (float(np.ptp(steps)) + 1.0)
    return float("inf")


def _numbered(samples: Samples) -> NDArray[Any]:
    """Return every sample with how many like it came before."""
    order = np.lexsort((samples.labels, samples.scores))
    records = np.empty(len(samples), dtype=_SAMPLE)
    records["score"] = samples.scores[order] + 0.0  # -0.0 is 0.0
    records["label"] = samples.labels[order]
    is_new = np.ones(len(samples), dtype=bool)
    is_new[1:] = (np.diff(records["score"]) != 0) | (np.diff(records["label"].astype(np.int8)) != 0)
    starts = np.flatnonzero(is_new)
    records["copy"] = np.arange(len(samples)) - starts[np.cumsum(is_new) - 1]
    return records


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
    """The submission to one study, as the ledger keeps it."""

    name: str
    samples: int
    hashes: bytes  # of eight bytes each, ascending, little endian
    epsilon: float | None = None  # that the study spends; without noise there is no bound
    grid: Grid | None = None  # on which the samples were counted, if no row of them was there
    replaced: tuple[LedgerEntry, ...] = ()  # what it replaces, until all nodes have acknowledged that

    @property
    def sketch(self) -> Sketch:
        hashes = np.frombuffer(self.hashes, dtype="<u8").astype(np.uint64)
        return Sketch(hashes, self.samples, grid=self.grid)

    @property
    def spent(self) -> float:
        return math.inf if self.epsilon is None else self.epsilon

    def shares_people_with(self, sketch: Sketch) -> bool:
        """Return whether the study has these people, or has them still where its data is being replaced.

        It has them for all that is known, if they cannot be compared.
        """
        return any(
            comparable is None or entry.sketch.draws_on(comparable)
            for entry in (self, *self.replaced)
            for comparable in [sketch.on(entry.grid)]
        )

    def after(self, before: LedgerEntry | None) -> LedgerEntry:
        """Return this as what replaces another entry. The same data again replaces nothing."""
        if before is None:
            return self
        older = (msgspec.structs.replace(before, replaced=()), *before.replaced)
        kept = tuple(entry for entry in older if entry.hashes != self.hashes)
        return msgspec.structs.replace(self, replaced=kept)


class LedgerContent(_Redacted):
    """What stands in the file `ledger.json`."""

    key: bytes
    studies: dict[str, LedgerEntry]  # by their manifests' hashes


@dataclass(frozen=True)
class Seen:
    """What the ledger says of samples: which studies had nearly the same, and what all spend on them."""

    overlaps: tuple[Concern, ...]
    spending: Spending


class Ledger:
    """The file `ledger.json` of an owner's kit."""

    def __init__(self, kit: OwnerKit) -> None:
        self._folder = kit.folder
        self._path = kit.folder / "ledger.json"
        self._most = kit.settings.floors.epsilon

    def sketch(self, samples: Samples | CountTable) -> Sketch:
        """Return what to compare and to keep; of rows, also as they are read on grids of earlier studies."""
        with self._locked():
            content = self._content()
        if isinstance(samples, CountTable):
            return Sketch.of_table(samples, content.key)
        earlier = (entry for known in content.studies.values() for entry in (known, *known.replaced))
        grids = {entry.grid for entry in earlier if entry.grid is not None}
        views = {grid: Sketch.of_table(_on_grid(samples, grid), content.key) for grid in grids}
        return replace(Sketch.of(samples, content.key), views=views)

    def look(self, samples: Samples | CountTable, manifest: Manifest) -> Seen:
        """Say what there is to say of samples that are not submitted yet; writes nothing."""
        if not self._path.exists() or not self._content().studies.keys() - {manifest.study_hash}:
            return Seen((), self._alone(manifest))
        return self.compare(self.sketch(samples), manifest)

    def compare(self, sketch: Sketch, manifest: Manifest) -> Seen:
        """Compare samples with those of other studies."""
        entries = self._content().studies
        earlier = [entry for hash_, entry in entries.items() if hash_ != manifest.study_hash]
        comparable = [(entry, sketch.on(entry.grid)) for entry in earlier]
        found = [(one.overlap(entry.sketch), entry, one) for entry, one in comparable if one is not None]
        alike = [one for one in found if one[0] >= _WORTH_A_WARNING]
        alike.sort(key=lambda one: (one[0], one[1].name), reverse=True)
        overlaps = [_concern(overlap, entry, one, manifest.terms.policy) for overlap, entry, one in alike]
        overlaps += [_not_compared(entry) for entry, one in comparable if one is None]
        spending = self._alone(manifest)
        if spending.matters:
            spent = [(entry.name, entry.spent) for entry in earlier if entry.shares_people_with(sketch)]
            spending = replace(spending, earlier=tuple(spent))
        return Seen(tuple(overlaps), spending)

    def _alone(self, manifest: Manifest) -> Spending:
        return Spending(manifest.terms.policy, most=self._most)

    def record(self, sketch: Sketch, manifest: Manifest) -> LedgerEntry | None:
        """Write down what is about to leave. What was on record before is returned, to `restore` it.

        It is durable, and for its owner's eyes only. Raises `BudgetError`, and writes nothing, if studies
        would spend too much on these samples: others may have submitted them since they were looked at.
        """
        policy = manifest.terms.policy
        entry = LedgerEntry(
            name=manifest.study,
            samples=sketch.samples,
            hashes=sketch.hashes.astype("<u8").tobytes(),
            epsilon=policy.epsilon,
            grid=sketch.grid,
        )
        with self._locked():
            self.compare(sketch, manifest).spending.check()
            before = self._content().studies.get(manifest.study_hash)
            self._put(manifest, entry.after(before))
        return before

    def restore(self, manifest: Manifest, entry: LedgerEntry | None) -> None:
        """Put back the entry of what was submitted before: what was refused is part of no study."""
        with self._locked():
            self._put(manifest, entry)

    def forget(self, manifest: Manifest) -> None:
        """Remove the entry of a study: what was withdrawn is part of none, and spends nothing."""
        self.restore(manifest, None)

    def forget_replaced(self, manifest: Manifest) -> None:
        """Remove what was submitted before: what all nodes have replaced is part of no study."""
        with self._locked():
            entry = self._content().studies.get(manifest.study_hash)
            if entry is not None and entry.replaced:
                self._put(manifest, msgspec.structs.replace(entry, replaced=()))

    def _put(self, manifest: Manifest, entry: LedgerEntry | None) -> None:
        content = self._content()
        studies = {hash_: known for hash_, known in content.studies.items() if hash_ != manifest.study_hash}
        if entry is not None:
            studies[manifest.study_hash] = entry
        if studies != content.studies:
            self._write(msgspec.structs.replace(content, studies=studies))

    def _content(self) -> LedgerContent:
        """Return the ledger's content, with a key of its own from the first time on."""
        found = read_record(LedgerContent, self._path)
        if found is None:
            found = LedgerContent(key=secrets.token_bytes(32), studies={})
            self._write(found)
        return found

    def _write(self, content: LedgerContent) -> None:
        keep_record(self._path, content)

    def _locked(self) -> AbstractContextManager[None]:
        """Against others who submit from the same kit to another study."""
        return folder_locked(self._folder)


def by_chance(sketch: Sketch, samples: int) -> bool:
    """Return whether other samples, so many of them, would look like these: so many that most pairs occur."""
    return _PAIRS_PER_SAMPLE * samples > sketch.possible


def _not_compared(earlier: LedgerEntry) -> Concern:
    return Concern(
        "overlap",
        f"whether these samples were part of study {earlier.name} cannot be told: they were counted on a "
        "grid, and no row is there to compare. If they were, two results on nearly the same data can be "
        "subtracted; a budget counts both studies",
        is_warning=False,
    )


def _concern(overlap: float, earlier: LedgerEntry, sketch: Sketch, policy: Policy) -> Concern:
    """Say what two results on nearly the same data tell: if both have noise, no more than they spend."""
    said = f"about {100 * overlap:.0f} % of these samples were part of study {earlier.name}: "
    if policy.is_private and earlier.epsilon is not None:
        return Concern("overlap", f"{said}what both tell of a person adds up", is_warning=False)
    unsure = by_chance(sketch, earlier.samples)
    why = ". Scores have so few decimals that other samples would look the same" if unsure else ""
    said += (
        f"two results on nearly the same data can be subtracted to learn about the samples that differ{why}. "
        f"As long as that study has computed nothing, 'ppaurora withdraw KIT --study {earlier.name}' takes "
        "them back from it"
    )
    return Concern("overlap", said, is_warning=not unsure)
