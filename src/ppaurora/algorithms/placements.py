"""Sums of squared placements, from which the variance of AUROC follows (DeLong).

The placement of a negative is how many positives are before it, a tied one counting half; of a positive,
how many negatives. Twice the placement is the same for all of a tie group: at its end, b = TP_prev + TP for
negatives and c = FP_prev + FP for positives. Wanted, as exact integers:

    Q = sum dFP·b²          C2 = sum dTP·c²

b is at most 2P, so Q <= N·(2P)² <= 16n³/27, and C2 likewise: below 2^64 while n < 3·2^20. For more samples TP
is made of two limbs, 2^15·TP1 + TP0. In a block of 2^15 positions of a list TP1 is what TP has above its last
15 bits where the block begins, in a table what it has there at every position: so TP0 < 2^16. Then
b = 2^15·b1 + b0, and with sums of one word each

    Q = 2^30·Q11 + 2^15·(Q_both - Q11 - Q00) + Q00

    Q11 = sum dFP·b1²       Q00 = sum dFP·b0²       Q_both = sum dFP·(b1 + b0)²

For n up to 2^30, b1 <= 2P/2^15 <= 2^16 and b0 < 2^17, hence Q11 <= N·2^32 <= 2^62 and Q00 < N·2^34 <= 2^64.
The difference is 2·sum dFP·b1·b0 <= 2·N·(2P/2^15)·2^17 = 16·P·N <= 2^62: it fits, though Q_both need not.

Source: E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, Comparing the areas under two or more correlated
receiver operating characteristic curves (1988).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ppaurora.algorithms.curve import FP, TP, Curve, Finish, Quantity
from ppaurora.sharing.shares import RingShare

MOST_IN_ONE_WORD = (3 << 20) - 1  # samples
LOW_BITS = 15

Limb = tuple[RingShare, int]  # a number below 2^64, a list of one, and what it is to be multiplied by
Limbs = tuple[Limb, ...]


@dataclass(frozen=True)
class PlacementSums:
    """Each sum is that of its limbs, number times weight."""

    of_negatives: Limbs  # Q
    of_positives: Limbs  # C2


def needs(samples: int) -> tuple[Quantity, ...]:
    """Rows that the curve must have."""
    return (TP, FP) if samples <= MOST_IN_ONE_WORD else (TP, FP, HIGH_TP, HIGH_FP)


def limb_weights(samples: int) -> tuple[int, ...]:
    """Return what the limbs of a sum are to be multiplied by."""
    return (1,) if samples <= MOST_IN_ONE_WORD else (1, 1 << LOW_BITS, 1 << 2 * LOW_BITS)


def begin_placement_sums(curve: Curve) -> Callable[[], PlacementSums]:
    """Begin the sums over a curve that has kept its ends, all in one round; finished when it is called."""
    of_negatives = _begin_squares(curve, FP, TP, HIGH_TP)
    of_positives = _begin_squares(curve, TP, FP, HIGH_FP)
    return lambda: PlacementSums(of_negatives(), of_positives())


def _begin_squares(curve: Curve, x: Quantity, y: Quantity, high_y: Quantity) -> Callable[[], Limbs]:
    """Begin the sum of (x[j] - x[j-1])·(y[j] + y[j-1])²."""
    row_x, row_y = curve[x], curve[y]

    def squares(y_at: Callable[[slice], RingShare]) -> Finish:
        return curve.suite.begin_dot_squares(
            (row_x[here] - row_x[before], y_at(here) + y_at(before)) for here, before in curve.steps()
        )

    if curve.most_samples <= MOST_IN_ONE_WORD:
        whole = squares(lambda at: row_y[at])
        return lambda: ((whole(), 1),)

    row_high, base = curve[high_y], 1 << LOW_BITS
    of_high = squares(lambda at: row_high[at])
    of_low = squares(lambda at: row_y[at] - row_high[at] * base)
    of_both = squares(lambda at: row_y[at] - row_high[at] * (base - 1))

    def finish() -> Limbs:
        high, low, both = of_high(), of_low(), of_both()
        return (low, 1), (both - high - low, base), (high, base * base)

    return finish


def _write_high(of: Quantity) -> Callable[[Curve, RingShare], None]:
    def write(curve: Curve, row: RingShare) -> None:
        with curve.suite.step("placements"):
            curve.write_high(of, LOW_BITS, row)

    return write


HIGH_TP = Quantity(_write_high(TP))  # the high limb of TP
HIGH_FP = Quantity(_write_high(FP))  # the high limb of FP
