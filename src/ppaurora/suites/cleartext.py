"""The functionalities in the clear: one holder, no cryptography. The oracle of every algorithm."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ppaurora.randomness import Stream
from ppaurora.sharing.shares import BitShare, Elements, HalfWords, Holder, RingShare, WideShare, Words
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.arrays import AdditiveShare, ArrayRecords, ArraySuite
from ppaurora.suites.base import GRID_BOUND, SIGNIFICAND_BITS, WIDE_BOUND, N
from ppaurora.suites.team import Team

CLEARTEXT = Holder("cleartext", (1,))
"""The only holder, whose only component is the value."""


class CleartextSuite(ArraySuite):
    """All functionalities on plain numbers."""

    holder = CLEARTEXT

    def __init__(self, team: Team | None = None) -> None:
        self.openings: Counter[str] = Counter()
        self.team = Team() if team is None else team

    def inputs(self, shares: Sequence[AdditiveShare], sizes: Sequence[int]) -> list[ArrayRecords]:
        return [ArrayRecords(self._share(one.keys), BitShare(self.holder, one.labels)) for one in shares]

    def input_words(self, parts: Sequence[Words], shape: tuple[int, int]) -> RingShare:
        return self._share(np.stack(parts, axis=1))

    def input_counts(self, parts: Sequence[HalfWords], shape: tuple[int, int]) -> RingShare:
        return self._share(np.stack(parts).astype(np.uint64))

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        return (ResultShare(x.values),) * recipients

    def _share(self, values: NDArray[np.uint64]) -> RingShare:
        return RingShare(self.holder, values)

    def mul(self, x: N, y: N) -> N:
        x.check_kind(y)
        return type(x)(self.holder, x.ring.reduced(x.values * y.values))

    def compare(self, x: RingShare, y: RingShare) -> RingShare:
        difference = (x.values - y.values).view(np.int64)
        return self._share((difference >= 0).astype(np.uint64))

    def differ(self, x: RingShare, y: RingShare) -> RingShare:
        return self._share((x.values != y.values).astype(np.uint64))

    def exchange(self, left: ArrayRecords, right: ArrayRecords) -> tuple[ArrayRecords, ArrayRecords]:
        swap = self.compare(left.keys, right.keys).values == 0
        keys, labels = (left.keys.values, right.keys.values), (left.labels.values, right.labels.values)
        high, low = (
            ArrayRecords(
                self._share(np.where(swap, keys[1 - side], keys[side])),
                BitShare(self.holder, np.where(swap, labels[1 - side], labels[side])),
            )
            for side in (0, 1)
        )
        return high, low

    def is_positive(self, x: RingShare) -> RingShare:
        return self._share((x.values.view(np.int64) > 0).astype(np.uint64))

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        pairs = zip(numerator.values.tolist(), denominator.values.tolist(), strict=True)
        quotients = [(n << bits) // d if d else (2 << bits) - 1 for n, d in pairs]
        return self._share(np.array(quotients, dtype=np.uint64))

    def shift_right(self, x: RingShare, bits: int) -> RingShare:
        return self._share(x.values >> np.uint64(bits))

    def widen(self, x: RingShare) -> WideShare:
        return WideShare(self.holder, x.values.astype(object))

    def absolute(self, x: WideShare) -> tuple[RingShare, WideShare]:
        signed = _signed(x)
        return self._share((signed < 0).astype(np.uint64)), WideShare(self.holder, abs(signed))

    def grid_steps(
        self, reach: WideShare, slope: WideShare, curvature: WideShare, most: int, bound: int = GRID_BOUND
    ) -> RingShare:
        ends, slopes, curvatures = (_signed(x).tolist() for x in (reach, slope, curvature))
        steps = map(_steps_within, ends, slopes, curvatures, [most] * len(ends))
        return self._share(np.fromiter(steps, dtype=np.uint64))

    def wide_quotients(
        self,
        numerator: WideShare,
        denominator: WideShare,
        leading_zeros: int,
        significant_bits: int = SIGNIFICAND_BITS,
        bound: int = WIDE_BOUND,
    ) -> RingShare:
        pairs = zip(numerator.values.tolist(), denominator.values.tolist(), strict=True)
        rounded = [_rounded_quotient(n, d, leading_zeros, significant_bits) for n, d in pairs]
        words = [[word % (1 << 64) for word in pair] for pair in rounded]  # also where n > d, as any suite
        return self._share(np.array(words, dtype=np.uint64).reshape(-1, 2).T)

    def random_bits(self, thresholds: Words) -> RingShare:
        return self._share((Stream.fresh().words(thresholds.shape) < thresholds).astype(np.uint64))

    def lift(self, flags: RingShare | BitShare) -> RingShare:
        return self._share(flags.values.astype(np.uint64))

    def open_comparison(self, x: RingShare, y: RingShare, name: str) -> NDArray[np.bool_]:
        self.openings[name] += len(x)
        at_least: NDArray[np.bool_] = self.compare(x, y).values == 1
        return at_least

    def tell_helper(self, numbers: Sequence[int], most: Sequence[int]) -> list[int]:
        return list(numbers)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        yield

    def progress(self, step: str, done: int, total: int) -> None:
        pass


def _signed(x: WideShare) -> Elements:
    """Return values as integers from -2^255 on."""
    half = 1 << (x.ring.bits - 1)
    signed: Elements = (x.values ^ half) - half
    return signed


def _steps_within(reach: int, slope: int, curvature: int, most: int) -> int:
    """Find by bisection one less than the first k that is too far."""
    return bisect_left(range(1, most + 1), True, key=lambda k: k * slope + k * k * curvature > reach)


def _rounded_quotient(n: int, d: int, leading_zeros: int, significant_bits: int) -> tuple[int, int]:
    """Mantissa and exponent of n/d, from `leading_zeros` bits of it and one more than is significant.

    All zeros but one are skipped first, as a suite does it that divides in secret: also of 0 and 0/0.
    """
    skipped = max(leading_zeros - 1, 0)
    if not d:
        return 1 << significant_bits, significant_bits - 1 + skipped
    behind_point = leading_zeros + significant_bits
    quotient = (n << behind_point) // d
    if not quotient:
        return 0, skipped
    exponent = behind_point - quotient.bit_length() + significant_bits
    with_next = (quotient << (significant_bits + 1)) >> quotient.bit_length()
    return (with_next + 1) >> 1, exponent
