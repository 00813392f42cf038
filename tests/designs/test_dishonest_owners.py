"""Owners of a study with a design who submit what no rows can give: named, and no number leaves.

And what is not noticed, as SECURITY.md says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora import Grid, Policy
from ppaurora.data.further import Further, LeftOut
from ppaurora.data.layout import Block, ClassBlock, ClusterBlock, JointBlock, TableBlock
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.errors import PpauroraError, UnsortedListError
from ppaurora.metrics import withholding
from ppaurora.metrics.extras import study as of_study
from ppaurora.metrics.extras.base import Statement
from ppaurora.metrics.extras.comparisons import BothCalled, CrossErrors
from ppaurora.metrics.extras.left_out import LeftOutCounts
from ppaurora.metrics.extras.overlaps import SharedRows
from ppaurora.metrics.extras.site_effects import OwnArea, OwnEffect
from ppaurora.metrics.extras.study import statements_of, submitted_sums
from ppaurora.randomness import Stream
from ppaurora.sharing.shares import Words
from ppaurora.sharing.stages import OwnerShare, ResultShare, TableShare
from tests.support.designs import DesignedStudy, study_of
from tests.support.runs import watched_run, whole_result
from tests.support.tables import in_one, run_shares_in_the_clear

OWNERS, ROWS, FALSE = 4, 40, 1  # the second one is dishonest
GRID = Grid(decimals=1)
MODULUS = 1 << 32
Counts = NDArray[np.int64]
METRICS = ("auroc", "brier", "net_benefit")


def owners_with(kind: str) -> list[Samples]:
    """Rows with two models; and with two variables, two outcomes, patients of two rows, or weights."""
    random, owners = np.random.default_rng(5), []
    for number in range(OWNERS):
        labels = (np.arange(ROWS) % 5 < 2).astype(np.uint8)
        drawn = random.normal(0.35 + np.outer((0.3, 0.2), labels), 0.25)
        a, b = np.round(np.clip(drawn, 0.0, 1.0), 1).astype(np.float64)
        levels = {
            "age": random.integers(0, 3, ROWS).astype(np.uint8),
            "sex": random.integers(0, 2, ROWS).astype(np.uint8),
        }
        if kind == "wards":
            levels = {"age": levels["age"], "ward": random.integers(0, 3, ROWS).astype(np.uint8)}
        outcomes = {"died": labels, "icu": labels[::-1].copy()} if kind == "outcomes" else {"": labels}
        further = Further(
            {"a": a, "b": b},
            outcomes,
            levels if kind in ("levels", "wards", "outcomes") else {},
            np.arange(ROWS, dtype=np.int64) // 2 if kind == "patients" else None,
            random.integers(1, 4, ROWS).astype(np.uint32) if kind == "weights" else None,
            LeftOut(2, 3, 4),
        )
        owners.append(Samples(f"owner {number + 1}", a, labels, further=further))
    return owners


def study_with(kind: str, policy: Policy | None = None, protocol: str = "grid") -> DesignedStudy:
    asked: dict[str, Any] = {"metrics": METRICS, "left_out": True}
    if kind == "levels":
        asked["sites"] = policy is None or not policy.is_private
    if kind == "weights":
        asked["metrics"] = ("auroc", "brier")
    return study_of(owners_with(kind), policy=policy or Policy(), grid=GRID, protocol=protocol, **asked)


@dataclass
class Submitted:
    """What the dishonest owner would send if it were honest, for somebody to change."""

    study: DesignedStudy
    counts: Counts
    words: list[int]

    @classmethod
    def by(cls, study: DesignedStudy) -> Submitted:
        terms = study.job.terms
        own = study.owners[FALSE]
        words = sum((share.sums for share in terms.share(own)), np.zeros(terms.shape.sums, dtype=np.uint64))
        return cls(study, terms.layout.fill(own).astype(np.int64), words.tolist())

    def places(self, kind: type[Block], **fields: Any) -> slice:
        """Return where the counts of a block are: of the first one that has these fields."""
        return next(
            place
            for block, place in self.study.job.terms.layout.places.items()
            if isinstance(block, kind) and all(getattr(block, name) == one for name, one in fields.items())
        )

    def add(self, changes: dict[int, int], kind: type[Block], **fields: Any) -> None:
        """Add numbers to counts of a block, by place."""
        start = self.places(kind, **fields).start
        for place, change in changes.items():
            self.counts[start + place] += change

    def full(self, kind: type[Block], **fields: Any) -> list[int]:
        """Return places of counts that are not 0."""
        return np.flatnonzero(self.counts[self.places(kind, **fields)]).tolist()

    def statement(self, kind: type[Statement], **fields: Any) -> slice:
        """Return where the words of a statement are."""
        query = self.study.job.query
        start = len(submitted_sums(query))
        for one in statements_of(query):
            if isinstance(one, kind) and all(getattr(one, name) == value for name, value in fields.items()):
                return slice(start, start + one.words)
            start += one.words
        raise AssertionError(kind)

    def say(self, changes: dict[int, int], kind: type[Statement], **fields: Any) -> None:
        """Replace words of a statement, by place."""
        start = self.statement(kind, **fields).start
        for place, word in changes.items():
            self.words[start + place] = word % (1 << 64)

    def shares(self) -> tuple[OwnerShare, ...]:
        """Split it as an owner's program would; lists are the honest ones."""
        terms = self.study.job.terms
        honest = terms.share(self.study.owners[FALSE])
        tables = TableShare.split((self.counts % MODULUS).astype(np.uint32), len(honest), Stream.fresh())
        words = np.array(self.words, dtype=np.uint64)
        sums = [words - sum((share.sums for share in honest[1:]), np.zeros_like(words))]
        sums += [share.sums for share in honest[1:]]
        return tuple(
            replace(share, table=table, sums=own)
            for share, table, own in zip(honest, tables, sums, strict=True)
        )


def in_the_clear(submitted: Submitted) -> Words:
    """Return the columns of a release under `grid`."""
    study = submitted.study
    shares = [study.job.terms.share(own) for own in study.owners]
    shares[FALSE] = submitted.shares()
    wholes = [replace(in_one(one), sums=sum((s.sums for s in one[1:]), one[0].sums)) for one in shares]
    return run_shares_in_the_clear(study.job.terms, wholes, study.job.sizes)


def read(study: DesignedStudy, words: Words) -> list[float | None]:
    parts = [ResultShare(words), ResultShare(np.zeros_like(words))]
    names = [own.source for own in study.owners]
    released = study.job.terms.protocol.combine(parts, study.job.query, names)
    return [value for part in released.parts for value in part.values]


def check_named(submitted: Submitted, words: Words) -> None:
    """Its name is told, and nothing but everybody's flags."""
    with pytest.raises(UnsortedListError, match=f"owner {FALSE + 1}: .* do not fit "):
        read(submitted.study, words)
    assert words[0, -OWNERS:].tolist() == [int(number != FALSE) for number in range(OWNERS)]
    assert not words[:, :-OWNERS].any()


def table(model: str, variable: str = "", level: str = "", outcome: str = "") -> dict[str, Any]:
    return {"slice": Slice(model, outcome, variable, level)}


CELLS = GRID.cells
Change = Callable[[Submitted], None]


def moved_in(kind: type[Block], by: int = 1, **fields: Any) -> Change:
    """So many samples are counted in the next cell instead of theirs."""

    def change(submitted: Submitted) -> None:
        place = submitted.full(kind, **fields)[0]
        submitted.add({place: -by, place + 1: by}, kind, **fields)

    return change


def exchanged_levels(submitted: Submitted) -> None:
    """By one model a sample is in another level than by the other; the whole is as it was."""
    place = submitted.full(TableBlock, **table("b", "sex", "f"))[0]
    submitted.add({place: -1}, TableBlock, **table("b", "sex", "f"))
    submitted.add({place: 1}, TableBlock, **table("b", "sex", "m"))


def other_positives(submitted: Submitted) -> None:
    """By one model a positive is a negative, in one level of every variable."""
    for variable, level in (("age", "young"), ("sex", "f")):
        submitted.add({1: 1, 1 + CELLS: -1}, TableBlock, **table("b", variable, level))


def wrapped_levels(submitted: Submitted) -> None:
    """Counts so large that squares of differences vanish modulo 2^64."""
    for model in ("a", "b"):
        for level in ("f", "m"):
            submitted.add({0: 1 << 31}, TableBlock, **table(model, "sex", level))


def exchanged_levels_by_outcome(submitted: Submitted) -> None:
    """By one outcome somebody without it is in another level than by the other one."""
    for model in ("a", "b"):
        place = submitted.full(TableBlock, **table(model, "sex", "f", "icu"))[0]
        assert place < CELLS
        submitted.add({place: -1}, TableBlock, **table(model, "sex", "f", "icu"))
        submitted.add({place: 1}, TableBlock, **table(model, "sex", "m", "icu"))


def wrapped_pairs(submitted: Submitted) -> None:
    """So many people in pairs of levels that every level has 2^64 more, which is none."""
    start, third = submitted.statement(SharedRows).start, (1 << 64) // 3
    for row in range(3):
        for column in range(3):
            submitted.words[start + 3 * row + column] += third + (row == column)


def adds(changes: dict[int, int], kind: type[Block], **fields: Any) -> Change:
    return lambda submitted: submitted.add(changes, kind, **fields)


def says(changes: dict[int, int], kind: type[Statement], **fields: Any) -> Change:
    return lambda submitted: submitted.say(changes, kind, **fields)


def no_products(submitted: Submitted) -> None:
    layout = submitted.study.job.terms.layout
    block = next(one for one in layout.blocks if isinstance(one, JointBlock))
    submitted.counts[layout.places[block]] = 0


AREA = 1 << 62
NOTICED: dict[str, tuple[str, Change]] = {
    "a second variable that does not add up": (
        "levels",
        moved_in(TableBlock, **table("a", "sex", "f")),
    ),
    "levels so large that they wrap around": ("levels", wrapped_levels),
    "another level by another model": ("levels", exchanged_levels),
    "other positives by another model": ("levels", other_positives),
    "too many in a level": ("levels", adds({0: 1}, TableBlock, **table("a", "age", "young"))),
    "joint counts in another cell": ("levels", moved_in(JointBlock, first=1)),
    "one joint count too many": ("levels", adds({0: 1}, JointBlock, first=0)),
    "huge joint counts": ("levels", adds({0: MODULUS - 1}, JointBlock, first=0)),
    "cross errors below 0": ("levels", says({0: -1}, CrossErrors)),
    "cross errors above both models'": ("levels", says({0: 1 << 40}, CrossErrors)),
    "cross errors whose double wraps around": ("levels", says({0: (1 << 63) - 2}, CrossErrors)),
    "more called by both than by each": ("levels", says({0: ROWS}, BothCalled)),
    "fewer than none called by both": ("levels", says({1: -1}, BothCalled)),
    "a site that counts twice": ("levels", says({0: 2}, OwnEffect)),
    "a site with too large a weight": ("levels", says({1: 1 << 60}, OwnEffect)),
    "a site with too large an effect": ("levels", says({2: 1 << 60}, OwnEffect)),
    "a site that does not count and has an effect": ("levels", says({0: 0}, OwnEffect)),
    "an area above all pairs": ("levels", says({0: AREA}, OwnArea)),
    "a standard error above one": ("levels", says({1: AREA}, OwnArea)),
    "fewer than no rows left out": ("levels", says({0: -1}, LeftOutCounts)),
    "billions of rows left out": ("levels", says({2: 1 << 40}, LeftOutCounts)),
    "people of two levels that do not add up": ("levels", says({0: 40}, SharedRows)),
    "fewer than nobody in two levels": ("levels", says({1: -1}, SharedRows)),
    "more people in two levels than in one": ("wards", wrapped_pairs),
    "another level by another outcome": ("outcomes", exchanged_levels_by_outcome),
    "a weight above the most": ("weights", adds({0: 100 * ROWS}, TableBlock, **table("a"))),
    "weights that are less than one": ("weights", adds({0: ROWS, 1: -ROWS}, ClassBlock, outcome="")),
    "more rows than there are": ("weights", adds({0: 1}, ClassBlock, outcome="")),
    "other weights of negatives by another model": ("weights", adds({0: 1}, TableBlock, **table("b"))),
    "other weights of positives by another model": ("weights", adds({CELLS: 1}, TableBlock, **table("b"))),
    "more patients with positives than positives": ("patients", adds({0: ROWS}, ClusterBlock)),
    "more patients than with either class": ("patients", adds({2: ROWS}, ClusterBlock)),
    "fewer products than rows": ("patients", no_products),
    "too many products": ("patients", adds({0: 1 << 25}, JointBlock, first=1, second=1)),
    "more products than pairs of rows": ("patients", adds({0: 500}, JointBlock, first=1, second=1)),
}


@pytest.mark.parametrize("what", NOTICED)
def test_what_no_rows_can_give_is_noticed_and_its_owner_named(what: str) -> None:
    kind, change = NOTICED[what]
    submitted = Submitted.by(study_with(kind))
    change(submitted)
    check_named(submitted, in_the_clear(submitted))


@pytest.mark.parametrize("what", NOTICED)
def test_without_the_checks_numbers_would_be_others(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: they leave, and are not those of honest owners, or cannot be read at all."""
    kind, change = NOTICED[what]
    submitted = Submitted.by(study_with(kind))
    honest = read(submitted.study, in_the_clear(submitted))
    for name in ("_table_checks", "_class_checks", "_joint_checks"):
        monkeypatch.setattr(of_study, name, lambda study, query: [])
    for statement in (CrossErrors, BothCalled, OwnEffect, OwnArea, LeftOutCounts, SharedRows):
        monkeypatch.setattr(statement, "checks", lambda self, words, study: [])
    monkeypatch.setattr(withholding, "_on_owners", lambda query, inputs: [])
    change(submitted)
    try:
        assert read(submitted.study, in_the_clear(submitted)) != honest
    except UnsortedListError:
        raise
    except PpauroraError:
        pass  # numbers that cannot be: whoever reads them cannot say whose fault it is


PRIVATE = [
    "a second variable that does not add up",
    "levels so large that they wrap around",
    "another level by another model",
    "other positives by another model",
    "too many in a level",
    "fewer than no rows left out",
]


@pytest.mark.parametrize("what", PRIVATE)
@pytest.mark.parametrize("kind", ["private", "exact"])
def test_it_is_noticed_under_every_kind_of_policy(what: str, kind: str) -> None:
    policy = Policy.private(2.0) if kind == "private" else Policy.exact()
    submitted = Submitted.by(study_with("levels", policy))
    NOTICED[what][1](submitted)
    check_named(submitted, in_the_clear(submitted))


@pytest.mark.parametrize("protocol", ["grid", "fast"])
def test_three_servers_notice_it(protocol: str) -> None:
    """Tables beside lists are held to the lists, too; one of each kind of check."""
    study = study_with("levels", Policy.private(2.0), protocol)
    submitted = Submitted.by(study)
    exchanged_levels(submitted)
    terms = study.job.terms
    shares = [terms.share(own) for own in study.owners]
    shares[FALSE] = submitted.shares()
    run = watched_run(terms, shares, study.job.sizes)
    assert not run.openings
    check_named(submitted, whole_result(terms, run))


# What is not noticed: SECURITY.md says so.


def other_couples(submitted: Submitted) -> None:
    """Both models' tables are right, and who has which two scores is not."""
    layout = submitted.study.job.terms.layout
    block = next(one for one in layout.blocks if isinstance(one, JointBlock) and one.first == 1)
    matrix = submitted.counts[layout.places[block]].reshape(block.shape)
    for row, column in zip(*np.nonzero(matrix), strict=True):
        below = np.argwhere(matrix[row + 1 :, column + 1 :])
        if matrix[row, column] and len(below):
            other_row, other_column = below[0] + (row + 1, column + 1)
            matrix[row, column] -= 1
            matrix[other_row, other_column] -= 1
            matrix[row, other_column] += 1
            matrix[other_row, column] += 1
    submitted.counts[layout.places[block]] = matrix.ravel()


def others_in_a_level(submitted: Submitted) -> None:
    """By all models and all counts, a sample is in the other level."""
    for model in ("a", "b"):
        place = submitted.full(TableBlock, **table(model, "sex", "f"))[0]
        submitted.add({place: -1}, TableBlock, **table(model, "sex", "f"))
        submitted.add({place: 1}, TableBlock, **table(model, "sex", "m"))
    start = submitted.statement(SharedRows).start  # pairs of an age and a sex
    submitted.words[start] -= 1
    submitted.words[start + 1] += 1


def one_less_by_both(submitted: Submitted) -> None:
    submitted.words[submitted.statement(BothCalled, threshold=0.5).start + 1] -= 1


UNNOTICED: dict[str, tuple[str, Change]] = {
    "other couples of scores": ("levels", other_couples),
    "samples in another level": ("levels", others_in_a_level),
    "an effect that is not its own": ("levels", says({0: 1, 1: 1 << 30, 2: 1 << 28}, OwnEffect)),
    "an area that is not its own": ("levels", says({0: 0}, OwnArea)),
    "other numbers of rows left out": ("levels", says({0: 1000}, LeftOutCounts)),
    "fewer called by both": ("levels", one_less_by_both),
    "products over patients": ("patients", adds({0: 5}, JointBlock, first=1, second=1)),
    "another number of patients": ("patients", adds({0: 3, 2: 3}, ClusterBlock)),
}


@pytest.mark.parametrize("what", UNNOTICED)
def test_what_rows_could_give_is_not_noticed(what: str) -> None:
    kind, change = UNNOTICED[what]
    submitted = Submitted.by(study_with(kind, Policy.exact()))
    honest = read(submitted.study, in_the_clear(submitted))
    change(submitted)
    found = read(submitted.study, in_the_clear(submitted))
    assert found != honest
