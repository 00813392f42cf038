"""The certificate of a grid excludes numbers of positives, too: it is a whole number of halves of pairs."""

from __future__ import annotations

from fractions import Fraction

from ppaurora.agreement.possible import possible_positives
from ppaurora.data.grid import Grid
from ppaurora.metrics import METRICS, Query
from ppaurora.policy.rules import Policy
from tests.support.releases import half_away

SAMPLES = 23


def fits(value: Fraction, digits: int, positives: int, samples: int = SAMPLES) -> bool:
    """Whether a whole number of halves of pairs is rounded to it; all are tried."""
    halves = 2 * positives * (samples - positives)
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
            bound = half_away(Fraction(tied, halves), digits)
            left = [other for other in range(1, SAMPLES) if fits(auroc, digits, other)]
            of_both = [other for other in left if fits(bound, digits, other)]
            assert possible_positives(of_lists, [float(auroc)]) == len(left)
            assert possible_positives(on_grid, [float(auroc), float(bound)]) == len(of_both)
            assert p in of_both
            fewer += len(of_both) < len(left)
    assert fewer > 0


def test_the_certificate_of_a_small_study_excludes_no_number_of_positives() -> None:
    """Of 60 samples, of which a rounded count says that 18 to 22 are positive; with a digit more it would."""
    samples, positives = 60, 20
    query = Query((METRICS["auroc"](),), (30, 30), Policy(), grid=Grid(), tabulated=True)
    (digits,) = {query.digits_of(output) for output in query.outputs[1:]}
    assert digits is not None
    others = [18, 19, 21, 22]

    def left(digits: int) -> list[int]:
        bounds = [
            half_away(Fraction(tied, 2 * positives * (samples - positives)), digits) for tied in (7, 30)
        ]
        return [other for other in others if all(fits(bound, digits, other, samples) for bound in bounds)]

    assert left(digits) == others
    assert left(digits + 1) == []
