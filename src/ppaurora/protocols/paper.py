"""`paper`: ppAURORA as printed, its misprints corrected. There to compare with; use `fast` for real data.

Source: A. B. Ünal, N. Pfeifer, M. Akgün, ppAURORA: Privacy Preserving Area Under Receiver Operating
Characteristic and Precision-Recall Curves (2023), arXiv:2102.08788.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from ppaurora.algorithms.curve import PRECISION, TP, precision_bits
from ppaurora.algorithms.merge import MergeTwo
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.data.samples import Samples, check_probabilities
from ppaurora.io.models import StrictModel
from ppaurora.metrics import Query
from ppaurora.policy.rules import Policy
from ppaurora.protocols.lists import ListProtocol, Prepared
from ppaurora.protocols.registry import register
from ppaurora.protocols.security import (
    NOTHING,
    ONE_CLASS,
    Adversary,
    Corruption,
    Knowledge,
    Learnt,
    all_follow,
)
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context, weight
from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.shares import Words
from ppaurora.suites.arrays import AdditiveShare
from ppaurora.suites.base import FIXED_POINT_BITS
from ppaurora.suites.cecilia import CeciliaSuite, costs
from ppaurora.suites.role import Role

COMPARISONS = Learnt("some comparisons of scores, chosen by the merge")
MOVES = Learnt("how many records the merge took from which list")
GAPS = Learnt("gaps between scores, and so the number of ties, in an imperfect disguise")
FIXED_POINT_METRICS = Learnt(f"the metrics to {FIXED_POINT_BITS} binary places")

_EXPECTED = "delta must be an odd number, 1 or larger"
_BYTES_PER_ROUND = 1 << 14  # that are sent in the time that a round takes by itself


class PaperParameters(StrictModel):
    delta: Annotated[
        int,
        Meta(
            description="Records moved per shuffling, odd; 1 by default. Above 1 the proxies learn some "
            "comparisons."
        ),
    ] = 1

    def __post_init__(self) -> None:
        if self.delta < 1 or self.delta % 2 == 0:
            raise ValueError(f"{_EXPECTED}, not {self.delta}")


@register
class Paper(ListProtocol):
    name = "paper"
    summary = "ppAURORA as printed: slower, scores from 0 to 1, and it leaks more to the servers"
    Parameters = PaperParameters
    expected: ClassVar[Mapping[str, str]] = {"delta": _EXPECTED}
    servers = Role
    leader = Role.PROXY_0
    input_servers = result_servers = (Role.PROXY_0, Role.PROXY_1)
    privacy = Corruption(servers=1, adversary=Adversary.FOLLOWS)
    correctness = all_follow(Role)
    unfit = None
    takes_negated = False
    rounds_inside = False

    parameters: PaperParameters

    @property
    def delta(self) -> int:
        return self.parameters.delta

    def encode(self, samples: Samples) -> Words:
        """Keys of 62 bits that order as scores in [0, 1] do.

        The bit pattern of a non-negative float64, read as an integer, grows with the number. Equal
        scores have equal keys (-0.0 is made 0.0), different ones different keys.
        """
        check_probabilities(samples, "the protocol 'paper' takes scores from 0 to 1, such as probabilities")
        return (samples.scores + 0.0).view(np.uint64)

    def split(
        self, prepared: Prepared, *, stream: Stream | None = None
    ) -> tuple[AdditiveShare, AdditiveShare]:
        """Keys modulo 2^64, labels modulo 2."""
        stream = Stream.fresh() if stream is None else stream
        keys = RING.draw(stream, prepared.keys.shape)
        labels = BITS.draw(stream, prepared.labels.shape)
        return AdditiveShare(keys, labels), AdditiveShare(prepared.keys - keys, prepared.labels ^ labels)

    def input_bytes(self, size: int) -> int:
        return AdditiveShare.wire_bytes(size)

    def read_input(self, raw: bytes | memoryview, size: int) -> AdditiveShare:
        return AdditiveShare.from_bytes(raw, size)

    def suite(self, context: Context) -> CeciliaSuite:
        return CeciliaSuite(context)

    def merge_two(self) -> MergeTwo:
        return merge_delta(self.delta)

    def work(self, query: Query) -> dict[str, int]:
        """Estimate by declared costs; the merge by the pairs that it compares, about."""
        samples, chosen = query.samples, query.metrics
        quantities = {TP, *query.quantities}
        steps = {
            "merge": costs.exchange(self.merge_two().total_work(query.sizes)),
            "curve": costs.to_ring(samples),
            "division": costs.div(len(chosen), FIXED_POINT_BITS),
        }
        if any(metric.uses_ends for metric in chosen):
            steps["ties"] = costs.differ(samples)
        if PRECISION in quantities:
            steps["precision"] = costs.div(samples, precision_bits(samples))
        if any(metric.at_ends for metric in chosen):
            values = (len(quantities) + 1, samples)
            steps["curve"] += costs.mul((samples,), values, values) * 2 + Cost(
                rounds=2 * samples.bit_length()
            )
        return {step: weight(cost, _BYTES_PER_ROUND) for step, cost in steps.items()}

    def learns(self, server: Server) -> Knowledge:
        """docs/leakage.md has the attacks."""
        if server is Role.HELPER:
            return (GAPS,) if self.delta == 1 else (GAPS, MOVES)
        return NOTHING if self.delta == 1 else (COMPARISONS,)

    def owners_learn(self, policy: Policy) -> Knowledge:
        return (FIXED_POINT_METRICS, ONE_CLASS)
