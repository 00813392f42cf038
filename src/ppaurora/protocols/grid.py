"""`grid`: owners submit counts per value of a grid and class; the cost does not depend on the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ppaurora.algorithms.curve import PRECISION, precision_bits
from ppaurora.channel.base import Buffer
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError, ProtocolError
from ppaurora.io.models import to_builtins
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.extras.study import StudyInputs, release_study, word_count
from ppaurora.metrics.parts import layout_of
from ppaurora.metrics.release import release
from ppaurora.metrics.sums import ListCounts, OwnerSum, weights_on
from ppaurora.policy.rules import Policy
from ppaurora.protocols.base import Protocol
from ppaurora.protocols.registry import register
from ppaurora.protocols.security import NOTHING, UNFIT_TABLE, Adversary, Corruption, Knowledge, all_follow
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context, Work, Worker
from ppaurora.sharing.algebra import RING
from ppaurora.sharing.shares import Words
from ppaurora.sharing.stages import Counts, OwnerShare, ResultShare, Shape
from ppaurora.suites.bitsliced import BitslicedSuite, costs
from ppaurora.suites.role import Role

_NO_WORDS = np.zeros(0, dtype=np.uint64)


@register
class GridProtocol(Protocol):
    """The pooled table is the sum of owners' tables, and every metric is a function of it.

    1. an owner counts its samples by class and by the grid value that their score is read as; counts are
       split modulo 2^32, so that each is from 0 to 2^32 - 1 whatever the owner does
    2. counts become numbers modulo 2^64, by one comparison each
    3. every owner's counts must add up to its public number of samples; there are at most 2^21 of them, so
       that the sum cannot wrap
    4. sums that metrics need are weighted sums of each owner's counts, at public weights: local
    5. TP and FP are prefix sums of the pooled table: local
    """

    name = "grid"
    summary = (
        "scores read to so many decimals; any number of samples at the same cost; the servers learn nothing"
    )
    Parameters = Grid
    expected: ClassVar[Mapping[str, str]] = {
        "low": "low: the lowest score, a number",
        "high": "high: the highest score, a number",
        "decimals": "decimals: a whole number from 0 to 9",
    }
    servers = Role
    leader = Role.PROXY_0
    input_servers = result_servers = (Role.PROXY_0, Role.PROXY_1)
    privacy = Corruption(servers=1, adversary=Adversary.FOLLOWS)
    correctness = all_follow(Role)
    unfit = UNFIT_TABLE

    parameters: Grid

    @property
    def grid(self) -> Grid:
        return self.parameters

    @property
    def tabulated(self) -> bool:
        return True

    @classmethod
    def fitting(cls, owners: Sequence[Samples | CountTable], **parameters: Any) -> Self:
        """Take the range of all scores, in whole numbers, where they are no probabilities."""
        tables = [one for one in owners if isinstance(one, CountTable)]
        if tables:
            parameters = {**to_builtins(tables[0].grid), **parameters}
        elif "low" not in parameters and "high" not in parameters:
            scores = [one.scores_of_source for one in owners if isinstance(one, Samples) and len(one)]
            low = min((float(own.min()) for own in scores), default=0.0)
            high = max((float(own.max()) for own in scores), default=1.0)
            if low < 0 or high > 1:
                parameters |= {"low": float(np.floor(low)), "high": float(np.ceil(high))}
        return cls(**parameters)

    def described(self) -> str:
        return str(self.grid)

    def problem_with(self, metrics: Sequence[Metric], policy: Policy, confidence_level: float | None) -> str:
        for metric in metrics:
            if metric.needs_curve and not metric.uses_ends:
                return f"the metric '{metric.name}' has no meaning where equal scores are counted together"
            if metric.of_probabilities and (self.grid.low < 0 or self.grid.high > 1):
                return f"the metric '{metric.name}' takes probabilities, but the grid goes beyond 0 and 1"
        return ""

    def read(self, samples: Samples) -> Samples:
        return self.grid.read(samples)

    def share(
        self,
        data: Samples | CountTable,
        wanted_sums: Sequence[OwnerSum],
        *,
        stream: Stream | None = None,
    ) -> tuple[OwnerShare, ...]:
        table = data if isinstance(data, CountTable) else CountTable.of(data, self.grid)
        self.check_table(table)
        return self.share_parts([], _NO_WORDS, table.counts, stream=stream)

    def shape(self, sums: int) -> Shape:
        """Sums follow from the table."""
        return Shape(lists=0, counts=2 * self.grid.cells)

    def share_parts(
        self, lists: Sequence[Samples], words: Words, counts: Counts, *, stream: Stream | None = None
    ) -> tuple[OwnerShare, ...]:
        stream = Stream.fresh() if stream is None else stream
        parts, tables = self.split_words(words, stream), self.split_counts(counts, stream)
        return tuple(OwnerShare(None, *both) for both in zip(parts, tables, strict=True))

    def share_bytes(self, server: Server, size: int, shape: Shape, *, leads: bool = True) -> int:
        return RING.wire_bytes(shape.sums) + self.table_bytes(server, shape)

    def read_share(
        self, raw: Buffer, server: Server, size: int, shape: Shape, *, leads: bool = True
    ) -> OwnerShare:
        expected = self.share_bytes(server, size, shape)
        if len(raw) != expected:
            raise InputError(f"a share of a table has {expected:,} bytes, not {len(raw):,}")
        whole, end = memoryview(raw), RING.wire_bytes(shape.sums)
        words = RING.from_wire(whole[:end], (shape.sums,))
        return OwnerShare(None, words, self.read_table(whole[end:], server, shape))

    def worker_share(self, share: OwnerShare, worker: Worker, size: int) -> OwnerShare:
        return share

    def suite(self, context: Context) -> BitslicedSuite:
        return BitslicedSuite(context)

    def run(
        self, context: Context, query: Query, inputs: list[OwnerShare], recipients: int
    ) -> tuple[ResultShare, ...]:
        context.progress = Work(self.work(query), context.progress)
        suite = self.suite(context)
        if query.design is not None:
            with context.step("input"):
                counts = self.input_counts(suite, query, inputs, layout_of(query).counts)
                words = self.input_words(suite, query, inputs, word_count(query))
            inputs.clear()
            study = StudyInputs({}, {}, {}, counts, words)
            return suite.result(release_study(suite, query, study), recipients)
        with context.step("input"):
            tables = self.tables(suite, query, inputs)
        if tables is None:
            raise ProtocolError("there are no tables")
        inputs.clear()
        by_class = ListCounts(np.array(query.sizes, dtype=np.uint64), tables.positives)
        sums = (
            tables.weighted(weights_on(self.grid, query.sums, negated=query.negated)) if query.sums else None
        )
        columns = release(suite, query, [], Inputs(None, by_class, sums, tables))
        return suite.result(columns, recipients)

    def declared(self, query: Query) -> dict[str, Cost]:
        values, most = self.grid.cells, query.most_samples
        counts = 2 * values if query.design is None else layout_of(query).counts
        steps = {
            "input": costs.input_counts(len(query.sizes), counts),
            "division": costs.wide_quotients(
                len(query.metrics) + 1, 2 * most.bit_length(), bound=most * most << 34
            ),
        }
        if PRECISION in query.quantities:
            steps["precision"] = costs.is_positive(values + 1) + costs.div(
                values + 1, precision_bits(most), most
            )
        return steps

    def work(self, query: Query) -> dict[str, int]:
        """Count values of the grid: a precision takes about as long as thirty comparisons."""
        cells, counts, slices = self.grid.cells, 2 * self.grid.cells, 1
        if query.design is not None:
            counts, slices = layout_of(query).counts, len(query.design.slices)
        steps = {"input": counts * len(query.sizes), "division": 50_000 * slices}
        if PRECISION in query.quantities:
            steps["precision"] = 30 * cells
        return steps

    def learns(self, server: Server) -> Knowledge:
        return NOTHING
