"""Owners' lists for property tests, and ways to run the protocols' algorithms on them under any suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.algorithms.merge import merge_all
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.algorithms.order import count_ascents
from ppaurora.channel.servers import Server
from ppaurora.metrics import Query, metrics_named
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.release import release
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.sharing import BitShare, RingShare
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import Records, Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.shares import HOLDERS, PlanesShare
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.suites.role import Role
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun
from tests.support.oracles import Sample

Owner = list[Sample]
Algorithm = Callable[[Suite, list[Any]], Any]  # given ArrayRecords
PlanesAlgorithm = Callable[[BitslicedSuite, list[Any]], Any]  # given PlaneRecords

METRICS = ("auroc", "aupr", "ap")


@st.composite
def owners(
    draw: st.DrawFn, min_owners: int = 2, max_owners: int = 6, max_size: int = 60, min_size: int = 1
) -> list[Owner]:
    """Unequal owners: few or many different scores, all tied, or one class only at an owner."""
    pool = draw(
        st.sampled_from(
            [
                [0.5],
                [0.0, 1.0],
                [0.25, 0.5, 0.75],
                [k / 10 for k in range(11)],
                [k / 997 for k in range(998)],
                [0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0), 1.0, np.nextafter(1.0, 0), 5e-324, 0.0],
            ]
        )
    )
    sizes = draw(st.lists(st.integers(min_size, max_size), min_size=min_owners, max_size=max_owners))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    lists = []
    for size in sizes:
        scores = random.choice(pool, size)
        positive_rate = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
        labels = random.random(size) < positive_rate
        lists.append([(float(score), int(label)) for score, label in zip(scores, labels, strict=True)])
    return lists


def pooled(lists: Sequence[Owner]) -> Owner:
    return [sample for owner in lists for sample in owner]


def areas(
    suite: Suite, merged: Records, metrics: Sequence[str], ascents: RingShare | None = None
) -> RingShare:
    """The columns of a release without a policy and without the number of positives."""
    policy = msgspec.structs.replace(Policy.exact(), counts="hidden")
    query = Query(metrics_named(*metrics), (len(merged),), policy)
    return release(suite, query, [merged], Inputs(ascents, None, None))


def paper(delta: int, metrics: Sequence[str] = METRICS) -> Algorithm:
    """What the servers compute under `paper`."""

    def algorithm(suite: Suite, lists: list[Records]) -> RingShare:
        return areas(suite, merge_all(suite, lists, merge_delta(delta)), metrics)

    return algorithm


def fast(suite: Suite, lists: list[Records]) -> RingShare:
    """What the servers compute under `fast`."""
    ascents = count_ascents(suite, lists)
    return areas(suite, merge_all(suite, lists, merge_network), METRICS, ascents)


def transcript(run: WorldRun) -> list[tuple[Server, Server, list[int]]]:
    """Sender, receiver, and the lengths in order on that link, of a whole run."""
    links: dict[tuple[Server, Server], list[int]] = {}
    for message in run.messages:
        links.setdefault((message.sender, message.receiver), []).append(len(message.payload))
    return sorted((*link, lengths) for link, lengths in links.items())


def encoded(owner: Sequence[Sample]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Sorted keys and labels; written here anew, so that it checks the package's own encoding."""
    ordered = sorted(owner, key=lambda sample: -sample[0])
    keys = np.array([score for score, _ in ordered], dtype=np.float64).view(np.uint64)
    return keys, np.array([label for _, label in ordered], dtype=np.bool_)


def in_the_clear(algorithm: Algorithm, lists: Sequence[Owner]) -> Any:
    records = []
    for keys, labels in map(encoded, lists):
        records.append(ArrayRecords(RingShare(CLEARTEXT, keys), BitShare(CLEARTEXT, labels.view(np.uint8))))
    return algorithm(CleartextSuite(), records)


def by_three_parties(algorithm: Algorithm, lists: Sequence[Owner], world: World | None = None) -> WorldRun:
    """The run; `.value` is the result."""

    def party(suite: Suite, *flat: Any) -> Any:
        records = [ArrayRecords(keys, labels) for keys, labels in zip(flat[::2], flat[1::2], strict=True)]
        return algorithm(suite, records)

    flat = [part for owner in lists for part in encoded(owner)]
    return (world or World()).run(party, *flat)


def on_planes(
    algorithm: PlanesAlgorithm, lists: Sequence[Owner], *, key_bits: int = 64, world: World | None = None
) -> WorldRun:
    """The same under `bitsliced`: the lists' planes, xor-shared, as the owners would send them."""
    shared = [xor_shared(*encoded(owner), key_bits) for owner in lists]
    sizes = [len(owner) for owner in lists]

    def party(suite: BitslicedSuite) -> Any:
        role = {HOLDERS[Role.PROXY_0]: 0, HOLDERS[Role.PROXY_1]: 1}.get(suite.holder)
        shares = [] if role is None else [parts[role] for parts in shared]
        return algorithm(suite, suite.inputs(shares, sizes))

    return (world or World(Fast(), suite=lambda context: BitslicedSuite(context, key_bits))).run(party)


def xor_shared(
    keys: NDArray[np.uint64], labels: NDArray[np.bool_], key_bits: int
) -> tuple[PlanesShare, PlanesShare]:
    """Planes, made bit by bit, and split by random words."""
    words = -(-len(keys) // 64)
    planes = np.zeros((key_bits + 1, words), dtype=np.uint64)
    for lane, (key, label) in enumerate(zip(keys.tolist(), labels.tolist(), strict=True)):
        bits = [*(key >> (key_bits - 1 - plane) & 1 for plane in range(key_bits)), int(label)]
        planes[:, lane // 64] |= np.array([bit << (lane % 64) for bit in bits], dtype=np.uint64)
    pad = np.random.default_rng().integers(0, 1 << 64, planes.shape, dtype=np.uint64)
    return PlanesShare(pad, len(keys)), PlanesShare(planes ^ pad, len(keys))
