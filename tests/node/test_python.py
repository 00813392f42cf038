"""An owner's part in Python alone: whatever holds the data is checked, submitted, replaced, withdrawn."""

from __future__ import annotations

import contextlib
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ppaurora
from ppaurora.data import check_samples, read_data
from ppaurora.owner.report import receipt_path
from tests.support.checks import named, outcomes
from tests.support.oracles import defined, exact_auroc
from tests.support.trials import RunCommand, Trials

COLUMNS: dict[str, Any] = {"score": "risk", "label": "outcome", "pos_label": "died"}


def of_north(number: int) -> tuple[list[bool], list[float]]:
    """Another list for every study: the same one would be warned of."""
    return outcomes(seed=7000 + number, decimals=6)


def table(died: list[bool], risks: list[float]) -> dict[str, list[Any]]:
    patients = [f"p{number}" for number in range(len(died))]
    return {"patient": patients, "outcome": named(died), "risk": risks}


def written(died: list[bool], risks: list[float], path: Path) -> Path:
    if path.suffix == ".parquet":
        pd.DataFrame(table(died, risks)).to_parquet(path)
    else:
        pd.DataFrame(table(died, risks)).to_csv(path, index=False)
    return path


Give = Callable[[list[bool], list[float], Path], tuple[tuple[Any, ...], dict[str, Any]]]

# How the same data is given: arguments, and those with names.
WAYS: dict[str, Give] = {
    "pair": lambda died, risks, _: (((died, risks),), {}),
    "two-arrays": lambda died, risks, _: ((np.array(died), np.array(risks)), {}),
    "named-classes": lambda died, risks, _: ((named(died), risks), {"pos_label": "died"}),
    "named-arrays": lambda died, risks, _: ((table(died, risks),), COLUMNS),
    "pandas": lambda died, risks, _: ((pd.DataFrame(table(died, risks)),), COLUMNS),
    "polars": lambda died, risks, _: ((pl.DataFrame(table(died, risks)),), COLUMNS),
    "parquet": lambda died, risks, folder: ((written(died, risks, folder / "scores.parquet"),), COLUMNS),
    "text": lambda died, risks, folder: ((str(written(died, risks, folder / "scores.csv")),), COLUMNS),
    "dataset": lambda died, risks, _: (
        (read_data(table(died, risks), "risk", "outcome"),),
        {"pos_label": "died"},
    ),
    "samples": lambda died, risks, _: ((check_samples("north", died, risks),), {}),
}


@pytest.fixture(scope="module")
def prepared(running: Trials) -> None:
    running.study("ways")


@pytest.mark.parametrize("way", WAYS)
def test_whatever_holds_the_data_can_be_submitted(
    nodes: Trials, prepared: None, way: str, tmp_path: Path
) -> None:
    """All to one study, the same samples: what was sent for the first way is what every other one goes on
    with, so each was read alike."""
    arguments, named_ones = WAYS[way](*of_north(0), tmp_path)
    study = ppaurora.Study(nodes.kit("north"), "ways")
    check = study.check(*arguments, **named_ones)
    assert (check.owner, check.warnings, check.refusal) == ("north", (), "")
    before = study.submitted
    sent = study.submit(*arguments, **named_ones)
    assert before is None or sent == before
    assert (study.is_submitted, sent.samples) == (True, len(of_north(0)[0]))


def test_evaluate_takes_the_same_and_files_what_the_command_files(
    nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    nodes.study("frames")
    north, harbour = of_north(1), of_north(2)
    ppaurora.Study(nodes.kit("harbour"), "frames").submit(harbour)
    study = ppaurora.Study(nodes.kit("north"), "frames")
    report = study.evaluate(pd.DataFrame(table(*north)), **COLUMNS, id="patient", timeout=300)
    died, risks = north[0] + harbour[0], north[1] + harbour[1]
    assert report.auroc == float(defined(exact_auroc(list(zip(risks, died, strict=True)))))
    files = (study.results, receipt_path(study.results))
    assert study.results == nodes.kit("north") / "results" / "frames.json"
    filed = [path.read_bytes() for path in files]
    assert filed == [report.to_json().encode() + b"\n", report.receipt.to_json().encode()]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600, 0o600]
    elsewhere = tmp_path / "result.json"
    report.save(str(elsewhere))
    assert [elsewhere.read_bytes(), receipt_path(elsewhere).read_bytes()] == filed
    for path in files:
        path.unlink()
    assert run("result", nodes.kit("north"), "--study", "frames")[0] == 0
    assert [path.read_bytes() for path in files] == filed
    for path in files:
        assert ppaurora.verify_receipt(path).receipt == report.receipt


def test_a_frame_is_replaced_and_withdrawn(nodes: Trials) -> None:
    nodes.study("python-mended")
    study = ppaurora.Study(nodes.kit("north"), "python-mended")
    died, risks = of_north(3)
    typo = pl.DataFrame(table([not died[0], *died[1:]], risks))
    right = pl.DataFrame(table(died, risks))
    first = study.submit(typo, **COLUMNS)
    with pytest.raises(ppaurora.InputError, match="other data"):
        study.submit(right, **COLUMNS)
    assert study.submitted == first
    second = study.submit(right, **COLUMNS, replace=True)
    assert second.offer.revision == first.offer.revision + 1
    assert second.offer.commitments != first.offer.commitments
    withdrawn = study.withdraw()
    assert withdrawn is not None
    assert withdrawn.offer == second.offer
    assert not study.is_submitted


def test_a_review_still_sees_the_table_and_may_decline(nodes: Trials) -> None:
    """Until it goes: `prepare` and `send` have taken its place."""
    nodes.study("python-review")
    study = ppaurora.Study(nodes.kit("north"), "python-review")
    died, risks = of_north(4)
    frame = pd.DataFrame(table(died + died[:1], risks + risks[:1]))
    frame.loc[len(frame) - 1, "patient"] = "p0"
    seen: list[ppaurora.DataCheck] = []

    def decline(check: ppaurora.DataCheck) -> None:
        seen.append(check)
        raise KeyboardInterrupt

    with pytest.warns(DeprecationWarning, match="prepare"), pytest.raises(KeyboardInterrupt):
        study.submit(frame, **COLUMNS, id="patient", review=decline)
    assert study.submitted is None
    assert [concern.code for concern in seen[0].warnings] == ["duplicates"]
    assert (seen[0].source, seen[0].samples) == ("north", len(frame))
    assert study.check(frame, **COLUMNS, id="patient").to_dict() == seen[0].to_dict()
    with pytest.warns(DeprecationWarning, match="prepare"):
        study.submit(frame, **COLUMNS, id="patient", review=lambda check: None)
    assert study.is_submitted


def test_without_a_review_python_warns_where_it_was_called(nodes: Trials) -> None:
    nodes.study("python-warned")
    study = ppaurora.Study(nodes.kit("north"), "python-warned")
    died, risks = of_north(5)
    inverted = pd.DataFrame(table(died, [round(1 - risk, 6) for risk in risks]))
    for call in (study.submit, lambda *data, **how: study.evaluate(*data, **how, timeout=0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with contextlib.suppress(ppaurora.NotReleasedError):
                call(inverted, **COLUMNS)
            study.withdraw()
        assert [(one.category, one.filename) for one in caught] == [(ppaurora.DataWarning, __file__)]


def test_what_stands_behind_a_table_is_answered(nodes: Trials, prepared: None, tmp_path: Path) -> None:
    died, risks = of_north(0)
    frame = pd.DataFrame(table(died, risks))
    path = written(died, risks, tmp_path / "scores.csv")
    study = ppaurora.Study(nodes.kit("north"), "ways")
    for data in (frame, table(died, risks), path, read_data(path, "risk", "outcome")):
        for method in (study.check, study.submit, study.evaluate):
            with pytest.raises(ppaurora.InputError, match=r"name its columns with score='...'"):
                method(data, "risk")


def test_errors_name_whose_data_it_is(nodes: Trials, prepared: None) -> None:
    study = ppaurora.Study(nodes.kit("north"), "ways")
    for method in (study.check, study.submit, study.evaluate):
        with pytest.raises(
            ppaurora.DataError, match=r"^north, row 2, column 'y_score': the score is missing"
        ):
            method([1, 0], [0.5, float("nan")])
        with pytest.raises(ppaurora.InputError, match=r"^north, column 'score': there is no such column"):
            method(pd.DataFrame(table(*of_north(0))))
