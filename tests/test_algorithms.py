"""The paper's algorithms against exact oracles, in the clear and by three parties."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ppaurora.algorithms.curves import areas, check_size, ends_of_tie_groups
from ppaurora.algorithms.merge import merge_all, plan
from ppaurora.algorithms.merge_delta import merge_delta
from ppaurora.algorithms.scan import previous_flagged
from ppaurora.errors import InputError
from ppaurora.sharing import RingShare, stack
from ppaurora.suites.arrays import ArrayRecords as Records
from ppaurora.suites.base import Suite
from ppaurora.testing import World
from tests.support.cases import Owner, by_three_parties, encoded, in_the_clear, owners
from tests.support.oracles import exact_aupr, exact_auroc, exact_average_precision

METRICS = ("auroc", "aupr", "ap")
DELTAS = st.sampled_from([1, 3, 5, 11])


def pooled(lists: Sequence[Owner]) -> Owner:
    return [sample for owner in lists for sample in owner]


def paper(delta: int, metrics: Sequence[str] = METRICS):
    def algorithm(suite: Suite, lists: list[Records]) -> RingShare:
        return areas(suite, merge_all(suite, lists, merge_delta(delta)), metrics)

    return algorithm


def check_areas(words: np.ndarray, lists: Sequence[Owner]) -> None:
    samples = pooled(lists)
    exact = [exact_auroc(samples), exact_aupr(samples), exact_average_precision(samples)]
    if exact[0] is None:
        assert not words.any()
        return
    assert words[:, 0].tolist() == [1, 0]
    auroc, aupr, ap = values(words)
    assert abs(auroc - exact[0]) < 1e-9
    assert abs(aupr - exact[1]) < 1e-9
    assert abs(ap - exact[2]) < 1e-9


def values(words: np.ndarray) -> list[Fraction]:
    """What the rows of mantissas and exponents stand for, after the first column."""
    return [Fraction(int(m), 2 ** int(e)) for m, e in words[:, 1:].T]


@settings(max_examples=300, deadline=None)
@given(lists=owners(min_owners=1), delta=DELTAS)
def test_areas_in_the_clear_equal_the_exact_fractions(lists: list[Owner], delta: int) -> None:
    check_areas(in_the_clear(paper(delta), lists).values, lists)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(lists=owners(), delta=DELTAS)
@example(lists=[[(0.5, 1)] * 3, [(0.5, 0)] * 2], delta=1)
@example(lists=[[(0.5, 1)], [(0.25, 1)]], delta=1)
@example(lists=[[(0.5, 0)], [(0.25, 0)]], delta=3)
def test_areas_by_three_parties_equal_the_exact_fractions(lists: list[Owner], delta: int) -> None:
    check_areas(by_three_parties(paper(delta), lists).value, lists)


@pytest.mark.parametrize("delta", [1, 3, 5, 11])
def test_three_parties_agree_with_the_clear_to_the_last_bit(delta: int) -> None:
    random = np.random.default_rng(delta)
    lists = [
        [
            (float(score), int(label))
            for score, label in zip(random.integers(0, 9, n) / 8, random.random(n) < 0.4, strict=True)
        ]
        for n in (7, 1, 23, 12)
    ]
    metrics = ("auroc", "auroc_no_ties", "aupr")
    run = by_three_parties(paper(delta, metrics), lists)
    assert run.value.tolist() == in_the_clear(paper(delta, metrics), lists).values.tolist()


def test_no_lists_and_one_list() -> None:
    assert in_the_clear(paper(1), []).values.tolist() == [[0] * 4] * 2
    assert World().run(lambda suite: paper(1)(suite, [])).value.tolist() == [[0] * 4] * 2
    one = [[(0.9, 1), (0.4, 0), (0.4, 1)]]
    check_areas(in_the_clear(paper(1), one).values, one)
    check_areas(by_three_parties(paper(1), one).value, one)


@settings(max_examples=200, deadline=None)
@given(lists=owners(min_owners=1, min_size=0), delta=DELTAS)
def test_merge_sorts_and_keeps_every_record(lists: list[Owner], delta: int) -> None:
    merged = in_the_clear(lambda suite, records: merge_all(suite, records, merge_delta(delta)), lists)
    keys = merged.keys.values
    assert (keys[:-1] >= keys[1:]).all()
    whole = [encoded(owner) for owner in lists]
    expected = sorted((int(key), int(label)) for owner in whole for key, label in zip(*owner, strict=True))
    assert sorted(zip(keys.tolist(), merged.labels.values.tolist(), strict=True)) == expected


def test_without_ties_algorithm_1_gives_the_exact_area() -> None:
    random = np.random.default_rng(5)
    scores = random.permutation(60) / 64
    labels = random.random(60) < 0.3
    samples = [(float(score), int(label)) for score, label in zip(scores, labels, strict=True)]
    lists = [samples[:17], samples[17:20], samples[20:]]
    words = by_three_parties(paper(1, ("auroc_no_ties",)), lists).value
    assert words[:, 0].tolist() == [1, 0]
    assert abs(values(words)[0] - exact_auroc(samples)) < 1e-9


def openings(lists: Sequence[Owner], delta: int) -> int:
    return sum(by_three_parties(paper(delta), lists).openings.values())


def test_delta_1_opens_nothing_and_larger_deltas_open_what_the_rules_say() -> None:
    """The larger deltas are the positive control: they show that the counter counts."""
    lists = [[(k / 32, k % 2) for k in range(12)], [(k / 37, k % 3 == 0) for k in range(12)]]
    assert openings(lists, delta=1) == 0
    assert openings(lists, delta=3) > 0
    assert openings(lists, delta=11) > openings(lists, delta=3)


def transcript(lists: Sequence[Owner], delta: int) -> list[tuple[object, ...]]:
    """Sender, receiver, and the lengths in order on that link, of a whole run."""
    links: dict[tuple[object, ...], list[int]] = {}
    for message in by_three_parties(paper(delta), lists).messages:
        links.setdefault((message.sender, message.receiver), []).append(len(message.payload))
    return sorted((*link, tuple(lengths)) for link, lengths in links.items())


def test_with_delta_1_the_conversation_does_not_depend_on_the_data() -> None:
    """With delta 3 it does, which the paper accepts and docs/leakage.md names: the positive control."""
    rising = [[(k / 64, 1) for k in range(12)], [(k / 64 + 0.5, 0) for k in range(9)]]
    mixed = [[(k / 64, k % 2) for k in range(12)], [(k / 48, k % 2) for k in range(9)]]
    tied: list[Owner] = [[(0.5, 1)] * 12, [(0.5, 0)] * 9]
    assert transcript(rising, 1) == transcript(mixed, 1) == transcript(tied, 1)
    assert transcript(rising, 3) != transcript(mixed, 3)


class _Requests:
    """Drives one merge by hand and notes how it goes."""

    def __init__(self, first: Owner, second: Owner, delta: int) -> None:
        self.shufflings: list[int] = []
        self.openings_after: list[int] = []

        def algorithm(suite: Suite, lists: list[Records]) -> Records:
            exchange, open_ = suite.exchange, suite.open

            def noted_exchange(left: Records, right: Records) -> tuple[Records, Records]:
                self.shufflings.append(len(right))
                self.openings_after.append(0)
                return exchange(left, right)

            def noted_open(x: RingShare, name: str) -> np.ndarray:
                self.openings_after[-1] += 1
                return open_(x, name)

            suite.exchange, suite.open = noted_exchange, noted_open  # type: ignore[method-assign]
            return merge_all(suite, lists, merge_delta(delta))

        in_the_clear(algorithm, [first, second])


def descending(count: int, offset: float = 0.0) -> Owner:
    return [((count - k) / (count + 2) + offset, 0) for k in range(count)]


@pytest.mark.parametrize("delta", [1, 3, 5, 11, 101])
@pytest.mark.parametrize(("first", "second"), [(9, 9), (4, 9), (9, 1), (2, 2), (1, 1)])
def test_rules_of_the_delta_merge(first: int, second: int, delta: int) -> None:
    """After a shuffling of m pairs, (the largest odd number up to delta and m) - 1 bits are opened."""
    run = _Requests(descending(first), descending(second, 0.001), delta)
    assert run.shufflings[0] == min(first, second)
    for pairs, opened in zip(run.shufflings, run.openings_after, strict=True):
        largest_odd = max(odd for odd in range(1, pairs + 1, 2))
        assert opened == min(delta, largest_odd) - 1
        if pairs == 1:
            assert opened == 0


@pytest.mark.parametrize("delta", [0, 2, 100, -1])
def test_even_or_small_delta_is_refused(delta: int) -> None:
    with pytest.raises(InputError, match="odd"):
        merge_delta(delta)


def test_plan_takes_the_smallest_first_and_lets_equals_run_together() -> None:
    assert [(m.left, m.right) for m in plan([5, 1, 2])] == [(1, 2), (3, 0)]
    eight = plan([1000] * 8)
    assert [(m.left, m.right) for m in eight[:4]] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert eight[-1].size == 8000


def test_independent_merges_share_their_rounds() -> None:
    pair = [descending(6), descending(6, 0.01)]
    merge = lambda suite, lists: [*_parts(merge_all(suite, lists, merge_delta(1)))]  # noqa: E731
    one = by_three_parties(merge, pair)
    four = by_three_parties(merge, [*pair, *pair])
    # Two merges of 6 + 6 at once, then one of 12 + 12: three rounds for each record but the last.
    assert one.cost.rounds == 11 * 3
    assert four.cost.rounds == 11 * 3 + 23 * 3


def _parts(records: Records) -> tuple[RingShare, object]:
    return records.keys, records.labels


@settings(max_examples=200, deadline=None)
@given(keys=st.lists(st.integers(0, 3), max_size=40))
def test_ends_of_tie_groups(keys: list[int]) -> None:
    keys = sorted(keys, reverse=True)
    expected = [int(j + 1 == len(keys) or keys[j] != keys[j + 1]) for j in range(len(keys))]

    def algorithm(suite: Suite, lists: list[Records]) -> RingShare:
        return ends_of_tie_groups(suite, lists[0].keys)

    owner = [(key / 4, 0) for key in keys]
    assert in_the_clear(algorithm, [owner]).values.tolist() == expected


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13, 16, 31])
def test_previous_flagged_value(length: int) -> None:
    random = np.random.default_rng(length)
    flags = random.integers(0, 2, length)
    values = random.integers(0, 1000, (2, length))
    expected = np.empty((2, length), dtype=np.uint64)
    last = np.array([7, 9])
    for j in range(length):
        expected[:, j] = last
        if flags[j]:
            last = values[:, j]

    def algorithm(suite: Suite, flag_share: RingShare, value_share: RingShare) -> RingShare:
        initial = stack([suite.constant(7), suite.constant(9)])
        return previous_flagged(suite, flag_share, value_share, initial)

    assert (World().run(algorithm, flags, values).value == expected).all()


def test_one_class_only_gives_the_same_words_whichever_class_it_is() -> None:
    positive, negative = ([[(0.5, label)] * 3, [(0.75, label)] * 2] for label in (1, 0))
    assert by_three_parties(paper(1), positive).value.tolist() == [[0] * 4] * 2
    assert by_three_parties(paper(1), negative).value.tolist() == [[0] * 4] * 2


def test_sizes_beyond_the_ring_are_refused() -> None:
    check_size(10**7)
    with pytest.raises(InputError, match="too many"):
        check_size(2**25)
