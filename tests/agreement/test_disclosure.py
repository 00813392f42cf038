"""What `ppaurora disclosure` says is computed: against brute force, and at the equations' typical values."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ppaurora.agreement.disclosure import (
    FLOAT64_STEP,
    disclosure,
    largest_class_told,
    numbers_left_by_pairs,
    smallest_sizes,
)
from ppaurora.agreement.terms import Terms
from ppaurora.cli.main import main
from ppaurora.metrics import METRICS, Metric, find_metric, metrics_named
from ppaurora.metrics.facts import Recovery
from ppaurora.policy.rules import Policy
from ppaurora.study.plan import SAMPLE


def fits(released: float, positives: int, samples: int, digits: int | None) -> bool:
    """Whether some area of so many positives is released as this number; all areas are tried."""
    denominator = 2 * positives * (samples - positives)
    areas = [Fraction(a, denominator) for a in range(denominator + 1)]
    if digits is None:
        return any(float(area) == released for area in areas)
    return any(round(float(area), digits) == released for area in areas)


@pytest.mark.parametrize(("samples", "digits"), [(24, None), (24, 1), (24, 2), (24, 3), (30, 3)])
def test_numbers_left_by_auroc_are_those_of_brute_force(samples: int, digits: int | None) -> None:
    random = np.random.default_rng(samples)
    counted = []
    for _ in range(12):
        positives = int(random.integers(3, samples - 2))
        denominator = 2 * positives * (samples - positives)
        exact = Fraction(int(random.integers(denominator // 2, denominator)), denominator)
        released = float(exact) if digits is None else round(float(exact), digits)
        counted.append(sum(fits(released, p, samples, digits) for p in range(1, samples)))
    step = FLOAT64_STEP if digits is None else 10.0**-digits
    found = numbers_left_by_pairs(samples, step, parts=2)
    assert found == pytest.approx(np.median(counted), rel=0.5)


def test_exact_areas_tell_and_rounded_ones_do_not() -> None:
    assert numbers_left_by_pairs(1_000, FLOAT64_STEP, parts=2) < 2.5
    assert numbers_left_by_pairs(100_000, FLOAT64_STEP, parts=2) < 10
    assert numbers_left_by_pairs(1_000, 0.01, parts=2) > 900
    assert numbers_left_by_pairs(1_000_000, 0.0001, parts=2) > 990_000
    # The sum of 2·P·(n - P)·step over all P is about step·n³/3; and as many as can be are left in the end.
    assert numbers_left_by_pairs(200_000, 1e-13, parts=2) == pytest.approx(1e-13 * 200_000**3 / 3, rel=1e-3)
    for samples in (1 << 30, 10**12):
        assert numbers_left_by_pairs(samples, 0.0001, parts=2) == pytest.approx(samples, rel=1e-3)


def test_a_standard_error_is_spoken_of_where_there_is_one() -> None:
    for names, spoken in ((("auroc", "ap"), True), (("ap",), False)):
        terms = Terms(metrics=metrics_named(*names), confidence_level=0.95, policy=Policy(counts="hidden"))
        told = disclosure(terms, [400] * 3).told
        assert any("standard errors with one more" in said for said in told) is spoken
        assert any(said.endswith("the standard error") for said in told) is spoken


RECOVERIES = [(metric, recovery) for metric in METRICS.values() for recovery in metric.recoveries]


@pytest.mark.parametrize(
    ("metric", "recovery"), RECOVERIES, ids=[f"{one.name} {' '.join(way.others)}" for one, way in RECOVERIES]
)
def test_the_equations_give_the_prevalence(metric: type[Metric], recovery: Recovery) -> None:
    """At the values that are typical of a prevalence of 0.2."""
    values = [one.sample().typical() for one in (metric, *map(find_metric, recovery.others))]
    assert recovery.solve(*values) == pytest.approx(0.2)


def test_there_are_equations() -> None:
    assert len(RECOVERIES) >= 7


def at(*names: str) -> tuple[object, ...]:
    return tuple(find_metric(name)(thresholds=(0.5,)) for name in names)


def test_words() -> None:
    sizes = [400, 400, 400]
    hidden = Policy(counts="hidden")
    rounded = disclosure(Terms(metrics=metrics_named("auroc"), policy=hidden), sizes)
    assert rounded.warnings == ()
    assert any("with 3 decimals" in said for said in rounded.told)
    assert any("1,199 of 1,199" in said for said in rounded.told)
    exact = disclosure(Terms(metrics=metrics_named("auroc"), policy=Policy.exact(counts="hidden")), sizes)
    assert any("mostly follow" in said for said in exact.warnings)
    assert any("full precision" in said for said in exact.warnings)
    three = at("sensitivity", "specificity", "accuracy")
    together = disclosure(Terms(metrics=three, policy=hidden), sizes)  # type: ignore[arg-type]
    assert any("accuracy and sensitivity and specificity" in said for said in together.told)
    told = disclosure(Terms(metrics=metrics_named("auroc"), policy=Policy()), sizes)
    assert any("nearest 5" in said for said in told.told)


def test_every_fraction_of_pairs_tells() -> None:
    for name, title in (("auroc", "AUROC"), ("youden_j", "Youden's J")):
        exact = disclosure(
            Terms(metrics=metrics_named(name), policy=Policy.exact(counts="hidden")), [400] * 3
        )
        assert any(said.startswith(f"from {title} alone") for said in exact.warnings)


def test_what_one_person_changes_is_told() -> None:
    """With at least 10 of each class among 1,200 people: 1/10 of AUROC, 1/1,200 of the Brier score."""
    policy = Policy(minimum_positives=10, minimum_negatives=10)
    told = disclosure(Terms(metrics=metrics_named("auroc", "brier", "aupr"), policy=policy), [400] * 3).told
    (said,) = [one for one in told if one.startswith("replacing one person")]
    assert "AUROC by 0.1," in said
    assert "Brier score by 0.00083 at most" in said
    assert said.endswith("no useful bound for AUPR")
    (said,) = [
        one for one in disclosure(Terms(metrics=metrics_named("aupr")), [400] * 3).told if "one person" in one
    ]
    assert said == "there is no useful bound on how far replacing one person changes AUPR"


def test_thresholds_next_to_each_other_are_a_warning() -> None:
    for thresholds, warned in (((0.5,), False), ((0.5, 0.50001), True)):
        terms = Terms(metrics=(find_metric("f1")(thresholds=thresholds),))
        assert any("thresholds" in said for said in disclosure(terms, [400] * 3).warnings) is warned


@pytest.mark.parametrize(("decimals", "rates"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_a_rare_class_follows_from_its_rates(decimals: int, rates: int) -> None:
    """By brute force: how many smaller numbers fit rates of a class of so many, typically.

    Primes, for a rate that can be reduced fits smaller numbers anyway.
    """
    random = np.random.default_rng(decimals + rates)
    most = largest_class_told(10**9, decimals, rates)
    for limit, told in ((most / 2, True), (min(most * 2, 10**decimals), False)):
        members = max(n for n in range(2, int(limit)) if all(n % d for d in range(2, n)))
        others = []
        for _ in range(200):
            rounded = np.round(random.integers(1, members, rates) / members, decimals)
            smaller = np.arange(1, members)[:, np.newaxis]
            gaps = np.abs(np.round(rounded * smaller) / smaller - rounded)
            others.append(int((gaps <= 0.5 * 10.0**-decimals + 1e-12).all(axis=1).sum()))
        assert bool(np.median(others) < 1) is told


def test_what_a_rate_tells_is_a_warning() -> None:
    rare = at("sensitivity", "specificity")
    said = disclosure(Terms(metrics=rare, policy=Policy(counts="hidden")), [20_000] * 3).warnings  # type: ignore[arg-type]
    assert any("from sensitivity alone the number of positives mostly follows" in one for one in said)
    assert any("from specificity alone the number of negatives mostly follows" in one for one in said)
    counted = Terms(metrics=rare, policy=Policy())  # type: ignore[arg-type]
    assert not any("alone the number" in one for one in disclosure(counted, [20_000] * 3).warnings)


def test_smallest_sizes_have_a_decimal() -> None:
    terms = Terms(metrics=metrics_named("auroc"), policy=Policy(minimum_samples=2))
    assert terms.problem_with(smallest_sizes(terms, 3)) == ""
    assert terms.problem_with([size - 1 for size in smallest_sizes(terms, 3)]) != ""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text(SAMPLE.replace('organisation = "Second University"', 'organisation = "first university"'))
    code, out, _ = run(capsys, "disclosure", str(plan), "--samples", "500,500,500")
    assert code == 0
    assert "each has 500 samples" in out
    assert "warning: proxy 0 and proxy 1 are run by one organisation" in out
    code, out, _ = run(capsys, "disclosure", str(plan), "--samples", "5000,50,50")
    assert code == 0
    assert "there will be no result: one owner has more than" in out
    for bad in ("500,500", "a,b,c", "0,5,5"):
        code, _, err = run(capsys, "disclosure", str(plan), "--samples", bad)
        assert code == 2
        assert "--samples" in err
