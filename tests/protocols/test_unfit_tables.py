"""Tables that do not add up to an owner's number of samples are noticed, and the owner is named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.agreement.terms import Terms
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import MOST_CELLS, Grid
from ppaurora.errors import InputError, UnsortedListError
from ppaurora.metrics import METRICS, withholding
from ppaurora.metrics.evidence import Inputs
from ppaurora.metrics.query import Query
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, GridProtocol
from ppaurora.protocols.security import UNFIT_TABLE, Adversary
from ppaurora.randomness import Stream
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.sharing.stages import SEED_BYTES, OwnerShare, TableShare
from ppaurora.statistics.estimates import Estimate
from ppaurora.suites.role import Role
from tests.support.cases import Owner
from tests.support.oracles import defined, exact_auroc
from tests.support.runs import Submission, combined, samples_of, watched_run, whole_result
from tests.support.tables import Counted, in_one, run_shares_in_the_clear

GRID = Grid(decimals=1)
CELLS = GRID.cells
GRID_SETTINGS = {"low": 0.0, "high": 1.0, "decimals": 1}
MODULUS = 1 << 32

OWNERS: list[Owner] = [
    [(k % 11 / 10, k % 2) for k in range(30)],
    [((10 - k) / 10, int(k in (1, 2, 3))) for k in range(8)] * 3,
    [(k % 9 / 10, int(k > 11)) for k in range(40)],
]
SIZES = [len(owner) for owner in OWNERS]
METRICS_ASKED = (METRICS["auroc"](), METRICS["ppv"](thresholds=[0.5]), METRICS["brier"]())
POLICIES = {
    "publication": Policy(),
    "private": Policy.private(),
    "exact": Policy.exact(),
}
each_policy = pytest.mark.parametrize("kind", POLICIES)
SAYS_OF_A_TABLE = (
    "the table that was sent does not add up to the number of samples that was stated; there is no result"
)
SAYS_OF_BOTH = (
    "the list that was sent is not sorted, or its sums or its table do not fit it; there is no result"
)


def terms_for(kind: str, *, beside_lists: bool = False) -> Terms:
    protocol = Fast(grid=GRID_SETTINGS) if beside_lists else GridProtocol(**GRID_SETTINGS)
    return Terms(metrics=METRICS_ASKED, policy=POLICIES[kind], protocol=protocol, confidence_level=0.95)


def honest(terms: Terms) -> list[Submission]:
    return [terms.share(samples_of(owner)) for owner in OWNERS]


def counts_of(owner: int) -> NDArray[np.int64]:
    """Return its positives at all values, and then its negatives."""
    table = CountTable.of(samples_of(OWNERS[owner]), GRID)
    return np.concatenate([table.positives, table.negatives]).astype(np.int64)


def changed(**changes: int) -> NDArray[np.int64]:
    """Return the second owner's counts with so much added, at places named p0, p1, ..., n0, n1, ..."""
    counts = counts_of(1)
    for place, change in changes.items():
        counts[int(place[1:]) + (CELLS if place[0] == "n" else 0)] += change
    return counts


# The second owner has 24 samples, three at each of 1.0, 0.9, ..., 0.3; positives are at 0.9, 0.8 and 0.7.
DISHONEST: dict[str, NDArray[np.int64]] = {
    "one too many": changed(p9=1),
    "one too few": changed(p9=-1),
    "a negative count, one too few": changed(n0=-1),
    "a negative count that another makes up for": changed(n0=-1, p9=1),
    "negative counts that the pool makes up for": changed(p9=40, n2=-20, n1=-20),
    "a huge count": changed(p9=MODULUS - 2),
    "all counts as large as can be": np.full(2 * CELLS, MODULUS - 1),
    "a sum that is right modulo 2^32": changed(p9=1 << 31, p8=1 << 31),
    "a sum that is right modulo 2^32, by four": changed(p9=1 << 30, p8=1 << 30, n3=1 << 30, n4=1 << 30),
    "half of the ring": changed(p9=1 << 31),
    "nothing": np.zeros(2 * CELLS, dtype=np.int64),
    "twice": 2 * counts_of(1),
}


def table_share(counts: NDArray[np.int64]) -> tuple[TableShare, ...]:
    """Split as an owner's program would, whatever the counts are."""
    return TableShare.split((counts % MODULUS).astype(np.uint32), 2, Stream.fresh())


def with_table(submission: Submission, counts: NDArray[np.int64]) -> Submission:
    tables = table_share(counts)
    return tuple(replace(share, table=table) for share, table in zip(submission, tables, strict=True))


def among_honest(terms: Terms, second: Sequence[Submission]) -> tuple[list[Submission], list[int]]:
    """Return all of these in the second owner's place, and everybody's numbers of samples."""
    first, _, third = honest(terms)
    return [first, *second, third], [SIZES[0], *[SIZES[1]] * len(second), SIZES[2]]


def check_named(
    terms: Terms, submitted: Sequence[Submission], sizes: Sequence[int], culprits: Collection[int]
) -> None:
    """The first of them is named to the owners; all are told apart from the others; no number leaves."""
    run = watched_run(terms, submitted, sizes)
    with pytest.raises(UnsortedListError) as caught:
        combined(terms, run, sizes)
    says = SAYS_OF_A_TABLE if terms.protocol.tabulated else SAYS_OF_BOTH
    assert str(caught.value) == f"owner {min(culprits) + 1}: {says}"
    check_nothing_but_flags(whole_result(terms, run), len(submitted), culprits)
    assert not run.openings


def check_nothing_but_flags(words: Words, owners: int, culprits: Collection[int]) -> None:
    flags = [int(number not in culprits) for number in range(owners)]
    assert words[0, -owners:].tolist() == flags, "one is not noticed, or others are blamed, too"
    assert not words[:, :-owners].any(), "more than the owners' flags leaves"
    assert not words[1].any()


@each_policy
def test_counts_that_do_not_add_up_are_noticed_and_their_owner_named(kind: str) -> None:
    terms = terms_for(kind)
    bad = [with_table(honest(terms)[1], counts) for counts in DISHONEST.values()]
    submitted, sizes = among_honest(terms, bad)
    check_named(terms, submitted, sizes, range(1, 1 + len(bad)))


@each_policy
@pytest.mark.parametrize("what", DISHONEST)
def test_each_of_them_alone_is_noticed(kind: str, what: str) -> None:
    """Whoever it is; in the clear, where the same is computed."""
    terms = terms_for(kind)
    shares = [in_one(submission) for submission in honest(terms)]
    shares[1] = in_one(with_table(honest(terms)[1], DISHONEST[what]))
    for culprit, order in ((1, (0, 1, 2)), (0, (1, 0, 2)), (2, (0, 2, 1))):
        words = run_shares_in_the_clear(
            terms, [shares[number] for number in order], [SIZES[number] for number in order]
        )
        check_nothing_but_flags(words, 3, [culprit])


@each_policy
def test_honest_tables_are_taken(kind: str) -> None:
    """The positive control: what is refused are these counts, not any that are split by hand; samples may be
    at whatever values, and of whatever class."""
    terms = terms_for(kind)
    other = np.zeros(2 * CELLS, dtype=np.int64)
    other[[0, CELLS]] = 9, 15
    right = [with_table(honest(terms)[1], counts) for counts in (counts_of(1), other)]
    submitted, sizes = among_honest(terms, right)
    released = combined(terms, watched_run(terms, submitted, sizes), sizes)
    assert not released.suppressed


def test_who_announces_another_number_of_samples_is_named() -> None:
    terms = terms_for("exact")
    for stated in (SIZES[1] - 1, SIZES[1] + 1):
        check_named(terms, honest(terms), [SIZES[0], stated, SIZES[2]], [1])


def test_two_owners_that_lie_in_opposite_directions_are_both_noticed() -> None:
    """Though the pooled table has the right number of samples."""
    terms = terms_for("exact")
    submitted = honest(terms)
    for owner, change in ((1, 1), (2, -1)):
        counts = counts_of(owner)
        counts[8] += change
        submitted[owner] = with_table(submitted[owner], counts)
    check_named(terms, submitted, SIZES, [1, 2])


def test_no_table_is_so_long_that_its_sum_wraps() -> None:
    """As many counts as there may be, each as large as can be: what is tested stays below 2^62."""
    assert 2 * MOST_CELLS * (MODULUS - 1) < 1 << 62
    grid = Grid(low=0.0, high=float(MOST_CELLS - 1), decimals=0)
    protocol = GridProtocol(low=grid.low, high=grid.high, decimals=0)
    terms = Terms(metrics=(METRICS["auroc"](),), policy=Policy.exact(), protocol=protocol)
    counts = np.full(2 * MOST_CELLS, MODULUS - 1, dtype=np.uint32)
    largest = OwnerShare(None, np.zeros(0, dtype=np.uint64), TableShare(counts.tobytes(), len(counts), False))
    good = in_one(terms.share(samples_of([(0.0, 0), (MOST_CELLS - 1.0, 1)])))
    words = run_shares_in_the_clear(terms, [good, largest], [2, 7])
    check_nothing_but_flags(words, 2, [1])


# A server that changes its part


def with_words_changed(submission: Submission, **changes: int) -> Submission:
    """As if the second proxy had added so much to its words."""
    seed, words = submission
    assert words.table is not None
    added = (changed(**changes) - counts_of(1)) % MODULUS
    content = (words.table.parts() + added.astype(np.uint32)).astype("<u4").tobytes()
    return seed, replace(words, table=replace(words.table, content=content))


def with_another_seed(submission: Submission) -> Submission:
    seed, words = submission
    assert seed.table is not None
    other = Stream.fresh().bytes(SEED_BYTES).tobytes()
    return replace(seed, table=replace(seed.table, content=other)), words


def test_a_server_that_changes_its_part_is_noticed_as_if_it_were_the_owner() -> None:
    """Unless it moves a sample from one value to another, which nobody can see: results are right as long as
    all servers follow the protocol, as the protocol says of itself."""
    terms = terms_for("exact")
    own = honest(terms)[1]
    bad = [
        with_another_seed(own),
        with_words_changed(own, p9=1),
        with_words_changed(own, p0=-1, p9=1),
        with_words_changed(own, p9=1 << 31, n3=1 << 31),
    ]
    submitted, sizes = among_honest(terms, bad)
    check_named(terms, submitted, sizes, range(1, 1 + len(bad)))
    moved, sizes = among_honest(terms, [with_words_changed(own, p9=-1, p8=1)])
    assert not combined(terms, watched_run(terms, moved, sizes), sizes).suppressed
    assert terms.protocol.correctness.adversary is Adversary.FOLLOWS


def test_a_share_of_another_length_is_refused() -> None:
    protocol, finer = GridProtocol(**GRID_SETTINGS), GridProtocol(low=0.0, high=1.0, decimals=2)
    for server in (Role.PROXY_0, Role.PROXY_1):
        expected = protocol.share_bytes(server, 8, protocol.shape(0))
        others = {
            0,
            1,
            expected - 1,
            expected + 1,
            2 * expected,
            SEED_BYTES,
            finer.share_bytes(server, 8, finer.shape(0)),
        }
        for length in others - {expected}:
            with pytest.raises(InputError, match="a share of a table has"):
                protocol.read_share(bytes(length), server, 8, protocol.shape(0))
        protocol.read_share(bytes(expected), server, 8, protocol.shape(0))


def test_a_table_on_another_grid_is_refused() -> None:
    table = CountTable.of(samples_of(OWNERS[0], "north"), Grid(decimals=2))
    with pytest.raises(InputError, match="north: the table is on another grid"):
        GridProtocol(**GRID_SETTINGS).share(table, ())


# Beside lists

BESIDE: dict[str, NDArray[np.int64]] = {
    "a positive as a negative": changed(p9=-1, n9=1),
    "one too many": changed(n9=1),
    "one too few, a positive": changed(p9=-1),
    "a negative count that another makes up for": changed(n0=-1, n9=1),
    "a sum that is right modulo 2^32": changed(p9=1 << 31, p8=1 << 31),
    "all positives as negatives": np.roll(counts_of(1), CELLS),
}


@each_policy
def test_a_table_beside_a_list_has_as_many_samples_and_as_many_positives(kind: str) -> None:
    terms = terms_for(kind, beside_lists=True)
    bad = [with_table(honest(terms)[1], counts) for counts in BESIDE.values()]
    submitted, sizes = among_honest(terms, bad)
    check_named(terms, submitted, sizes, range(1, 1 + len(bad)))
    right, sizes = among_honest(terms, [with_table(honest(terms)[1], counts_of(1))])
    assert not combined(terms, watched_run(terms, right, sizes), sizes).suppressed


def test_a_table_beside_lists_changes_no_number() -> None:
    with_table, without = (
        Terms(metrics=METRICS_ASKED, policy=Policy.exact(), protocol=protocol, confidence_level=0.95)
        for protocol in (Fast(grid=GRID_SETTINGS), Fast())
    )
    released = [
        combined(terms, watched_run(terms, honest(terms)), SIZES).metrics for terms in (with_table, without)
    ]
    assert released[0] == released[1]


def test_what_owners_learn_of_a_table_is_said() -> None:
    for policy in POLICIES.values():
        on_grid, beside, of_lists = (
            protocol.owners_learn(policy)
            for protocol in (GridProtocol(**GRID_SETTINGS), Fast(grid=GRID_SETTINGS), Fast())
        )
        assert UNFIT_TABLE in on_grid
        assert beside == (*of_lists, UNFIT_TABLE)


# Positive controls: without the checks, wrong numbers come out.


def auroc_with(counts: NDArray[np.int64]) -> float | None:
    protocol = GridProtocol(**GRID_SETTINGS)
    terms = Terms(metrics=(METRICS["auroc"](),), policy=Policy.exact(), protocol=protocol)
    submitted = honest(terms)
    submitted[1] = with_table(submitted[1], counts)
    auroc = combined(terms, watched_run(terms, submitted, SIZES), SIZES).metrics["auroc"]
    assert isinstance(auroc, Estimate)
    return auroc.value


def test_without_the_check_an_owner_would_have_more_weight_than_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pooled = [sample for owner in OWNERS for sample in owner]
    assert auroc_with(counts_of(1)) == float(defined(exact_auroc(pooled)))
    heavy = changed(p10=4)
    with pytest.raises(UnsortedListError, match="owner 2"):
        auroc_with(heavy)

    def careless(query: Query, inputs: Inputs) -> list[RingShare]:
        return [inputs.owner_tables.samples * 0 + 1]

    monkeypatch.setattr(withholding, "_on_owners", careless)
    assert auroc_with(heavy) != float(defined(exact_auroc(pooled)))


@pytest.mark.parametrize("missing", ["the least", "the most"])
def test_each_side_of_the_check_is_needed(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one of them alone, too many samples or too few are taken."""
    both = withholding._on_owners

    def one_side(query: Query, inputs: Inputs) -> list[RingShare]:
        at_least, at_most = both(query, inputs)
        return [at_most] if missing == "the least" else [at_least]

    monkeypatch.setattr(withholding, "_on_owners", one_side)
    taken = {"the least": changed(p9=-1), "the most": changed(p9=1)}
    noticed = {"the least": changed(p9=1), "the most": changed(p9=-1)}
    assert auroc_with(taken[missing]) is not None
    with pytest.raises(UnsortedListError, match="owner 2"):
        auroc_with(noticed[missing])


def test_the_table_of_whoever_is_honest_is_what_counts() -> None:
    """The oracle on the counts themselves agrees with that on samples."""
    tables: list[Any] = [CountTable.of(samples_of(owner), GRID) for owner in OWNERS]
    counted = Counted.of(tables)
    assert counted.auroc() == exact_auroc([sample for owner in OWNERS for sample in owner])
    assert Fraction(0) < counted.tied() < 1
