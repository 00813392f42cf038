"""The mechanism of AUROC: how many of the smaller class's placements are won and lost, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ppaurora.errors import MisuseError
from ppaurora.metrics.private.mechanism import Coordinate, Ingredients, Mechanism
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite

STEPS = 64  # of one sample of the smaller class


@dataclass(frozen=True)
class AurocMechanism(Mechanism):
    """T - D and T + D, where T = AUROC·M, D = (1 - AUROC)·M and M = T + D = min(P, N).

    With U pairs in order, ties counting half, and L = max(P, N), T = U/L is what the M samples of the
    smaller class win, each its placement V, the fraction of the L others that it is in order with. L is at
    least 1, so nothing is undefined: if one class is missing, T = D = 0.

    **Sensitivity 4.** |a - b| + |a + b| = 2·max(|a|, |b|), so it is twice the most by which T or D moves, and
    that is 2. Let one person be replaced.

    1. It stays in its class, so that M and L stay, and D moves against T. One of the smaller: its own
       placement moves, by at most 1. One of the larger: every placement moves by at most 1/L, together by
       M/L <= 1.
    2. One x of the smaller joins the larger. Its placement is lost, and that of each of the M - 1 that remain
       becomes (L·V + b)/(L + 1), where b is 0, 1/2 or 1: it moves by (b - V)/(L + 1). So T moves by -V_x + e
       with |e| <= (M - 1)/(L + 1) < 1, that is from -2 to 1. M falls by 1, so D moves by -1 + V_x - e, from
       -2 to 1 as well. One of the larger that joins the smaller is the same, read backwards.
    3. One x leaves the larger class, and makes it the smaller: L = M + 1, and both stay. U loses the pairs of
       x, at most M, and gains at most M pairs: T moves by at most M/L < 1, and D against it.

    **In steps.** t is T in steps of 1/64, rounded, and m is M in these steps; released are u = 2·t - m and m.
    Rounding keeps order and goes along with whole steps, so t moves within the same whole bounds as T: in the
    three cases by at most 64, from -128 to 64, and by at most 64. So it costs nothing.

    **Levels of a subgroup.** One person more in a level moves T and D together by less than 2 in the same
    sense: one more of the smaller class adds its placement V to T and 1 - V to D, one more of the larger
    moves every placement by at most 1/(L + 1), together by M/(L + 1) < 1, and D against T. So 2·max(|a|, |b|)
    is at most 2, for one person less as well. Replaced, a person leaves one level and joins another: 4 in
    all, as within one level. Rounded to steps, t moves within whole bounds as above.

    Instead, T and D themselves have sensitivity 3; noise on the sum and the difference is a ninth less of the
    variance of AUROC for any AUROC, and of that of M.
    """

    name = "auroc"
    needs_curve = True

    def __or__(self, other: AurocMechanism) -> AurocMechanism:
        return self

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(4)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return Coordinate("won_minus_lost", STEPS), Coordinate("smaller_class", STEPS)

    def integers(self, suite: Suite, given: Ingredients) -> RingShare:
        """L = N + [P > N]·(P - N); t is the largest k with 2·k·L <= 64·A + L, where A = 2·U."""
        if given.area is None:
            raise MisuseError("the mechanism of AUROC needs the area")
        n, p, most = given.samples, given.positives, given.most_samples
        surplus = p * 2 - n
        larger = n - p + suite.mul(suite.is_positive(surplus), surplus)
        m = (n - larger) * STEPS
        if not isinstance(n, int):  # a level may be empty
            larger = larger + 1 - suite.is_positive(larger)
        wide = suite.widen(concat([given.area, larger]))
        area, divisor = wide[0], wide[1]
        t = suite.grid_steps(
            area * STEPS + divisor,
            divisor * 2,
            divisor * 0,
            most=max(most // 2, 1) * STEPS,
            bound=STEPS * most * (most + 2) + 1,
        )
        return concat([t * 2 - m, m])
