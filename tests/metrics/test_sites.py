"""Heterogeneity between sites on shares, against the formulas in fractions and in floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.metrics.evidence import EvaluatedPart, Found, Inputs
from ppaurora.metrics.numbers import numbers
from ppaurora.metrics.outputs import Output, Ratio
from ppaurora.metrics.query import Query
from ppaurora.metrics.reading import _shown
from ppaurora.metrics.sites import (
    MOST_SITES,
    SITE_WORDS,
    SiteFloors,
    SiteQuantity,
    _statement,
    own_effect,
    pairs_by_owner,
    read_sites,
    read_within,
    site_checks,
    site_outputs,
    site_ratios,
    site_words,
    within_checks,
    within_outputs,
    within_ratios,
    within_words,
)
from ppaurora.metrics.sums import ListCounts
from ppaurora.policy.rules import Policy
from ppaurora.sharing import RingShare, concat
from ppaurora.sharing.shares import Words
from ppaurora.statistics.auroc import delong_variance
from ppaurora.statistics.intervals import half_unit
from ppaurora.statistics.random_effects import Pooled, Scale, pool
from ppaurora.suites.base import Suite
from tests.support.bitsliced import cost_of, masked
from tests.support.wide import in_the_clear, signed

QUANTITY = SiteQuantity.AUROC
Effects = tuple[Sequence[float], Sequence[float]]  # and their variances


def stated(effects: Sequence[float], variances: Sequence[float]) -> Words:
    """Rows c, W and U, a column per owner."""
    columns = [_statement(t, math.sqrt(v)) for t, v in zip(effects, variances, strict=True)]
    return np.stack(columns, axis=1)


def plain(ratios: Sequence[Ratio]) -> list[Any]:
    """Numerators and denominators by turns, then the first condition."""
    parts: list[Any] = []
    for ratio in ratios:
        n, d = ratio.numerator, ratio.denominator
        parts += [n, n * 0 + d if isinstance(d, int) else d]
    return [*parts, ratios[0].positive[0]]


def of_sites(suite: Suite, words: RingShare) -> list[Any]:
    return plain(site_ratios(suite, [words])[0])


def fractions_of(opened: Any) -> list[Fraction]:
    values = signed([int(one[0]) for one in opened[:-1]])
    return [Fraction(n, d) for n, d in zip(values[::2], values[1::2], strict=True)]


def found_inside(words: Words) -> Pooled:
    mu, squared_error, tau2, i2, k = fractions_of(in_the_clear(of_sites, words))
    assert k.denominator == 1
    return Pooled(float(mu), math.sqrt(squared_error), math.sqrt(tau2), float(i2), int(k))


def assert_near(found: Pooled, expected: Pooled, within: float = 1e-6) -> None:
    assert found.sites == expected.sites
    assert found.effect == pytest.approx(expected.effect, abs=within)
    assert found.standard_error == pytest.approx(expected.standard_error, abs=within)
    assert found.tau**2 == pytest.approx(expected.tau**2, abs=within)
    assert found.i2 == pytest.approx(expected.i2, abs=within)


def random_effects_of(random: np.random.Generator, k: int) -> Effects:
    variances = random.uniform(0.02, 1, k) ** random.choice([1, 2, 4])
    if random.random() < 0.3:
        variances[0] = 2.0**-26  # dominates
    spread = random.choice([0.0, 0.01, 0.3, 1.0])
    effects = np.clip(random.normal(1, spread, k) + random.normal(size=k) * np.sqrt(variances) / 2, -1, 3)
    return effects.tolist(), variances.tolist()


def test_200_random_studies_are_within_a_millionth_of_the_formulas() -> None:
    random = np.random.default_rng(11)
    without_variance = 0
    for _ in range(200):
        effects, variances = random_effects_of(random, int(random.integers(3, 20)))
        found = found_inside(stated(effects, variances))
        assert_near(found, pool(effects, variances))
        without_variance += found.tau == 0
    assert 10 < without_variance < 190


def test_two_hundred_owners() -> None:
    effects, variances = random_effects_of(np.random.default_rng(3), MOST_SITES)
    assert_near(found_inside(stated(effects, variances)), pool(effects, variances))


EXTREMES: dict[str, Effects] = {
    "as far apart as can be": ([-16, 16] * 100, [2.0**-28] * 200),
    "as far apart, three": ([-16, 16, 16], [2.0**-28] * 3),
    "hardly any weight": ([-16, 16, 0], [64.0] * 3),
    "one weight and dust": ([16, -16, -16], [2.0**-28, 64.0, 64.0]),
    "at the upper end": ([16.0] * 3, [2.0**-28] * 3),
}


@pytest.mark.parametrize("case", EXTREMES)
def test_nothing_wraps_at_the_ends_of_all_ranges(case: str) -> None:
    effects, variances = EXTREMES[case]
    found, expected = found_inside(stated(effects, variances)), pool(effects, variances)
    for ours, theirs in zip(vars(found).values(), vars(expected).values(), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-5)


def test_equal_sites_have_no_variance_between_them() -> None:
    found = found_inside(stated([0.75] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]))
    assert (found.effect, found.standard_error, found.tau, found.i2, found.sites) == (0.75, 0, 0, 0, 5)


def test_one_that_dominates() -> None:
    effects, variances = [0.2, 1.5, -1.0, 0.9], [2.0**-27, 0.5, 0.5, 0.5]
    assert_near(found_inside(stated(effects, variances)), pool(effects, variances))


def test_who_does_not_count_changes_nothing() -> None:
    effects, variances = [0.2, 1.5, -1.0, 0.9], [0.01, 0.05, 0.02, 0.1]
    words = stated(effects, variances)
    nothing = np.zeros((SITE_WORDS, 3), dtype=np.uint64)
    assert found_inside(np.concatenate([words, nothing], axis=1)) == found_inside(words)


@pytest.mark.parametrize("k", range(6))
def test_a_result_is_there_from_three_that_count_on(k: int) -> None:
    words = np.zeros((SITE_WORDS, 6), dtype=np.uint64)
    words[:, :k] = stated([0.1 * one for one in range(k)], [0.1] * k) if k else 0
    for opened in (in_the_clear(of_sites, words), masked(of_sites, words).value):
        (condition,) = signed_words(opened[-1])
        assert (condition > 0) == (k >= 3)


def signed_words(values: Any) -> list[int]:
    listed: list[int] = np.asarray(values).astype(np.uint64).view(np.int64).tolist()
    return listed


def test_three_parties_find_the_same_in_few_rounds() -> None:
    random = np.random.default_rng(8)
    for k in (3, 9):
        words = stated(*random_effects_of(random, k))
        run = masked(of_sites, words)
        assert fractions_of(run.value) == fractions_of(in_the_clear(of_sites, words))
        assert run.cost.rounds < 150
        assert not run.openings


def test_several_quantities_share_rounds() -> None:
    random = np.random.default_rng(9)
    first, second = (stated(*random_effects_of(random, 5)) for _ in range(2))

    def both(suite: Suite, x: RingShare, y: RingShare) -> list[Any]:
        return [part for ratios in site_ratios(suite, [x, y]) for part in plain(ratios)]

    run = masked(both, first, second)
    alone = [in_the_clear(of_sites, words) for words in (first, second)]
    half = len(run.value) // 2
    for found, expected in zip((run.value[:half], run.value[half:]), alone, strict=True):
        assert fractions_of(found) == fractions_of(expected)
    assert cost_of(both, first, second).rounds == cost_of(of_sites, first).rounds


# What leaves


@dataclass(frozen=True)
class SitesQuery(Query):
    """A query of nothing but what is about sites."""

    shown: tuple[Output, ...] = ()

    @property
    def outputs(self) -> tuple[Output, ...]:
        return self.shown


def query_of(
    policy: Policy, outputs: tuple[Output, ...] = (), sizes: tuple[int, ...] = (500, 500)
) -> SitesQuery:
    return SitesQuery((), sizes, policy, 0.95, shown=outputs)


def released(query: SitesQuery, ratios: Any, *inputs: Any) -> list[float | None]:
    """What three parties let out, rounded or divided as in any release."""

    def algorithm(suite: Suite, *shares: RingShare) -> RingShare:
        found = Found(0, suite.constant(0), suite.constant(0), {})
        part = EvaluatedPart(query, Inputs(None, None, None), found, None, tuple(ratios(suite, *shares)))
        return numbers(suite, [part])[0]

    rows = masked(algorithm, *inputs).value
    columns = zip(signed_words(rows[0]), rows[1].tolist(), strict=True)
    return [_shown(query, output, column, 1, 1) for output, column in zip(query.shown, columns, strict=True)]


@pytest.mark.parametrize("policy", [Policy.publication(), Policy.exact()], ids=["publication", "exact"])
@pytest.mark.parametrize("quantity", SiteQuantity)
def test_what_is_released_and_read(policy: Policy, quantity: SiteQuantity) -> None:
    effects, variances = [-0.2, 1.5, -2.0, 0.3], [0.01, 0.05, 0.02, 0.1]
    query = query_of(policy, site_outputs(quantity, query_of(policy)))
    values = released(query, lambda suite, words: site_ratios(suite, [words])[0], stated(effects, variances))
    expected = pool(effects, variances)
    exact = [expected.effect, expected.standard_error, expected.tau, expected.i2, 4]
    digits = [query.digits_of(output) for output in query.shown]
    assert digits == ([3, 4, 4, 3, 0] if policy.decimals is not None else [None] * 5)
    for value, right, places in zip(values, exact, digits, strict=True):
        assert value == pytest.approx(right, abs=half_unit(places) + 1e-6)
    read = read_sites(quantity, values, query)
    assert read.sites == values[-1] == 4
    assert read.scale == quantity.scale.value
    assert read.pooled.value == pytest.approx(quantity.scale.back(expected.effect), abs=0.0015)
    assert read.pooled.interval is not None
    assert read.pooled.interval[0] < quantity.scale.back(expected.effect) < read.pooled.interval[1]
    assert quantity.title in read.sentence()


def test_withheld_numbers_are_read_as_such() -> None:
    read = read_sites(QUANTITY, [None] * 5, query_of(Policy.publication()))
    assert read.pooled.suppressed
    assert read.sites is None


def test_a_private_study_releases_none_of_it() -> None:
    query = query_of(Policy.private())
    assert site_outputs(QUANTITY, query) == within_outputs(query) == ()


# The owner's side


def owner(random: np.random.Generator, size: int, shift: float = 1.0) -> Samples:
    labels = np.zeros(size, dtype=np.uint8)
    labels[: max(2, size // 3)] = 1
    logit = random.normal(size=size) + shift * labels - 1
    return Samples("north", np.round(1 / (1 + np.exp(-logit)), 2).clip(0.01, 0.99), labels)


def test_own_effects_by_their_definitions() -> None:
    samples = owner(np.random.default_rng(2), 90)
    y, p = samples.labels.astype(float), samples.scores
    positives, negatives = p[y == 1], p[y == 0]
    wins = (positives[:, None] > negatives) + 0.5 * (positives[:, None] == negatives)
    a = float(wins.mean())
    variance = float(delong_variance(y.tolist(), p.tolist())) / (a * (1 - a)) ** 2
    assert own_effect(samples, SiteQuantity.AUROC) == pytest.approx((math.log(a / (1 - a)), variance**0.5))
    ratio = float(y.sum() / p.sum())
    variance = float(((y / y.sum() - p / p.sum()) ** 2).sum())
    found = own_effect(samples, SiteQuantity.OBSERVED_EXPECTED)
    assert found == pytest.approx((math.log(ratio), variance**0.5))
    slope = own_effect(samples, SiteQuantity.CALIBRATION_SLOPE)
    assert slope is not None
    x = np.log(p / (1 - p))
    at = [intercept_at(x, y, slope[0] + step) for step in (-1e-3, 0, 1e-3)]
    assert at[1] == max(at), "the profile likelihood is largest at the slope"
    curvature = (at[0] - 2 * at[1] + at[2]) / 1e-6
    assert slope[1] == pytest.approx((-1 / curvature) ** 0.5, rel=1e-3)


def intercept_at(x: Any, y: Any, slope: float) -> float:
    """The largest log-likelihood for a slope, over intercepts."""
    a = 0.0
    for _ in range(50):
        s = 1 / (1 + np.exp(-(a + slope * x)))
        a += float((y - s).sum() / (s * (1 - s)).sum())
    s = 1 / (1 + np.exp(-(a + slope * x)))
    return float((y * np.log(s) + (1 - y) * np.log(1 - s)).sum())


def test_a_statement_has_the_effect_and_its_weight() -> None:
    samples = owner(np.random.default_rng(4), 120)
    for quantity in SiteQuantity:
        own = own_effect(samples, quantity)
        assert own is not None
        c, weight, effect = site_words(samples, quantity, SiteFloors(10, 10)).tolist()
        assert c == 1
        assert effect / 2**24 - 16 == pytest.approx(own[0], abs=2**-24)
        assert weight / 2**24 == pytest.approx(1 / own[1] ** 2, abs=2**-24)


def nothing(samples: Samples, quantity: SiteQuantity = QUANTITY, least: tuple[int, int] = (2, 2)) -> bool:
    return not site_words(samples, quantity, SiteFloors(*least)).any()


def test_who_does_not_count_states_zeros() -> None:
    random = np.random.default_rng(6)
    samples = owner(random, 60)
    assert not nothing(samples, least=(20, 40))
    assert nothing(samples, least=(21, 40))
    assert nothing(samples, least=(20, 41))
    labels = np.array([1, 1, 0, 0], dtype=np.uint8)
    assert nothing(Samples("perfect", np.array([0.9, 0.8, 0.2, 0.1]), labels))
    assert nothing(Samples("reversed", np.array([0.1, 0.2, 0.8, 0.9]), labels))
    assert nothing(Samples("tied", np.full(4, 1 / 3), labels)), "the standard error is 0"
    assert nothing(Samples("single", np.array([0.9, 0.5, 0.7]), labels[1:]), least=(0, 0))
    tied = Samples("tied", np.full(4, 1 / 3), labels)
    separated = Samples("perfect", np.array([0.9, 0.8, 0.2, 0.1]), labels)
    for unfit in (tied, separated):
        assert nothing(unfit, SiteQuantity.CALIBRATION_SLOPE)
    assert nothing(Samples("none expected", np.zeros(4), labels), SiteQuantity.OBSERVED_EXPECTED)


@pytest.mark.parametrize(
    ("effect", "error", "counts"),
    [
        (16, 1, 1),
        (16.01, 1, 0),
        (-16, 1, 1),
        (-16.01, 1, 0),
        (0, 8, 1),
        (0, 8.01, 0),
        (0, 0, 0),
        (0, 1e-5, 1),
    ],
)
def test_what_is_out_of_reach_does_not_count(effect: float, error: float, counts: int) -> None:
    words = _statement(effect, error)
    assert words[0] == counts
    assert words.any() == bool(counts)
    assert fits(words)


def fits(words: Words) -> bool:
    """Whether the checks let one owner's words pass."""
    opened = in_the_clear(lambda _, share: concat(site_checks(share)), words.reshape(-1, 1))
    return min(signed_words(opened)) > 0


GOOD = _statement(0.7, 0.3)
LIES = {
    "counts twice": [2, *GOOD[1:].tolist()],
    "counts less than nothing": [-1, 0, 0],
    "weight without counting": [0, GOOD[1], 0],
    "value without counting": [0, 0, GOOD[2]],
    "counts without weight": [1, 0, GOOD[2]],
    "too little weight": [1, 2**18 - 1, GOOD[2]],
    "too much weight": [1, 2**52 + 1, GOOD[2]],
    "negative weight": [1, -(2**20), GOOD[2]],
    "weight around 2^63": [1, 2**63, GOOD[2]],
    "value too large": [1, GOOD[1], 2**29 + 1],
    "value too small": [1, GOOD[1], -1],
    "value around 2^63": [1, GOOD[1], 2**63 - 1],
}


@pytest.mark.parametrize("lie", LIES)
def test_checks_catch_statements_that_no_owner_can_make(lie: str) -> None:
    words = np.array([int(word) % 2**64 for word in LIES[lie]], dtype=np.uint64)
    assert not fits(words)
    by_three = masked(
        lambda suite, share: suite.is_positive(concat(site_checks(share))), words.reshape(-1, 1)
    )
    assert 0 in by_three.value.tolist()


def test_checks_let_honest_statements_pass() -> None:
    """The control: statements of all kinds, at the ends of all ranges, too."""
    honest = [GOOD, _statement(16, 2.0**-14), _statement(-16, 8), _statement(99, 1)]
    assert all(map(fits, honest))
    words = np.stack(honest, axis=1)
    passed = masked(lambda suite, share: suite.is_positive(concat(site_checks(share))), words).value
    assert passed.tolist() == [1] * len(passed)


# Within sites


def sites_with_pairs() -> list[Samples]:
    random = np.random.default_rng(12)
    one_positive = owner(random, 30)
    one_positive.labels[1:] = 0
    one_class = owner(random, 12)
    one_class.labels[:] = 1
    return [owner(random, 40), owner(random, 75, 0.3), one_positive, one_class]


def within_sites(samples: Sequence[Samples]) -> tuple[Fraction, float]:
    """AUROC over pairs of one site, and its standard error, by definition; 1/2 where there is no variance."""
    wins, pairs, variance = Fraction(0), 0, 0.0
    for one in samples:
        positives, negatives = (one.scores[one.labels == label].tolist() for label in (1, 0))
        wins += sum((Fraction((p > n) - (p < n) + 1, 2) for p in positives for n in negatives), Fraction(0))
        count = len(positives) * len(negatives)
        pairs += count
        if count:
            known = min(len(positives), len(negatives)) > 1
            own = float(delong_variance(one.labels.tolist(), one.scores.tolist())) if known else 0.5
            variance += own * count**2
    return wins / pairs, math.sqrt(variance) / pairs


def counts_of(samples: Sequence[Samples]) -> tuple[Words, Words]:
    sizes = np.array([len(one) for one in samples], dtype=np.uint64)
    return sizes, np.array([int(one.labels.sum()) for one in samples], dtype=np.uint64)


@pytest.mark.parametrize("policy", [Policy.publication(), Policy.exact()], ids=["publication", "exact"])
def test_auroc_within_sites(policy: Policy) -> None:
    samples = sites_with_pairs()
    sizes, positives = counts_of(samples)
    words = np.stack([within_words(one) for one in samples], axis=1)
    plain_query = query_of(policy, sizes=tuple(sizes.tolist()))
    query = query_of(policy, within_outputs(plain_query), tuple(sizes.tolist()))

    def ratios(suite: Suite, words: RingShare, positives: RingShare) -> list[Ratio]:
        return within_ratios(suite, words, pairs_by_owner(suite, ListCounts(sizes, positives)), query)

    value, error = released(query, ratios, words, positives)
    exact, exact_error = within_sites(samples)
    slack, error_slack = (half_unit(query.digits_of(output)) for output in query.shown)
    assert value == pytest.approx(float(exact), abs=slack + 1e-12)
    assert error is not None
    most = exact_error + len(samples) / 8 / int((positives * (sizes - positives)).sum())
    assert exact_error - error_slack <= error <= most + error_slack
    read = read_within([value, error], query)
    assert read.interval is not None
    assert read.interval[0] < float(exact) < read.interval[1]
    assert read.method == "DeLong, within sites"
    nothing = read_within([None, None], query)
    assert nothing.suppressed == (policy.kind != "exact")
    assert ("withheld" in nothing.note) == nothing.suppressed


@pytest.mark.parametrize(("policy", "there"), [(Policy.publication(), False), (Policy.exact(), True)])
def test_pairs_of_one_owner_are_not_enough_under_floors(policy: Policy, there: bool) -> None:
    samples = [sites_with_pairs()[0], *[sites_with_pairs()[3]] * 3]
    words = np.stack([within_words(one) for one in samples], axis=1)
    for chosen, expected in ((words, there), (np.concatenate([words] * 2, axis=1), True)):
        sizes, positives = (np.tile(one, chosen.shape[1] // 4) for one in counts_of(samples))
        query = query_of(policy)

        def condition(suite: Suite, words: RingShare, positives: RingShare) -> RingShare:
            pairs = pairs_by_owner(suite, ListCounts(sizes, positives))  # noqa: B023
            return within_ratios(suite, words, pairs, query)[0].positive[0]  # noqa: B023

        assert (min(signed_words(in_the_clear(condition, chosen, positives))) > 0) == expected


def test_checks_within_sites() -> None:
    def fits_within(words: Sequence[int], pairs: int) -> bool:
        column = np.array([word % 2**64 for word in words], dtype=np.uint64).reshape(-1, 1)
        checks = lambda _, share, most: concat(within_checks(share, most))  # noqa: E731
        opened = in_the_clear(checks, column, np.array([pairs], dtype=np.uint64))
        return min(signed_words(opened)) > 0

    for one in sites_with_pairs():
        positives = int(one.labels.sum())
        assert fits_within(within_words(one).tolist(), positives * (len(one) - positives))
    assert fits_within([20, 80], 10)
    for lie in ([21, 0], [-1, 0], [0, 81], [0, -1], [2**63, 0], [0, 2**63 - 1]):
        assert not fits_within(lie, 10)


def test_scales_of_quantities() -> None:
    scales = [quantity.scale for quantity in SiteQuantity]
    assert scales == [Scale.LOGIT, Scale.LOG, Scale.IDENTITY]
