"""Patients with several rows, and rows that count several times, against definitions by pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from ppaurora import Estimate, Grid, Policy
from ppaurora.data.design import Model
from ppaurora.data.samples import Samples
from ppaurora.evaluation.designed import DesignedResults
from tests.support.design_oracles import PlainRow, observed_expected, obuchowski
from tests.support.designs import ROUNDED, DesignedStudy, rows_of, study_of
from tests.support.releases import half_away, root_half_away

Numbers = tuple[float | None, float | None]
WEIGHTED = ("auroc", "ap", "brier", "observed_expected")

each_protocol = pytest.mark.parametrize("protocol", ["grid", "fast"])


def owners_of(
    seed: int,
    *,
    rows: Sequence[int] = (14, 11, 17),
    values: int = 100,
    patients: bool = False,
    alone: bool = False,
    weights: int = 0,
    negated: bool = False,
) -> list[Samples]:
    """Return owners whose patients have one to five rows each, of one class or of both."""
    random = np.random.default_rng(seed)
    owners = []
    for place, size in enumerate(rows):
        y_true = random.integers(0, 2, size)
        y_true[:4] = (0, 1, 0, 1)
        of_patient = np.repeat(np.arange(size), random.integers(1, 6, size))[:size]
        random.shuffle(of_patient)
        moods = random.normal(0, 0.2, size)[of_patient]
        scores = {
            model: np.clip(
                np.rint((0.4 + better * y_true + moods + random.normal(0, 0.1, size)) * values), 0, values
            )
            / values
            for model, better in (("a", 0.3), ("b", 0.1))
        }
        owners.append(
            rows_of(
                f"owner {place}",
                y_true,
                {model: np.round(own, 3) for model, own in scores.items()},
                patients=np.arange(size) if alone else of_patient if patients else None,
                weights=random.integers(1, weights + 1, size) if weights else None,
                negated=negated,
            )
        )
    return owners


def plain(owners: Sequence[Samples], read: Callable[[float], float] = float) -> list[PlainRow]:
    """Return all rows, one by one; patients of different owners are different ones."""
    rows = []
    for owner in owners:
        further = owner.further
        assert further is not None
        sign = -1 if owner.negated else 1
        rows += [
            PlainRow(
                {model: sign * read(float(own[place])) for model, own in further.scores.items()},
                int(owner.labels[place]),
                {},
                None if further.patients is None else (owner.source, int(further.patients[place])),
                1 if further.weights is None else int(further.weights[place]),
            )
            for place in range(len(owner))
        ]
    return rows


def numbers_of(estimate: object) -> Numbers:
    """Return value and standard error."""
    assert isinstance(estimate, Estimate)
    return estimate.value, estimate.standard_error


def check(found: DesignedResults, study: DesignedStudy, rows: Sequence[PlainRow]) -> None:
    """Compare AUROC of both models and their difference with the definition over patients."""
    assert found.comparisons[0].auroc is not None
    assert found.comparisons[0].auroc.method in ("Obuchowski, paired", "")
    digits = study.job.terms.policy.decimals
    pairs = [(found.whole(model)["auroc"], (model,)) for model in ("a", "b")]
    for estimate, models in [*pairs, (found.comparisons[0].auroc, ("a", "b"))]:
        value, error = numbers_of(estimate)
        exact, variance = obuchowski(rows, *models)
        assert value is not None
        if digits is not None:
            assert value == float(half_away(exact, digits))
            assert error == (None if variance is None else float(root_half_away(variance, digits + 1)))
            continue
        assert value == pytest.approx(float(exact), abs=1e-14)
        assert error == (None if variance is None else math.sqrt(variance))


@each_protocol
@pytest.mark.parametrize("policy", [Policy.exact(), ROUNDED], ids=["exact", "rounded"])
@pytest.mark.parametrize("values", [4, 100])
def test_patients_with_several_rows(values: int, policy: Policy, protocol: str) -> None:
    for seed in range(3):
        owners = owners_of(seed, patients=True, values=values)
        study = study_of(owners, protocol=protocol, policy=policy)
        check(study.in_the_clear(), study, plain(owners))


@each_protocol
def test_patients_with_several_rows_on_shares(protocol: str) -> None:
    for policy in (Policy.exact(), ROUNDED):
        owners = owners_of(7, patients=True, values=20)
        study = study_of(owners, protocol=protocol, policy=policy)
        check(study.by_servers()[0], study, plain(owners))


@each_protocol
def test_lower_scores_may_be_the_more_positive_ones(protocol: str) -> None:
    owners = owners_of(8, patients=True, negated=True)
    study = study_of(owners, protocol=protocol)
    check(study.in_the_clear(), study, plain(owners))


@pytest.mark.long
@each_protocol
def test_many_studies_of_patients(protocol: str) -> None:
    for seed in range(100, 140):
        owners = owners_of(
            seed, patients=True, values=(4, 20, 100)[seed % 3], weights=3 * (protocol == "grid")
        )
        study = study_of(owners, protocol=protocol, policy=(Policy.exact(), ROUNDED)[seed % 2])
        found = study.by_servers()[0] if seed % 4 == 0 else study.in_the_clear()
        check(found, study, plain(owners))


@each_protocol
def test_patients_with_one_row_each_have_delongs_error_to_the_last_bit(protocol: str) -> None:
    for seed in range(3):
        alone, unnamed = owners_of(seed, alone=True), owners_of(seed)
        clustered, single = (study_of(one, protocol=protocol).in_the_clear() for one in (alone, unnamed))
        for model in ("a", "b"):
            assert numbers_of(clustered.whole(model)["auroc"]) == numbers_of(single.whole(model)["auroc"])
        assert numbers_of(clustered.comparisons[0].auroc) == numbers_of(single.comparisons[0].auroc)


@pytest.mark.parametrize("having", [1, 2])
def test_the_error_takes_two_patients_of_each_class(having: int) -> None:
    """All positives are of one patient, or of two; they have negatives, too."""
    owners = [
        rows_of(
            name,
            [1, 1, 0, 0, 0],
            {"a": [0.9, 0.4, 0.4, 0.2, 0.1], "b": [0.5, 0.6, 0.6, 0.3, 0.2]},
            patients=[0, 0, 0, 1, 2],
        )
        for name in ("x", "y")[:having]
    ]
    if having == 1:
        owners.append(
            rows_of("y", [0, 0], {"a": [0.3, 0.5], "b": [0.8, 0.1]}, patients=[0, 1]),
        )
    study = study_of(owners)
    found = study.in_the_clear()
    check(found, study, plain(owners))
    assert (numbers_of(found.whole("a")["auroc"])[1] is None) == (having == 1)


def test_coarse_cells_have_the_error_of_scores_that_are_read_so() -> None:
    """Of 1,001 values patients are counted in 128 cells; areas are those of single values."""
    owners = owners_of(3, patients=True, values=1000)
    study = study_of(owners, grid=Grid(decimals=3), models={"a": Model(), "b": Model()})
    found = study.in_the_clear()
    fine, coarse = plain(owners), plain(owners, lambda score: math.floor(round(score * 1000) * 128 / 1001))
    for model in ("a", "b"):
        value, error = numbers_of(found.whole(model)["auroc"])
        assert value == float(obuchowski(fine, model)[0])
        variance = obuchowski(coarse, model)[1]
        assert variance is not None
        assert error == math.sqrt(variance)


@pytest.mark.parametrize("policy", [Policy.exact(), ROUNDED], ids=["exact", "rounded"])
@pytest.mark.parametrize("patients", [False, True], ids=["rows", "patients"])
def test_a_row_counts_as_if_it_stood_there_so_often(patients: bool, policy: Policy) -> None:
    for seed in range(3):
        owners = owners_of(seed, patients=patients, weights=4)
        study = study_of(owners, policy=policy)
        check(study.in_the_clear(), study, plain(owners))


def test_weights_on_shares() -> None:
    owners = owners_of(11, weights=5, values=20)
    study = study_of(owners, metrics=WEIGHTED)
    found = study.by_servers()[0]
    check(found, study, plain(owners))
    check_weights(found, owners)


@pytest.mark.parametrize("most", [1, 3, 50])
def test_weights_as_scikit_learns(most: int) -> None:
    for seed in range(5):
        owners = owners_of(seed, weights=most, values=(5, 100)[seed % 2])
        check_weights(study_of(owners, metrics=WEIGHTED).in_the_clear(), owners)


def check_weights(found: DesignedResults, owners: Sequence[Samples]) -> None:
    """Compare the metrics of both models with scikit-learn's, and O/E with its definition."""
    rows = plain(owners)
    y_true, weights = [row.label for row in rows], [row.weight for row in rows]
    for model in ("a", "b"):
        y_score, whole = [row.scores[model] for row in rows], found.whole(model)
        for name, reference in (
            ("auroc", roc_auc_score),
            ("ap", average_precision_score),
            ("brier", brier_score_loss),
        ):
            value, _ = numbers_of(whole[name])
            # Sums of probabilities are in steps of 2^-32, precisions likewise.
            assert value == pytest.approx(reference(y_true, y_score, sample_weight=weights), abs=1e-8)
        ratio, _ = numbers_of(whole["observed_expected"])
        assert ratio == pytest.approx(float(observed_expected(rows, model)[0]), rel=1e-8)


def test_weights_of_one_change_nothing() -> None:
    weighted = study_of(owners_of(4, weights=1)).in_the_clear()
    plainly = study_of(owners_of(4)).in_the_clear()
    for model in ("a", "b"):
        assert numbers_of(weighted.whole(model)["auroc"]) == numbers_of(plainly.whole(model)["auroc"])
    assert numbers_of(weighted.comparisons[0].auroc) == numbers_of(plainly.comparisons[0].auroc)


def test_the_oracle_is_delongs_where_every_row_is_a_patient() -> None:
    """A control of the definition by pairs: by hand, AUROC 3/4 with variance 1/16 + 1/16."""
    rows = [PlainRow({"a": score}, label) for score, label in ((0.9, 1), (0.4, 1), (0.6, 0), (0.1, 0))]
    assert obuchowski(rows, "a") == (Fraction(3, 4), Fraction(1, 8))
