"""The functionalities on additive shares: x = x_0 + x_1 mod 2^64, proxy i holds x_i.

Notation in the docstrings: <v> is a value of which each proxy holds a part; a mask is a random
value that the helper knows and of which the proxies hold pseudorandom parts. Costs are in `costs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import PeerMisbehavedError
from ppaurora.session import Context
from ppaurora.sharing.algebra import BITS, RING, Algebra, Array
from ppaurora.sharing.shares import BitShare, RingShare, Words
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.arrays import AdditiveShare, ArrayRecords, ArraySuite
from ppaurora.suites.cecilia import compare, ties
from ppaurora.suites.cecilia.dealing import Dealing
from ppaurora.suites.cecilia.residues import RESIDUES
from ppaurora.suites.cecilia.shares import HOLDERS
from ppaurora.suites.release import fresh_parts
from ppaurora.suites.role import Role

_63 = np.uint64(63)
_ONE = np.uint64(1)
_NOTHING = np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, repr=False)
class _SignQuery:
    """What a party holds after the private compare in a comparison of x = e + a with zero.

    The lists are of x and the payloads. At the helper, `shown` and `opposite` are empty.
    """

    masks: list[Array]  # parts of a; at the helper a itself
    shown: list[Array]  # x - a: public to the proxies
    opposite: Words  # common to the proxies


@dataclass(frozen=True, repr=False)
class _MaskedSign:
    """What a proxy holds after a comparison of x = e + a with zero: MSB(x) = e_63 xor opposite xor h."""

    e: Words  # public to the proxies
    mask: Words  # part of a
    opposite: Words  # common to the proxies
    h: Words  # part of the bit that the helper knows

    @property
    def flip(self) -> Words:
        return (self.e >> _63) ^ self.opposite


class CeciliaSuite(ArraySuite):
    """One party's end of the functionalities on additive shares."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._role = Role(context.role)
        self.holder = HOLDERS[self._role]
        self._unit = np.uint64(self._role.unit)
        self._dealing = Dealing(context, "cecilia")

    def step(self, name: str) -> AbstractContextManager[None]:
        return self._context.step(name)

    def progress(self, step: str, done: int, total: int) -> None:
        self._context.progress(step, done, total)

    def inputs(self, shares: Sequence[AdditiveShare], sizes: Sequence[int]) -> list[ArrayRecords]:
        """Return the lists as the owners shared them; the helper's parts are zero."""
        if self._role.is_helper:
            return [ArrayRecords.empty(self.holder, size) for size in sizes]
        return [
            ArrayRecords(RingShare(self.holder, share.keys), BitShare(self.holder, share.labels))
            for share in shares
        ]

    def input_words(self, parts: Sequence[Words], shape: tuple[int, int]) -> RingShare:
        if self._role.is_helper:
            return RingShare.zeros(self.holder, shape[::-1])
        return RingShare(self.holder, np.stack(parts, axis=1))

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        return () if self._role.is_helper else fresh_parts(self._context, x.values, recipients)

    def mul(self, x: RingShare, y: RingShare) -> RingShare:  # type: ignore[override]  # none are wide
        """MUL. Beaver's multiplication with a triple from the helper.

        1. masks a, b; the helper deals <ab>
        2. the proxies reveal e = x - a and f = y - b
        3. <xy> = ef + e<b> + f<a> + <ab>, plus parts of zero
        """
        shape = np.broadcast_shapes(x.shape, y.shape)
        a, b = self._dealing.mask(RING, x.shape), self._dealing.mask(RING, y.shape)
        sums = self._dealing.reveal([(RING, x.values - a), (RING, y.values - b)])
        (c,) = self._dealing.deal([(RING, shape)], lambda: [a * b])
        if self._role.is_helper:
            return RingShare.zeros(self.holder, shape)
        e, f = sums()
        return self._fresh(e * f * self._unit + e * b + f * a + c)

    def lift(self, flags: RingShare | BitShare) -> RingShare:
        """Convert parts modulo 2 to parts modulo 2^64; flags are there already.

        1. a mask of bits a; the helper deals <a> in the ring
        2. the proxies reveal e = x xor a
        3. <x> = e xor <a>, plus parts of zero
        """
        if isinstance(flags, RingShare):
            return flags
        a = self._dealing.mask(BITS, flags.shape)
        sums = self._dealing.reveal([(BITS, flags.values ^ a)])
        (ring_a,) = self._dealing.deal([(RING, flags.shape)], lambda: [a.astype(np.uint64)])
        if self._role.is_helper:
            return RingShare.zeros(self.holder, flags.shape)
        (e,) = sums()
        return self._fresh(self._xor(e.astype(np.uint64), ring_a))

    def msb(self, x: RingShare) -> RingShare:
        """MSB. The sign bit of x in two's complement."""
        sign, _ = self._masked_sign(x)
        if self._role.is_helper:
            return RingShare.zeros(self.holder, x.shape)
        return self._fresh(self._xor(sign.flip, sign.h))

    def modulus_conversion(self, x: RingShare) -> RingShare:
        """MC. x mod 2^63, shared modulo 2^64.

        With x = e + a and the carry out of the low 63 bits, c = [e' + a' >= 2^63]:
        x' = e' + a' - 2^63·c = e' + a - 2^63·(a_63 xor c), and a_63 xor c = opposite xor h.
        """
        sign, _ = self._masked_sign(x)
        if self._role.is_helper:
            return RingShare.zeros(self.holder, x.shape)
        wrap = self._xor(sign.opposite, sign.h)
        return self._fresh(self._unit * (sign.e & compare.LOW_63) + sign.mask - (wrap << _63))

    def compare(self, x: RingShare, y: RingShare) -> RingShare:
        """CMP. 1 - MSB(x - y), for |x - y| < 2^63."""
        return 1 - self.msb(x - y)

    def open_comparison(self, x: RingShare, y: RingShare, name: str) -> NDArray[np.bool_]:
        """OPENING. CMP, whose result the proxies learn.

        Steps 1 to 3 of `_masked_sign`; then the helper tells both proxies h, a fair coin to it, and
        MSB(x - y) = flip xor h. Three rounds, where revealing the parts of a result would take four.
        """
        gap = x - y
        query = self._ask([(RING, gap.values)])
        bits = self._dealing.answer(BITS, gap.shape, lambda: self._h(query).astype(np.uint8))
        if self._role.is_helper:
            return np.zeros(gap.shape, dtype=np.bool_)
        self._context.openings[name] += len(gap)
        at_least: NDArray[np.bool_] = (query.shown[0] >> _63) ^ query.opposite == bits
        return at_least

    def tell_helper(self, numbers: Sequence[int], most: Sequence[int]) -> list[int]:
        told = self._dealing.tell(RING, np.array(numbers, dtype=np.uint64))
        if (told > np.array(most, dtype=np.uint64)).any():
            raise PeerMisbehavedError(Role.PROXY_0.title, "told a number that is too large")
        return [int(number) for number in told]

    def is_positive(self, x: RingShare) -> RingShare:
        """Return MSB(-x), which is 1 where x > 0."""
        return self.msb(0 - x)

    def exchange(self, left: ArrayRecords, right: ArrayRecords) -> tuple[ArrayRecords, ArrayRecords]:
        """CMP and both MUXes in one: with b = MSB(left - right), move b·(left - right) across.

        The comparison has masked the difference already, so the product costs one more dealt
        word; the labels cost a few bits. Three rounds, in place of four.
        """
        gap = left.keys - right.keys
        unlike = left.labels ^ right.labels
        _, products = self._masked_sign(gap, payloads=[(BITS, unlike.values)], times_x=True)
        if self._role.is_helper:
            return left, right
        key_products, label_products = products
        move = self._fresh(key_products)
        turn = BitShare(self.holder, label_products ^ self._dealing.zero(BITS, unlike.shape))
        return (
            ArrayRecords(left.keys - move, left.labels ^ turn),
            ArrayRecords(right.keys + move, right.labels ^ turn),
        )

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        """DIV. Long division: a quotient bit per step, then the remainder, doubled.

        Per step, with b = MSB(r - d): q <- 2q + (1 - b) and r <- r - d + b·d, the product from the
        same masked comparison. r < 2d < 2^63 throughout.
        """
        remainder = numerator
        quotient = RingShare.zeros(self.holder, numerator.shape)
        for step in range(bits + 1):
            if step:
                remainder = remainder * 2
            reduced = remainder - denominator
            sign, products = self._masked_sign(reduced, payloads=[(RING, denominator.values)])
            if self._role.is_helper:
                continue
            negative = self._fresh(self._xor(sign.flip, sign.h))
            quotient = quotient * 2 + (1 - negative)
            remainder = reduced + self._fresh(products[0])
        return quotient

    def differ(self, x: RingShare, y: RingShare) -> RingShare:
        """Algorithm 3, as printed; see `ties`."""
        return ties.differ(self._dealing, x - y)

    def _fresh(self, part: Words) -> RingShare:
        """Return a result's part, made fresh with a part of zero."""
        return RingShare(self.holder, part + self._dealing.zero(RING, part.shape))

    def _xor(self, public: Words, bit: Words) -> Words:
        """Parts of p xor <b> = p + (1 - 2p)<b>, for a p that both proxies know."""
        return self._unit * public + (_ONE - public - public) * bit

    def _masked_sign(
        self, x: RingShare, payloads: Sequence[tuple[Algebra, Array]] = (), *, times_x: bool = False
    ) -> tuple[_MaskedSign, list[Array]]:
        """The heart of MSB. Also gives parts of MSB(x)·v for every payload v, and first for x if asked.

        1. masks a for x and for each payload; the proxies reveal e = x - a, and v - a for a payload
        2. with ' for the low 63 bits, x = e + a gives MSB(x) = e_63 xor a_63 xor [a' > not e']
        3. private compare tells the helper beta = [a' > not e'] xor opposite, where the proxies
           chose `opposite` at random for every element
        4. the helper deals <h> for h = a_63 xor beta = MSB(x) xor flip, with flip = e_63 xor opposite
           known to the proxies; and <ha> for every product wanted, since hv = h(v - a) + ha
        5. MSB(x) = flip xor <h>, and MSB(x)·v = flip·v + (1 - 2·flip)<hv>

        The helper sees one bit per element, blinded by `opposite`. CECILIA shows it two, for it
        turns 2^63·MSB(x) into MSB(x) in a step of its own; here the helper, who knows a, deals
        the bit at once. Three rounds, in place of four.
        """
        operands = [(RING, x.values), *payloads]
        query = self._ask(operands)
        wanted = slice(0 if times_x else 1, None)
        kinds = [(RING, x.shape), *((algebra, values.shape) for algebra, values in operands[wanted])]
        if self._role.is_helper:

            def h_and_products() -> list[Array]:
                h = self._h(query)
                return [h, *(h.astype(mask.dtype) * mask for mask in query.masks[wanted])]

            self._dealing.deal(kinds, h_and_products)
            return _MaskedSign(_NOTHING, _NOTHING, _NOTHING, _NOTHING), []

        h, *masked_products = self._dealing.deal(kinds, list)
        sign = _MaskedSign(query.shown[0], query.masks[0], query.opposite, h)
        products = [
            _times_msb(sign, algebra, v, revealed, h_times_mask)
            for (algebra, v), revealed, h_times_mask in zip(
                operands[wanted], query.shown[wanted], masked_products, strict=True
            )
        ]
        return sign, products

    def _ask(self, operands: Sequence[tuple[Algebra, Array]]) -> _SignQuery:
        """Steps 1 to 3: masks, and the private compare up to what the proxies send to the helper."""
        dealing = self._dealing
        masks = [dealing.mask(algebra, values.shape) for algebra, values in operands]
        sums = dealing.reveal(
            [(algebra, algebra.sub(v, mask)) for (algebra, v), mask in zip(operands, masks, strict=True)]
        )
        (count,) = masks[0].shape
        (thresholds,) = dealing.deal(
            [(RESIDUES, compare.thresholds_shape(count))],
            lambda: [compare.thresholds_of(masks[0] & compare.LOW_63)],
        )
        if self._role.is_helper:
            return _SignQuery(masks, [], _NOTHING)
        blinds = compare.Blinds(dealing.blind, count)
        shown = sums()
        message = compare.message(~shown[0] & compare.LOW_63, thresholds, int(self._unit), blinds)
        dealing.to_helper(RESIDUES, message)
        return _SignQuery(masks, shown, blinds.opposite.astype(np.uint64))

    def _h(self, query: _SignQuery) -> Words:
        """Step 4 at the helper: h = a_63 xor beta."""
        mask = query.masks[0]
        beta = compare.answer(self._dealing.at_helper(RESIDUES, compare.message_shape(len(mask))))
        h: Words = (mask >> _63) ^ beta
        return h


def _times_msb(sign: _MaskedSign, algebra: Algebra, v: Array, revealed: Array, h_times_mask: Array) -> Array:
    """Return a part of MSB(x)·v = flip·v + (1 - 2·flip)·hv, with hv = h(v - a) + ha; without signs modulo 2.

    The lowest bit of a part of h modulo 2^64 is a part of h modulo 2.
    """
    if algebra is BITS:
        h_bit, flip_bit = ((word & _ONE).astype(np.uint8) for word in (sign.h, sign.flip))
        return (flip_bit & v) ^ (h_bit & revealed) ^ h_times_mask
    flip = sign.flip
    return flip * v + (_ONE - flip - flip) * (sign.h * revealed + h_times_mask)
