"""Noise in a study with a design: how far one person moves all levels, and how epsilon is divided."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import Policy
from ppaurora.data.further import LEFT_OUT_REASONS, Further
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Query
from ppaurora.metrics.extras.left_out import LeftOutMechanism
from ppaurora.metrics.extras.study import released_parts
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.metrics.private.auroc import STEPS, AurocMechanism
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.private.mechanism import Ingredients, Mechanism
from ppaurora.metrics.private.sums import SumsMechanism
from ppaurora.metrics.sums import sums_of
from ppaurora.sharing.shares import RingShare
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from ppaurora.testing.private import twice_the_pairs_in_order
from tests.support.designs import study_of
from tests.support.levels import ENOUGH, owners_of
from tests.support.private import DataSet, data_sets, joined, mechanism_of, moved, samples_in

PRIVATE = Policy.private(4.0)
MOST_IN_A_LEVEL = 6
AUROC = AurocMechanism()


def level_integers(mechanism: Mechanism, samples: Samples) -> list[int]:
    """Return the integers of one level, whose number of samples is secret, before noise."""

    def share(value: int) -> RingShare:
        return RingShare(CLEARTEXT, np.array([value], dtype=np.uint64))

    totals = dict(zip(mechanism.sums, map(share, sums_of(samples, mechanism.sums).tolist()), strict=True))
    area, positives = share(twice_the_pairs_in_order(samples)), share(int(samples.labels.sum()))
    given = Ingredients(share(len(samples)), 64, positives, totals, area)
    found: list[int] = mechanism.integers(CleartextSuite(), given).values.astype(np.int64).tolist()
    return found


@cache
def of_auroc(data: DataSet) -> tuple[int, ...]:
    return tuple(level_integers(AUROC, samples_in(data)))


@cache
def farthest_by_one_more() -> Fraction:
    """Over all levels of up to so many samples: how far one person more, of any score and label, moves it."""
    most = 0
    for size in range(MOST_IN_A_LEVEL):
        for level in data_sets(size):
            here = np.array(of_auroc(level))
            most = max(most, *(int(np.abs(np.array(of_auroc(more)) - here).sum()) for more in joined(level)))
    return Fraction(most, STEPS)


def test_nobody_who_changes_levels_moves_auroc_by_more_than_it_says() -> None:
    """A person leaves one level and joins another, of which each may be any: twice the most of one."""
    assert 2 * farthest_by_one_more() <= AUROC.sensitivity_of_levels


def test_a_smaller_sensitivity_of_auroc_in_levels_is_caught() -> None:
    assert 2 * farthest_by_one_more() > Fraction(3, 4) * AUROC.sensitivity_of_levels


BINS = (0.0, 0.25, 0.5, 1.0)
ADDING: dict[str, Mechanism] = {
    "thresholds": mechanism_of(METRICS["sensitivity"](thresholds=(0.25, 0.5))),
    "reliability": mechanism_of(METRICS["reliability"](bins=BINS)),
    "brier": SumsMechanism(squared_errors=True),
    "in the large": SumsMechanism(in_the_large=True),
    "sums": SumsMechanism(in_the_large=True, squared_errors=True),
}
# How much of the bound some person reaches; that of both kinds of sums is 2.08 + 2.08 of 9/2.
REACHED = {"sums": 0.92}
PEOPLE = list(itertools.product([k / 64 for k in range(65)], (0, 1)))


def one_person(score: float, label: int) -> Samples:
    return Samples("people", np.array([score]), np.array([label], dtype=np.uint8))


@pytest.mark.parametrize("name", ADDING)
def test_nobody_who_changes_levels_moves_sums_by_more_than_they_say(name: str) -> None:
    """Sums add up what people count, so a person alone in a level tells it; some reach nearly as much."""
    mechanism = ADDING[name]
    nobody = [0] * len(mechanism.coordinates)
    most = max(moved(mechanism, nobody, level_integers(mechanism, one_person(*one))) for one in PEOPLE)
    assert 2 * most <= mechanism.sensitivity_of_levels
    assert 2 * most >= Fraction(REACHED.get(name, 0.99)) * mechanism.sensitivity_of_levels


def test_within_one_level_the_bound_for_wholes_would_be_too_small() -> None:
    """The positive control: a person who changes levels moves sums by more than one who stays."""
    for name in ("brier", "in the large", "sums"):
        mechanism = ADDING[name]
        nobody = [0] * len(mechanism.coordinates)
        most = max(moved(mechanism, nobody, level_integers(mechanism, one_person(*one))) for one in PEOPLE)
        assert 2 * most > mechanism.sensitivity


# The same of whole studies: all with three people, in two levels.

Person = tuple[float, int, int]  # score, label, level
ANYBODY: list[Person] = list(itertools.product((0.0, 0.5, 1.0), (0, 1), (0, 1)))


@cache
def integers_of_levels(people: tuple[Person, ...]) -> tuple[tuple[int, ...], ...]:
    """Return, for each level, what leaves of it before noise is added."""
    scores, labels, places = (np.array(column) for column in zip(*people, strict=True))
    owners = []
    for number, rows in enumerate((slice(0, 1), slice(1, None))):
        y_true, own = labels[rows].astype(np.uint8), scores[rows].astype(np.float64)
        further = Further({"a": own}, {"": y_true}, {"sex": places[rows].astype(np.uint8)})
        owners.append(Samples(f"owner {number}", own, y_true, further=further))
    study = study_of(owners, policy=PRIVATE, metrics=("auroc", "brier", "sensitivity"), grid=TENTHS)
    parts = released_in_the_clear(study.job.query, owners).parts
    return tuple(tuple(map(int, filled(part.values))) for part in parts if part.slice.is_level)


def filled(values: Sequence[float | None]) -> list[float]:
    assert None not in values
    return [value for value in values if value is not None]


TENTHS = ppaurora.Grid(decimals=1)


def test_no_neighbour_of_a_study_moves_all_its_levels_by_more_than_epsilon_pays_for() -> None:
    """Over all studies of three people, in units of their noise: rates times distances are at most epsilon.

    With the rates of wholes, in which a person stays, it would be more: the positive control.
    """
    query = level_query()
    as_level = np.array([float(rate) for own in query.rates for rate in own])
    if_whole = np.array([float(rate) for own in rates(query.policy, query.mechanisms) for rate in own])
    farthest = farthest_if_whole = 0.0
    for others in itertools.combinations_with_replacement(ANYBODY, 2):
        found = np.array([integers_of_levels(tuple(sorted((person, *others)))) for person in ANYBODY])
        apart = np.abs(found[:, np.newaxis] - found).sum(axis=2)
        farthest = max(farthest, float((apart * as_level).sum(axis=-1).max()))
        farthest_if_whole = max(farthest_if_whole, float((apart * if_whole).sum(axis=-1).max()))
    epsilon = query.policy.epsilon
    assert epsilon is not None
    assert 0.75 * epsilon < farthest <= epsilon
    assert farthest_if_whole > epsilon


def level_query() -> Query:
    owners = owners_of(*([(ENOUGH, ENOUGH)] * 4), variable="sex")
    study = study_of(owners, policy=PRIVATE, metrics=("auroc", "brier", "sensitivity"), grid=TENTHS)
    return next(part for part in released_parts(study.job.query) if part.slice.is_level)


# How epsilon is divided


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 7.3])
def test_all_parts_together_spend_no_more_than_epsilon(epsilon: float, left_out: bool) -> None:
    """Levels of a variable count once: a person is in one, or moves between two, which rates allow for."""
    owners = owners_of(*([(ENOUGH, ENOUGH, ENOUGH)] * 4))
    study = study_of(owners, policy=Policy.private(epsilon), metrics=("auroc", "brier"), left_out=left_out)
    spent: dict[tuple[str, ...], set[float]] = {}
    for part in released_parts(study.job.query):
        assert part.policy.epsilon is not None
        key = (part.slice.model, part.slice.outcome, part.slice.variable, str(part.is_of_extras))
        spent.setdefault(key, set()).add(part.policy.epsilon)
        of_mechanisms = [
            Fraction(own[0]) * one.coordinates[0].steps * sensitivity(one, part)
            for one, own in zip(part.mechanisms, part.rates, strict=True)
        ]
        assert sum(of_mechanisms) <= Fraction(part.policy.epsilon)
    assert len(spent) == 2 * 2 + left_out  # two models, each over all samples and by one variable
    assert all(len(own) == 1 for own in spent.values())
    total = sum(Fraction(one) for own in spent.values() for one in own)
    assert Fraction(0.999999) * Fraction(epsilon) < total <= Fraction(epsilon)


def sensitivity(mechanism: Mechanism, part: Query) -> Fraction:
    return mechanism.sensitivity_of_levels if part.slice.is_level else mechanism.sensitivity


def test_rows_left_out_move_two_numbers_at_most() -> None:
    """One who is left out for another reason; or who was not left out at all."""
    reasons = len(LEFT_OUT_REASONS)
    counts = [*np.eye(reasons, dtype=int), np.zeros(reasons, dtype=int)]
    farthest = max(int(np.abs(a - b).sum()) for a in counts for b in counts)
    assert farthest == LeftOutMechanism().sensitivity == 2


def test_numbers_of_a_level_are_nowhere_exact() -> None:
    """The reader takes the number of samples from noisy counts, and queries do not have it."""
    levels = [((3, 9), (13, 7))] * 4
    study = study_of(owners_of(*levels, variable="sex"), policy=PRIVATE, metrics=("auroc",))
    for part in released_parts(study.job.query):
        if part.slice.is_level:
            assert part.sizes_are_secret
            assert part.sizes == (32, 32, 32, 32)  # those of owners, which are public
            names = [one.name for mechanism in part.mechanisms for one in mechanism.coordinates]
            assert names == ["won_minus_lost", "smaller_class", "positives in cell 0", "negatives in cell 0"]


@pytest.mark.parametrize("protocol", ["grid", "fast"])
def test_an_owner_whose_patient_has_too_many_rows_is_refused(protocol: str) -> None:
    owners = owners_of(*([(ENOUGH, ENOUGH, ENOUGH)] * 4), rows=3)
    terms: dict[str, Any] = {"metrics": ("auroc",), "protocol": protocol, "compared": False}
    enough = study_of(owners, policy=Policy.private(2.0, rows_per_person=3), **terms)
    enough.job.terms.share(owners[0])
    few = study_of(owners, policy=Policy.private(2.0, rows_per_person=2), **terms)
    with pytest.raises(InputError, match=r"owner 1: a patient has more rows .*rows_per_person = 2"):
        few.job.terms.share(owners[0])


def test_evaluate_refuses_it_as_well() -> None:
    rows = {"risk": [0.1, 0.7, 0.3, 0.8], "died": [0, 1, 0, 1], "id": ["x", "x", "y", "z"]}
    asked: dict[str, Any] = {"score": "risk", "label": "died", "patient": "id", "metrics": ["auroc"]}
    asked |= {"protocol": "grid", "decimals": 1}
    with pytest.raises(InputError, match="more rows than the study's policy protects"):
        ppaurora.evaluate([rows, rows], **asked, policy=Policy.private(4.0))
    allowed = Policy.private(4.0, rows_per_person=2)
    assert ppaurora.evaluate([rows, rows], **asked, policy=allowed).policy == allowed


def test_more_rows_of_a_person_mean_more_noise_in_every_part() -> None:
    owners = owners_of(*([(ENOUGH, ENOUGH, ENOUGH)] * 4), rows=3)
    asked: dict[str, Any] = {"metrics": ("auroc",), "compared": False, "left_out": True}
    one, three = (
        study_of(owners, policy=Policy.private(2.0, rows_per_person=rows), **asked).job.query
        for rows in (1, 3)
    )
    for few, many in zip(released_parts(one), released_parts(three), strict=True):
        assert [[rate / 3 for rate in own] for own in few.rates] == [list(own) for own in many.rates]
