"""An owner's list that is not sorted is found, and nothing else is told."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np
import pytest

import ppaurora
from ppaurora.agreement.terms import Job, Terms
from ppaurora.channel.memory import memory_transports
from ppaurora.channel.servers import Server
from ppaurora.data import Samples
from ppaurora.errors import UnsortedListError
from ppaurora.evaluation.evaluate import Transport
from ppaurora.local.threads import run_parties
from ppaurora.metrics import metrics_named
from ppaurora.party.run import RunOutcome, take_part
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Prepared
from ppaurora.sharing.stages import OwnerShare, ResultShare
from ppaurora.statistics.estimates import Estimate
from ppaurora.suites.role import Role
from tests.support.evaluations import GOOD, LARGEST, LARGEST_FLOAT32, pooled
from tests.support.oracles import defined, exact_auroc


def run_on_lists(lists: Sequence[Sequence[int]], key_bits: int = 64) -> list[ResultShare]:
    """What the proxies make of keys as they are; the first record of each list is its only positive."""
    prepared = []
    for keys in lists:
        labels = np.zeros(len(keys), dtype=np.uint8)
        labels[0] = 1
        prepared.append(Prepared(np.array(keys, dtype=np.uint64), labels))
    return run_on_prepared(prepared, key_bits)


def job_of(sizes: Sequence[int], protocol: Fast) -> Job:
    """Class counts are hidden, so that nothing leaves but flags and the metric."""
    policy = msgspec.structs.replace(Policy.exact(), counts="hidden")
    terms = Terms(metrics=metrics_named("auroc"), protocol=protocol, policy=policy)
    return Job(terms=terms, sizes=tuple(sizes))


def run_on_prepared(lists: Sequence[Prepared], key_bits: int = 64) -> list[ResultShare]:
    protocol = Fast(key_bits=key_bits)
    job = job_of([len(prepared.keys) for prepared in lists], protocol)
    no_sums = np.zeros(0, dtype=np.uint64)
    shares = [[OwnerShare(part, no_sums) for part in protocol.split(prepared)] for prepared in lists]
    transports = memory_transports(Role, 20)

    def party(role: Server) -> RunOutcome:
        return take_part(
            transports[role], job, [] if role is Role.HELPER else [pair[role] for pair in shares]
        )

    outcomes = run_parties(party, transports)
    assert [outcome.openings for outcome in outcomes] == [{}] * 3
    assert [len(outcome.parts) for outcome in outcomes] == [1, 1, 0]
    return [part for outcome in outcomes for part in outcome.parts]


def released(shares: Sequence[ResultShare]) -> list[list[int]]:
    """Mantissas and exponents of all that an owner gets to see: defined, auroc, a flag per owner."""
    rows: list[list[int]] = (shares[0].words + shares[1].words).tolist()
    return rows


def encoded_key(score: float, key_bits: int) -> int:
    samples = Samples("owner", np.array([score]), np.array([1], dtype=np.uint8))
    return int(Fast(key_bits=key_bits).prepare(samples).keys[0])


def auroc_of(shares: Sequence[ResultShare], owners: int) -> float:
    names = [f"owner {number}" for number in range(1, owners + 1)]
    estimate = Fast().combine(shares, job_of([100] * owners, Fast()).query, names).metrics["auroc"]
    assert isinstance(estimate, Estimate)
    assert estimate.value is not None
    return estimate.value


HIGHEST = {bits: encoded_key(number, bits) for bits, number in ((32, LARGEST_FLOAT32), (64, LARGEST))}
LOWEST = {bits: encoded_key(-number, bits) for bits, number in ((32, LARGEST_FLOAT32), (64, LARGEST))}


def descending(size: int, key_bits: int = 64) -> list[int]:
    """Neighbours that differ in the last bit only, from the largest float's key down."""
    return list(range(HIGHEST[key_bits], HIGHEST[key_bits] - size, -1))


def swapped(keys: Sequence[int], place: int) -> list[int]:
    return [*keys[:place], keys[place + 1], keys[place], *keys[place + 2 :]]


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("place", [0, 40, 62, 63, 64, 128])
def test_two_neighbours_in_the_wrong_order_are_found(place: int, key_bits: int) -> None:
    keys = descending(130, key_bits)
    shares = run_on_lists([[5], swapped(keys, place), keys], key_bits)
    with pytest.raises(UnsortedListError) as caught:
        auroc_of(shares, 3)
    assert str(caught.value) == (
        "owner 2: the list that was sent is not sorted, or its sums do not fit it; there is no result"
    )
    assert caught.value.exit_code == 2
    assert released(shares) == [[0, 0, 1, 0, 1], [0] * 5], "more than the three owners' flags"


@pytest.mark.parametrize("key_bits", [32, 64])
def test_the_same_lists_in_order_pass(key_bits: int) -> None:
    keys = descending(130, key_bits)
    shares = run_on_lists([[LOWEST[key_bits]], keys, keys], key_bits)
    # Of three positives, two are above all negatives and one is below.
    assert auroc_of(shares, 3) == float(Fraction(2, 3))


@pytest.mark.parametrize("culprit", [1, 2, 3])
@pytest.mark.parametrize("others", [1, 64])
def test_the_owner_is_named(culprit: int, others: int) -> None:
    lists = [descending(others)] * 3
    lists[culprit - 1] = sorted(descending(7))
    shares = run_on_lists(lists)
    with pytest.raises(UnsortedListError, match=f"owner {culprit}: the list that was sent is not sorted"):
        auroc_of(shares, 3)


SORTED_LISTS = {
    "single records": [[1], [2]],
    "all tied": [[7] * 65, [7] * 64],
    "ties among others": [[9, 9, 4, 4, 4, 1, 1], [HIGHEST[64]] * 2 + [LOWEST[64]] * 70],
    "each begins above the end of the one before": [[6, 5], [8, 1], [9, 3, 2]],
    "each begins below the end of the one before": [[9, 8], [7, 6], [5, 4]],
    "ends at a word's end": [descending(64), descending(128)],
}


@pytest.mark.parametrize("lists", SORTED_LISTS.values(), ids=SORTED_LISTS.keys())
def test_sorted_lists_pass(lists: list[list[int]]) -> None:
    lists = [*lists, [3, 2]]
    samples = [(key, int(place == 0)) for keys in lists for place, key in enumerate(keys)]
    assert auroc_of(run_on_lists(lists), len(lists)) == float(defined(exact_auroc(samples)))


def test_one_class_and_not_sorted() -> None:
    """Whoever reads the result learns about the order, not the class."""
    messages = []
    for label in (0, 1):
        unsorted = Prepared(np.array([3, 4], dtype=np.uint64), np.array([label, label], dtype=np.uint8))
        shares = run_on_prepared([unsorted, unsorted])
        with pytest.raises(UnsortedListError) as caught:
            auroc_of(shares, 2)
        messages.append((str(caught.value), released(shares)))
    assert messages[0] == messages[1]
    assert messages[0][1] == [[0] * 4, [0] * 4]


@pytest.mark.parametrize("transport", ["memory", "tls"])
def test_an_owner_that_forgets_to_sort(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = Fast.prepare

    def forget(protocol: Fast, samples: Samples) -> Prepared:
        prepared = prepare(protocol, samples)
        if samples.source == "owner 2":
            return Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy())
        return prepared

    monkeypatch.setattr(Fast, "prepare", forget)
    with pytest.raises(UnsortedListError, match="owner 2: the list that was sent is not sorted"):
        ppaurora.evaluate([GOOD, GOOD, GOOD], transport=transport, timeout=120)
    # Tied, it is sorted either way.
    tied = ([0, 1], [0.5, 0.5])
    assert ppaurora.evaluate([GOOD, tied, GOOD], metrics=["auroc"], transport="memory").auroc == float(
        defined(exact_auroc(pooled([GOOD, tied, GOOD])))
    )
