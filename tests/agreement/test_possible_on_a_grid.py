"""The certificate of a grid excludes numbers of positives, too: it is a whole number of halves of pairs."""

from __future__ import annotations

from fractions import Fraction

from ppaurora.agreement.possible import possible_positives
from ppaurora.data.grid import Grid
from ppaurora.metrics import METRICS, Query
from ppaurora.policy.rules import Policy
from tests.support.releases import half_away

SAMPLES = 23


def fits(value: Fraction, digits: int, positives: int) -> bool:
    """Whether a whole number of halves of pairs is rounded to it; all are tried."""
    halves = 2 * positives * (SAMPLES - positives)
    return any(half_away(Fraction(k, halves), digits) == value for k in range(halves + 1))


def test_numbers_of_positives_that_the_certificate_excludes_are_not_possible() -> None:
    fewer = 0
    for digits in (1, 2, 3):
        policy = Policy.exact(digits=digits, counts="hidden")
        of_lists = Query((METRICS["auroc"](),), (SAMPLES,), policy)
        on_grid = Query((METRICS["auroc"](),), (SAMPLES,), policy, grid=Grid(), tabulated=True)
        for p, won, tied in ((3, 71, 7), (5, 101, 3), (9, 200, 11), (11, 130, 1), (1, 20, 13)):
            halves = 2 * p * (SAMPLES - p)
            auroc = half_away(Fraction(won, halves), digits)
            bound = half_away(Fraction(tied, halves), digits + 1)
            left = [other for other in range(1, SAMPLES) if fits(auroc, digits, other)]
            of_both = [other for other in left if fits(bound, digits + 1, other)]
            assert possible_positives(of_lists, [float(auroc)]) == len(left)
            assert possible_positives(on_grid, [float(auroc), float(bound)]) == len(of_both)
            assert p in of_both
            fewer += len(of_both) < len(left)
    assert fewer > 0
