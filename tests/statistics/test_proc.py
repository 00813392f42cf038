"""The interval of AUROC is the one that R's package pROC gives and prints, on its data and at the edges."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from ppaurora.errors import UndefinedResultError
from ppaurora.statistics.auroc import delong_variance
from ppaurora.statistics.estimates import Estimate, delong_estimate
from tests.support.oracles import defined, exact_auroc
from tests.support.proc import asah_from_proc, figures_of_proc


def our_estimate(y_true: Sequence[int], y_score: Sequence[float], level: float = 0.95) -> Estimate:
    """In the clear."""
    auroc = float(defined(exact_auroc(list(zip(y_score, y_true, strict=True)))))
    try:
        standard_error = math.sqrt(delong_variance(y_true, y_score))
    except UndefinedResultError:
        standard_error = None
    return delong_estimate(auroc, standard_error, level)


@pytest.mark.parametrize("level", [0.95, 0.999, 0.8, 1 / 3])
@pytest.mark.parametrize("score", ["ndka", "s100b", "wfns"])
def test_on_its_example(score: str, level: float) -> None:
    asah = asah_from_proc()
    y_score = asah.y_scores[score]
    theirs = figures_of_proc(asah.y_true, y_score, level)
    ours = our_estimate(asah.y_true, y_score, level)
    assert ours.value == pytest.approx(theirs.auroc, rel=1e-14)
    assert float(delong_variance(asah.y_true, y_score)) == pytest.approx(theirs.variance, rel=1e-12)
    assert ours.interval == pytest.approx(theirs.interval, rel=1e-12)
    assert ours.line("Area under the curve") == ", ".join(theirs.printed)
    assert ours.note == theirs.warnings == ""


def test_its_example_is_the_one_that_everybody_knows() -> None:
    """The figures in pROC's manual."""
    asah = asah_from_proc()
    assert len(asah.y_true) == 113
    assert sum(asah.y_true) == 41
    lines = {
        name: our_estimate(asah.y_true, y_score).line("Area under the curve")
        for name, y_score in asah.y_scores.items()
    }
    assert lines == {
        "wfns": "Area under the curve: 0.8237, 95% CI: 0.7485-0.8988 (DeLong)",
        "s100b": "Area under the curve: 0.7314, 95% CI: 0.6301-0.8326 (DeLong)",
        "ndka": "Area under the curve: 0.612, 95% CI: 0.5012-0.7227 (DeLong)",
    }


def test_an_interval_that_is_cut_off() -> None:
    y_true, y_score = [0, 0, 0, 1, 1], [1, 2, 3, 2.5, 2.7]
    theirs, ours = figures_of_proc(y_true, y_score), our_estimate(y_true, y_score)
    assert ours.interval == pytest.approx(theirs.interval, rel=1e-12)
    assert ours.interval is not None
    assert ours.interval[1] == 1
    assert ours.line("Area under the curve") == ", ".join(theirs.printed)


@pytest.mark.parametrize("y_score", [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]], ids=["1", "0"])
def test_a_perfect_curve_has_an_interval_without_width_and_a_warning(y_score: list[float]) -> None:
    y_true = [0, 0, 0, 1, 1]
    theirs, ours = figures_of_proc(y_true, y_score), our_estimate(y_true, y_score)
    assert ours.interval == theirs.interval == (theirs.auroc, theirs.auroc)
    assert ours.line("Area under the curve") == ", ".join(theirs.printed)
    assert ("misleading" in theirs.warnings) == (theirs.auroc == 1)
    assert "can mislead" in ours.note


def test_scores_that_are_all_equal() -> None:
    y_true, y_score = [0, 0, 0, 1, 1], [2.0] * 5
    theirs, ours = figures_of_proc(y_true, y_score), our_estimate(y_true, y_score)
    assert ours.interval == theirs.interval == (0.5, 0.5)
    assert ours.line("Area under the curve") == ", ".join(theirs.printed)
    assert "can mislead" in ours.note  # which pROC does not say here


@pytest.mark.parametrize("y_true", [[0, 0, 0, 1], [1, 1, 1, 0]])
def test_one_positive_or_one_negative_has_no_interval(y_true: list[int]) -> None:
    y_score = [1.0, 2.0, 3.0, 2.5]
    theirs, ours = figures_of_proc(y_true, y_score), our_estimate(y_true, y_score)
    assert theirs.variance is ours.standard_error is None
    assert theirs.interval is ours.interval is None
    assert "NA-NA" in theirs.printed[1]
    assert ours.line("Area under the curve") == theirs.printed[0]
    assert "fewer than two" in ours.note


def test_any_samples() -> None:
    """Few different scores, and unequal classes."""
    random = np.random.default_rng(5)
    for size, scores, prevalence in [(12, 3, 0.5), (60, 5, 0.1), (300, 1_000, 0.3), (500, 20, 0.9)]:
        y_true = [1, 1, 0, 0, *(random.random(size) < prevalence).astype(int).tolist()]
        y_score = (random.integers(scores, size=size + 4) / 7).tolist()
        theirs, ours = figures_of_proc(y_true, y_score), our_estimate(y_true, y_score)
        assert float(delong_variance(y_true, y_score)) == pytest.approx(theirs.variance, rel=1e-9)
        assert ours.interval == pytest.approx(theirs.interval, rel=1e-9)
        assert ours.line("Area under the curve") == ", ".join(theirs.printed)
