"""What workers cost: between parties as many bytes and rounds as one, between workers what is declared."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.algorithms.merge import merge_all
from ppaurora.algorithms.merge_network import merge_network
from ppaurora.algorithms.redistribution import intra_party_cost
from ppaurora.channel.intra_party import memory_intra_party_channels
from ppaurora.channel.meter import Cost, Meter, MeterReading
from ppaurora.channel.servers import Server
from ppaurora.data import Samples
from ppaurora.metrics import metrics_named
from ppaurora.party.run import RunOutcome
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.session import Worker
from ppaurora.sharing.blocks import blocks
from ppaurora.sharing.planes import Planes
from ppaurora.suites.bitsliced import costs
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.bitsliced.shares import HOLDERS
from ppaurora.suites.role import Role
from ppaurora.suites.team import Team
from tests.support.workers import by_threads, run_of_workers

OWNERS, SAMPLES = 8, 12_500  # of each
KEY_BITS = 32


def metered(workers: int) -> list[MeterReading]:
    """Every server's, for eight owners and 100,000 samples in all."""
    random = np.random.default_rng(1)
    terms = Terms(
        metrics=metrics_named("auroc", "aupr", "ap"),
        confidence_level=0.95,
        protocol=Fast(key_bits=KEY_BITS),
        policy=Policy.exact(),
    )
    owners = [
        Samples(
            f"owner {number}",
            random.random(SAMPLES).astype(np.float32).astype(np.float64),
            random.integers(0, 2, SAMPLES).astype(np.uint8),
        )
        for number in range(OWNERS)
    ]
    outcomes: dict[Server, RunOutcome] = run_of_workers(terms, owners, workers)[1]
    return [outcome.meter for outcome in outcomes.values()]


@pytest.fixture(scope="module")
def by_one() -> list[MeterReading]:
    return metered(1)


@pytest.mark.parametrize("workers", [2, 8])
def test_bytes_and_rounds_between_parties_are_those_of_one_worker(
    by_one: list[MeterReading], workers: int
) -> None:
    """Bytes within 2 %, rounds within 10 %, as promised; in fact there are exactly as many rounds.

    What comes on top are lanes of words that are not full, and headers of frames. With fewer samples per
    owner and worker they weigh more.
    """
    found = metered(workers)
    assert sum(meter.bytes for meter in found) < 1.02 * sum(meter.bytes for meter in by_one)
    assert max(meter.rounds for meter in found) == max(meter.rounds for meter in by_one)
    assert [meter.inside_bytes for meter in by_one] == [0, 0, 0]
    for meter, components in zip(found, (2, 2, 1), strict=True):
        of_merges = intra_party_bytes_of_merges(workers, components)
        assert of_merges < meter.inside_bytes < 1.05 * of_merges, "all else is little"


def intra_party_bytes_of_merges(workers: int, components: int) -> int:
    """As declared."""
    message = partial(costs.passed_on, KEY_BITS, components)
    pairs = merge_network.pairs([SAMPLES] * OWNERS).values()
    return sum(intra_party_cost(*pair, workers, message).bytes for pair in pairs)


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
@pytest.mark.parametrize("sizes", [(1, 1), (700, 411), (64, 64), (3, 2000), (5000, 5000)], ids=str)
def test_a_merge_passes_on_inside_what_it_declares(sizes: tuple[int, int], workers: int) -> None:
    """At the helper, which has one component."""
    meters = [Meter() for _ in range(workers)]

    class Idle:
        """Exchanges nothing."""

        def __init__(self, team: Team) -> None:
            self.team = team

        def exchange_layer(self, layer: object) -> None:
            pass

        def progress(self, step: str, done: int, total: int) -> None:
            pass

    intra_party_channels = memory_intra_party_channels("helper", workers)

    def work(_: Team, worker: Worker) -> int:
        suite = Idle(Team(worker, intra_party_channels[worker.index], meters[worker.index]))
        lists = [
            PlaneRecords(
                Planes.zeros(HOLDERS[Role.HELPER], KEY_BITS + 1, len(blocks(size, workers)[worker.index]))
            )
            for size in sizes
        ]
        return len(merge_all(suite, lists, merge_network, sizes))  # type: ignore[arg-type]

    assert sum(by_threads(workers, work)) == sum(sizes)
    first, second = merge_network.pairs(sizes)[2]
    declared = intra_party_cost(first, second, workers, partial(costs.passed_on, KEY_BITS, 1))
    counted = Cost(
        sum(meter.intra_party.messages for meter in meters), sum(meter.intra_party.bytes for meter in meters)
    )
    assert counted == declared


def test_what_is_sent_and_passed_on_depends_on_sizes_alone() -> None:
    """All scores tied and nearly one class, or none tied and both: the same messages of the same lengths."""
    terms = Terms(metrics=metrics_named("auroc", "youden_j"), policy=Policy.exact())
    random = np.random.default_rng(2)
    readings = []
    for scores, rate in ((np.zeros(300), 0.01), (np.arange(300) / 300, 0.5)):
        labels = [(random.random(size) < rate).astype(np.uint8) for size in (300, 150)]
        labels[0][:2] = 0, 1
        owners = [Samples("owner", scores[: len(own)], own) for own in labels]
        outcomes = run_of_workers(terms, owners, 4)[1]
        readings.append([outcome.meter for outcome in outcomes.values()])
    assert readings[0] == readings[1]
    assert all(meter.inside_bytes for meter in readings[0])
