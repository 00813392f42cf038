"""What a report says of the owner's own data, where there is little to say."""

from __future__ import annotations

import dataclasses
import json
import warnings

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.metrics import find_metric
from ppaurora.pages.report.own import OwnFacts, own_facts


def facts_of(scores: list[float], labels: list[int], *metrics: str) -> OwnFacts:
    samples = Samples("north.csv", np.array(scores), np.array(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return own_facts(samples, [find_metric(name)() for name in metrics], 0.95, len(samples), [])


@pytest.mark.parametrize("labels", [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
def test_an_interval_without_width_is_not_called_certainty(labels: list[int]) -> None:
    """DeLong's, of six samples that are told apart without a mistake, or with nothing else."""
    facts = facts_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], labels, "auroc")
    assert "0.000 wide" not in facts.words
    assert "says nothing about the uncertainty" in facts.words


def test_an_interval_is_where_the_true_value_may_be() -> None:
    """Another test set's value varies, too, so that one in six would be outside."""
    facts = facts_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 1, 0, 0, 1, 1], "auroc")
    assert "wide. By chance alone, the value may be off by half of that." in facts.words


def test_a_ratio_to_nothing_expected_is_not_defined() -> None:
    facts = facts_of([0.0] * 6, [0, 1] * 3, "observed_expected")
    [number] = facts.numbers
    assert (number.value, number.note) == (None, "undefined: no events expected")
    json.dumps(dataclasses.asdict(facts), allow_nan=False)
