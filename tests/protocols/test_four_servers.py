"""A scheme brings its own servers, holders and suite: three evaluators and a dealer run as well as `fast`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.agreement.terms import Terms
from ppaurora.data import Samples
from ppaurora.errors import InputError, UnsortedListError
from ppaurora.evaluation.evaluate import Transport
from ppaurora.metrics import metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Prepared, protocols, registry
from ppaurora.sharing.algebra import Algebra, Array, Shape
from ppaurora.sharing.shares import RingShare
from ppaurora.testing import World
from tests.support.four_servers import EVALUATORS, FourServers, FourSuite, Moves, Server4
from tests.support.oracles import Sample, exact_auroc, exact_average_precision
from tests.support.runs import combined, watched_run


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known during these tests only."""
    monkeypatch.setitem(registry._PROTOCOLS, FourServers.name, FourServers)


NAME: Any = FourServers.name  # which the types do not know
EDGES = [0, 1, 2, 2**61, 2**62 - 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]


def owners(*sizes: int) -> list[tuple[list[int], list[float]]]:
    random = np.random.default_rng(4)
    return [
        (random.integers(0, 2, size).tolist(), (random.integers(0, 20, size) / 20).tolist()) for size in sizes
    ]


def pooled(data: list[tuple[list[int], list[float]]]) -> list[Sample]:
    return [(score, label) for labels, scores in data for label, score in zip(labels, scores, strict=True)]


@pytest.mark.parametrize("transport", ["memory", "tls"])
def test_four_servers_compute_the_pooled_metrics(transport: Transport) -> None:
    data = owners(20, 1, 13)
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
    assert sorted(report.cost.bytes_by_party) == sorted(server.title for server in Server4)
    assert all(report.cost.bytes_by_party.values())
    assert report.parameters == {}
    assert report.openings == {}


def run(function: Callable[..., Any], *inputs: Any) -> Any:
    return World(FourServers()).run(function, *inputs).value


def test_primitives() -> None:
    """Numbers modulo 2^64 at the edges, each with each."""
    edges = np.array(EDGES, dtype=np.uint64)
    x, y = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    assert (run(lambda suite, a, b: suite.mul(a, b), x, y) == x * y).all()
    signs = (x - y).view(np.int64)
    assert (run(lambda suite, a, b: suite.compare(a, b), x, y) == (signs >= 0)).all()
    assert (run(lambda suite, a, b: suite.is_positive(a - b), x, y) == (signs > 0))[signs != -(2**63)].all()
    near = np.arange(len(x), dtype=np.uint64) % np.uint64(3)
    assert (run(lambda suite, a, b: suite.differ(a, b), near, near * 0 + 1) == (near != 1)).all()
    flags = np.array([True, False, True])
    assert (run(lambda suite, bits: suite.lift(bits), flags) == flags).all()
    n, d = np.array([0, 1, 5, 7], dtype=np.uint64), np.array([3, 3, 8, 7], dtype=np.uint64)
    quotients = run(lambda suite, a, b: suite.div(a, b, 10, 8), n, d)
    assert quotients.tolist() == [int(a << 10) // int(b) for a, b in zip(n.tolist(), d.tolist(), strict=True)]


def test_each_evaluator_gets_its_own_part_of_an_owners_list() -> None:
    prepared = Prepared(np.array([9, 5], dtype=np.uint64), np.array([1, 0], dtype=np.uint8))
    parts = FourServers().split(prepared)
    assert len(parts) == len(EVALUATORS)
    assert np.sum([part.keys for part in parts], axis=0, dtype=np.uint64).tolist() == [9, 5]
    assert all(part.keys.tolist() != [9, 5] for part in parts)


class Views:
    """What each server sees in the clear: its share of the lists, and what evaluators show each other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, masked: bool = True) -> None:
        self.words: dict[Server4, list[Array]] = {server: [] for server in Server4}
        show, mask = Moves.show, Moves.mask

        def watched(moves: Moves, algebra: Algebra, part: Array) -> Array:
            shown = show(moves, algebra, part)
            self.words[moves.me].append(np.asarray(shown, dtype=np.uint64).reshape(-1))
            return shown

        def without_mask(moves: Moves, algebra: Algebra, shape: Shape) -> Array:
            return np.zeros_like(mask(moves, algebra, shape))

        monkeypatch.setattr(Moves, "show", watched)
        if not masked:
            monkeypatch.setattr(Moves, "mask", without_mask)

    def of(self, server: Server4) -> set[int]:
        """Return the words that are no bits; the dealer is shown zeros alone."""
        return set(np.concatenate(self.words[server]).tolist()) - {0, 1}


def planted() -> tuple[Terms, list[Samples]]:
    """Two owners, of whose scores every two differ by a number that is known here."""
    terms = Terms(metrics=metrics_named("auroc"), protocol=FourServers(), policy=Policy.exact())
    scores = np.array([0.9, 0.7, 0.5, 0.3]), np.array([0.8, 0.6, 0.4, 0.2])
    labels = np.array([1, 0, 1, 0], dtype=np.uint8)
    return terms, [Samples(f"owner {number}", one, labels) for number, one in enumerate(scores)]


def secrets(samples: list[Samples]) -> set[int]:
    keys = np.concatenate([one.scores for one in samples]).view(np.uint64)
    gaps = keys[:, np.newaxis] - keys
    return set(keys.tolist()) | set(gaps.reshape(-1).tolist()) - {0}


def test_no_server_sees_a_key_or_what_two_differ_by(monkeypatch: pytest.MonkeyPatch) -> None:
    terms, samples = planted()
    views = Views(monkeypatch)
    submissions = [terms.share(one) for one in samples]
    finished = watched_run(terms, submissions)
    assert combined(terms, finished, [4, 4]).metrics  # the computation was whole
    for number, server in enumerate(EVALUATORS):
        shares = [submission[number].to_bytes() for submission in submissions]
        sent = [message.payload for message in finished.messages if message.receiver is server]
        seen = views.of(server)
        assert len(seen) > 100
        assert not seen & secrets(samples)
        for secret in secrets(samples):
            assert not any(secret.to_bytes(8, "little") in raw for raw in [*shares, *sent])
    assert views.of(Server4.DEALER) == set()
    assert not [message for message in finished.messages if message.receiver is Server4.DEALER]


def test_without_masks_they_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    terms, samples = planted()
    views = Views(monkeypatch, masked=False)
    watched_run(terms, [terms.share(one) for one in samples])
    for server in EVALUATORS:
        assert views.of(server) & secrets(samples)


def test_what_is_shown_of_equal_secrets_is_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    views = Views(monkeypatch)

    def algorithm(suite: FourSuite, x: RingShare) -> RingShare:
        return suite.compare(x, x * 2)

    World(FourServers()).run(algorithm, [7] * 1000)
    words = np.concatenate([shown for shown in views.words[Server4.EVALUATOR_1] if shown.max() > 1])
    assert len(words) == len(set(words.tolist())) == 1000
    assert abs(np.mean(words >> np.uint64(63)) - 0.5) < 0.1
    bits = [shown for shown in views.words[Server4.EVALUATOR_1] if shown.max() <= 1]
    assert abs(np.mean(np.concatenate(bits)) - 0.5) < 0.02


def test_an_unsorted_list_is_noticed_by_four_servers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        FourServers,
        "prepare",
        lambda self, samples: Prepared(self.encode(samples), samples.labels),
    )
    with pytest.raises(UnsortedListError, match="owner 2"):
        ppaurora.evaluate([([1, 0], [0.9, 0.1]), ([1, 0], [0.1, 0.9])], protocol=NAME, metrics=["auroc"])


def test_it_takes_no_parameters_of_others() -> None:
    with pytest.raises(InputError, match="delta applies to the protocol 'paper' only"):
        ppaurora.evaluate(owners(5, 5), protocol=NAME, delta=3)
    assert FourServers.name in protocols()
