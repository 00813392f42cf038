"""Logistic recalibration of a table of probabilities: its score equations are solved by counting sign tests.

With x the logit of a sample's probability, y its label and s(u) = 1 / (1 + exp(-u)), let

    F(a, b) = sum of y - s(a + b·x)        Iaa = sum of s'      Iab = sum of s'·x      Ibb = sum of s'·x²
    G(a, b) = sum of (y - s(a + b·x))·x

At public a and b all of these are linear in the table, so they cost nothing. F falls with a. So one of many
public intervals of a has F > 0 at its lower and not at its upper end: that interval has the flag 1, which is
the difference of two sign tests. Along the a(b) at which F is 0, G falls with b; its sign at b is that of

    G·Iaa - F·Iab

in the middle of the interval of a, but for terms of second order in how far the middle is from a(b). Hence

1. `Profile`: for every b of a list, find the interval of a, then the interval of b in which the sign changes.
2. around what was found, s is a polynomial of the distance: s(u + d) is the sum over k of s(u + d_k)·l_k(d),
   with eight public distances d_k and Lagrange's l_k. The sums over the table of s(u + d_k) at secret a and b
   are chosen with the flags, from sums at all public ones. So F and G near by are linear in those,
3. and the same search is done again, on a grid that is finer by far.

What is returned has F, G, the information and its derivatives there, from which one more step gives the root
with an error of the third order in the last, fine interval; and whether there was exactly one interval. Where
the root lies outside of all intervals, or where a class is separated from the other, there is none.

**Scales.** The table is first scaled such that all samples together are nearly, but below, 2^60 units; with n
samples of b bits, one is 2^(60 - b). A comment `@ k` says that this has become 2^(k - b). Numbers are
rounded to the nearest unit of their scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache

import numpy as np

from ppaurora.algorithms.elementary import Floats, exp
from ppaurora.algorithms.logit_nodes import BAND, PER_UNIT, Integers, LogitNodes
from ppaurora.sharing.shares import RingShare, Words, concat, stack
from ppaurora.suites.base import Suite

LARGEST_INTERCEPT = 16  # in magnitude; intervals are a quarter
LOWEST_SLOPE, HIGHEST_SLOPE = -1, 5  # intervals are a sixteenth

_WHOLE = 60  # the scale of the table
_MASS = 34  # that of masses
_COARSE_BITS, _FINE_BITS = 18, 27  # of s, in the first search and for the second
_SCORE_BITS = 22  # of s and s' in a last search
_LAST_BITS = 29  # of s where F and G are so small that larger numbers of it may wrap around 2^64
_INFORMATION_BITS, _CHANGE_BITS = 22, 18  # of s' and s'' there
_LEAST_INFORMATION = 1 << 10  # @ 27, and so 2^-17 of a sample
_RETURNED = 30  # bits that are rounded off in the end

_COARSE = 256  # arguments of s are multiples of 1/256: a is one of 1/8, b and x are multiples of 1/16
_OFFSETS = 8  # distances d_k, a quarter apart, around the middle of an interval of a
_FINE = 1024  # distances are multiples of 1/1024, of one of 1/512 and one of 1/1024 times a whole number
_A_REACH = 128  # fine intervals of a, 1/256 each, go so many 512ths to both sides of the middle
_B_WIDTH = _FINE // PER_UNIT  # of a coarse interval of b
_B_MARGIN = 16  # fine intervals of b, 1/512 each, go so many 1024ths beyond the coarse one


class _Sigmoid(IntEnum):
    """s and its derivatives."""

    VALUE = 0
    SLOPE = 1
    CURVATURE = 2


@dataclass(frozen=True)
class Masses:
    """The table on nodes of the logit scale, and what its positives add up to."""

    nodes: LogitNodes
    band: RingShare = field(repr=False)  # @ 34, as `LogitNodes.masses` has them
    positives: RingShare = field(repr=False)  # @ 34
    positives_x: RingShare = field(repr=False)  # the sum of their logits, @ 34

    @property
    def on_first_nodes(self) -> RingShare:
        return self.band.like(self.band.values.sum(axis=-2, dtype=np.uint64))


def masses(suite: Suite, x: Floats, positives: RingShare, negatives: RingShare, samples: int) -> Masses:
    """Divide so many samples of a table, whose cells have the logits x, between nodes."""
    nodes, bits = LogitNodes(x), _WHOLE - samples.bit_length()
    band = nodes.masses(positives + negatives, bits)  # @ 60
    logit_weights = np.rint(np.ldexp(x, bits - 5)).astype(np.int64)  # |x| < 2^5
    sums = [(positives * (1 << bits)).sum(), (positives * logit_weights).sum()]
    small = _rounded(suite, concat([*band.rows(), *sums]), _WHOLE - _MASS)
    return Masses(nodes, _shaped(small[:-2], BAND, len(nodes.first)), small[-2], small[-1] * 32)


@dataclass(frozen=True)
class Intercept:
    """The point next to the root of F(a, 1), with what is needed for one step from there. Lists of one."""

    steps_per_one = 1024
    found: RingShare = field(repr=False)  # 1 if the root is within reach, else 0
    steps: RingShare = field(repr=False)  # a, from the lowest one on
    f: RingShare = field(repr=False)  # F, @ 33
    iaa: RingShare = field(repr=False)  # Iaa, @ 26
    t: RingShare = field(repr=False)  # its derivative by a, the sum of s'', @ 22


def find_intercept(suite: Suite, table: Masses) -> Intercept:
    """Solve F(a, 1) = 0: first among intervals of 1/4, then among those of 1/512."""
    unit = Intercept.steps_per_one
    quarter = unit // 4
    starts = np.arange(-LARGEST_INTERCEPT * unit, LARGEST_INTERCEPT * unit + 1, quarter)
    ends, middles = np.arange(0, quarter + 1, 2), np.arange(1, quarter, 2)
    mass, x = table.on_first_nodes, table.nodes.first * (unit // PER_UNIT)

    def sums(kind: _Sigmoid, a: Integers, bits: int) -> RingShare:
        return mass.weighted_sums(_sigmoid(kind, x[:, None] + a, unit, bits))

    def f(a: Integers, bits: int = _SCORE_BITS) -> RingShare:
        return table.positives * (1 << bits) - sums(_Sigmoid.VALUE, a, bits)

    def derivatives(a: Integers) -> list[RingShare]:
        return [sums(_Sigmoid.SLOPE, a, _INFORMATION_BITS), sums(_Sigmoid.CURVATURE, a, _CHANGE_BITS)]

    coarse = _steps_down(suite.is_positive(f(starts)))
    at_ends = _begin_choice(suite, coarse, [f(start + ends) for start in starts[:-1]])
    inside = [start + middles for start in starts[:-1]]
    at_middles = _begin_choice(suite, coarse, [stack([f(a, _LAST_BITS), *derivatives(a)]) for a in inside])
    f_at_ends, values = at_ends(), at_middles()
    fine = _steps_down(suite.is_positive(f_at_ends))
    chosen = _begin_choice(suite, fine, [values[place] for place in range(len(fine))])()
    steps = _place(coarse) * quarter + _place(fine) * 2 + fine.sum()
    return Intercept(fine.sum(), steps, *_rounded_to_return(suite, chosen))


@dataclass(frozen=True)
class Slope:
    """The point next to the root of F and G, with what is needed for one step from there. Lists of one.

    x is taken from a secret whole number on, which is near its mean by weights s'.
    """

    steps_per_one = 1024
    found: tuple[RingShare, RingShare] = field(repr=False)  # intervals with the root, in both searches
    steps: RingShare = field(repr=False)  # b, from the lowest one on
    f: RingShare = field(repr=False)  # F and G, @ 33
    g: RingShare = field(repr=False)
    iaa: RingShare = field(repr=False)  # the information, @ 26
    iab: RingShare = field(repr=False)
    ibb: RingShare = field(repr=False)
    t: tuple[RingShare, ...] = field(repr=False)  # sums of s'', s''·x, s''·x² and s''·x³, @ 22


def find_slope(suite: Suite, table: Masses) -> Slope:
    """Solve F(a, b) = G(a, b) = 0: first among intervals of 1/4 and 1/16, then of 1/256 and 1/512."""
    coarse = _coarse_search(suite, table)
    fine = _fine_search(suite, _surroundings(suite, table, coarse))
    columns = [fine.values[place] for place in range(len(fine.interval))]
    chosen = _begin_choice(suite, fine.interval, columns)()
    steps = _place(coarse.interval) * _B_WIDTH + _place(fine.interval) * 2 + fine.interval.sum() - _B_MARGIN
    f, g, iaa, iab, ibb, *t = _rounded_to_return(suite, chosen)
    return Slope((coarse.interval.sum(), fine.interval.sum()), steps, f, g, iaa, iab, ibb, tuple(t))


@dataclass(frozen=True)
class _Profile:
    """The interval of b in which G changes its sign along F = 0."""

    interval: RingShare = field(repr=False)  # 1 for the interval of b, else 0
    a_intervals: RingShare = field(repr=False)  # rows of a, lists of b: 1 where F changes its sign, else 0
    values: RingShare = field(repr=False)  # rows of what was asked for, in the middles of these; lists of b


def _profile(suite: Suite, f_at_ends: RingShare, values: Sequence[RingShare], shift: int) -> _Profile:
    """Search in rows of F, one for every end of an interval of a.

    `values` has rows F, G, Iaa, Iab and others, for the middle of every interval of a; all of them are lists
    of b. Products of these four stay below 2^62 when they are shifted to the right by so many bits.

    Where F does not change its sign within reach of a, all values are 0, and so G·Iaa - F·Iab is not above 0;
    such a b is no end of an interval either. Where there is hardly any information, G decides alone, which
    hardly depends on a there.
    """
    above = _shaped(suite.is_positive(_shaped(f_at_ends, -1)), *f_at_ends.shape)
    a_intervals = above.like(above.values[..., :-1, :] - above.values[..., 1:, :])
    chosen = suite.begin_sums_of_products(zip(a_intervals.rows(), values, strict=True))()
    f_g_iaa_iab = chosen.like(chosen.values[..., :4, :])
    small = _shaped(_rounded(suite, _shaped(f_g_iaa_iab, -1), shift), *f_g_iaa_iab.shape)
    f, g, iaa, iab = small.rows()
    products = suite.mul(stack([g, f]), stack([iaa + _LEAST_INFORMATION, iab]))
    rising = suite.is_positive(products.row(0) - products.row(1))
    within_reach = above.row(0) - above.row(above.shape[0] - 1)
    interval = suite.mul(rising[:-1], (within_reach - rising)[1:])
    return _Profile(interval, a_intervals, chosen)


def _coarse_search(suite: Suite, table: Masses) -> _Profile:
    """Rows of values are F, G, Iaa, Iab; the latter of 16·x."""
    slopes = np.arange(LOWEST_SLOPE * PER_UNIT, HIGHEST_SLOPE * PER_UNIT + 1)
    bx = table.nodes.first[:, None] * slopes
    mass = table.on_first_nodes
    by_power = stack([mass, mass * table.nodes.first])
    scale = 1 << _COARSE_BITS
    y = stack([table.positives * scale, table.positives_x * (PER_UNIT * scale)])

    def f_and_g(a: int) -> RingShare:
        return y - by_power.weighted_sums(_sigmoid(_Sigmoid.VALUE, bx + a, _COARSE, _COARSE_BITS))  # @ 52

    def information(a: int) -> RingShare:
        return by_power.weighted_sums(_sigmoid(_Sigmoid.SLOPE, bx + a, _COARSE, _COARSE_BITS))

    starts = _coarse_intercepts()
    f = stack([f_and_g(a).row(0) for a in starts])
    middles = [a + _COARSE // 8 for a in starts[:-1]]
    values = [_rows(f_and_g(a), information(a)) for a in middles]
    return _profile(suite, f, values, shift=25)


def _coarse_intercepts() -> range:
    """The ends of coarse intervals of a, a quarter apart."""
    reach = LARGEST_INTERCEPT * _COARSE
    return range(-reach, reach + 1, _COARSE // 4)


@dataclass(frozen=True)
class _Surroundings:
    """Sums over the table of s(u + d_k), where u = a + b·x for the secret a and b that were found.

    They are divided between nodes z, which are x from a secret whole number on.
    """

    z: Integers
    sums: RingShare = field(repr=False)  # rows k, lists of z; @ 34
    y: RingShare = field(repr=False)  # the sums of y and of y·z, @ 34


def _surroundings(suite: Suite, table: Masses, found: _Profile) -> _Surroundings:
    """Choose the sums with the flags of both intervals.

    1. e, the flags of a for the b that was found, and Iaa and Iab there
    2. s(u + d_k) at every first node, chosen with e from those at all a, which are linear in the flags of b;
       meanwhile, c: the whole number next to Iab / Iaa, by sign tests
    3. with masses, sums over first nodes for every second node
    4. rounded; z = x - c, by the flags of c
    """
    nodes, count = table.nodes, len(found.interval)
    information = found.values.like(found.values.values[..., 2:4, :])
    columns = [_rows(found.a_intervals[place], information[place]) for place in range(count)]
    chosen = _shaped(_begin_choice(suite, found.interval, columns)(), -1)
    e, iaa, iab = chosen[:-2], chosen[-2], chosen[-1]

    slopes = np.arange(LOWEST_SLOPE * PER_UNIT, HIGHEST_SLOPE * PER_UNIT)
    bx = slopes[:, None] * nodes.first
    starts = _coarse_intercepts()
    first = starts[0] - (_OFFSETS // 2 - 1) * starts.step
    at_all_a = [
        found.interval.weighted_sums(_sigmoid(_Sigmoid.VALUE, bx + a, _COARSE, _FINE_BITS))
        for a in range(first, first + (len(starts) + _OFFSETS - 2) * starts.step, starts.step)
    ]
    at_a = _begin_choice(suite, e, [stack(at_all_a[k : k + _OFFSETS]) for k in range(len(e))])()

    centres = nodes.units
    halves = (2 * np.array(centres[1:]) - 1) * PER_UNIT
    above = suite.is_positive(iab * 2 - iaa * halves)
    at_centre = concat([1 - above[0], above[:-1] - above[1:], above[-1]])

    sums = _by_second_node(suite, table, at_a)
    sums = _shaped(_rounded(suite, _shaped(sums, -1), _FINE_BITS), *sums.shape)
    z = np.arange(nodes.second[0] - centres[-1], nodes.second[-1] - centres[0] + 1)
    shifted = [_placed(sums, len(z), centres[-1] - c) for c in centres]
    y = [stack([table.positives, table.positives_x - table.positives * c]) for c in centres]
    begun = [_begin_choice(suite, at_centre, some) for some in (shifted, y)]
    at_z, y_at_z = (finish() for finish in begun)
    return _Surroundings(z, at_z, y_at_z)


def _by_second_node(suite: Suite, table: Masses, values: RingShare) -> RingShare:
    """Sum masses times values at first nodes, rows of which are given, for every second node. @ 61"""
    size = len(table.nodes.second)
    parts = []
    for row in range(BAND):
        for place in range(PER_UNIT):
            chosen = slice(place, None, PER_UNIT)
            mass, value = table.band.row(row)[chosen], values[chosen]
            parts.append((_placed(mass, size, row), _placed(value, size, row)))
    return suite.begin_sums_of_products(parts)()


def _fine_search(suite: Suite, near: _Surroundings) -> _Profile:
    """Rows of values are F and G, Iaa, Iab and Ibb, and sums of s'', s''·z, s''·z² and s''·z³, all of them in
    the middle of intervals of both a and b.
    """
    by_power = _shaped(stack([near.sums * near.z**power for power in range(4)]), 4, -1)
    ends = np.arange(-_B_MARGIN, _B_WIDTH + _B_MARGIN + 1, 2)

    def sums(kind: _Sigmoid, a: int, b: Integers, powers: int, bits: int) -> RingShare:
        rows = by_power.like(by_power.values[..., :powers, :])
        return rows.weighted_sums(_lagrange(kind, near.z[:, None] * b + a, bits))

    def f_and_g(a: int, b: Integers, bits: int = _SCORE_BITS) -> RingShare:
        return near.y * (1 << bits) - sums(_Sigmoid.VALUE, a, b, 2, bits)

    a_ends = range(-2 * _A_REACH, 2 * _A_REACH + 1, 4)
    f = stack([f_and_g(a, ends).row(0) for a in a_ends])
    values = [
        _rows(
            f_and_g(a, ends),
            sums(_Sigmoid.SLOPE, a, ends, 2, _SCORE_BITS),
            f_and_g(a, ends + 1, _LAST_BITS),
            sums(_Sigmoid.SLOPE, a, ends + 1, 3, _INFORMATION_BITS),
            sums(_Sigmoid.CURVATURE, a, ends + 1, 4, _CHANGE_BITS),
        )
        for a in (start + 2 for start in a_ends[:-1])
    ]
    found = _profile(suite, f, values, shift=29)
    return _Profile(found.interval, found.a_intervals, found.values.like(found.values.values[..., 4:, :]))


def _rounded_to_return(suite: Suite, chosen: RingShare) -> list[RingShare]:
    small = _rounded(suite, _shaped(chosen, -1), _RETURNED)
    return [small[place] for place in range(len(small))]


def _rounded(suite: Suite, x: RingShare, bits: int) -> RingShare:
    """x / 2^bits, rounded to the nearest whole number, for |x| < 2^62."""
    return suite.shift_right(x + ((1 << 62) + (1 << (bits - 1))), bits) - (1 << (62 - bits))


def _steps_down(flags: RingShare) -> RingShare:
    """1 for the interval from whose start to whose end a flag falls from 1 to 0."""
    return flags[:-1] - flags[1:]


def _begin_choice(suite: Suite, flags: RingShare, columns: Sequence[RingShare]) -> Callable[[], RingShare]:
    """Begin to choose the column of which the flag is 1; zeros if there is none."""
    return suite.begin_sums_of_products((flags[place], one) for place, one in enumerate(columns))


def _place(flags: RingShare) -> RingShare:
    """Return the number of the flag that is 1."""
    return (flags * np.arange(len(flags))).sum()


def _shaped(x: RingShare, *shape: int) -> RingShare:
    """Return the same numbers in other rows."""
    return x.like(x.values.reshape(*x.values.shape[: x.hidden_axes], *shape))


def _rows(*parts: RingShare) -> RingShare:
    """Return the rows of one part after the other."""
    return parts[0].like(np.concatenate([part.values for part in parts], axis=-2))


def _placed(x: RingShare, length: int, start: int) -> RingShare:
    """Return a list of so many, zeros but for x from a place on."""
    values = np.zeros((*x.values.shape[:-1], length), dtype=np.uint64)
    values[..., start : start + len(x)] = x.values
    return x.like(values)


_REACH = 160  # of arguments of s


@lru_cache(maxsize=16)
def _sigmoid_table(kind: _Sigmoid, unit: int, bits: int) -> Words:
    u = np.arange(-_REACH * unit, _REACH * unit + 1) / unit
    small = exp(-np.abs(u))
    s = np.where(u >= 0, 1.0, small) / (1 + small)
    slope = small / (1 + small) ** 2
    values = (s, slope, slope * (1 - 2 * s))[kind]
    return _as_words(np.rint(np.ldexp(values, bits)))


def _sigmoid(kind: _Sigmoid, numerators: Integers, unit: int, bits: int) -> Words:
    """Return s, or a derivative, of many arguments in such units, in steps of 2^-bits."""
    values: Words = _sigmoid_table(kind, unit, bits).take(numerators + _REACH * unit)
    return values


_LAGRANGE_REACH = 6  # of distances


@lru_cache(maxsize=8)
def _lagrange_table(kind: _Sigmoid, bits: int) -> Words:
    """Rounded such that they add up to what they should, 1 or 0: where s is flat, rounding does no harm."""
    d = np.arange(-_LAGRANGE_REACH * _FINE, _LAGRANGE_REACH * _FINE + 1) / _FINE
    nodes = (np.arange(_OFFSETS) - (_OFFSETS - 1) / 2) / 4
    rows = []
    for own in nodes:
        others = nodes[nodes != own]
        polynomial = np.poly1d(others, r=True) / np.prod(own - others)
        rows.append(np.polyder(polynomial, int(kind))(d))
    steps = np.rint(np.ldexp(np.stack(rows), bits))
    steps[_OFFSETS // 2] += (1 << bits if kind is _Sigmoid.VALUE else 0) - steps.sum(axis=0)
    return _as_words(steps)


def _lagrange(kind: _Sigmoid, distances: Integers, bits: int) -> Words:
    """Return rows of all l_k, or derivatives, one k after the other."""
    values: Words = _lagrange_table(kind, bits).take(distances + _LAGRANGE_REACH * _FINE, axis=1)
    return values.reshape(-1, distances.shape[1])


def _as_words(whole: Floats) -> Words:
    """Return whole numbers of either sign modulo 2^64."""
    words: Words = whole.astype(np.int64).view(np.uint64)
    return words
