"""A protocol names its servers: four equal ones without a helper run as well as two proxies and a helper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.errors import InputError, UnsortedListError
from ppaurora.evaluation.evaluate import Transport
from ppaurora.protocols import Prepared, protocols, registry
from tests.support.four_servers import Equal, FourServers
from tests.support.oracles import Sample, exact_auroc, exact_average_precision


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Known during these tests only."""
    registry.register(FourServers)
    yield
    registry._PROTOCOLS.pop(FourServers.name)


NAME: Any = FourServers.name  # which the types do not know


def owners(*sizes: int) -> list[tuple[list[int], list[float]]]:
    random = np.random.default_rng(4)
    return [
        (random.integers(0, 2, size).tolist(), (random.integers(0, 20, size) / 20).tolist()) for size in sizes
    ]


def pooled(data: list[tuple[list[int], list[float]]]) -> list[Sample]:
    return [(score, label) for labels, scores in data for label, score in zip(labels, scores, strict=True)]


@pytest.mark.parametrize("transport", ["memory", "tls"])
def test_four_servers_compute_the_pooled_metrics(transport: Transport) -> None:
    data = owners(40, 1, 23)
    steps: list[str] = []
    report = ppaurora.evaluate(
        data,
        metrics=["auroc", "ap"],
        protocol=NAME,
        transport=transport,
        progress=lambda step, done, total: steps.append(step),
    )
    auroc, ap = exact_auroc(pooled(data)), exact_average_precision(pooled(data))
    assert auroc is not None
    assert ap is not None
    assert report.auroc == pytest.approx(float(auroc), abs=1e-12)
    assert report.ap == pytest.approx(float(ap), abs=1e-9)
    assert sorted(report.cost.bytes_by_party) == sorted(server.title for server in Equal)
    assert all(report.cost.bytes_by_party.values())
    assert report.parameters == {}


def test_each_server_gets_its_own_part_of_an_owners_list() -> None:
    prepared = Prepared(np.array([9, 5], dtype=np.uint64), np.array([1, 0], dtype=np.uint8))
    parts = FourServers().split(prepared)
    assert len(parts) == len(Equal)
    assert np.sum([part.keys for part in parts], axis=0, dtype=np.uint64).tolist() == [9, 5]
    assert all(part.keys.tolist() != [9, 5] for part in parts)


def test_an_unsorted_list_is_noticed_by_four_servers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        FourServers,
        "prepare",
        lambda self, samples: Prepared(self.encode(samples), samples.labels),
    )
    with pytest.raises(UnsortedListError, match="owner 2"):
        ppaurora.evaluate([([1, 0], [0.9, 0.1]), ([1, 0], [0.1, 0.9])], protocol=NAME)


def test_it_takes_no_parameters_of_others() -> None:
    with pytest.raises(InputError, match="delta applies to the protocol 'paper' only"):
        ppaurora.evaluate(owners(5, 5), protocol=NAME, delta=3)
    assert FourServers.name in protocols()
