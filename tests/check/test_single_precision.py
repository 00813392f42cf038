"""Scores in float32: told where thresholds or other owners make a difference, with what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import ppaurora
from ppaurora.check import DataCheck, check_data
from ppaurora.data import Columns, Design, check_samples, read_data, read_dataset
from ppaurora.data.design import Model
from ppaurora.data.single_precision import SinglePrecision
from ppaurora.statistics.estimates import Table
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from tests.support.checks import owners_kit

SCORES = [0.1, 0.3, 0.5, 0.7, 0.7, 0.9] * 4
LABELS = [0, 0, 1, 1, 0, 1] * 4


def as_float32(form: str, folder: Path) -> Any:
    scores = np.array(SCORES, dtype=np.float32)
    if form == "Parquet":
        pyarrow.parquet.write_table(pa.table({"score": scores, "label": LABELS}), folder / "d.parquet")
        return folder / "d.parquet"
    if form == "NumPy":
        np.savez(folder / "d.npz", score=scores, label=LABELS)
        return folder / "d.npz"
    tables = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "Arrow": pa.table, "dict": dict}
    return tables[form]({"score": scores, "label": LABELS})


FORMS = ["Parquet", "NumPy", "pandas", "Polars", "Arrow", "dict"]


@pytest.mark.parametrize("form", FORMS)
def test_every_format_tells_its_precision(form: str, tmp_path: Path) -> None:
    data = read_data(as_float32(form, tmp_path))
    assert data.description.single_precision == {"score"}
    found = SinglePrecision.of(data.samples(), [0.3, 0.5, 0.7])
    assert found is not None
    assert (found.at_edges, found.decimals, found.differs) == (4 + 8, 1, True)


def test_thresholds_and_scores_that_a_float32_holds_make_no_difference() -> None:
    scores = np.array([0.25, 0.5, 0.75, 1.0], dtype=np.float32)
    found = SinglePrecision.of(check_samples("north", [0, 1, 0, 1], scores), [0.25, 0.5])
    assert found == SinglePrecision(at_edges=0, decimals=2, differs=False)
    assert SinglePrecision.of(check_samples("north", [0, 1], [0.7, 0.7]), [0.7]) is None


def test_float16_is_told_as_well_and_many_decimals_have_no_remedy() -> None:
    scores = np.array([1 / 3, 0.2], dtype=np.float16)
    found = SinglePrecision.of(check_samples("north", [0, 1], scores), [])
    assert found is not None
    random = np.random.default_rng(7).random(50).astype(np.float32) / 1000
    found = SinglePrecision.of(check_samples("north", [0, 1] * 25, random), [])
    assert found is not None
    assert (found.decimals, found.remedy) == (
        None,
        "give the scores as the model computed them, in float64",
    )


def test_every_model_is_told_by_its_own_column() -> None:
    design = Design(models={"a": Model(), "b": Model()})
    table = {"a": np.array(SCORES, dtype=np.float32), "b": SCORES, "label": LABELS}
    samples = read_dataset(table, Columns(), design=design).samples()
    check = check_data(samples, design=design)
    (said,) = (one for one in check.concerns if one.code == "single-precision")
    assert said.text.startswith("the scores of model a are float32, in which 0.7 is 0.699999988: if other")
    assert not said.is_warning


@pytest.fixture(scope="module")
def at_thresholds(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    folder = tmp_path_factory.mktemp("thresholds")
    sensitivity = '{ name = "sensitivity", thresholds = [0.7] }'
    kit = owners_kit(folder, lambda plan: plan.replace('["auroc", "aupr"]', f'["auroc", {sensitivity}]'))
    return OwnerKit.read(kit).manifest()


def checked(scores: Any, manifest: Manifest) -> DataCheck:
    data = read_data({"score": scores, "label": LABELS})
    return check_data(data.samples(), data.description, owner="north", manifest=manifest)


def test_scores_at_thresholds_are_warned_of_without_counts(at_thresholds: Manifest) -> None:
    check = checked(np.array(SCORES, dtype=np.float32), at_thresholds)
    (said,) = (one for one in check.warnings if one.code == "single-precision")
    assert said.text == (
        "the scores are float32, in which 0.7 is 0.699999988: some lie at a threshold or an edge of the "
        "study, and may count on its other side; convert them to float64 and round them to 1 decimal, as in "
        "pandas: frame[column].astype('float64').round(1)"
    )
    assert check.single_precision is not None
    assert check.single_precision.at_edges == 8
    assert "8" not in repr(check.single_precision)
    assert check.to_dict()["at_edges_in_float32"] == 8


def test_the_remedy_helps(at_thresholds: Manifest) -> None:
    """The control: with it the warning goes, and the numbers are those of the decimals."""
    single = pd.DataFrame({"score": np.array(SCORES, dtype=np.float32)})
    remedied = single["score"].astype("float64").round(1)
    assert "single-precision" not in {one.code for one in checked(remedied, at_thresholds).concerns}
    metrics = [ppaurora.METRICS["sensitivity"](thresholds=[0.7])]

    def sensitivity(scores: Any) -> float:
        own = {"score": scores, "label": LABELS}
        report = ppaurora.evaluate([own, own], metrics=metrics)
        table = report.metrics["sensitivity"]
        assert isinstance(table, Table)
        value = table[0]["sensitivity"].value
        assert value is not None
        return value

    assert sensitivity(remedied) == sensitivity(SCORES) == pytest.approx(2 / 3)
    assert sensitivity(single["score"]) == pytest.approx(1 / 3)


def test_a_study_of_float32_names_another_remedy(tmp_path: Path) -> None:
    def with_keys_of_32_bits(plan: str) -> str:
        sensitivity = '{ name = "sensitivity", thresholds = [0.7] }'
        changed = plan.replace('["auroc", "aupr"]', f'["auroc", {sensitivity}]')
        return changed.replace("key_bits = 64", "key_bits = 32")

    manifest = OwnerKit.read(owners_kit(tmp_path, with_keys_of_32_bits)).manifest()
    assert not manifest.protocol.takes_float64
    (said,) = (
        one
        for one in checked(np.array(SCORES, dtype=np.float32), manifest).warnings
        if one.code == "single-precision"
    )
    assert said.text.endswith(
        "the study takes nothing but float32: ask the coordinator for thresholds between the scores, or for "
        "keys of 64 bits"
    )
    elsewhere = checked(np.array(SCORES, dtype=np.float32) - np.float32(0.05), manifest)
    assert "single-precision" not in {one.code for one in elsewhere.concerns}


def test_evaluate_tells_it_where_owners_differ() -> None:
    single = {"score": np.array(SCORES, dtype=np.float32), "label": LABELS}
    double = {"score": SCORES, "label": LABELS}
    says = (
        "south: the scores are float32, in which 0.7 is 0.699999988; convert them to float64 and round them"
    )
    assert says in ppaurora.evaluate({"north": double, "south": single}).hint
    assert "float32" not in ppaurora.evaluate({"north": single, "south": single}).hint
    grid: dict[str, Any] = {"protocol": "grid", "decimals": 1}
    assert "float32" not in ppaurora.evaluate({"north": double, "south": single}, **grid).hint
