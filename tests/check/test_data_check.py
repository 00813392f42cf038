"""The facts of a check, against definitions in exact arithmetic."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.check import check_data
from ppaurora.data import Samples, check_samples, read_data
from ppaurora.statistics.auroc import auroc_estimate, delong_variance
from ppaurora.statistics.estimates import delong_estimate
from tests.support.checks import named, outcomes, write_table
from tests.support.oracles import defined, exact_auroc

DRAWN = st.lists(st.tuples(st.integers(0, 8).map(lambda n: n / 4), st.integers(0, 1)), min_size=1)


@given(DRAWN)
def test_the_local_auroc_is_that_of_the_definition(drawn: list[tuple[float, int]]) -> None:
    scores, labels = (np.array(column) for column in zip(*drawn, strict=True))
    found = auroc_estimate(labels, scores)
    exact = exact_auroc(drawn)
    if exact is None:
        assert (found.value, found.interval) == (None, None)
        return
    assert found.value == float(exact)
    if min(labels.sum(), len(labels) - labels.sum()) < 2:
        assert found.interval is None
        return
    error = math.sqrt(delong_variance(labels.tolist(), scores.tolist()))
    expected = delong_estimate(float(exact), error, 0.95)
    assert found.interval == pytest.approx(expected.interval, abs=1e-9)


def test_a_million_samples_take_seconds() -> None:
    random = np.random.default_rng(8)
    scores = np.round(random.normal(size=1_000_000), 4)
    labels = random.random(1_000_000) < 1 / (1 + np.exp(-scores))
    found = check_data(Samples("scores.csv", scores, labels.astype(np.uint8)))
    assert (found.samples, sum(one.positives for one in found.histogram)) == (1_000_000, int(labels.sum()))


def test_the_facts(tmp_path: Path) -> None:
    died, risks = outcomes()
    path = write_table(tmp_path / "scores.csv", named(died), risks)
    dataset = read_data(path, id="patient")
    found = check_data(dataset.samples("died"), dataset.description, pos_label="died")
    told = found.to_dict()
    assert told == json.loads(json.dumps(told))
    assert list(told) == [
        "owner",
        "study",
        "manifest",
        "evaluation",
        "source",
        "columns",
        "score_column",
        "label_column",
        "id_column",
        "samples",
        "missing",
        "duplicates",
        "positives",
        "negatives",
        "labels",
        "distinct_scores",
        "tied_samples",
        "lowest",
        "highest",
        "auroc",
        "histogram",
        "concerns",
        "grid",
        "proposed_grid",
        "saving",
        "epsilon",
        "at_edges_in_float32",
        "left_out",
        "refusal",
    ]
    assert told["columns"] == ["patient", "score", "label"]
    assert (told["samples"], told["missing"], told["duplicates"]) == (len(died), 0, 0)
    assert (told["positives"], told["negatives"]) == (sum(died), len(died) - sum(died))
    assert told["labels"] == [
        {"label": "died", "samples": sum(died), "positive": True},
        {"label": "survived", "samples": len(died) - sum(died), "positive": False},
    ]
    assert told["distinct_scores"] == len(set(risks))
    assert told["tied_samples"] == sum(risks.count(risk) > 1 for risk in risks)
    pooled = [(risk, int(one)) for risk, one in zip(risks, died, strict=True)]
    assert told["auroc"]["value"] == float(defined(exact_auroc(pooled)))
    assert (told["concerns"], told["refusal"], told["owner"]) == ([], None, None)


def test_arrays_are_looked_at_as_well() -> None:
    found = check_data(check_samples("north", [1, 0] * 20, np.arange(40.0)))
    assert (found.description, found.labels, found.positives) == (None, (), 20)
    assert [concern.code for concern in found.warnings] == ["auroc-below-half"]
    assert repr(found) == "<DataCheck of north: 40 samples; concerns: auroc-below-half>"
