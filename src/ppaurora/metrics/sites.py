"""Heterogeneity between sites, on shares: what owners state of their own values, and what is made of it.

`statistics/random_effects.py` has the formulas. An owner knows its own effect t and its variance v. It states
three whole numbers for each quantity:

    c = 1 if it counts, else 0
    W = its weight 1/v in steps of 2^-24, from 2^18 to 2^52; 0 if it does not count
    U = t + 16 in steps of 2^-24, from 0 to 2^29; 0 if it does not count

So a standard error is from 2^-14, as which a smaller one is stated, to 8. An owner does not count if it has
too few samples of a class, if its value or standard error is undefined, if the standard error is 0 or above
8, or if the effect is not between -16 and 16: an AUROC of 0 or 1, say. Nor does it count for the slope, under
floors, if too few of its samples are on either side of every public score: then that slope is about these
few. Nobody sees whether an owner counts.

**What is exact.** With a weight instead of a variance, nothing is divided before tau². For up to 200 owners

    k = sum of c <= 2^8      A = sum of W < 2^60      B = sum of W²      C = sum of W·U      D = sum of W·U²

are whole numbers, and so are

    Q' = A·D - C² < 2^178, which is Q·A·2^72        E = Q' - (k - 1)·A·2^72

    tau² = max(0, E) / ((A² - B)·2^48)              I² = max(0, E) / Q'

2·max(0, E) is E + |E|. Both are rounded down to steps of 2^-40. Differences of effects are at most 32, so
tau² is at most 512 and T, in these steps, at most 2^49.

**What is rounded.** Pooling needs weights 1/(v + tau²) up to a common factor. Taken such that they are

    y = (W/A)·(1 + A·tau²) / (1 + W·tau²) = W·(2^64 + A·T) / (A·(2^64 + W·T))

no y is above 1, for W <= A; and together they are at least 1, as the second factor is at least 1. So steps of
2^-36 are fine enough, whatever the weights are: Y = floor(2^36·y). Again in whole numbers, with
F = sum of Y <= 2^44, G = sum of Y·U and H = sum of Y·U²,

    mu = G / (F·2^24) - 16             SE² = (F·H - G²) / (F²·(k - 1)·2^48)

The largest number that is compared is 2^36·W·(2^64 + A·T) < 2^198, so nothing wraps around 2^256.

**How far off.** An effect is rounded by 2^-25 at most, T by 2^-40 and Y by 2^-36. A weight is rounded by
2^-25, which is 2^-25 of it for a standard error of 1, and less for a smaller one. Where standard errors are
from 2^-14 to 1 and effects are within 4 of each other, the numbers are within 10^-6 of the exact formulas, a
test says, but for tau near 0: there it is tau² that is.

**Within sites.** AUROC over pairs of one site only is the sum of the owners' areas U_o over that of their
pairs P_o·N_o. An owner states 2·U_o, a whole number, and the standard error of U_o in steps of 1/8, rounded
up. Inside, P_o·N_o are products of what its list or table has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from ppaurora.data.samples import Samples
from ppaurora.metrics.base import Metric
from ppaurora.metrics.calibration import ObservedToExpected
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.query import Query
from ppaurora.metrics.recalibration import CalibrationSlope, most_apart
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.small_levels import enough
from ppaurora.metrics.sums import ListCounts
from ppaurora.sharing.shares import RingShare, WideShare, Words, concat, stack
from ppaurora.statistics.auroc import LEVEL, auroc_estimate
from ppaurora.statistics.estimates import Estimate, delong_estimate
from ppaurora.statistics.random_effects import (
    LEAST_SITES,
    Pooled,
    RandomEffects,
    Scale,
    random_effects,
    withheld_effects,
)
from ppaurora.suites.base import Suite

MOST_SITES = 200

_STEP_BITS = 24  # of weights and of effects
_STEPS = 1 << _STEP_BITS
_REACH = 16  # of an effect, to both sides of 0
_MOST_EFFECT = 2 * _REACH * _STEPS  # U
_LEAST_WEIGHT, _MOST_WEIGHT = _STEPS >> 6, _STEPS << 28  # W
_NO_ERROR = 2.0**-30  # a standard error that floats may have in place of 0
_TAU_BITS = 40  # of T and of I²
_MOST_TAU2 = (2 * _REACH) ** 2 // 2
_HIGHEST_TAU = 23  # its root is below
_SHARE_BITS = 36  # of Y
_SUM_BITS = (MOST_SITES * _MOST_WEIGHT).bit_length()  # of A
_EXCESS_BITS = 2 * _SUM_BITS + 2 * _MOST_EFFECT.bit_length()  # of 2·max(0, E) and its divisors
_PRODUCT_BITS = _SUM_BITS + _MOST_WEIGHT.bit_length() + _TAU_BITS + _MOST_TAU2.bit_length()  # of A·W·T
_LEAST_PER_CLASS = 2  # of which there is a variance

SITE_WORDS = 3
WITHIN_WORDS = 2
_WITHIN_PARTS = 8  # of one pair, in which a standard error is stated
_MOST_VARIANCE = 0.5  # of an AUROC, by DeLong


class SiteQuantity(Enum):
    """A quantity that every owner knows of its own data, and that is compared between owners."""

    AUROC = Auroc, Scale.LOGIT, "AUROC"
    OBSERVED_EXPECTED = ObservedToExpected, Scale.LOG, "O/E"
    CALIBRATION_SLOPE = CalibrationSlope, Scale.IDENTITY, "calibration slope"

    def __init__(self, metric: type[Metric], scale: Scale, title: str) -> None:
        self.metric = metric  # whose value on own data it is
        self.scale = scale
        self.title = title


@dataclass(frozen=True)
class SiteFloors:
    """How many samples an owner must have to count as a site."""

    positives: int = 0
    negatives: int = 0
    apart: int = 1  # on both sides of some public score, for a slope

    def are_met(self, samples: Samples, quantity: SiteQuantity) -> bool:
        """Return whether an owner has that many; in any case, two of each class."""
        positives = int(np.count_nonzero(samples.labels))
        negatives = len(samples) - positives
        if min(positives, negatives) < _LEAST_PER_CLASS:
            return False
        if positives < self.positives or negatives < self.negatives:
            return False
        return quantity is not SiteQuantity.CALIBRATION_SLOPE or most_apart(samples.scores) >= self.apart


def own_effect(samples: Samples, quantity: SiteQuantity, step: float = 0.0) -> tuple[float, float] | None:
    """Return an owner's own effect and its standard error on the quantity's scale; None if undefined.

    For a slope, probabilities of 0 and 1 are read as half a step of the grid from the end.
    """
    if step and quantity is SiteQuantity.CALIBRATION_SLOPE:
        samples = replace(samples, scores=np.clip(samples.scores, step / 2, 1 - step / 2))
    own = quantity.metric().on_own_data(samples, LEVEL)
    if not isinstance(own, Estimate) or own.value is None or own.standard_error is None:
        return None
    bounded = quantity.scale is Scale.LOGIT
    if quantity.scale is not Scale.IDENTITY and (own.value <= 0 or (bounded and own.value >= 1)):
        return None
    return quantity.scale.transformed(own.value), quantity.scale.error_of(own.value, own.standard_error)


def site_words(samples: Samples, quantity: SiteQuantity, floors: SiteFloors, step: float = 0.0) -> Words:
    """Return an owner's statement of a quantity: c, W and U. It does not count below the floors."""
    found = own_effect(samples, quantity, step) if floors.are_met(samples, quantity) else None
    return _statement(*found) if found is not None else np.zeros(SITE_WORDS, dtype=np.uint64)


def _statement(effect: float, error: float) -> Words:
    """Return the words of an effect; all are 0 where it is out of reach."""
    weight = min(round(_STEPS / error**2), _MOST_WEIGHT) if error > _NO_ERROR else 0
    if abs(effect) > _REACH or weight < _LEAST_WEIGHT:
        return np.zeros(SITE_WORDS, dtype=np.uint64)
    return np.array([1, weight, round((effect + _REACH) * _STEPS)], dtype=np.uint64)


def site_checks(words: RingShare) -> list[RingShare]:
    """Return numbers per owner that are all above 0 if its statement is one that an owner can make.

    `words` has rows c, W and U, and a column for every owner. Each number is c, or a range whose ends are 0
    unless c is 1.
    """
    c, weight, effect = words.rows()
    ranges = [
        (c, c * 0, c * 0 + 1),
        (weight, c * _LEAST_WEIGHT, c * _MOST_WEIGHT),
        (effect, c * 0, c * _MOST_EFFECT),
    ]
    return [number for x, low, high in ranges for number in (x - low + 1, high - x + 1)]


def site_outputs(quantity: SiteQuantity, query: Query) -> tuple[Output, ...]:
    """Return what is released of a quantity: mu, its standard error, tau, I² and k, exactly.

    None of a private study, which has no mechanism for it. All are withheld unless three owners count.
    """
    if query.policy.is_private:
        return ()
    name = quantity.metric.name
    sums = MOST_SITES << _SHARE_BITS
    mu = Output(
        f"{name}_between_sites",
        highest=_REACH,
        signed=True,
        conditional=True,
        most_denominator=sums << _STEP_BITS,
    )
    tau = replace(standard_error(mu, 1 << _TAU_BITS, highest=_HIGHEST_TAU), name=f"{name}_between_sites_tau")
    i2 = replace(
        mu,
        name=f"{name}_between_sites_i2",
        highest=1,
        signed=False,
        most_denominator=1 << _TAU_BITS,
    )
    k = replace(
        i2,
        name=f"{name}_sites",
        highest=MOST_SITES,
        most_denominator=1,
        most_digits=0,
    )
    variance_bound = sums * sums * MOST_SITES << 2 * _STEP_BITS
    return (mu, standard_error(mu, variance_bound, highest=_REACH), tau, i2, k)


def site_ratios(suite: Suite, statements: Sequence[RingShare]) -> list[list[Ratio]]:
    """Return for every quantity the secret ratios of its outputs, all in the same rounds.

    A statement has rows c, W and U with a column per owner; below, rows are quantities.

    1. products W², W·U and W·U², and A·D, C·C, k·A and A·A of their sums
    2. E and |E|, so T and I², by counting steps
    3. W·T and A·T, then both sides of the quotient y, and Y by counting steps
    4. products Y·U and Y·U², and F·H, G·G, F·F·(k - 1) of their sums
    """
    count = stack([words.row(0).sum() for words in statements])
    wide = suite.widen(concat([stack([words.row(place) for words in statements]) for place in (1, 2)]))
    owners = statements[0].shape[-1]
    w, u = wide[:owners], wide[owners:]
    k = suite.widen(count)
    w_w, w_u = _products(suite, [(w, w), (w, u)])
    (w_u_u,) = _products(suite, [(w_u, u)])
    a, b, c, d = (one.sum() for one in (w, w_w, w_u, w_u_u))
    a_d, c_c, k_a, a_a = _products(suite, [(a, d), (c, c), (k - 1, a), (a, a)])

    q = a_d - c_c
    e = q - k_a * (1 << 3 * _STEP_BITS)
    _, magnitude = suite.absolute(e)
    excess = e + magnitude  # 2·max(0, E)
    denominators = [(a_a - b) * (2 << 2 * _STEP_BITS), q * 2 + 1]  # where all effects are equal, Q' is 0
    pairs = [(excess, one) for one in denominators]
    t, i2 = _quotients(suite, pairs, _TAU_BITS, _MOST_TAU2, _EXCESS_BITS)

    w_t, a_t = _products(suite, [(w, t), (a, t)])
    whole = 1 << _TAU_BITS + _STEP_BITS
    n, m = _products(suite, [(w, a_t + whole), (w_t + whole, a)])
    (y,) = _quotients(suite, [(n, m)], _SHARE_BITS, 1, _PRODUCT_BITS)

    (y_u,) = _products(suite, [(y, u)])
    (y_u_u,) = _products(suite, [(y_u, u)])
    f, g, h = (one.sum() for one in (y, y_u, y_u_u))
    f_h, g_g, f_f = _products(suite, [(f, h), (g, g), (f, f)])
    (f_f_k,) = _products(suite, [(f_f, k - 1)])

    released = []
    for place, number in enumerate(count.rows()):
        condition = (number - (LEAST_SITES - 1),)
        of_outputs: list[tuple[WideShare, WideShare | int]] = [
            ((g - f * (_REACH * _STEPS)).row(place), (f * _STEPS).row(place)),
            ((f_h - g_g).row(place), (f_f_k * (1 << 2 * _STEP_BITS)).row(place)),
            (t.row(place), 1 << _TAU_BITS),
            (i2.row(place), 1 << _TAU_BITS),
            (k.row(place), 1),
        ]
        released.append([Ratio(*pair, positive=condition) for pair in of_outputs])
    return released


def _products(suite: Suite, pairs: Sequence[tuple[WideShare, WideShare]]) -> list[WideShare]:
    """Multiply all pairs in one round; a list of one is for all owners."""
    begun = [suite.begin_mul(x, y) for x, y in pairs]
    return [finish() for finish in begun]


def _quotients(
    suite: Suite, pairs: Sequence[tuple[WideShare, WideShare]], bits: int, highest: int, most_bits: int
) -> list[WideShare]:
    """Return floor(2^bits·n / d), at most `highest`·2^bits, of rows of numbers n and d below 2^most_bits."""
    n, d = (concat([row for some in side for row in some.rows()]) for side in zip(*pairs, strict=True))
    bound = highest << (most_bits + bits + 1)
    found = suite.widen(suite.grid_steps(n * (1 << bits), d, d * 0, highest << bits, bound))
    shape = pairs[0][0].shape
    size = shape[0] * shape[1]
    parts = [found[size * number : size * (number + 1)] for number in range(len(pairs))]
    return [stack([part[shape[1] * row : shape[1] * (row + 1)] for row in range(shape[0])]) for part in parts]


def read_sites(quantity: SiteQuantity, values: Sequence[float | None], query: Query) -> RandomEffects:
    """Read what was released of a quantity; at 95 % where the study asks for no level."""
    name, title, scale = quantity.metric.name, quantity.title, quantity.scale
    mu, error, tau, i2, k = values
    if mu is None or error is None or tau is None or i2 is None or k is None:
        return withheld_effects(name, title, scale, suppressed=query.withholds)
    outputs = site_outputs(quantity, query)
    digits, error_digits = (query.digits_of(output) for output in outputs[:2])
    found = Pooled(mu, error, tau, i2, round(k))
    return random_effects(name, title, scale, found, query.confidence_level or LEVEL, digits, error_digits)


def within_words(samples: Samples) -> Words:
    """Return twice the owner's area, in pairs, and its standard error, in eighths of a pair, rounded up.

    Where a class has one sample only, there is no variance; then 1/2 is stated, the most that it can be: each
    class adds at most 1/4. With one class only both words are 0: there are no pairs.
    """
    positives = int(np.count_nonzero(samples.labels))
    negatives = len(samples) - positives
    pairs = positives * negatives
    own = auroc_estimate(samples.labels, samples.scores)
    if own.value is None:
        return np.zeros(WITHIN_WORDS, dtype=np.uint64)
    error = own.standard_error
    if error is None:
        error = math.sqrt(_MOST_VARIANCE)
    most = _WITHIN_PARTS * pairs
    stated = min(math.ceil(error * most), most)
    return np.array([round(2 * own.value * pairs), stated], dtype=np.uint64)


def pairs_by_owner(suite: Suite, counts: ListCounts) -> RingShare:
    """Return the number of pairs of a positive and a negative of every owner."""
    return suite.mul(counts.positives, counts.negatives)


def within_checks(words: RingShare, pairs: RingShare) -> list[RingShare]:
    """Return numbers per owner that are all above 0 if its area and standard error fit its pairs."""
    area, error = words.rows()
    return [area + 1, pairs * 2 - area + 1, error + 1, pairs * _WITHIN_PARTS - error + 1]


def within_outputs(query: Query) -> tuple[Output, ...]:
    """Return what is released of AUROC within sites, and its standard error; none of a private study."""
    if query.policy.is_private:
        return ()
    most_pairs = query.most_samples**2 // 4 + 1
    area = Output(f"{Auroc.name}_within_sites", conditional=True, most_denominator=2 * most_pairs)
    return (area, standard_error(area, (_WITHIN_PARTS * most_pairs) ** 2))


def within_ratios(suite: Suite, words: RingShare, pairs: RingShare, query: Query) -> list[Ratio]:
    """Return the ratios of AUROC within sites, and of its variance: the sum of S² over (sum of pairs)².

    Both are withheld unless there are pairs; where the policy has floors on classes, unless the owners have,
    without any one of them, as many pairs as that many samples make.
    """
    area, error = words.rows()
    wide = suite.widen(concat([area.sum(), pairs.sum(), error]))
    a, n, s = wide[0], wide[1], wide[2:]
    s_s, n_n = _products(suite, [(s, s), (n, n)])
    least = max(query.policy.minimum_positives, 1) * max(query.policy.minimum_negatives, 1)
    condition = pairs.sum() if least == 1 else enough(pairs, least)
    return [
        Ratio(a, n * 2, positive=(condition,)),
        Ratio(s_s.sum(), n_n * _WITHIN_PARTS**2, positive=(condition,)),
    ]


def read_within(values: Sequence[float | None], query: Query) -> Estimate:
    """Read AUROC within sites, with its interval; at 95 % where the study asks for no level."""
    value, error = values
    if value is None or error is None:
        note = "withheld: too few pairs are within sites" if query.withholds else "no pairs are within sites"
        return Estimate(None, suppressed=query.withholds, note=note)
    digits, error_digits = (query.digits_of(output) for output in within_outputs(query))
    found = delong_estimate(value, error, query.confidence_level or LEVEL, digits, error_digits)
    return replace(found, method="DeLong, within sites")
