"""What a publication lets out of a study with a design: floors of levels, sites and differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ppaurora
from ppaurora import Policy
from ppaurora.agreement.terms import Job
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.metrics import withholding
from ppaurora.metrics.extras.study import extras_of
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.metrics.reading import ReleasedPart, ReleasedResult
from ppaurora.policy.rules import Floors
from ppaurora.sharing.stages import ResultShare
from ppaurora.statistics.estimates import Table
from ppaurora.testing.world import WorldRun
from tests.support.cases import transcript
from tests.support.designs import LEVELS, DesignedStudy, study_of
from tests.support.levels import ENOUGH, Classes, Levels, alike, owners_of
from tests.support.releases import remain, to_multiple_of_five
from tests.support.runs import watched_run, whole_result

each_protocol = pytest.mark.parametrize("protocol", ["grid", "fast"])


def published(owners: Sequence[Samples], protocol: str = "grid", **terms: Any) -> ReleasedResult:
    study = study_for(owners, protocol=protocol, **terms)
    return released_in_the_clear(study.job.query, owners)


def study_for(owners: Sequence[Samples], **terms: Any) -> DesignedStudy:
    given = {"policy": Policy(), "metrics": ("auroc", "brier", "sensitivity"), "left_out": True, **terms}
    return study_of(owners, **given)


def part_of(result: ReleasedResult, slice_: Slice) -> ReleasedPart:
    (found,) = (part for part in result.parts if part.slice == slice_ and not part.query.is_of_extras)
    return found


def extras_in(result: ReleasedResult) -> dict[str, float | None]:
    (found,) = (part for part in result.parts if part.query.is_of_extras)
    return {
        f"{number} {output.name}": value
        for number, (output, value) in enumerate(zip(found.query.outputs, found.values, strict=True))
    }


def level_parts(result: ReleasedResult, model: str = "a") -> list[ReleasedPart]:
    return [part for part in result.parts if part.slice.is_level and part.slice.model == model]


def are_there(parts: Sequence[ReleasedPart]) -> list[bool]:
    """Which parts are released; of one that is not, nothing is."""
    for part in parts:
        if part.suppressed:
            assert part.positives is None
            assert part.negatives is None
            assert not any(value is not None for value in part.values)
    return [not part.suppressed for part in parts]


# Floors of levels, written here anew


def meets_floors(by_owner: Sequence[Classes]) -> bool:
    return all(remain([own[label] for own in by_owner], 10) for label in (0, 1))


def expected_levels(owners: Sequence[Levels]) -> list[bool]:
    """Levels that meet the floors; none unless the others together meet them, or are empty."""
    by_level = list(zip(*owners, strict=True))
    there = [meets_floors(level) for level in by_level]
    withheld = [[level for level, one in zip(own, there, strict=True) if not one] for own in owners]
    rest = [(sum(p for p, _ in own), sum(n for _, n in own)) for own in withheld]
    is_empty = not any(sum(own) for own in rest)
    return [one and (is_empty or meets_floors(rest)) for one in there]


FEW_LEVELS: dict[str, tuple[list[Levels], list[bool]]] = {
    "all are large": ([(ENOUGH, ENOUGH, ENOUGH)] * 4, [True, True, True]),
    "one of 12 people, 9 of them positive": (
        [(ENOUGH, ENOUGH, own) for own in ((3, 1), (2, 1), (2, 1), (2, 0))],
        [False, False, False],
    ),
    "two small ones that are large enough together": (
        [(ENOUGH, (3, 4), (3, 4))] * 4,
        [True, False, False],
    ),
    "one is empty": ([(ENOUGH, ENOUGH, (0, 0))] * 4, [True, True, False]),
    "one is at one owner only": ([(ENOUGH, ENOUGH, (30, 30)), *[(ENOUGH, ENOUGH, (0, 0))] * 3], [False] * 3),
    "one has ten of a class, but not without an owner": (
        [(ENOUGH, ENOUGH, own) for own in ((4, 8), (3, 8), (3, 8), (3, 8))],
        [False] * 3,
    ),
    "one has ten of each class without any one owner": (
        [(ENOUGH, ENOUGH, (4, 4))] * 4,
        [True, True, True],
    ),
    "one of a single class": ([(ENOUGH, ENOUGH, (9, 0))] * 4, [False] * 3),
}


@each_protocol
@pytest.mark.parametrize("what", FEW_LEVELS)
def test_levels_are_withheld_and_protect_each_other(what: str, protocol: str) -> None:
    levels, expected = FEW_LEVELS[what]
    assert expected_levels(levels) == expected
    result = published(owners_of(*levels), protocol)
    for model in ("a", "b"):
        assert are_there(level_parts(result, model)) == expected
        assert not part_of(result, Slice(model)).suppressed
    for part in level_parts(result):
        place = LEVELS["age"].index(part.slice.level)
        if not part.suppressed:
            counts = [sum(own[place][label] for own in levels) for label in (0, 1)]
            assert [part.positives, part.negatives] == list(map(to_multiple_of_five, counts))


@pytest.mark.parametrize("seed", range(40))
def test_random_levels_are_withheld_as_the_rule_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.choice([0, 1, 3, 4, 5, 12, 30], p=[0.1, 0.1, 0.2, 0.2, 0.2, 0.1, 0.1], size=(4, 3, 2))
    sizes[:, 2] += 12
    levels: list[Levels] = [tuple((int(p), int(n)) for p, n in own) for own in sizes]
    assume_public_rules(levels)
    result = published(owners_of(*levels, seed=seed), metrics=("auroc",), policy=without_public_rules())
    assert are_there(level_parts(result)) == expected_levels(levels)


def without_public_rules() -> Policy:
    """The rules on secrets of a publication alone, whatever sizes owners have."""
    return Policy.exact(
        minimum_positives=10, minimum_negatives=10, minimum_per_cell=10, digits=3, counts="rounded"
    )


def assume_public_rules(levels: Sequence[Levels]) -> None:
    by_owner = [(sum(p for p, _ in own), sum(n for _, n in own)) for own in levels]
    assert meets_floors(by_owner), "the whole is there in every one of these studies"


def test_without_the_rest_a_level_of_twelve_would_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: the whole less the others is that level, but for the rounding of counts."""
    levels, _ = FEW_LEVELS["one of 12 people, 9 of them positive"]
    monkeypatch.setattr(withholding, "protect_small_levels", lambda suite, parts, *decided: decided[:2])
    result = published(owners_of(*levels))
    there = level_parts(result)
    assert are_there(there) == [True, True, False]
    positives = part_of(result, Slice("a")).positives
    assert positives is not None
    assert abs(positives - sum(part.positives or 0 for part in there) - 9) <= 7


def in_two_variables(sexes: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]) -> list[Samples]:
    """Return four owners of 48 people in three ages; their sex follows from the age, as a function has it."""
    owners = []
    for own in alike(ENOUGH, ENOUGH, ENOUGH):
        assert own.further is not None
        ages = own.further.levels["age"]
        levels = {"age": ages, "sex": sexes(ages).astype(np.uint8)}
        owners.append(replace(own, further=replace(own.further, levels=levels)))
    return owners


def exchanged(ages: NDArray[np.uint8], some: int) -> NDArray[np.bool_]:
    """The first level of both variables is the same, but for so many people of every owner."""
    found = ages > 0
    found[:some] = True
    return found


TWO_VARIABLES: dict[str, tuple[Callable[[NDArray[np.uint8]], NDArray[np.bool_]], bool]] = {
    "nothing in common": (lambda ages: np.arange(len(ages)) % 2 == 1, True),
    "the same level": (lambda ages: ages > 0, True),
    "all that the level is without": (lambda ages: ages == 0, True),
    "but for four people": (lambda ages: exchanged(ages, 1), False),
    "but for twelve, nine without any one owner": (lambda ages: exchanged(ages, 3), False),
    "but for sixteen, twelve without any one owner": (lambda ages: exchanged(ages, 4), True),
    "all that it is without, but for four people": (lambda ages: ~exchanged(ages, 1), False),
}


@each_protocol
@pytest.mark.parametrize("what", TWO_VARIABLES)
def test_levels_of_two_variables_are_not_subtracted(what: str, protocol: str) -> None:
    """Where two of them differ by few people, the second variable is withheld; nothing else is."""
    sexes, expected = TWO_VARIABLES[what]
    result = published(in_two_variables(sexes), protocol)
    for model in ("a", "b"):
        assert are_there(level_parts(result, model)) == [True] * 3 + [expected] * 2
        assert not part_of(result, Slice(model)).suppressed


def test_levels_that_are_withheld_cannot_be_subtracted() -> None:
    """Two ages are withheld, and a sex of few people would be near to either; it is withheld itself."""
    levels = [((12, 12), (3, 4), (3, 4))] * 4
    owners = owners_of(*levels)
    assert are_there(level_parts(published(owners))) == [True, False, False]
    with_sexes = []
    for own in owners:
        assert own.further is not None
        sexes = (np.arange(len(own)) % 2).astype(np.uint8)
        further = replace(own.further, levels={**own.further.levels, "sex": sexes})
        with_sexes.append(replace(own, further=further))
    there = are_there(level_parts(published(with_sexes)))
    assert there == [True, False, False, True, True]


def test_people_are_patients_and_not_their_rows() -> None:
    """Ten rows of each class at every owner, but of two patients each: 6 without any one owner."""
    rows_of_one = owners_of(*([((2, 2), ENOUGH, ENOUGH)] * 4), rows=5)
    result = published(rows_of_one, metrics=("auroc",))
    assert are_there(level_parts(result)) == [False] * 3
    assert not part_of(result, Slice("a")).suppressed
    people = owners_of(*([((10, 10), ENOUGH, ENOUGH)] * 4))
    assert are_there(level_parts(published(people, metrics=("auroc",)))) == [True] * 3
    few = owners_of(*([((1, 1), (1, 1), (1, 1))] * 4), rows=10)
    assert all(part.suppressed for part in published(few, metrics=("auroc",)).parts)


@pytest.mark.parametrize("weights", [1, 3])
def test_people_are_patients_also_where_their_rows_weigh(weights: int) -> None:
    """Ten rows of each class at every owner, but of one patient each: 3 without any one owner."""
    owners = []
    for own in owners_of(*([((1, 1),)] * 4), rows=10):
        assert own.further is not None
        heavy = np.full(len(own), weights, dtype=np.uint32)
        owners.append(replace(own, further=replace(own.further, levels={}, weights=heavy)))
    assert all(part.suppressed for part in published(owners, metrics=("auroc",)).parts)
    by_rows = [replace(own, further=replace(own.further, patients=None)) for own in owners if own.further]
    assert not part_of(published(by_rows, metrics=("auroc",)), Slice("a")).suppressed


def test_whole_tables_are_those_of_all_models_and_levels() -> None:
    """One model calls few positive at one threshold, and no table of any other has numbers."""
    owners = []
    for own in alike((20, 20), (20, 20), (20, 20)):
        assert own.further is not None
        scores = {**own.further.scores, "b": np.minimum(own.further.scores["b"], 0.3)}
        owners.append(replace(own, further=replace(own.further, scores=scores)))
    by_cell = published(owners, metrics=("auroc", "sensitivity"))
    assert any(value is not None for value in table_of(by_cell, "young"))
    result = published(owners, metrics=("auroc", "sensitivity"), policy=Policy(whole_tables=True))
    slices = [part for part in result.parts if not part.query.is_of_extras]
    tables = [part.metrics["sensitivity"] for part in slices]
    assert not any(row["sensitivity"].value is not None for table in tables for row in table)  # type: ignore[union-attr]
    assert all(part.metrics["auroc"].value is not None for part in slices)  # type: ignore[union-attr]


def test_numbers_at_thresholds_are_there_in_all_levels_or_in_none() -> None:
    """In one level few are called positive: no level has numbers, and nothing follows from the whole."""
    owners = alike((20, 20), (20, 20), (20, 20))
    everything = table_of(published(owners), "young")
    assert None not in everything
    changed = []
    for own in owners:
        assert own.further is not None
        in_first = own.further.levels["age"] == 0
        scores = np.where(in_first, np.minimum(own.further.scores["a"], 0.45), own.further.scores["a"])
        further = replace(own.further, scores={**own.further.scores, "a": scores})
        changed.append(replace(own, scores=scores, further=further))
    result = published(changed)
    tables = [table_of(result, level) for level in LEVELS["age"]]
    at_one_half = [[value for place, value in enumerate(one) if place % 2] for one in tables]
    assert all(value is None for one in at_one_half for value in one)
    whole = part_of(result, Slice("a")).metrics["sensitivity"]
    assert isinstance(whole, Table)
    assert all(row["sensitivity"].value is not None for row in whole)
    assert all(part.metrics["auroc"].value is not None for part in level_parts(result))  # type: ignore[union-attr]


def table_of(result: ReleasedResult, level: str) -> list[float | None]:
    table = part_of(result, Slice("a", "", "age", level)).metrics["sensitivity"]
    assert isinstance(table, Table)
    return [row["sensitivity"].value for row in table]


def test_differences_are_withheld_with_their_parts() -> None:
    metrics = ("auroc", "brier", "net_benefit")
    there = extras_in(published(alike(ENOUGH, ENOUGH, ENOUGH), metrics=metrics))
    assert None not in there.values()
    small = extras_in(published(alike((1, 8), (1, 8), (1, 8)), metrics=metrics))
    assert set(small.values()) == {None}
    owners = alike((20, 20), (20, 20), (20, 20))
    low = []
    for own in owners:
        assert own.further is not None
        scores = {model: np.minimum(one, 0.3) for model, one in own.further.scores.items()}
        low.append(replace(own, scores=scores["a"], further=replace(own.further, scores=scores)))
    withheld = extras_in(published(low, metrics=metrics))
    (query,) = extras_of(study_for(low, metrics=metrics).job.query)
    for output, value in zip(query.outputs, withheld.values(), strict=True):
        assert (value is None) == (dict(output.at).get("threshold") == 0.5), output.name


@each_protocol
@pytest.mark.parametrize(("others", "expected"), [(0, True), (1, False), (3, False), (4, True)])
def test_a_difference_is_about_enough_people_or_nobody(others: int, expected: bool, protocol: str) -> None:
    """At each of four owners so many are called by one model only; without any one, three times as many."""
    owners = []
    for own in alike((20, 20), (20, 20), (20, 20)):
        assert own.further is not None
        scores = {"a": own.scores, "b": own.scores.copy()}
        called = np.flatnonzero(own.scores >= 0.5)[:others]
        scores["b"][called] = 0.4
        owners.append(replace(own, further=replace(own.further, scores=scores, levels={})))
    asked: dict[str, Any] = {"metrics": ("auroc", "net_benefit"), "left_out": False}
    (query,) = extras_of(study_for(owners, protocol=protocol, **asked).job.query)
    found = extras_in(published(owners, protocol, **asked))
    for output, value in zip(query.outputs, found.values(), strict=True):
        assert (value is not None) == (expected or dict(output.at).get("threshold") != 0.5), output.name


def test_rows_left_out_are_rounded_unless_counts_are_exact() -> None:
    """12, 4 and 16 in all; a stricter rule on counts of classes tells no more of them."""
    owners = alike(ENOUGH, ENOUGH, ENOUGH)
    for counts, expected in (("hidden", [10, 5, 15]), ("rounded", [10, 5, 15]), ("exact", [12, 4, 16])):
        policy = Policy.exact(minimum_positives=10, digits=3, counts=counts)
        found = extras_in(published(owners, policy=policy, compared=False))
        assert list(found.values()) == expected, counts


def test_sites_are_withheld_unless_three_count() -> None:
    """Owners of one class, or of fewer than ten of each, do not; nor is there AUROC within two sites."""
    few, many = ((1, 7), (1, 7), (1, 7)), (ENOUGH, ENOUGH, ENOUGH)
    for counting in (2, 3):
        levels = [many] * counting + [few] * 2
        names = extras_in(published(owners_of(*levels), sites=True, compared=False, left_out=False))
        assert len(names) == 2 * (5 + 2)
        assert all((value is None) == (counting == 2) for value in names.values())


def test_sites_count_that_meet_the_floors_of_every_owner() -> None:
    """Owners made their statements before they knew the others' floors: 24 of each class, 30 demanded."""
    levels = [(ENOUGH, ENOUGH, ENOUGH)] * 2 + [((16, 16), (16, 16), (16, 16))] * 2
    owners = owners_of(*levels)
    terms = study_for(owners, sites=True, compared=False, left_out=False).job.terms
    sizes = tuple(map(len, owners))
    for demanded, expected in ((20, True), (30, False)):
        stricter = terms.under([Floors(minimum_positives=demanded)])
        study = DesignedStudy(Job(terms=stricter, sizes=sizes), owners)
        shares = [terms.share(own) for own in owners]
        words = whole_result(stricter, watched_run(stricter, shares, sizes))
        assert all((one is not None) == expected for one in extras_in(protocol_result(study, words)).values())


@pytest.mark.parametrize("what", ["all are large", "two small ones that are large enough together"])
@pytest.mark.parametrize("kind", ["publication", "private", "exact"])
def test_both_protocols_release_the_same(what: str, kind: str) -> None:
    """Scores have the grid's decimals; of a private study, integers before noise are compared."""
    owners = owners_of(*FEW_LEVELS[what][0])
    metrics = ("auroc", "brier", "sensitivity", "net_benefit")
    policy = {"publication": Policy(), "private": Policy.private(4.0), "exact": Policy.exact()}[kind]
    found = [published(owners, one, metrics=metrics, policy=policy) for one in ("grid", "fast")]
    for on_grid, on_lists in zip(*(one.parts for one in found), strict=True):
        assert on_grid.suppressed == on_lists.suppressed
        told, others = (told_by(one) for one in (on_grid, on_lists))
        assert [one is None for one in told] == [one is None for one in others]
        apart = [abs(x - y) for x, y in zip(told, others, strict=True) if x is not None and y is not None]
        assert max(apart, default=0.0) <= (1e-7 if kind == "exact" else 0.0)


def told_by(part: ReleasedPart) -> list[float | None]:
    """Return its numbers; without how far a standard error may be off, which only lists have here."""
    if part.noisy is not None:
        return list(part.values)
    if not part.query.is_of_extras:
        return [value for found in part.metrics.values() for value in numbers_in(found)]
    pairs = zip(part.query.outputs, part.values, strict=True)
    return [value for output, value in pairs if output.name != "error_bound"]


def numbers_in(found: Any) -> list[float | None]:
    return (
        [one.value for row in found for one in row.values.values()]
        if isinstance(found, Table)
        else [found.value]
    )


# Transcripts


def same_sizes() -> dict[str, list[Samples]]:
    """Studies of the same sizes: released, levels withheld, and nothing at all."""
    return {
        "released": owners_of(*([((8, 8), (8, 8))] * 4), variable="sex"),
        "a level is withheld": owners_of(*([((2, 3), (12, 15))] * 4), variable="sex"),
        "a level is empty": owners_of(*([((0, 0), (16, 16))] * 4), variable="sex"),
        "nothing": owners_of(*([((1, 15), (0, 16))] * 4), variable="sex"),
    }


@each_protocol
@pytest.mark.parametrize("kind", ["publication", "private"])
def test_the_conversation_does_not_tell_what_is_withheld(protocol: str, kind: str) -> None:
    """Nor how many samples a level has: lengths of all messages are those of the question."""
    policy = Policy() if kind == "publication" else Policy.private(2.0)
    asked: dict[str, Any] = {"policy": policy, "metrics": ("auroc",), "grid": TENTHS}
    asked |= {"sites": True} if kind == "publication" else {}
    shapes, there = [], []
    for owners in same_sizes().values():
        study = study_for(owners, protocol=protocol, **asked)
        run = run_of(study)
        assert not run.openings
        shapes.append(transcript(run))
        released = protocol_result(study, whole_result(study.job.terms, run))
        there.append(tuple(not part.suppressed for part in released.parts))
    assert all(shape == shapes[0] for shape in shapes)
    if kind == "publication":
        assert len(set(there)) == len(there)
    else:
        assert all(all(one) for one in there)
    asked = {**asked, "left_out": False}
    run = run_of(study_for(owners, protocol=protocol, **asked))
    assert transcript(run) != shapes[0], "the positive control: another question has another shape"


def run_of(study: DesignedStudy) -> WorldRun:
    terms = study.job.terms
    return watched_run(terms, [terms.share(own) for own in study.owners], study.job.sizes)


TENTHS = ppaurora.Grid(decimals=1)


def protocol_result(study: DesignedStudy, words: NDArray[np.uint64]) -> ReleasedResult:
    parts = [ResultShare(words), ResultShare(np.zeros_like(words))]
    names = [own.source for own in study.owners]
    return study.job.terms.protocol.combine(parts, study.job.query, names)
