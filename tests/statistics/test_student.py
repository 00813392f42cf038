"""Student's t distribution is R's and SciPy's, far into its tails and for any degrees of freedom."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from ppaurora.errors import InputError
from ppaurora.statistics.student import student_cdf, student_quantile
from tests.support.proc import run_proc

DEGREES = (0.3, 1.0, 1.5, 2.0, 3.0, 7.7, 30.0, 111.3, 500.0, 999.9, 1_000.0, 1_999.0, 1e4, 1e6, 1e8)
TIMES = (0.1, 0.5, 1.0, 1.7, 1.96, 2.5, 4.0, 8.0, 15.0)
PROBABILITIES = (1e-12, 1e-5, 0.005, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9999)


@pytest.mark.parametrize("df", DEGREES)
def test_as_scipy(df: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    for t in TIMES:
        assert student_cdf(-t, df) == pytest.approx(float(stats.t.cdf(-t, df)), rel=1e-11)
        assert student_cdf(t, df) == pytest.approx(float(stats.t.cdf(t, df)), rel=1e-13)
    for p in PROBABILITIES:
        assert student_quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), rel=1e-11, abs=1e-15)


def test_as_r() -> None:
    places = [(t, df) for df in DEGREES if df < 1e5 for t in TIMES]  # beyond, R has the normal distribution
    times, degrees = (", ".join(map(repr, column)) for column in zip(*places, strict=True))
    said = run_proc(f'cat(sprintf("%.17g\\n", pt(-c({times}), df = c({degrees}))), sep = "")')
    for (t, df), theirs in zip(places, said, strict=True):
        assert student_cdf(-t, df) == pytest.approx(float(theirs), rel=1e-11)


@pytest.mark.parametrize("t", [0.0, 1e-8, 0.4, 3.0, 1e6, 1e200])
def test_one_and_two_degrees_of_freedom_have_formulas(t: float) -> None:
    assert student_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, rel=1e-14)
    assert student_cdf(t, 2) == pytest.approx(0.5 + t / math.hypot(t, math.sqrt(2)) / 2, rel=1e-14)


@pytest.mark.parametrize("p", [1e-9, 0.01, 0.25, 0.5, 0.8, 0.999])
def test_quantiles_of_one_degree_of_freedom_have_a_formula(p: float) -> None:
    assert student_quantile(p, 1) == pytest.approx(-1 / math.tan(math.pi * p), rel=1e-11, abs=1e-15)


def test_infinitely_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert student_quantile(0.975, math.inf) == NormalDist().inv_cdf(0.975)
    for t in (-3.0, 0.0, 1.5):
        assert student_cdf(t, math.inf) == pytest.approx(NormalDist().cdf(t), rel=1e-13)
    assert [student_cdf(t, df) for df in (5, math.inf) for t in (-math.inf, math.inf)] == [0, 1, 0, 1]


@pytest.mark.parametrize("df", DEGREES)
def test_the_quantile_undoes_the_distribution_function(df: float) -> None:
    for t in TIMES[:7]:
        assert student_quantile(student_cdf(-t, df), df) == pytest.approx(-t, rel=1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_a_quantile_is_of_a_probability(p: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        student_quantile(p, 3)


@pytest.mark.parametrize("df", [0.0, -1.0, math.nan])
def test_degrees_of_freedom_are_above_0(df: float) -> None:
    for function in (student_cdf, student_quantile):
        with pytest.raises(InputError, match="degrees of freedom"):
            function(0.3, df)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="t is not a number"):
        student_cdf(math.nan, 3)
