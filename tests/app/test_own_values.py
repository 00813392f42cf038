"""An owner's own values: kept in its kit if it wants that, shown beside the pooled ones, and nowhere else."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from ppaurora.app.owner.own_values import OwnValues, OwnValuesFile
from ppaurora.app.owner.results import KINDS
from ppaurora.data import CountTable, check_samples
from ppaurora.owner.study import Study
from tests.support.app_owner import Person, submit_other, table
from tests.support.local_app import Browser
from tests.support.oracles import exact_auroc
from tests.support.trials import Trials

BESIDE = "Pooled values beside your own"


def own_file(nodes: Trials, study: str) -> Path:
    return nodes.kit("north") / "own" / f"{study}.json"


def submitted(nodes: Trials, browser: Browser, study: str, content: bytes, *ticked: str) -> Person:
    nodes.study(study)
    person = Person(browser, study)
    person.choose(content)
    person.submitted("agree", *ticked)
    person.page("Your data is submitted")
    return person


def released(nodes: Trials, person: Person) -> str:
    """The result's page."""
    submit_other(nodes, person.study)
    person.page("The result is ready")
    Study(nodes.kit("north"), person.study).result()
    return person.browser.get(f"{person.path}/result").text


def test_own_values_stand_beside_the_pooled_ones(nodes: Trials, browser: Browser) -> None:
    content = table(60)
    rows = [line.split(",") for line in content.decode().splitlines()[1:]]
    expected = exact_auroc([(float(score), int(label)) for score, label in rows])
    person = submitted(nodes, browser, "beside", content, "keep-own")
    path = own_file(nodes, "beside")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    kept = path.read_text()
    assert not [score for score, _ in rows if score in kept]  # the data itself is not kept
    page = released(nodes, person)
    report = Study(nodes.kit("north"), "beside").result()
    assert BESIDE in page
    assert "exact, and not released to anyone" in page
    own = page.partition(BESIDE)[2]
    assert f"<td>{report.auroc:.4f}"[:8] in own
    assert f"<td>{float(expected or 0):.3f} (95% CI" in own
    for name in KINDS:
        saved = browser.get(f"{person.path}/result/{name}").text
        assert BESIDE not in saved
        assert f"{float(expected or 0):.3f} (95% CI" not in saved
    forget = browser.post(f"{person.path}/result/forget-own", csrf_token=person.csrf_token())
    assert forget.status == 303
    assert not path.exists()
    assert BESIDE not in browser.get(f"{person.path}/result").text


def test_nothing_is_kept_unasked(nodes: Trials, browser: Browser) -> None:
    person = submitted(nodes, browser, "not-kept", table())
    assert not own_file(nodes, "not-kept").exists()
    assert BESIDE not in released(nodes, person)


def test_a_withdrawal_deletes_them(nodes: Trials, browser: Browser) -> None:
    person = submitted(nodes, browser, "taken-back", table(), "keep-own")
    assert own_file(nodes, "taken-back").exists()
    browser.post(f"{person.path}/withdraw", csrf_token=person.csrf_token())
    person.page("You have withdrawn your data")
    assert not own_file(nodes, "taken-back").exists()


def test_values_of_a_replaced_submission_are_not_shown(nodes: Trials, browser: Browser) -> None:
    """It was replaced without the app, which therefore has not deleted them."""
    person = submitted(nodes, browser, "replaced-own", table(60), "keep-own")
    own = Study(nodes.kit("north"), "replaced-own")
    random = np.random.default_rng(5)
    own.submit((np.arange(70) % 2, random.random(70)), replace=True)
    assert own_file(nodes, "replaced-own").exists()
    assert BESIDE not in released(nodes, person)


def test_they_print_nothing(nodes: Trials, browser: Browser) -> None:
    submitted(nodes, browser, "silent-own", table(), "keep-own")
    study = Study(nodes.kit("north"), "silent-own")
    values = OwnValuesFile(study.kit, study.manifest).find(study.submitted)
    assert values is not None
    assert (repr(values), repr(values.parts)) == ("<OwnValues>", "(<OwnPart>,)")


@pytest.mark.parametrize("counted", [False, True])
def test_a_study_on_a_grid_has_its_values_as_it_reads_them(nodes: Trials, counted: bool) -> None:
    name = f"own-grid-{int(counted)}"
    manifest = nodes.study(
        name, head='metrics = ["auroc"]\n', more='[protocol]\nname = "grid"\ndecimals = 1\n'
    )
    study = Study(nodes.kit("north"), name)
    random = np.random.default_rng(7)
    scores, labels = random.random(80), random.random(80) < 0.5
    samples = check_samples("north", labels, scores)
    grid = manifest.protocol.counting_grid
    assert grid is not None
    prepared = study.prepare(CountTable.of(samples, grid) if counted else samples)
    [part] = OwnValues.of(study.send(prepared), prepared, manifest).parts
    expected = exact_auroc(
        [(round(float(score), 1), int(label)) for score, label in zip(scores, labels, strict=True)]
    )
    assert part.metrics["auroc"]["value"] == pytest.approx(float(expected or 0), abs=1e-12)
