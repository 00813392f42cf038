"""Attacks on differences, levels and sites: their models against the program, and what a short run finds."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from benchmarks.attacks import designs
from benchmarks.attacks.designs import (
    People,
    Sites,
    draw_level,
    draw_two_models,
    draw_two_variables,
    possible_positives,
)
from benchmarks.attacks.frame import Effort
from benchmarks.attacks.policy import EXACT, PRIVATE, PUBLICATION, ROUNDED
from ppaurora.data.slices import Slice
from ppaurora.statistics.random_effects import pool
from tests.support.oracles import defined, exact_auroc
from tests.support.releases import half_away


def test_sites_are_pooled_as_the_program_does() -> None:
    random = np.random.default_rng(1)
    sites = Sites(random.normal(1.4, 0.3, (20, 5)), random.uniform(0.01, 0.1, (20, 5)))
    for found, effects, variances in zip(sites.pooled(), sites.effects, sites.variances, strict=True):
        expected = pool(effects.tolist(), variances.tolist())
        numbers = (expected.effect, expected.standard_error, expected.tau, expected.i2)
        assert found.tolist() == pytest.approx(numbers)


def test_three_owners_tell_each_other_their_auroc_and_twelve_tell_less() -> None:
    play = partial(designs.play_sites, size=200, rehearsals=4000)
    three, twelve = (play(np.random.default_rng(2), 40, owners=owners)[PUBLICATION] for owners in (3, 12))
    assert three.right.mean() > 0.9 > twelve.right.mean()
    assert three.base < 0.5


@pytest.mark.parametrize(("size", "published"), [(12, False), (25, False), (40, True)])
def test_small_levels_are_not_published(size: int, published: bool) -> None:
    draw = partial(draw_level, samples=200, size=size)
    chosen = designs.in_level("ward", "1")
    kinds = (EXACT, PUBLICATION)
    found = designs.play_known(
        np.random.default_rng(3), 4, draw=draw, chosen=chosen, kinds=kinds, metrics=("auroc",), compared=False
    )
    assert found[EXACT].right.all()
    assert found[PUBLICATION].released.tolist() == [published] * 4


def test_nothing_about_few_people_is_left_when_levels_are_subtracted() -> None:
    """Without the rules the label is read; with them one of the two numbers is withheld."""
    few = partial(draw_level, samples=600, size=12), Slice("a"), Slice("a", "", "ward", "0")
    one = (
        partial(draw_two_variables, samples=600),
        Slice("a", "", "ward", "1"),
        Slice("a", "", "clinic", "1"),
    )
    for draw, larger, smaller in (few, one):
        found = designs.play_subtracted(
            np.random.default_rng(4),
            6,
            draw=draw,
            larger=larger,
            smaller=smaller,
            kinds=(EXACT, ROUNDED, PUBLICATION),
        )
        assert found[EXACT].right.all()
        assert found[ROUNDED].right.mean() > 0.8
        assert not found[PUBLICATION].released.any()


def test_noise_hides_what_differences_tell() -> None:
    draw = partial(draw_two_models, samples=200)
    kinds = (EXACT, PRIVATE)
    found = designs.play_known(
        np.random.default_rng(5), 60, draw=draw, kinds=kinds, metrics=("auroc",), compared=True
    )
    assert found[EXACT].right.all()
    assert found[PRIVATE].right.mean() < 0.88


@pytest.mark.parametrize(
    ("samples", "without", "with_it"), [(40, 12.7, 8.2), (60, 41, 33.7), (100, 81, 79.5), (200, 181, 181)]
)
def test_numbers_of_positives_that_two_aurocs_and_their_difference_leave(
    samples: int, without: float, with_it: float
) -> None:
    """Means over studies, as docs/disclosure.md has them; the true number is never excluded."""
    random, left = np.random.default_rng(samples), []
    for _ in range(60 if samples < 200 else 20):
        people = draw_two_models(random, samples)
        positives = int(people.labels.sum())
        if 10 <= positives <= samples - 10:
            exact = [auroc_of(people, model) for model in ("a", "b")]
            a, b, difference = (float(half_away(one, 3)) for one in (*exact, exact[0] - exact[1]))
            found = [possible_positives(a, b, one, samples, 3) for one in (None, difference)]
            assert {positives} <= set(found[1]) <= set(found[0])
            left.append([len(one) for one in found])
    assert np.mean(left, axis=0) == pytest.approx([without, with_it], abs=0.05)


def auroc_of(people: People, model: str) -> Fraction:
    pairs = zip(people.scores[model].tolist(), people.labels.astype(int).tolist(), strict=True)
    return defined(exact_auroc(list(pairs)))


def test_impossible_numbers_of_positives_are_excluded() -> None:
    """The control: with more decimals few remain, and with the difference fewer."""
    exact = Fraction(311, 2 * 12 * 28), Fraction(300, 2 * 12 * 28)
    a, b, difference = (float(half_away(one, 6)) for one in (*exact, exact[0] - exact[1]))
    without, with_it = (possible_positives(a, b, one, 40, 6) for one in (None, difference))
    assert 12 in with_it
    assert len(with_it) <= len(without) < 10


def test_settings_have_names_of_their_own() -> None:
    effort = Effort(part=0.1, fewest=2)
    made = [
        one
        for make in (designs.settings_of_differences, designs.settings_of_levels, designs.settings_of_sites)
        for one in make(effort)
    ]
    assert len({(one.attack, one.samples, one.setting) for one in made}) == len(made)
