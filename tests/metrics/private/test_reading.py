"""What owners read from noisy integers: the metrics themselves, with what noise did to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.agreement.terms import Terms
from ppaurora.data import Samples
from ppaurora.errors import InputError, ProtocolError
from ppaurora.metrics import METRICS, Metric, find_metric
from ppaurora.metrics.private import release
from ppaurora.metrics.private.budget import delta
from ppaurora.metrics.reading import ReleasedResult, read_release
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.suites.base import Suite
from tests.support.private import BINS, THRESHOLDS, exact_integers

LEVEL = 0.95
CURVES = ("roc_curve", "precision_recall_curve")
AT_THRESHOLDS = ("sensitivity", "specificity", "ppv", "npv", "f1", "accuracy", "net_benefit", *CURVES)
IN_BINS = ("reliability", "histogram", "smooth_calibration", "ici")
ALONE = ("auroc", "brier", "observed_expected", "calibration_in_the_large")
RECALIBRATED = ("calibration_intercept", "calibration_slope")
PRIVATE = (*ALONE, *AT_THRESHOLDS, *IN_BINS)


def metric(name: str) -> Metric:
    if name in AT_THRESHOLDS:
        return find_metric(name)(thresholds=THRESHOLDS)
    return find_metric(name)(bins=BINS) if name in IN_BINS else find_metric(name)()


def drawn(size: int, seed: int = 3) -> Samples:
    """Scores on edges are among them."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < 0.3).astype(np.uint8)
    scores = np.round(1 / (1 + np.exp(1 - 1.5 * labels - rng.normal(size=size))), 2)
    return Samples("people", scores, labels)


def read(
    samples: Samples,
    names: Sequence[str],
    noise: int = 0,
    epsilon: float = 2.0,
    level: float | None = LEVEL,
    negated: bool = False,
) -> ReleasedResult:
    """Read the exact integers of a study, each with that much noise times its steps."""
    terms = Terms(metrics=tuple(map(metric, names)), confidence_level=level, policy=Policy.private(epsilon))
    query = terms.query((len(samples),), negated=negated)
    integers = [
        integer + noise * coordinate.steps
        for mechanism in query.mechanisms
        for integer, coordinate in zip(exact_integers(mechanism, samples), mechanism.coordinates, strict=True)
    ]
    return read_release(np.array([[1, *integers], [0] * (1 + len(integers))]).astype(np.uint64), query, ())


def numbers(found: Estimate | Table) -> list[tuple[str, Estimate]]:
    if isinstance(found, Estimate):
        return [("", found)]
    return [(name, estimate) for row in found for name, estimate in row.values.items()]


def is_near(estimate: Estimate, expected: float) -> bool:
    assert estimate.value is not None
    assert estimate.digits is not None
    return abs(estimate.value - expected) <= 0.5001 * 10.0**-estimate.digits + 1e-6


@pytest.mark.parametrize("names", [*((name,) for name in PRIVATE), PRIVATE], ids=lambda names: names[0])
def test_without_noise_it_is_the_metric(names: Sequence[str]) -> None:
    """Up to the digits that are shown; AUROC's integers are rounded to 1/64 of a sample, besides."""
    samples = drawn(4000)
    result = read(samples, names, epsilon=16.0)
    assert not result.suppressed
    assert result.epsilon == 16.0
    for name in names:
        found, expected = result.metrics[name], metric(name).reference(samples.labels, samples.scores)
        if isinstance(found, Estimate):
            assert is_near(found, expected) or (name == "auroc" and abs((found.value or 0) - expected) < 1e-4)
            continue
        for row, reference in zip(found, expected, strict=True):
            assert all(is_near(row[column], value) for column, value in reference.items())
    told = result.positives
    assert told is None if names in (("auroc",), ("brier",)) else told == int(samples.labels.sum())


def test_the_number_of_positives_is_what_has_the_least_noise() -> None:
    """A known total takes noise away that all cells have in common, so it is seen which of both it was."""
    samples = drawn(4000)
    true, of_sums = int(samples.labels.sum()), "observed_expected"
    assert read(samples, ("histogram",), noise=3).positives == true
    assert read(samples, (of_sums,), noise=3).positives == true + 3
    assert read(samples, (of_sums, "histogram"), noise=3).positives == true + 3  # of many cells


def test_thresholds_of_scores_of_which_the_lower_are_positive() -> None:
    """A sample is called positive if its score is at most the threshold; bins are those of the source."""
    samples = drawn(3000).negate()
    of_source = Samples("people", samples.scores_of_source, 1 - samples.labels)
    samples = Samples("people", -of_source.scores, of_source.labels, negated=True)
    names = ("sensitivity", "specificity", "accuracy", "ppv", "npv", "f1", "histogram")
    result = read(samples, names, epsilon=16.0, negated=True)
    for place, threshold in enumerate(THRESHOLDS):
        called = of_source.scores <= threshold
        positive = of_source.labels == 1
        expected = {
            "sensitivity": called[positive].mean(),
            "specificity": (~called[~positive]).mean(),
            "accuracy": (called == positive).mean(),
            "ppv": positive[called].mean(),
            "npv": (~positive[~called]).mean(),
        }
        for name, value in expected.items():
            found = result.metrics[name]
            assert isinstance(found, Table)
            assert is_near(found[place][name], value), name
    histogram = result.metrics["histogram"]
    assert isinstance(histogram, Table)
    counted = np.histogram(of_source.scores[of_source.labels == 1], BINS)[0]
    assert [row["positives"].value for row in histogram] == counted.tolist()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_program_reads_what_the_servers_give(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the protocol, with the noise left out, and with intervals."""

    def none(suite: Suite, rates: Sequence[Any]) -> Any:
        return suite.constant(0, len(rates))

    monkeypatch.setattr(release, "two_sided_geometric", none)
    samples = drawn(300)
    halves = [(samples.labels[k::2], samples.scores[k::2]) for k in (0, 1)]
    report = ppaurora.evaluate(
        halves,
        metrics=[metric(name) for name in PRIVATE],
        policy=Policy.private(4.0),
        confidence_level=LEVEL,
        workers=workers,
    )
    assert report.metrics == read(samples, PRIVATE, epsilon=4.0).metrics
    assert report.positives == int(samples.labels.sum())
    assert not report.suppressed


@pytest.mark.parametrize("noise", [-10_000, -40, 40, 10_000])
@pytest.mark.parametrize("level", [None, LEVEL])
def test_whatever_noise_there_is_numbers_are_possible_ones(noise: int, level: float | None) -> None:
    samples = drawn(30)
    result = read(samples, PRIVATE, noise, level=level)
    assert result.positives is not None
    assert 0 <= result.positives <= len(samples)
    lowest = {"calibration_in_the_large": -1.0, "net_benefit": -1.0}
    for name, found in result.metrics.items():
        for column, estimate in numbers(found):
            assert estimate.note
            if estimate.value is None:
                continue
            most = {"observed_expected": 100.0}.get(name, 1.0)
            if column in ("samples", "positives", "negatives", "called_positive", "called_negative"):
                most = float(len(samples))
            assert lowest.get(name, 0.0) <= estimate.value <= most
            if estimate.interval is not None:
                low, high = estimate.interval
                assert lowest.get(name, 0.0) <= low <= estimate.value <= high <= most


def test_a_number_that_noise_drowns_is_not_there() -> None:
    result = read(drawn(30), ("auroc", "observed_expected"), noise=-10_000)
    for found in result.metrics.values():
        for _, estimate in numbers(found):
            if estimate.digits != 0:
                assert estimate.value is None
                assert not estimate.suppressed
                assert "too few samples" in estimate.note


def test_an_interval_says_how_much_wider_noise_makes_it() -> None:
    wide, narrow = (read(drawn(2000), ("auroc",), epsilon=epsilon).metrics["auroc"] for epsilon in (0.5, 8.0))
    assert isinstance(wide, Estimate)
    assert isinstance(narrow, Estimate)
    assert wide.interval is not None
    assert narrow.interval is not None
    assert wide.interval[0] < narrow.interval[0] < narrow.interval[1] < wide.interval[1]
    assert narrow.note == "noise makes the interval 0 % wider"
    assert wide.note.endswith("% wider")
    assert wide.method == "Newcombe, with noise"
    assert (wide.digits, narrow.digits) == (3, 4)


def test_counts_that_are_the_same_twice_have_less_noise() -> None:
    """All samples are known in public, so half of the noise of one class is known, too."""
    found = read(drawn(500), ("histogram",)).metrics["histogram"]
    assert isinstance(found, Table)
    alone = math.sqrt(2) / (2 / 2.0)  # two of scale sensitivity/epsilon, roughly
    deviation = float(found[0]["positives"].note.removeprefix("noise has a standard deviation of "))
    assert 0.8 * alone < deviation < alone


def test_parts_that_do_not_belong_together_are_refused() -> None:
    terms = Terms(metrics=(metric("auroc"),), policy=Policy.private())
    query = terms.query((10, 10))
    for words in ([[0, 5, 6], [0, 0, 0]], [[1, 5, 6], [0, 1, 0]], [[2, 5, 6], [0, 0, 0]]):
        with pytest.raises(ProtocolError, match="do not belong together"):
            read_release(np.array(words, dtype=np.uint64), query, ())


def test_what_has_no_mechanism_is_refused_with_what_has() -> None:
    assert {name for name in METRICS if METRICS[name].sample().mechanism() is not None} == {
        *PRIVATE,
        *RECALIBRATED,
    }
    for name in {*METRICS} - {*PRIVATE} - {*RECALIBRATED}:
        with pytest.raises(InputError, match=f"'{name}' cannot be released with noise .* computes: auroc"):
            Terms(metrics=(METRICS["auroc"](), METRICS[name].sample()), policy=Policy.private())


def test_noise_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(InputError, match="too much noise"):
        Terms(metrics=(METRICS["brier"](),), policy=Policy.private(0.001, rows_per_person=1_000_000))


def test_the_rest_beyond_epsilon_is_negligible() -> None:
    terms = Terms(metrics=tuple(map(metric, PRIVATE)), policy=Policy.private())
    assert 0 < delta(terms.policy, terms.query((10, 10)).mechanisms) < 2e-15
