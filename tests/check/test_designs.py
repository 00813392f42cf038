"""The check of data with a design: own numbers by model, outcome and level, against definitions."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ppaurora.check import DataCheck, DesignCheck, SliceCheck, check_data, check_rows_per_person
from ppaurora.check.design_check import design_concerns
from ppaurora.data import Columns, Design, Grid, Samples, read_dataset, tabulate
from ppaurora.data.design import Model, Outcome, SampleWeight, Subgroup
from ppaurora.data.slices import Slice
from ppaurora.errors import InputError
from ppaurora.policy.rules import Policy

DESIGN = Design(
    models={"a": Model(), "b": Model()},
    comparisons=(("a", "b"),),
    outcomes={"died": Outcome(), "icu": Outcome()},
    subgroups={"sex": Subgroup(levels=("f", "m", "x"))},
)
ROWS = 120


def table(seed: int = 3) -> dict[str, list[Any]]:
    """No sample has the level x. Scores have ties."""
    random = np.random.default_rng(seed)
    died = random.integers(0, 2, ROWS)
    return {
        "a": np.round(random.random(ROWS) + 0.4 * died, 1).tolist(),
        "b": np.round(random.random(ROWS) + 0.2 * died, 1).tolist(),
        "died": died.tolist(),
        "icu": np.where(random.random(ROWS) < 0.8, died, 1 - died).tolist(),
        "sex": random.choice(["f", "m"], ROWS).tolist(),
        "pid": random.integers(0, 40, ROWS).tolist(),
        "times": random.integers(1, 6, ROWS).tolist(),
    }


def by_pairs(rows: list[tuple[float, int, int]]) -> float | None:
    """AUROC of (score, label, weight) by its definition: pairs in the right order, ties one half."""
    won = pairs = Fraction(0)
    for high, label, weight in rows:
        for low, other, times in rows:
            if label == 1 and other == 0:
                pairs += weight * times
                won += weight * times * (Fraction(high > low) + Fraction(high == low) / 2)
    return float(won / pairs) if pairs else None


def checked(data: dict[str, list[Any]], design: Design, **columns: Any) -> DataCheck:
    dataset = read_dataset(data, Columns(**columns), design=design, name="north")
    return check_data(dataset.samples(), dataset.description, design=design)


def slices_of(found: DataCheck) -> dict[Slice, SliceCheck]:
    assert found.design is not None
    return {one.slice: one for one in found.design.slices}


@pytest.mark.parametrize("weighted", [False, True])
def test_every_slice_is_that_of_the_definition(weighted: bool) -> None:
    data = table()
    weight = SampleWeight(column="times", most=5) if weighted else None
    design = Design(
        models=DESIGN.models,
        comparisons=DESIGN.comparisons,
        outcomes=DESIGN.outcomes,
        subgroups=DESIGN.subgroups,
        weight=weight,
    )
    found = checked(data, design)
    slices = slices_of(found)
    assert len(slices) == 2 * 2 * (1 + 3)
    times = data["times"] if weighted else [1] * ROWS
    for slice_, one in slices.items():
        chosen = [place for place in range(ROWS) if slice_.level in ("", data["sex"][place])]
        rows = [(data[slice_.model][at], data[slice_.outcome][at], times[at]) for at in chosen]
        assert (one.samples, one.positives) == (len(rows), sum(label for _, label, _ in rows))
        assert one.auroc.value == pytest.approx(by_pairs(rows), abs=1e-12)
        assert (one.auroc.interval is None) is (weighted or not rows)
    assert found.design is not None
    for pair, difference in found.design.differences:
        a, b = (slices[one].auroc.value for one in (pair.a, pair.b))
        assert a is not None
        assert b is not None
        assert difference == a - b
    assert found.samples == ROWS  # rows, whatever they weigh
    assert found.design.weight == (sum(times) if weighted else None)
    assert found.design.largest_weight == (5 if weighted else None)


def test_lower_scores_may_be_the_more_positive_ones() -> None:
    """As a study reads them, which negates the samples of all models."""
    data = table()
    samples = read_dataset(data, Columns(), design=DESIGN).samples()
    higher = slices_of(check_data(samples, design=DESIGN))
    lower = slices_of(check_data(samples.negate(), design=DESIGN))
    for slice_, one in higher.items():
        if one.auroc.value is not None:
            assert lower[slice_].auroc.value == pytest.approx(1 - one.auroc.value)


def test_patients_and_rows_left_out_are_counted() -> None:
    data = table()
    data["a"][4] = None
    data["died"][4] = data["died"][7] = None
    design = Design(models={"a": Model(), "b": Model()}, patient="pid")
    found = checked(data, design, label="died", leave_out_missing=True, left_out={"excluded": 31})
    assert found.design is not None
    kept = [name for place, name in enumerate(data["pid"]) if place not in (4, 7)]
    assert found.design.patients == len(set(kept))
    assert found.design.most_rows == max(kept.count(name) for name in kept)
    assert found.design.left_out.counts == (1, 1, 31)
    assert all(one.auroc.interval is None for one in found.design.slices)


def test_what_is_told_is_complete_and_stays_with_the_owner() -> None:
    found = checked(table(), DESIGN, left_out={"excluded": 31})
    assert found.design is not None
    told = json.loads(json.dumps(found.to_dict()))["design"]
    assert len(told["slices"]) == len(found.design.slices)
    assert told["differences"][0].keys() == {"a", "b", "outcome", "difference"}
    assert told["left_out"] == {"missing_score": 0, "missing_label": 0, "excluded": 31}
    shown = dict(found.design.facts())
    assert {"local AUROC, a, died", "local AUROC, a minus b, icu", "b, icu, sex = f", "rows left out"} <= set(
        shown
    )
    assert shown["a, died, sex = x"] == "0 samples, 0 positive"
    men = slices_of(found)[Slice("a", "died", "sex", "m")]
    for printed in (repr(found), repr(found.design), repr(men)):
        assert str(men.samples) not in printed
        assert "31" not in printed


def test_plain_data_has_no_design() -> None:
    found = checked({"score": [0.5, 0.25], "label": [1, 0]}, Design())
    assert found.design is None
    assert "design" not in found.to_dict()
    table_of_counts = tabulate(([1, 0], [0.5, 0.25]), Grid(decimals=2))
    assert check_data(table_of_counts, design=Design()).design is None


def test_levels_that_nobody_has_and_models_that_are_one() -> None:
    data = table()
    found = checked(data, DESIGN)
    assert [concern.code for concern in found.concerns] == ["empty-level"]
    assert found.concerns[0].text.startswith("no sample has the level sex = x: is that so")
    assert found.warnings == ()
    same = checked(data | {"b": data["a"]}, DESIGN)
    assert [concern.code for concern in same.warnings] == ["same-models"]
    assert same.warnings[0].text.startswith("the models a and b have the same scores in every row")
    nearly = list(data["a"])
    nearly[0] += 0.5
    assert checked(data | {"b": nearly}, DESIGN).warnings == ()


def texts(found: DataCheck, code: str) -> list[str]:
    return [concern.text for concern in found.concerns if concern.code == code]


def test_inverted_scores_are_told_of_whichever_model() -> None:
    data = table()
    found = checked(data | {"b": [1.6 - score for score in data["a"]]}, DESIGN)
    (said,) = texts(found, "auroc-below-half")
    assert said.startswith(
        "the local AUROC of model b for outcome died and of model b for outcome icu is below 0.5, by more "
        "than chance explains: are the scores inverted?"
    )
    assert [concern.code for concern in found.warnings] == ["auroc-below-half"]
    assert found.auroc.value is not None
    assert found.auroc.value > 0.5  # of the first


def test_swapped_labels_are_told_of_whichever_outcome() -> None:
    data = table()
    found = checked(data | {"icu": [1 - label for label in data["died"]]}, DESIGN)
    said = texts(found, "auroc-below-half")
    assert all("model a for outcome died" not in one for one in said)
    assert any("of model a for outcome icu" in one for one in said)
    words = {0: "no", 1: "yes"}
    spelt = {outcome: [words[label] for label in data[outcome]] for outcome in ("died", "icu")}
    dataset = read_dataset(data | spelt, Columns(pos_label="no"), design=DESIGN)
    swapped = check_data(dataset.samples("no"), dataset.description, pos_label="no", design=DESIGN)
    assert [one.partition(",")[0] for one in texts(swapped, "positive-label")] == [
        "'no' is taken as the positive label for outcome died",
        "'no' is taken as the positive label for outcome icu",
    ]
    about = dataset.description
    assert about.labels_by_outcome["died"] == about.label_values
    assert about.labels_by_outcome["icu"] == {word: spelt["icu"].count(word) for word in spelt["icu"]}


def test_nothing_is_said_of_chance_where_rows_are_not_independent() -> None:
    data = table()
    data["b"] = [1.6 - score for score in data["a"]]
    design = Design(models=DESIGN.models, patient="pid")
    (said,) = texts(checked(data, design, label="died"), "auroc-below-half")
    assert said.startswith("the local AUROC of model b is below 0.5: are the scores inverted?")


def test_sizes_and_scales_are_told_of_every_outcome_and_model() -> None:
    data = table()
    decided = [float(score > 0.5) for score in data["b"]]
    found = checked(data | {"icu": [0] * ROWS, "b": decided}, DESIGN)
    assert texts(found, "one-class")[0].startswith("there are no positives for outcome icu, so nothing tells")
    assert texts(found, "few-scores")[0].startswith("there are at most two distinct scores of model b: are")
    few = checked(data | {"icu": [1] * 3 + [0] * (ROWS - 3)}, DESIGN)
    assert texts(few, "few-samples") == ["there are fewer than 10 samples of one class for outcome icu"]


def test_small_levels_are_worth_a_note() -> None:
    data = table()
    samples = read_dataset(data, Columns(), design=DESIGN).samples()
    found = DesignCheck.of(samples, DESIGN)
    women = min(min(one.positives, one.negatives) for one in found.levels if one.slice.level == "f")
    assert women > 10

    def codes(policy: Policy) -> list[str]:
        return [concern.code for concern in design_concerns(samples, DESIGN, found, policy)]

    assert codes(Policy()) == ["empty-level"]
    strict = Policy(minimum_positives=women + 1, minimum_negatives=women + 1)
    assert codes(strict) == ["empty-level", "few-in-level"]
    told = [one for one in design_concerns(samples, DESIGN, found, strict) if one.code == "few-in-level"]
    assert not told[0].is_warning
    assert "sex = f" in told[0].text


def samples_with(patients: list[int]) -> Samples:
    data = {"score": [0.5] * len(patients), "label": [1, 0] * (len(patients) // 2), "pid": patients}
    return read_dataset(data, Columns(), design=Design(patient="pid"), name="north").samples()


@pytest.mark.parametrize(("patients", "most"), [([77, 8, 77, 9], 2), ([77, 8, 9, 10], 1)])
@pytest.mark.parametrize("kind", ["private", "publication"])
def test_a_policy_bounds_the_rows_of_a_patient(patients: list[int], most: int, kind: Any) -> None:
    samples = samples_with(patients)
    check_rows_per_person(samples, Policy(kind=kind, rows_per_person=most))
    check_rows_per_person(samples, Policy.exact())
    if most > 1:
        with pytest.raises(InputError) as caught:
            check_rows_per_person(samples, Policy(kind=kind, rows_per_person=most - 1))
        assert f"(rows_per_person = {most - 1})" in str(caught.value)
        assert "77" not in str(caught.value)
