"""What a report says and draws under each kind of policy."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.metrics import METRICS
from ppaurora.pages.charts import Chart
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.figures import pooled_charts
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown
from ppaurora.pages.report.writing import facts_of
from ppaurora.policy.rules import Policy
from ppaurora.policy.sentences import privacy_of, shown_count

INTERVALS, DECISION, RELIABILITY = "Values and their uncertainty", "Decision curve", "Reliability diagram"
ROC, PRECISION_RECALL = "ROC curve at public thresholds", "Precision-recall curve at public thresholds"
SCORES = "Scores by class, pooled"
EDGES = [0.0, 0.25, 0.5, 0.75, 1.0]


def evaluated(policy: Policy, **options: Any) -> Facts:
    """Three owners with 200 samples each, a fifth of them positive."""
    random = np.random.default_rng(11)
    owners = []
    for _ in range(3):
        labels = (np.arange(200) < 40).astype(int)
        owners.append((labels, np.clip(random.normal(0.3 + 0.25 * labels, 0.17), 0.01, 0.99)))
    metrics = [
        METRICS["auroc"](),
        METRICS["brier"](),
        METRICS["net_benefit"](thresholds=[0.25, 0.5]),
        METRICS["roc_curve"](thresholds=[0.25, 0.5]),
        METRICS["precision_recall_curve"](thresholds=[0.25, 0.5]),
        METRICS["reliability"](bins=EDGES),
        METRICS["histogram"](bins=EDGES),
    ]
    chosen = {"metrics": metrics, "confidence_level": 0.95, "transport": "memory", **options}
    return facts_of(source_of(ppaurora.evaluate(owners, policy=policy, **chosen)))


@pytest.fixture(scope="module")
def published() -> Facts:
    return evaluated(Policy())


@pytest.fixture(scope="module")
def private() -> Facts:
    return evaluated(Policy.private(2.0))


@pytest.fixture(scope="module")
def exact() -> Facts:
    return evaluated(Policy.exact())


def titles(facts: Facts) -> list[str]:
    return [chart.title for chart in pooled_charts(facts)]


def chart(facts: Facts, title: str) -> Chart:
    return next(one for one in pooled_charts(facts) if one.title == title)


# What is said


def test_epsilon_is_said_with_what_it_means(private: Facts) -> None:
    guessed = "whoever knows everything else guesses one person's outcome right at most 88 times in 100"
    assert private.privacy == (
        f"Private, with epsilon 2 for every person: {guessed}. The noise that ensures this is inside the "
        "intervals."
    )
    assert f"differentially private with epsilon = 2 for the data of every person: {guessed}." in (
        private.methods
    )
    assert "they include the noise" in private.methods
    assert "round" not in private.methods
    assert "positive, with noise)" in private.results
    assert round(100 / (1 + np.exp(-2))) == 88


def test_rows_of_a_person_are_said() -> None:
    said = privacy_of(Policy.private(1, rows_per_person=4))
    assert "epsilon 1 for every person, with at most 4 rows each: " in said


def test_rounding_and_floors_are_said(published: Facts) -> None:
    assert published.privacy.startswith(
        "For publication: rounded to 3 decimals, one more of small numbers; counts to the nearest 5; nothing "
        "below 10 positives and 10 negatives; no number about fewer than 10 samples. Intervals "
        "allow for rounding."
    )
    assert "rounded to 3 or 4 decimals, and numbers of samples to the nearest 5, inside" in published.methods
    assert "fewer than 10 positives or 10 negatives, overall or with any one institution left out" in (
        published.methods
    )
    assert "and no number about fewer than 10 samples, likewise." in published.methods
    assert "n = 600, of which about 120 positive, to the nearest 5" in published.results


def test_that_nothing_is_held_back_is_said(exact: Facts) -> None:
    said = "Exact: nothing was held back. Nothing is promised about what the numbers disclose."
    assert exact.privacy == said
    assert "those of the pooled samples; nothing was held back." in exact.methods
    assert "n = 600, of which 120 positive)" in exact.results
    custom = privacy_of(Policy.exact(digits=1, counts="hidden", minimum_positives=5))
    assert custom.startswith("Exact: rounded to 1 decimal, one more of small numbers; counts hidden; nothing")


def test_every_format_says_it(published: Facts, private: Facts, exact: Facts) -> None:
    for facts in (published, private, exact):
        assert json.loads(as_json(facts))["privacy"] == facts.privacy
        assert facts.privacy.replace("'", "&#39;") in as_html(facts)
        assert facts.privacy in as_markdown(facts)
        assert facts.privacy in as_latex(facts)


def test_a_count_is_said_as_near_as_it_is() -> None:
    policies = (Policy(), Policy.private(), Policy.exact())
    assert [shown_count(1365, policy) for policy in policies] == [
        "about 1,365, to the nearest 5",
        "about 1,365, with noise",
        "1,365",
    ]


# What is drawn


def test_everything_is_drawn_by_default(published: Facts, private: Facts, exact: Facts) -> None:
    for facts in (published, private, exact):
        assert titles(facts) == [INTERVALS, ROC, PRECISION_RECALL, DECISION, RELIABILITY, SCORES]
    assert "treating all, with a prevalence of about 0.2." in chart(published, DECISION).caption
    counted = [one.shown for one in exact.numbers if one.metric == "histogram"]
    drawn = chart(exact, SCORES).rows
    assert [row[0] for row in drawn] == ["0 to 0.25", "0.25 to 0.5", "0.5 to 0.75", "0.75 to 1"]
    assert [text for row in drawn for text in row[1:]] == counted


def test_what_rounding_would_make_steps_of_is_not_drawn() -> None:
    """With one decimal, AUROC is one of three values on its axis."""
    auroc: dict[str, Any] = {"metrics": ["auroc"]}
    assert titles(evaluated(Policy.exact(digits=1), **auroc)) == []
    assert titles(evaluated(Policy.exact(digits=2), **auroc)) == [INTERVALS]


@pytest.mark.parametrize(("digits", "drawn"), [(1, False), (2, True), (None, True)])
def test_a_tenth_of_the_axis_is_the_limit(exact: Facts, digits: int | None, drawn: bool) -> None:
    rounded = tuple(replace(one, digits=digits) for one in exact.numbers)
    assert (DECISION in titles(replace(exact, numbers=rounded))) is drawn
    assert DECISION in titles(replace(exact, numbers=rounded, kind="private"))  # as it is


@pytest.mark.parametrize(("step", "drawn"), [(1, True), (5, True), (50, False)])
def test_counts_in_coarse_steps_are_not_drawn(exact: Facts, step: int, drawn: bool) -> None:
    assert (SCORES in titles(replace(exact, count_step=step))) is drawn


def test_a_bin_that_is_withheld_is_listed(exact: Facts) -> None:
    gone = next(one for one in exact.numbers if one.name == "positives")
    numbers = tuple(replace(one, value=None) if one is gone else one for one in exact.numbers)
    drawn = chart(replace(exact, numbers=numbers), SCORES)
    assert drawn.rows[0][1] == "withheld"
    assert "withheld" in drawn.caption
    assert "withheld" not in chart(exact, SCORES).caption


def test_ratios_and_differences_are_not_drawn_among_fractions() -> None:
    """Observed over expected has an interval that reaches above 1, a difference of means one below 0."""
    names = ("auroc", "observed_expected", "calibration_in_the_large")
    facts = evaluated(Policy(), metrics=[METRICS[name]() for name in names])  # type: ignore[index]
    assert all(number.interval for number in facts.single)
    assert [row[0] for row in chart(facts, INTERVALS).rows] == ["AUROC, pooled"]
