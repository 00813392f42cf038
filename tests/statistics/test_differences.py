"""Differences: tests are pROC's, intervals contain what rounding took away, and cover as they say."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from ppaurora.errors import InputError
from ppaurora.statistics.auroc import delong_variance
from ppaurora.statistics.differences import (
    BETWEEN_FRACTIONS,
    Difference,
    paired_difference,
    satterthwaite,
    unpaired_difference,
)
from ppaurora.statistics.estimates import (
    Estimate,
    delong_estimate,
    error_digits_beside,
    index_estimate,
    log_estimate,
    normal_estimate,
)
from ppaurora.statistics.intervals import normal_interval, wilson_interval
from ppaurora.statistics.student import student_cdf, student_quantile
from tests.support.oracles import defined, exact_auroc
from tests.support.proc import asah_from_proc, run_proc

Z = NormalDist().inv_cdf(0.975)


def wins(y_true: Sequence[int], y_score: Sequence[float]) -> list[list[Fraction]]:
    """For every positive and every negative: 1 if the positive is above, 1/2 if they are equal."""
    positives = [score for label, score in zip(y_true, y_score, strict=True) if label]
    negatives = [score for label, score in zip(y_true, y_score, strict=True) if not label]
    return [[Fraction((p > n) + (p >= n), 2) for n in negatives] for p in positives]


def delong_difference(
    y_true: Sequence[int], one: Sequence[float], other: Sequence[float]
) -> tuple[Fraction, Fraction]:
    """The difference of two AUROCs on the same samples and its variance, pair by pair, exactly."""
    table = [
        [a - b for a, b in zip(row, other_row, strict=True)]
        for row, other_row in zip(wins(y_true, one), wins(y_true, other), strict=True)
    ]
    p, n = len(table), len(table[0])
    mean = Fraction(sum(map(sum, table)), p * n)
    variance = Fraction(0)
    for lines, across in ((table, n), (list(zip(*table, strict=True)), p)):
        means = [Fraction(sum(line), across) for line in lines]
        variance += sum((one - mean) ** 2 for one in means) / Fraction((len(means) - 1) * len(means))
    return mean, variance


def listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{float(number):.17g}" for number in numbers)


def curve(name: str, y_true: Sequence[int], y_score: Sequence[float]) -> str:
    return f'{name} <- roc(c({listed(y_true)}), c({listed(y_score)}), levels = c(0, 1), direction = "<")'


def of_proc(curves: Sequence[str], *, paired: bool) -> list[float]:
    """Statistic, p and, of unpaired curves, degrees of freedom; of paired ones, the interval."""
    lines = "\n".join(curves)
    said = run_proc(f"""
        {lines}
        found <- suppressWarnings(roc.test(a, b, method = "delong", paired = {str(paired).upper()}))
        numbers <- c(found$statistic, found$p.value, {"found$conf.int" if paired else "found$parameter"})
        cat(sprintf("%.17g\\n", numbers), sep = "")
    """)
    return [math.nan if one in ("NaN", "NA") else float(one) for one in said]


def our_auroc(y_true: Sequence[int], y_score: Sequence[float], digits: int | None = None) -> Estimate:
    auroc = float(defined(exact_auroc(list(zip(y_score, y_true, strict=True)))))
    error = math.sqrt(delong_variance(y_true, y_score))
    if digits is None:
        return delong_estimate(auroc, error, 0.95)
    return delong_estimate(round(auroc, digits), round(error, digits + 1), 0.95, digits)


def drawn(random: np.random.Generator, size: int, scores: int) -> tuple[list[int], list[float], list[float]]:
    """Labels and two scores that go together, with ties."""
    y_true = [1, 1, 0, 0, *(random.random(size) < 0.4).astype(int).tolist()]
    common = random.normal(size=size + 4) + np.array(y_true)
    one, other = (np.round((common + random.normal(size=size + 4)) * scores) / 7 for _ in range(2))
    return y_true, one.tolist(), other.tolist()


def test_paired_as_proc_on_its_example() -> None:
    asah = asah_from_proc()
    for first, second, z, p in (
        ("wfns", "s100b", 2.2089836, 0.0271758),
        ("s100b", "ndka", 1.3907700, 0.1642952),
    ):
        one, other = asah.y_scores[first], asah.y_scores[second]
        value, variance = delong_difference(asah.y_true, one, other)
        found = paired_difference(float(value), math.sqrt(variance), 0.95)
        assert [found.z, found.p_value] == pytest.approx([z, p], abs=1e-6)
        curves = [curve("a", asah.y_true, one), curve("b", asah.y_true, other)]
        theirs = of_proc(curves, paired=True)
        assert [found.z, found.p_value, *(found.interval or ())] == pytest.approx(theirs, rel=1e-9)
        assert found.degrees_of_freedom is None
        assert found.note == ""


def test_paired_as_proc_on_random_data_with_ties() -> None:
    random = np.random.default_rng(24)
    for size, scores in ((8, 1), (30, 2), (60, 1), (60, 100)):
        y_true, one, other = drawn(random, size, scores)
        value, variance = delong_difference(y_true, one, other)
        found = paired_difference(float(value), math.sqrt(variance), 0.95, within=(-9, 9))
        theirs = of_proc([curve("a", y_true, one), curve("b", y_true, other)], paired=True)
        assert [found.z, found.p_value, *(found.interval or ())] == pytest.approx(theirs, rel=1e-8, abs=1e-9)


def test_identical_models_as_proc() -> None:
    y_true, one, _ = drawn(np.random.default_rng(3), 20, 2)
    assert delong_difference(y_true, one, one) == (Fraction(0), Fraction(0))
    found = paired_difference(0.0, 0.0, 0.95)
    assert of_proc([curve("a", y_true, one), curve("b", y_true, one)], paired=True)[:2] == [0, 1]
    assert (found.z, found.p_value, found.interval) == (0, 1, (0, 0))
    assert "the interval has no width" in found.note
    assert "can mislead" in found.note
    assert found.test_line() == "Z = 0, p = 1.0000"


def test_a_standard_error_of_0_beside_a_difference_has_no_test() -> None:
    for digits in (None, 3):
        found = paired_difference(0.5, 0.0, 0.95, digits)
        assert (found.z, found.p_value, found.test_line()) == (None, None, "")
        assert "can mislead" in found.note
        assert "no test: the standard error is 0" in found.note
    assert paired_difference(0.5, 0.0, 0.95).interval == (0.5, 0.5)


def test_without_a_standard_error_there_is_only_the_difference() -> None:
    found = paired_difference(0.12, None, 0.95, 2)
    assert (found.value, found.interval, found.z, found.p_value) == (0.12, None, None, None)
    assert found.note == "no interval and no test: there is no standard error"
    with pytest.raises(InputError, match="confidence_level"):
        paired_difference(0.12, None, 95)


def test_rounding_is_in_the_paired_interval_and_the_bound_of_the_error_beside_it() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        value, error, off = random.uniform(-0.3, 0.3), random.uniform(0, 0.1), random.uniform(0.001, 0.01)
        exact = normal_interval(value, error, 0.95, within=BETWEEN_FRACTIONS)
        found = paired_difference(round(value, 3), round(error, 4), 0.95, 3, error_bound=off)
        assert found.interval is not None
        assert found.interval[0] <= exact[0] <= exact[1] <= found.interval[1]
        assert (found.error_bound, found.digits) == (off, 3)
        assert found.note.startswith("the standard error is within ")
        width = 2 * (0.0005 + Z * (round(error, 4) + 0.00005))
        assert found.interval[1] - found.interval[0] == pytest.approx(width)


def test_a_test_of_rounded_numbers_says_so() -> None:
    found = paired_difference(0.092, 0.0418, 0.95, 3)
    assert found.z == 0.092 / 0.0418
    assert found.note.startswith("the test uses the rounded values")
    assert paired_difference(0.092, 0.0418, 0.95).note == ""


@pytest.mark.parametrize(
    ("difference", "line"),
    [
        (Difference(0.1, z=2.2089836, p_value=0.0271758), "Z = 2.209, p = 0.0272"),
        (Difference(0.1, z=-12.3456, p_value=1e-30), "Z = -12.35, p < 0.0001"),
        (Difference(0.1, z=3.89, p_value=0.0001), "Z = 3.89, p = 0.0001"),
        (
            Difference(0.1, z=1.0, p_value=0.3194, degrees_of_freedom=110.123),
            "D = 1, df = 110.12, p = 0.3194",
        ),
        (Difference(0.1), ""),
    ],
)
def test_the_line_of_a_test(difference: Difference, line: str) -> None:
    assert difference.test_line() == line


def test_unpaired_as_proc_on_random_data_with_ties() -> None:
    random = np.random.default_rng(7)
    for sizes, scores in (((8, 30), 1), ((40, 25), 2), ((60, 200), 1), ((100, 100), 50)):
        (true_a, score_a, _), (true_b, score_b, _) = (drawn(random, size, scores) for size in sizes)
        found = unpaired_difference(
            our_auroc(true_a, score_a), our_auroc(true_b, score_b), 0.95, len(true_a), len(true_b)
        )
        theirs = of_proc([curve("a", true_a, score_a), curve("b", true_b, score_b)], paired=False)
        assert [found.z, found.p_value, found.degrees_of_freedom] == pytest.approx(theirs, rel=1e-9)
        assert found.degrees_of_freedom is not None
        reach = student_quantile(0.975, found.degrees_of_freedom) * (found.standard_error or 0)
        assert found.value is not None
        assert found.interval == pytest.approx((found.value - reach, found.value + reach))
        assert (found.method, found.note) == ("DeLong, unpaired", "")


def test_unpaired_without_numbers_of_samples_is_normal() -> None:
    a, b = delong_estimate(0.8, 0.03, 0.95), delong_estimate(0.7, 0.04, 0.9)
    for samples in ((None, None), (100, None)):
        found = unpaired_difference(a, b, 0.95, *samples)
        assert found.degrees_of_freedom is None
        assert found.standard_error == pytest.approx(0.05)
        assert found.z == pytest.approx(2)
        assert found.p_value == pytest.approx(2 * NormalDist().cdf(-2))
        assert found.interval == pytest.approx((0.1 - Z * 0.05, 0.1 + Z * 0.05))


def test_unpaired_standard_errors_of_0_have_no_test() -> None:
    """Where pROC has NaN."""
    perfect = [0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0]
    theirs = of_proc([curve("a", *perfect), curve("b", *perfect)], paired=False)
    assert all(map(math.isnan, theirs))
    one = our_auroc(*perfect)
    found = unpaired_difference(one, one, 0.95, 5, 5)
    assert (found.z, found.p_value, found.degrees_of_freedom, found.interval) == (None, None, None, (0, 0))
    assert "can mislead" in found.note
    assert "no test" in found.note
    rounded, exact = delong_estimate(1.0, 0.0, 0.95, 3), delong_estimate(1.0, 0.0, 0.95)
    assert unpaired_difference(rounded, exact, 0.95, 5, 5).z is None
    small = replace(rounded, standard_error=0.00004)
    assert unpaired_difference(small, exact, 0.95, 5, 5).degrees_of_freedom == pytest.approx(4)


def test_satterthwaite_lies_between_the_smaller_class_and_all() -> None:
    assert satterthwaite(0.1, 0.1, 50, 50) == pytest.approx(98)
    assert satterthwaite(0.1, 0.0, 50, 20) == pytest.approx(49)
    assert satterthwaite(1e-200, 1e-200, 50, 50) == pytest.approx(98)


def test_the_unpaired_interval_contains_that_of_the_exact_numbers() -> None:
    random = np.random.default_rng(2)
    for digits_a, digits_b in itertools.product((None, 1, 2, 3), repeat=2):
        for _ in range(40):
            values, errors = random.uniform(0.5, 0.95, 2), random.uniform(0.001, 0.1, 2)
            samples = [int(one) for one in random.integers(4, 60, 2)]
            exact, released = (
                [
                    delong_estimate(round(value, digits), round(error, digits + 1), 0.95, digits)
                    if digits is not None
                    else delong_estimate(value, error, 0.95)
                    for value, error, digits in zip(values, errors, each, strict=True)
                ]
                for each in ((None, None), (digits_a, digits_b))
            )
            inner = unpaired_difference(exact[0], exact[1], 0.9, *samples).interval
            outer = unpaired_difference(released[0], released[1], 0.9, *samples).interval
            assert inner is not None
            assert outer is not None
            assert outer[0] <= inner[0] + 1e-12
            assert inner[1] <= outer[1] + 1e-12


def test_a_rounded_difference_is_that_of_the_numbers_that_are_shown() -> None:
    a, b = delong_estimate(0.774, 0.0158, 0.95, 3), delong_estimate(0.73, 0.052, 0.95, 2)
    found = unpaired_difference(a, b, 0.95)
    assert (found.value, found.shown()) == (0.044, "0.044")
    assert "the test uses the rounded values" in found.note
    assert unpaired_difference(b, a, 0.95).value == -0.044


def noisy(value: float, low: float, high: float, digits: int = 3, level: float = 0.95) -> Estimate:
    return Estimate(
        value, interval=(low, high), method="Newcombe, with noise", confidence_level=level, digits=digits
    )


def test_numbers_with_noise_by_the_recovery_of_variances() -> None:
    a, b = noisy(0.8, 0.7, 0.85, 12), noisy(0.6, 0.55, 0.72, 12)
    found = unpaired_difference(a, b, 0.95, 100, 100)
    expected = 0.2 - math.hypot(0.1, 0.12), 0.2 + math.hypot(0.05, 0.05)
    assert found.interval == pytest.approx(expected)
    assert (found.method, found.z, found.p_value, found.standard_error) == ("MOVER", None, None, None)
    assert "no test" in found.note
    lacking = unpaired_difference(a, noisy(0.6, 0.55, 0.72, level=0.9), 0.95)
    assert lacking.interval is None
    assert "no interval of the level 0.95" in lacking.note


def test_newcombes_interval_of_a_difference_of_proportions() -> None:
    """The example of R. G. Newcombe, Statistics in Medicine 17, 1998, method 10: 56/70 - 48/80."""
    a, b = (
        Estimate(s / n, interval=wilson_interval(s, n, 0.95), method="Wilson", confidence_level=0.95)
        for s, n in ((56, 70), (48, 80))
    )
    found = unpaired_difference(a, b, 0.95)
    assert [round(bound, 4) for bound in found.interval or ()] == [0.0524, 0.3339]


def test_rounding_of_values_is_in_the_recovered_interval() -> None:
    random = np.random.default_rng(6)
    for _ in range(200):
        exact, released = [], []
        for _ in range(2):
            value, down, up = random.uniform(0.5, 0.9), *random.uniform(0, 0.1, 2)
            one = noisy(value, value - down, value + up, 12)
            exact.append(one)
            shown = round(value, 2)
            low, high = min(value - down, shown), max(value + up, shown)
            released.append(replace(one, value=shown, interval=(low, high), digits=2))
        inner, outer = (unpaired_difference(pair[0], pair[1], 0.95).interval for pair in (exact, released))
        assert inner is not None
        assert outer is not None
        assert outer[0] <= inner[0] + 1e-11
        assert inner[1] <= outer[1] + 1e-11


@pytest.mark.parametrize(
    "other",
    [
        log_estimate(1.1, 0.1, 0.95),
        index_estimate(0.05, 0.01, 0.01, 0.95),
        noisy(0.7, 0.6, 0.8),
        replace(noisy(0.7, 0.6, 0.8), standard_error=0.4, method="random effects, Hartung-Knapp"),
    ],
)
def test_a_standard_error_on_another_scale_is_not_taken_for_one(other: Estimate) -> None:
    plain = normal_estimate(0.6, 0.05, 0.9)
    for pair in ((other, other), (plain, other), (other, plain)):
        found = unpaired_difference(*pair, 0.95)
        assert found.method == "MOVER"
        assert found.interval is not None
        assert found.z is None


def test_differences_of_what_is_withheld_or_undefined() -> None:
    one = delong_estimate(0.8, 0.03, 0.95)
    found = unpaired_difference(one, Estimate(None, suppressed=True), 0.95)
    assert (found.suppressed, found.value, found.note) == (True, None, "one of the two numbers is suppressed")
    found = unpaired_difference(Estimate(None, note="no samples"), one, 0.95)
    assert (found.suppressed, found.note) == (False, "one of the two numbers is undefined")
    alone = delong_estimate(0.8, None, 0.95)
    assert "no interval and no test" in unpaired_difference(one, alone, 0.95).note


def test_bounds_of_grids_add_up() -> None:
    one = replace(delong_estimate(0.8, 0.03, 0.95), grid_bound=0.25)
    other = delong_estimate(0.7, 0.03, 0.95)
    found = unpaired_difference(one, replace(other, grid_bound=0.5), 0.95)
    assert found.grid_bound == 0.75
    assert "reading scores on a grid changed it by at most 0.75" in found.note
    assert unpaired_difference(one, other, 0.95).grid_bound == 0.25
    assert unpaired_difference(other, other, 0.95).grid_bound is None


def test_too_few_samples_and_levels_that_are_none_are_refused() -> None:
    one = delong_estimate(0.8, 0.03, 0.95)
    with pytest.raises(InputError, match="at least 2"):
        unpaired_difference(one, one, 0.95, 1, 50)
    with pytest.raises(InputError, match="confidence_level"):
        unpaired_difference(one, one, 95)


def test_they_are_written_and_read_as_they_are() -> None:
    one = delong_estimate(0.8, 0.03, 0.95, 3)
    for estimate in (
        one,
        Estimate(None, suppressed=True),
        paired_difference(0.1, 0.03, 0.95, 3, error_bound=0.001),
        unpaired_difference(one, delong_estimate(0.7, 0.05, 0.95), 0.95, 70, 80),
    ):
        content = json.loads(json.dumps(estimate.to_dict()))
        assert type(estimate).from_dict(content) == estimate
    assert {"z", "p_value", "degrees_of_freedom", "error_bound"} <= set(Difference(0.1).to_dict())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"more": 1}, "with the fields value"),
        ({"value": "0.8"}, "Expected"),
        ({"value": True}, "Expected"),
        ({"value": None}, "without a value"),
        ({"interval": [0.1]}, "Expected"),
        ({"interval": [0.9, 0.7]}, "ends below its beginning"),
        ({"standard_error": -0.1}, "negative"),
        ({"digits": 3.5}, "Expected"),
        ({"digits": -400}, "from 0 to 12"),
        ({"confidence_level": 95}, "confidence_level"),
        ({"suppressed": True}, "nothing but a note"),
    ],
)
def test_what_is_no_estimate_is_not_read(change: dict[str, object], says: str) -> None:
    content = delong_estimate(0.8, 0.03, 0.95, 3).to_dict()
    assert Estimate.from_dict(content).value == 0.8
    with pytest.raises(InputError, match=says):
        Estimate.from_dict({**content, **change})
    del content["note"]
    others: tuple[object, ...] = (content, [], None)
    for other in others:
        with pytest.raises(InputError, match="is not an estimate"):
            Estimate.from_dict(other)


def test_a_standard_error_has_one_digit_more_of_up_to_six() -> None:
    assert [error_digits_beside(digits) for digits in (None, 0, 3, 5, 6)] == [None, 1, 4, 6, 6]


def coverage(studies: int, seed: int) -> tuple[float, float]:
    """How often intervals of 95 % contain the true difference, of two studies that are rounded; and p < 0.05
    where there is none."""
    random = np.random.default_rng(seed)
    # One score of each is normal: AUROC is Φ(shift/sqrt(2)).
    shifts, sizes = (0.9, 1.4), ((30, 60), (25, 100))
    truth = [NormalDist().cdf(shift / math.sqrt(2)) for shift in shifts]
    covered = rejected = 0
    for _ in range(studies):
        found = []
        for shift, (positives, negatives) in zip((*shifts, shifts[0]), (*sizes, sizes[1]), strict=True):
            y_true = [1] * positives + [0] * negatives
            y_score = np.concatenate([random.normal(shift, 1, positives), random.normal(0, 1, negatives)])
            found.append(our_auroc(y_true, y_score.tolist(), digits=3))
        total = [sum(size) for size in sizes]
        low, high = unpaired_difference(found[0], found[1], 0.95, *total).interval or (1.0, -1.0)
        covered += low <= truth[0] - truth[1] <= high
        rejected += (unpaired_difference(found[0], found[2], 0.95, *total).p_value or 0) < 0.05
    return covered / studies, rejected / studies


def test_intervals_of_rounded_studies_cover_as_often_as_they_say() -> None:
    covered, rejected = coverage(300, 11)
    assert 0.92 <= covered <= 0.985
    assert 0.02 <= rejected <= 0.08


@pytest.mark.long
def test_intervals_of_rounded_studies_cover_in_many_studies() -> None:
    covered, rejected = coverage(5_000, 12)
    assert 0.94 <= covered <= 0.965
    assert 0.038 <= rejected <= 0.062


def test_p_is_two_sided() -> None:
    a, b = delong_estimate(0.8, 0.05, 0.95), delong_estimate(0.7, 0.05, 0.95)
    one, other = unpaired_difference(a, b, 0.95, 30, 30), unpaired_difference(b, a, 0.95, 30, 30)
    assert one.p_value == other.p_value
    assert one.z is not None
    assert one.p_value == pytest.approx(2 * (1 - student_cdf(one.z, 58)))
