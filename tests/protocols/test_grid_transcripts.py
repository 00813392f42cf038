"""What travels in a run of `grid`: one shape for a grid and so many owners, uniform; nothing is opened."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.agreement.terms import Limits, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES, precision_bits
from ppaurora.algorithms.placements import LOW_BITS
from ppaurora.channel.meter import Cost
from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.errors import UnsortedListError
from ppaurora.metrics import METRICS, Metric, Query
from ppaurora.metrics import release as release_module
from ppaurora.metrics.withholding import withhold
from ppaurora.policy.rules import Policy
from ppaurora.protocols import GridProtocol
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import TableShare
from ppaurora.suites.bitsliced import costs
from ppaurora.suites.role import Role
from ppaurora.testing.world import WorldRun
from tests.support.cases import transcript
from tests.support.runs import combined, watched_run, whole_result

CELLS = 11
EVERY_ONE = tuple(kind.sample() for kind in METRICS.values() if kind.uses_ends)
POLICIES = {"publication": Policy(), "private": Policy.private(), "exact": Policy.exact()}
ASKED: dict[str, tuple[Metric, ...]] = {
    "publication": EVERY_ONE,
    "private": tuple(metric for metric in EVERY_ONE if metric.mechanism() is not None),
    "exact": EVERY_ONE,
}
AUROC = (METRICS["auroc"](),)
AT_THRESHOLDS = (METRICS["sensitivity"](thresholds=(0.25, 0.5)),)


def terms_for(kind: str, metrics: Sequence[Metric] | None = None, **grid: Any) -> Terms:
    return Terms(
        metrics=tuple(ASKED[kind] if metrics is None else metrics),
        policy=POLICIES[kind],
        confidence_level=0.95,
        protocol=GridProtocol(**{"low": 0.0, "high": 1.0, "decimals": 1, **grid}),
        limits=Limits(samples_per_owner=MOST_SAMPLES),
    )


def table(positives: Sequence[int], negatives: Sequence[int], grid: Grid) -> CountTable:
    by_class = [np.array(one, dtype=np.uint32) for one in (positives, negatives)]
    return CountTable("owner", grid, by_class[0], by_class[1])


def spread(samples: int, rate: float, values: Sequence[int] = range(CELLS)) -> tuple[list[int], list[int]]:
    """So many samples at these values of the grid, one after the other; a part of each value is positive."""
    positives, negatives = [0] * CELLS, [0] * CELLS
    each, rest = divmod(samples, len(values))
    for number, value in enumerate(values):
        here = each + (number < rest)
        positives[value] = round(here * rate)
        negatives[value] = here - positives[value]
    return positives, negatives


Study = tuple[tuple[list[int], list[int]], ...]
STUDIES: dict[str, Study] = {
    "8,000 samples": tuple(spread(size, 0.5) for size in (3000, 2500, 2500)),
    "10^9 samples": tuple(spread(size, 0.3) for size in (4 * 10**8, 35 * 10**7, 25 * 10**7)),
    "few, and few positives": tuple(spread(size, 0.05, (3, 7)) for size in (40, 30, 35)),
    "no positives": tuple(spread(100, 0.0) for _ in range(3)),
}


def submitted(terms: Terms, study: Study) -> tuple[list[tuple[Any, ...]], list[int]]:
    grid = terms.protocol.grid
    assert grid is not None
    tables = [table(*counts, grid) for counts in study]
    return [terms.share(one) for one in tables], [len(one) for one in tables]


def run_of(terms: Terms, study: Study) -> WorldRun:
    return watched_run(terms, *submitted(terms, study))


def shape(run: WorldRun) -> Any:
    """Every message's length by direction, in order; and messages, bytes and rounds of steps, by party."""
    return transcript(run), [context.meter.reading() for context in run.contexts]


@functools.cache
def usual_run(kind: str) -> WorldRun:
    return run_of(terms_for(kind), STUDIES["8,000 samples"])


OTHER_STUDIES = {
    "publication": {"10^9 samples": True, "few, and few positives": False},
    "private": {"10^9 samples": True, "few, and few positives": True, "no positives": True},
    "exact": {"10^9 samples": True, "no positives": False},
}


@pytest.mark.parametrize("kind", POLICIES)
def test_the_shape_depends_on_the_grid_and_the_number_of_owners_alone(kind: str) -> None:
    """Of every metric: not on the data, nor on how many samples there are, nor on what is withheld."""
    terms, usual = terms_for(kind), usual_run(kind)
    assert whole_result(terms, usual)[0, 0] == 1
    assert not usual.openings
    for what, released in OTHER_STUDIES[kind].items():
        run = run_of(terms, STUDIES[what])
        assert whole_result(terms, run)[0, 0] == released, what
        assert not run.openings
        assert shape(run) == shape(usual), what


@pytest.mark.parametrize("kind", POLICIES)
def test_a_table_that_does_not_add_up_has_the_same_shape(kind: str) -> None:
    terms = terms_for(kind, (*AUROC, *AT_THRESHOLDS))
    shares, sizes = submitted(terms, STUDIES["8,000 samples"])
    wrong = TableShare.split(np.full(2 * CELLS, 2**32 - 1, dtype=np.uint32), 2, Stream.fresh())
    for share, part in zip(shares[1], wrong, strict=True):
        object.__setattr__(share, "table", part)
    run = watched_run(terms, shares, sizes)
    with pytest.raises(UnsortedListError, match="owner 2"):
        combined(terms, run, sizes)
    assert shape(run) == shape(run_of(terms, STUDIES["8,000 samples"]))


def test_the_shape_is_that_of_the_question() -> None:
    """The positive control: what else could differ does."""
    terms = terms_for("exact", AUROC)
    study = STUDIES["8,000 samples"]
    expected = shape(run_of(terms, study))
    assert shape(run_of(terms, study[:2])) != expected
    others = (
        terms_for("exact", (*AUROC, *AT_THRESHOLDS)),
        terms_for("publication", AUROC),
        terms_for("exact", AUROC, low=0.5, high=1.5),
    )
    assert [shape(run_of(other, study)) == expected for other in others] == [False, False, True]
    finer = tuple(([0] * 90 + own[0], [0] * 90 + own[1]) for own in study)
    assert shape(run_of(terms_for("exact", AUROC, decimals=2), finer)) != expected


@pytest.mark.parametrize("kind", POLICIES)
def test_arithmetic_made_for_the_number_of_samples_would_tell_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control of sizes: this is what lists may do, whose number of samples shows anyway."""
    metrics = AUROC if kind == "private" else AT_THRESHOLDS
    many, few = (
        run_of(terms_for(kind, metrics), STUDIES[what]) for what in ("10^9 samples", "8,000 samples")
    )
    assert shape(many) == shape(few)
    monkeypatch.setattr(Query, "most_samples", property(lambda query: query.samples))
    many, few = (
        run_of(terms_for(kind, metrics), STUDIES[what]) for what in ("10^9 samples", "8,000 samples")
    )
    assert shape(many) != shape(few)


def test_a_server_that_saves_itself_the_work_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of data: this one knows that there are no positives, and stops."""

    def give_up(suite: Any, query: Any, decided: Any, values: Any) -> Any:
        withhold(suite, query, decided, values)
        return suite.mul(suite.blank(2, 3), suite.blank(2, 3))

    terms = terms_for("exact", AUROC)
    expected = shape(run_of(terms, STUDIES["8,000 samples"]))
    monkeypatch.setattr(release_module, "withhold", give_up)
    assert shape(run_of(terms, STUDIES["no positives"])) != expected


def test_the_helper_only_sends_and_shares_nothing_with_who_has_its_seeds() -> None:
    run = usual_run("exact")
    assert all(message.receiver is not Role.HELPER for message in run.messages)
    assert {message.receiver for message in run.messages if message.sender is Role.HELPER} == {Role.PROXY_1}


def ones_per_bit(run: WorldRun) -> dict[tuple[Role, Role], float]:
    """Return the share of ones among all bits that are sent on every link."""
    links: dict[Any, list[bytes]] = {}
    for message in run.messages:
        links.setdefault((message.sender, message.receiver), []).append(message.payload)
    return {
        link: float(np.unpackbits(np.frombuffer(b"".join(payloads), dtype=np.uint8)).mean())
        for link, payloads in links.items()
    }


WIDE_GRID = {"decimals": 3}
EMPTY = tuple(([0] * 1000 + [30], [0] * 1001) for _ in range(3))


def test_every_link_carries_uniform_bits_on_constant_data() -> None:
    """More than a million bits on each: six standard deviations are below 0.003."""
    run = run_of(terms_for("exact", AUROC, **WIDE_GRID), EMPTY)
    ones = ones_per_bit(run)
    assert len(ones) == 3
    assert all(abs(part - 0.5) < 0.003 for part in ones.values()), ones


def test_without_randomness_the_links_would_show_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the test above."""
    monkeypatch.setattr(Stream, "fill", lambda self, out: out.fill(0))
    monkeypatch.setattr(Stream, "words", lambda self, shape: np.zeros(shape, dtype=np.uint64))
    monkeypatch.setattr(Stream, "bytes", lambda self, count: np.zeros(count, dtype=np.uint8))
    ones = ones_per_bit(run_of(terms_for("exact", AUROC, **WIDE_GRID), EMPTY))
    assert max(abs(part - 0.5) for part in ones.values()) > 0.003


def test_every_stream_is_opened_once_by_who_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """An owner's seeds too: by the owner, in the thread of the test, and by the proxy that it is for."""
    opened: Counter[tuple[str, bytes]] = Counter()
    open_stream = Stream.__init__

    def opening(stream: Stream, key: bytes, label: str = "") -> None:
        opened[threading.current_thread().name, key] += 1
        open_stream(stream, key, label)

    monkeypatch.setattr(Stream, "__init__", opening)
    terms = terms_for("exact", AUROC)
    shares, sizes = submitted(terms, STUDIES["8,000 samples"])
    watched_run(terms, shares, sizes)
    assert set(opened.values()) == {1}
    for seed, _ in shares:
        holders = {name for name, key in opened if key == seed.table.content}
        assert holders == {threading.current_thread().name, Role.PROXY_0.title}


# What it costs


def measured(metrics: Sequence[Metric], owners: int, cells: int) -> dict[str, Cost]:
    """Return the cost of every step, of all parties together."""
    grid = {"low": 0.0, "high": float(cells - 1), "decimals": 0}
    terms = Terms(
        metrics=tuple(metrics),
        policy=Policy.exact(),
        confidence_level=0.95,
        protocol=GridProtocol(**grid),
    )
    random = np.random.default_rng(cells)
    counts: list[NDArray[np.int64]] = [random.integers(0, 3, (2, cells)) for _ in range(owners)]
    run = run_of(terms, tuple((one[0].tolist(), one[1].tolist()) for one in counts))
    readings = [context.meter.reading() for context in run.contexts]
    return {
        name: Cost(
            sum(reading.steps[name].messages for reading in readings if name in reading.steps),
            sum(reading.steps[name].bytes for reading in readings if name in reading.steps),
            max(reading.steps[name].rounds for reading in readings if name in reading.steps),
        )
        for name in dict.fromkeys(step for reading in readings for step in reading.steps)
    }


@functools.cache
def usual_steps(cells: int) -> dict[str, Cost]:
    """Return those of AUROC with its interval and AUPR, of 8 owners."""
    return measured((METRICS["auroc"](), METRICS["aupr"]()), 8, cells)


@pytest.mark.parametrize("cells", [1001, 10_001])
def test_a_study_costs_what_primitives_declare(cells: int) -> None:
    """Owners' counts, high limbs of TP and FP, precisions, then sums over the curve."""
    steps = usual_steps(cells)
    assert steps["input"] == costs.input_counts(8, 2 * cells)
    high = costs.shift_right(cells + 1, LOW_BITS)
    assert steps["placements"] == high + high
    precision = costs.div(cells + 1, precision_bits(MOST_SAMPLES), MOST_SAMPLES)
    assert steps["precision"] == costs.is_positive(cells + 1) + precision
    # In one round: P·N, two areas, pairs that are tied, and for either class the squares of three limbs.
    sums = costs.mul(1) + costs.dot() * 3 + costs.dot_squares([cells]) * 6
    assert steps["curve"] == Cost(sums.messages, sums.bytes, 1)


def test_what_follows_the_table_costs_the_same_whatever_the_grid_is() -> None:
    few, many = usual_steps(1001), usual_steps(10_001)
    for step in ("session", "division", "release"):
        assert few[step] == many[step], step


@pytest.mark.parametrize(("cells", "most_bytes"), [(1001, 8 * 10**6), (10_001, 60 * 10**6)])
def test_a_study_costs_no_more_than_was_promised(cells: int, most_bytes: int) -> None:
    """Whatever its number of samples is."""
    steps = usual_steps(cells).values()
    assert sum(step.bytes for step in steps) <= most_bytes
    assert sum(step.rounds for step in steps) <= 150


def test_thresholds_cost_nothing_before_they_are_divided() -> None:
    """Sums over an owner's table are local."""
    steps = measured(AT_THRESHOLDS, 3, 1001)
    assert steps["input"] == costs.input_counts(3, 2 * 1001)
    assert steps["curve"] == costs.mul(1)
