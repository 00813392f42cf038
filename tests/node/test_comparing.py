"""`ppaurora compare` of results that nodes have signed for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ppaurora.data.samples import check_samples
from ppaurora.owner.study import Study
from tests.support.deployment import samples
from tests.support.trials import PAIR, RunCommand, Trials

HEAD = 'metrics = ["auroc"]\nconfidence_level = 0.9\n'


def result_of(running: Trials, name: str, sizes: Sequence[int], seed: int) -> Path:
    """Return the file of north's result, of a study with so many samples of each owner."""
    running.study(name, head=HEAD)
    studies = [Study(running.kit(owner), name) for owner in PAIR]
    for number, (study, size) in enumerate(zip(studies, sizes, strict=True)):
        study.submit(check_samples(study.kit.name, *samples(size, seed + number)))
    studies[0].wait(timeout=300)
    return studies[0].results


@pytest.fixture(scope="module")
def results(running: Trials) -> dict[str, Path]:
    sizes = {"first": (80, 70), "again": (80, 75), "larger": (95, 100)}
    return {
        name: result_of(running, f"compared-{name}", of, 9100 + 10 * number)
        for number, (name, of) in enumerate(sizes.items())
    }


def test_owners_in_common_with_other_numbers_are_a_warning(results: dict[str, Path], run: RunCommand) -> None:
    code, said = run("compare", results["first"], results["larger"])
    assert code == 0
    assert f"A: {results['first']}, study compared-first, verified: 150 samples of 2 owners\n" in said
    assert said.count("\nwarning: ") == 2
    assert "north (the same key) submitted 80 samples to A and 95 to B" in said
    code, printed = run("compare", results["first"], results["larger"], "--format", "json")
    found = json.loads(printed)
    assert (code, found["confidence_level"], len(found["warnings"])) == (0, 0.9, 2)
    difference = found["differences"]["auroc"]["difference"]
    assert 100 < difference["degrees_of_freedom"] <= 150 + 195 - 2
    assert found["a"]["manifest_hash"] != found["b"]["manifest_hash"]


def test_the_same_owner_with_the_same_number_of_samples_is_refused(
    results: dict[str, Path], run: RunCommand
) -> None:
    code, said = run("compare", results["first"], results["again"])
    assert code == 2
    assert "north (the same key) submitted 80 samples to both" in said
    assert "evaluate them in one study, with [models] in its plan" in said
    code, said = run("compare", results["first"], results["first"])
    assert (code, "are of the same study, compared-first" in said) == (2, True)


def test_a_result_that_was_changed_does_not_verify(
    results: dict[str, Path], run: RunCommand, tmp_path: Path
) -> None:
    content = json.loads(results["larger"].read_text())
    content["metrics"]["auroc"]["value"] += 0.001
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content))
    code, said = run("compare", results["first"], changed)
    assert (code, "does not verify" in said) == (7, True)
    receipt = results["first"].with_suffix(".receipt.json")
    code, said = run("compare", receipt, results["larger"])
    assert (code, "is a receipt, which holds no result" in said) == (2, True)
