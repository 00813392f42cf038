"""`fast`, the default: bit planes in masked form and a merge network. Opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ppaurora.algorithms.curve import PRECISION, TP, precision_bits
from ppaurora.algorithms.merge import MergeTwo
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.algorithms.merge_plan import plan_cost
from ppaurora.channel.meter import Cost
from ppaurora.channel.servers import Server
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.io.models import StrictModel
from ppaurora.metrics import Query
from ppaurora.metrics.parts import layout_of
from ppaurora.protocols.lists import ListProtocol, Prepared
from ppaurora.protocols.registry import register
from ppaurora.protocols.security import NOTHING, UNFIT_LIST, Adversary, Corruption, Knowledge, all_follow
from ppaurora.randomness.streams import Stream
from ppaurora.session import Context, weight
from ppaurora.session.worker import MOST_WORKERS
from ppaurora.sharing.planes import slice_numbers
from ppaurora.sharing.shares import Words
from ppaurora.suites.bitsliced import BitslicedSuite, costs
from ppaurora.suites.bitsliced.shares import PlanesShare
from ppaurora.suites.role import Role

KEY_WIDTHS = (32, 64)
_EXPECTED = "key_bits: keys have 32 or 64 bits"
_EXPECTED_GRID = "grid: a table with low, high and decimals, or a ppaurora.Grid"
_BYTES_PER_ROUND = 1 << 16  # that are sent in the time that a round takes by itself
_BYTES_TO_START = 1 << 22  # ... and that the first use of everything takes


class FastParameters(StrictModel):
    key_bits: Annotated[
        int,
        Meta(
            description="Width of the keys: 64 serves any scores, 32 is cheaper and serves float32 scores. "
            "By default what the scores need."
        ),
    ] = 64
    grid: Annotated[
        Grid | None,
        Meta(description="of a table beside the lists, for metrics that need one."),
    ] = None

    def __post_init__(self) -> None:
        if self.key_bits not in KEY_WIDTHS:
            raise ValueError(f"{_EXPECTED}, not {self.key_bits}")


@register
class Fast(ListProtocol):
    name = "fast"
    summary = "any finite scores; the servers learn nothing"
    Parameters = FastParameters
    expected: ClassVar[Mapping[str, str]] = {"key_bits": _EXPECTED, "grid": _EXPECTED_GRID}
    servers = Role
    leader = Role.PROXY_0
    input_servers = result_servers = (Role.PROXY_0, Role.PROXY_1)
    privacy = Corruption(servers=1, adversary=Adversary.FOLLOWS)
    correctness = all_follow(Role)
    unfit = UNFIT_LIST
    most_workers = MOST_WORKERS

    parameters: FastParameters

    @property
    def key_bits(self) -> int:
        return self.parameters.key_bits

    @property
    def takes_float64(self) -> bool:
        return self.key_bits == 64

    @property
    def grid(self) -> Grid | None:
        return self.parameters.grid

    @classmethod
    def fitting(cls, owners: Sequence[Samples | CountTable], **parameters: Any) -> Self:
        if parameters.get("key_bits") is None:
            parameters["key_bits"] = least_key_bits(one for one in owners if isinstance(one, Samples))
        return cls(**parameters)

    def encode(self, samples: Samples) -> Words:
        """Keys of 64 or 32 bits that order as any finite float64, or float32, does.

        Read as an integer, the bit pattern of a float grows with its magnitude: negative numbers have
        all bits inverted, others the sign bit. Scores that would not be exact at the agreed width are
        refused, never rounded.
        """
        if self.key_bits == 64:
            patterns = (samples.scores + 0.0).view(np.uint64)
        else:
            inexact = np.flatnonzero(~fits_float32(samples.scores))
            if len(inexact):
                problem = "the score is not a float32, as keys of 32 bits need"
                raise samples.bad_score(int(inexact[0]), problem, "use keys of 64 bits")
            patterns = (samples.scores + 0.0).astype(np.float32).view(np.uint32).astype(np.uint64)
        sign = np.uint64(1 << (self.key_bits - 1))
        all_bits = np.uint64((1 << self.key_bits) - 1)
        return np.where(patterns & sign, patterns ^ all_bits, patterns ^ sign)

    def split(self, prepared: Prepared, *, stream: Stream | None = None) -> tuple[PlanesShare, PlanesShare]:
        """Bit planes, split by xor."""
        size = len(prepared.keys)
        planes = np.concatenate(
            [slice_numbers(prepared.keys, self.key_bits), slice_numbers(prepared.labels.astype(np.uint64), 1)]
        )
        pad = (Stream.fresh() if stream is None else stream).words(planes.shape)
        return PlanesShare(pad, size), PlanesShare(planes ^ pad, size)

    def input_bytes(self, size: int) -> int:
        return PlanesShare.wire_bytes(size, self.key_bits)

    def read_input(self, raw: bytes | memoryview, size: int) -> PlanesShare:
        return PlanesShare.from_bytes(raw, size, self.key_bits)

    def suite(self, context: Context) -> BitslicedSuite:
        return BitslicedSuite(context, self.key_bits)

    def merge_two(self) -> MergeTwo:
        return merge_network

    def declared(self, query: Query) -> dict[str, Cost]:
        """Add up declared costs. The scan has about as many positions as there are samples, up and down."""
        samples, sizes, chosen = query.samples, query.sizes, query.metrics
        quantities = {TP, *query.quantities}
        plan = plan_cost(sizes, merge_network.plan(sizes))
        layer = costs.exchange(self.key_bits, 1)
        steps = {
            "input": costs.inputs(self.key_bits, sizes),
            "order check": costs.compare_neighbours(self.key_bits, sizes) + costs.count_ones(samples, 1),
            "merge": Cost(0, costs.exchange(self.key_bits, plan.words).bytes, layer.rounds * plan.layers),
            "curve": costs.to_ring(samples),
            "division": costs.rounded_quotients(
                len(chosen), max(samples * samples // 4, samples), 2 * samples.bit_length()
            ),
        }
        if any(metric.needs_curve and metric.uses_ends for metric in chosen):
            steps["ties"] = costs.ends_of_groups(self.key_bits, samples)
        if PRECISION in quantities:
            steps["precision"] = costs.div_public(samples, precision_bits(samples))
        if any(metric.needs_curve and metric.at_ends for metric in chosen):
            up, down = (costs.carry(len(quantities), samples, join=join) for join in (True, False))
            steps["curve"] += up + down + Cost(rounds=2 * samples.bit_length())
        if query.design is not None:
            steps = {step: cost * len(query.design.wholes) for step, cost in steps.items()}
            steps["division"] += costs.input_counts(len(sizes), layout_of(query).counts)
        return steps

    def work(self, query: Query) -> dict[str, int]:
        """Weigh declared costs."""
        if not query.needs_curve:
            return {"order check": 1, "division": 1}
        steps = self.declared(query)
        steps["input"] += Cost(bytes=_BYTES_TO_START)
        if "precision" in steps:
            steps["precision"] *= 2  # it computes more per byte than others do
        return {step: weight(cost, _BYTES_PER_ROUND) for step, cost in steps.items()}

    def described(self) -> str:
        beside = "" if self.grid is None else f"; beside them a table of {self.grid}"
        return f"{self.key_bits}-bit keys{beside}"

    def learns(self, server: Server) -> Knowledge:
        return NOTHING


def fits_float32(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where a score is exactly a float32."""
    with np.errstate(over="ignore", under="ignore"):
        exact: NDArray[np.bool_] = scores.astype(np.float32).astype(np.float64) == scores
    return exact


def least_key_bits(owners: Iterable[Samples]) -> int:
    """Return the narrowest width at which everybody's scores are exact."""
    return 32 if all(fits_float32(samples.scores).all() for samples in owners) else 64
