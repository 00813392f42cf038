"""What every class says of its metric, and how it is computed on an owner's own data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.metrics import METRICS, Metric, find_metric
from ppaurora.metrics.facts import Figure
from ppaurora.metrics.sums import TruePositives
from ppaurora.statistics.estimates import Estimate


def samples_with_ties(seed: int, size: int = 60) -> Samples:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 21, size) / 20
    labels = random.random(size) < 0.2 + 0.6 * scores
    return Samples("own", scores, labels.astype(np.uint8))


def untied(samples: Samples) -> Samples:
    order = np.argsort(np.argsort(samples.scores, kind="stable"), kind="stable")
    return Samples("own", (order + 1) / (len(samples) + 1), samples.labels)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_class_says_everything(metric: type[Metric]) -> None:
    for said in (metric.title, metric.unit, metric.description, metric.definition):
        assert said
        assert said == said.strip(" .")
    assert metric.sample().name == metric.name


def test_titles_differ_and_every_chart_shows_one_metric() -> None:
    titles = [metric.title for metric in METRICS.values()]
    assert len({*titles}) == len(titles)
    drawn = [metric.figure for metric in METRICS.values() if metric.figure is not None]
    assert sorted(drawn, key=lambda one: one.name) == sorted(Figure, key=lambda one: one.name)


@pytest.mark.parametrize("name", METRICS)
def test_own_data_gives_what_the_reference_gives(name: str) -> None:
    """Of scikit-learn, or by the definition; rounding errors of floats apart."""
    metric = find_metric(name).sample()
    for seed in range(5):
        samples = samples_with_ties(seed)
        if name == "auroc_no_ties":
            assert metric.on_own_data(samples, 0.95) == Estimate(
                None, note="undefined: some scores are equal"
            )
            samples = untied(samples)
        found = metric.on_own_data(samples, 0.95)
        expected: Any = metric.reference(samples.labels, samples.scores)
        if isinstance(found, Estimate):
            value = math.nan if found.value is None else found.value
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)
            continue
        for row, numbers in zip(found, expected, strict=True):
            values = {key: math.nan if one.value is None else one.value for key, one in row.values.items()}
            assert values == pytest.approx(numbers, abs=1e-12, nan_ok=True)


def test_scores_of_which_the_lower_is_the_more_positive() -> None:
    """Thresholds are the source's, as in what the owner submits: at most 3 is called positive."""
    scores, labels = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 1, 0, 1, 0], dtype=np.uint8)
    samples = Samples("own", scores, labels).negate()
    found = find_metric("sensitivity")(thresholds=[3.0]).on_own_data(samples, 0.95)
    assert not isinstance(found, Estimate)
    assert found[0]["sensitivity"].value == pytest.approx(2 / 3)
    assert TruePositives(3.0).of(samples) == 2


def test_own_proportions_have_an_interval_and_others_do_not() -> None:
    samples = samples_with_ties(1)
    for name, method in (("sensitivity", "Wilson"), ("ppv", "Wilson"), ("accuracy", "Wilson"), ("f1", "")):
        found = find_metric(name).sample().on_own_data(samples, 0.9)
        assert not isinstance(found, Estimate)
        assert {row[name].method for row in found} == {method}
    for name, method in (("auroc", "DeLong"), ("ap", "logit (Boyd, Eng, Page 2013)"), ("aupr", "")):
        estimate = find_metric(name)().on_own_data(samples, 0.9)
        assert isinstance(estimate, Estimate)
        assert (estimate.method, estimate.interval is not None) == (method, bool(method))


def test_what_is_not_defined_says_why() -> None:
    nobody = Samples("own", np.array([0.0, 0.0]), np.array([1, 0], dtype=np.uint8))
    for name, words in (("observed_expected", "no events expected"), ("ppv", "no samples")):
        found = find_metric(name).sample().on_own_data(nobody, 0.95)
        estimate = found if isinstance(found, Estimate) else found[0][name]
        assert estimate.value is None
        assert words in estimate.note
