"""Protocols to which owners submit lists: sorted, split record by record, merged inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ppaurora.algorithms.merge import MergeTwo, merge_all, merge_groups
from ppaurora.algorithms.order import count_ascents
from ppaurora.channel.base import Buffer
from ppaurora.channel.servers import Server
from ppaurora.data.count_table import CountTable
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError
from ppaurora.metrics import Query
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.extras.study import StudyInputs, release_study, word_count
from ppaurora.metrics.parts import designed, layout_of
from ppaurora.metrics.release import release
from ppaurora.metrics.sums import ListCounts, OwnerSum, sums_of
from ppaurora.protocols.base import Protocol, no_table
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context, Work, Worker
from ppaurora.sharing.algebra import RING
from ppaurora.sharing.blocks import blocks
from ppaurora.sharing.shares import Bytes, Words
from ppaurora.sharing.spans import spans
from ppaurora.sharing.stages import Counts, InputShare, OwnerShare, ResultShare, Shape
from ppaurora.suites.base import Records, Suite

NO_COUNTS: Counts = np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True)
class Prepared:
    """An owner's list, encoded and sorted, descending; still in the clear."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)


class ListProtocol(Protocol):
    """A protocol that merges owners' lists. Beside its list an owner submits sums, and perhaps a table."""

    @abstractmethod
    def encode(self, samples: Samples) -> Words:
        """Whole numbers that order as the scores do; a score that cannot be exact is refused."""

    def prepare(self, samples: Samples) -> Prepared:
        """Keys and labels in descending order of the keys; equal keys in the owner's order."""
        keys = self.encode(samples)
        order = np.argsort(~keys, kind="stable")
        return Prepared(keys[order], samples.labels[order])

    @abstractmethod
    def split(self, prepared: Prepared, *, stream: Stream | None = None) -> tuple[InputShare, ...]:
        """Split a list: a share for every input server, from the operating system's randomness."""

    @abstractmethod
    def input_bytes(self, size: int) -> int:
        """Return how long an owner's share of so many samples is as bytes."""

    @abstractmethod
    def read_input(self, raw: bytes | memoryview, size: int) -> InputShare:
        """Return a share from its bytes."""

    def share(
        self, data: Samples | CountTable, wanted_sums: Sequence[OwnerSum], *, stream: Stream | None = None
    ) -> tuple[OwnerShare, ...]:
        if isinstance(data, CountTable):
            raise no_table(data)
        counts = NO_COUNTS if self.grid is None else CountTable.of(data, self.grid).counts
        return self.share_parts([data], sums_of(data, wanted_sums), counts, stream=stream)

    def share_parts(
        self, lists: Sequence[Samples], words: Words, counts: Counts, *, stream: Stream | None = None
    ) -> tuple[OwnerShare, ...]:
        stream = Stream.fresh() if stream is None else stream
        split = [self.split(self.prepare(one), stream=stream) for one in lists]
        parts = self.split_words(words, stream)
        tables = self.split_counts(counts, stream)
        return tuple(
            OwnerShare(own[0], part, table, tuple(own[1:]))
            for part, table, *own in zip(parts, tables, *split, strict=True)
        )

    def share_bytes(self, server: Server, size: int, shape: Shape, *, leads: bool = True) -> int:
        behind = RING.wire_bytes(shape.sums) + self.table_bytes(server, shape)
        return shape.lists * self.input_bytes(size) + (behind if leads else 0)

    def read_share(
        self, raw: Buffer, server: Server, size: int, shape: Shape, *, leads: bool = True
    ) -> OwnerShare:
        expected = self.share_bytes(server, size, shape, leads=leads)
        if len(raw) != expected:
            raise InputError(f"a share of {size:,} samples has {expected:,} bytes, not {len(raw):,}")
        whole, one = memoryview(raw), self.input_bytes(size)
        samples, *more = (
            self.read_input(whole[number * one : (number + 1) * one], size) for number in range(shape.lists)
        )
        end = shape.lists * one
        if not leads:
            return OwnerShare(samples, RING.from_wire(whole[end:], (0,)), more_lists=tuple(more))
        behind_sums = end + RING.wire_bytes(shape.sums)
        words = RING.from_wire(whole[end:behind_sums], (shape.sums,))
        return OwnerShare(samples, words, self.read_table(whole[behind_sums:], server, shape), tuple(more))

    def worker_share(self, share: OwnerShare, worker: Worker, size: int) -> OwnerShare:
        """A block of every list; the first worker also has the sums and the counts."""
        block = blocks(size, worker.count)[worker.index]
        samples = None if share.samples is None else share.samples.part(block)
        more = tuple(one.part(block) for one in share.more_lists)
        if worker.leads:
            return OwnerShare(samples, share.sums, share.table, more)
        return OwnerShare(samples, share.sums[:0], more_lists=more)

    @abstractmethod
    def merge_two(self) -> MergeTwo:
        """Return how two sorted lists become one."""

    def run(
        self, context: Context, query: Query, inputs: list[OwnerShare], recipients: int
    ) -> tuple[ResultShare, ...]:
        context.progress = Work(self.work(query), context.progress)
        suite = self.suite(context)
        if query.design is not None:
            columns = release_study(suite, query, self._study_inputs(suite, query, inputs))
            return suite.result(columns, recipients) if suite.team.leads else ()
        team = suite.team
        with context.step("input"):
            sizes_here = [len(blocks(size, team.count)[team.index]) for size in query.sizes]
            lists = suite.inputs([share.samples for share in inputs], sizes_here)
            sums = None
            if query.sums and team.leads:
                sums = suite.input_words(
                    [share.sums for share in inputs], (len(query.sizes), len(query.sums))
                )
            tables = self.tables(suite, query, inputs) if team.leads else None
        inputs.clear()
        ascents = None if self.unfit is None else count_ascents(suite, lists, query.sizes)
        counts = None
        if query.needs_list_counts:
            sizes = np.array(query.sizes, dtype=np.uint64)
            counts = ListCounts(sizes, team.total(suite.count_positives(lists)))
        merged = []
        if query.needs_curve:
            with context.step("merge"):
                taken = (lists.pop(0) for _ in range(len(lists)))  # so that nobody else holds them
                merged.append(merge_all(suite, taken, self.merge_two(), query.sizes))
        lists.clear()
        columns = release(suite, query, merged, Inputs(ascents, counts, sums, tables))
        return suite.result(columns, recipients) if team.leads else ()

    def _study_inputs(self, suite: Suite, query: Query, inputs: list[OwnerShare]) -> StudyInputs:
        """Return every whole's list, merged in the same rounds, and all else. Takes the inputs."""
        team, wholes = suite.team, designed(query).wholes
        with suite.step("input"):
            sizes_here = [len(blocks(size, team.count)[team.index]) for size in query.sizes]
            groups = [
                suite.inputs([share.lists[number] for share in inputs], sizes_here)
                for number in range(len(wholes))
            ]
            counts = words = None
            if team.leads:
                counts = self.input_counts(suite, query, inputs, layout_of(query).counts)
                words = self.input_words(suite, query, inputs, word_count(query))
        inputs.clear()
        every, sizes = [records for group in groups for records in group], list(query.sizes) * len(wholes)
        ascents = count_ascents(suite, every, sizes)
        positives = team.total(suite.count_positives(every))
        del every
        places = spans([len(query.sizes)] * len(wholes))
        merged: list[Records] = []
        if query.needs_curve:
            with suite.step("merge"):
                merged = merge_groups(suite, groups, self.merge_two(), query.sizes)
        return StudyInputs(
            {whole: [records] for whole, records in zip(wholes, merged, strict=False)},
            {whole: ascents[place] for whole, place in zip(wholes, places, strict=True)},
            {whole: positives[place] for whole, place in zip(wholes, places, strict=True)},
            counts,
            words,
        )
