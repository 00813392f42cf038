"""What went wrong in a trial stops now, with its cause: an inverted score, a wrong positive label."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import ppaurora
from ppaurora.data import check_samples
from ppaurora.owner.study import Study
from tests.support.checks import named, outcomes, write_table
from tests.support.oracles import defined, exact_auroc
from tests.support.trials import PAIR, RunCommand, Trials

PLAN = '[evaluation]\npositive_class = "died"\nscore_scale = "probability"'


def data_of(seed: int) -> dict[str, tuple[list[bool], list[float]]]:
    """Both owners'; every study has its own, or the same data would be warned of."""
    return {owner: outcomes(seed + number, decimals=6) for number, owner in enumerate(PAIR)}


def turned_round(risks: list[float]) -> list[float]:
    return [round(1 - risk, 6) for risk in risks]


def refused(nodes: Trials, owner: str, study: str) -> bool:
    """Nothing is kept, nothing was sent."""
    manifest = Study(nodes.kit(owner), study).manifest
    return (
        not (nodes.kit(owner) / "outbox" / study).exists()
        and nodes.client(owner, manifest).status().submitted == ()
    )


@pytest.mark.parametrize(
    ("study", "is_inverted", "options", "cause"),
    [
        (
            "inverted",
            True,
            ("--pos-label", "died"),
            "are the scores inverted? The plan says that higher scores mean 'died'",
        ),
        (
            "wrong-label",
            False,
            ("--pos-label", "survived"),
            "but the plan's positive class is 'died', which is the other label here: --pos-label died",
        ),
    ],
)
def test_a_trials_failure_stops_and_names_its_cause(
    study: str,
    is_inverted: bool,
    options: tuple[str, ...],
    cause: str,
    nodes: Trials,
    run: RunCommand,
    tmp_path: Path,
) -> None:
    """Both owners would have got through; once mended, the result is that of the pooled data."""
    nodes.study(study, more=PLAN)
    data = data_of(20 if is_inverted else 30)
    died, risks = data["north"]
    scores = turned_round(risks) if is_inverted else risks
    bad = write_table(tmp_path / "bad.csv", named(died), scores)
    command = ("submit", nodes.kit("north"), bad, "--study", study, *options, "--yes")
    code, said = run(*command)
    assert (code, cause in said, "the local AUROC is below 0.5, by more than chance" in said) == (
        6,
        True,
        True,
    )
    assert "not submitted; nothing was sent" in said
    assert refused(nodes, "north", study)
    for owner in PAIR:
        file = write_table(tmp_path / f"{owner}.csv", named(data[owner][0]), data[owner][1])
        code, said = run("submit", nodes.kit(owner), file, "--study", study, "--pos-label", "died", "--yes")
        assert (code, "warning: the local" in said) == (0, False), said
    pooled = [
        (risk, int(one)) for labels, risks in data.values() for one, risk in zip(labels, risks, strict=True)
    ]
    report = Study(nodes.kit("north"), study).wait(timeout=300)
    assert report.auroc == pytest.approx(float(defined(exact_auroc(pooled))), abs=1e-12)


def test_who_insists_gets_through(nodes: Trials, run: RunCommand, tmp_path: Path) -> None:
    """The control: it was the warning that stopped it, and nothing else."""
    nodes.study("insisting", more=PLAN)
    died, risks = data_of(40)["north"]
    data = write_table(tmp_path / "scores.csv", named(died), turned_round(risks))
    command = ("submit", nodes.kit("north"), data, "--study", "insisting", "--pos-label", "died", "--yes")
    assert run(*command)[0] == 6
    code, said = run(*command, "--despite-warnings")
    assert (code, "[auroc-below-half]" in said, "have acknowledged" in said) == (0, True, True)


def test_python_warns(nodes: Trials) -> None:
    """Of what is wrong, before anything is kept or sent, and of nothing else."""
    nodes.study("warned", more=PLAN)
    study = Study(nodes.kit("harbour"), "warned")
    died, risks = data_of(50)["harbour"]
    bad = check_samples("harbour", died, turned_round(risks))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ppaurora.DataWarning, match="are the scores inverted"):
            study.submit(bad)
        assert refused(nodes, "harbour", "warned")
        study.submit(check_samples("harbour", died, risks))
    assert study.is_submitted
