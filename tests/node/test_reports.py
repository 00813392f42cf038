"""Reports of results that real nodes released: verified first, and with nobody else's secrets."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.data import Columns, check_samples
from ppaurora.errors import InputError, NotReleasedError, UndefinedResultError
from ppaurora.owner.study import Study
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.writing import facts_of, own_samples
from tests.support.deployment import write_csv
from tests.support.oracles import defined, exact_auroc, exact_average_precision, exact_delong_variance
from tests.support.sending import send
from tests.support.trials import OWNERS, RunCommand, Trials

HOSTILE = '<script>x</script> \\input{y} | 100 % & "Söhne"'
HEAD = """\
confidence_level = 0.95
metrics = [
    "auroc", "ap", "aupr", "brier", "youden_j", "observed_expected", "reliability",
    { name = "sensitivity", thresholds = [0.3, 0.5] },
    { name = "net_benefit", thresholds = [0.3, 0.5] },
    { name = "sensitivity_at_specificity", specificity = 0.9 },
]
"""
POLICY = """\
[policy]
kind = "exact"
digits = 2
counts = "COUNTS"
minimum_positives = FLOOR
minimum_negatives = 10
minimum_per_cell = 10
"""


def evaluation() -> str:
    model = json.dumps(HOSTILE, ensure_ascii=False)
    return f'[evaluation]\nmodel = {model}\noutcome = "sepsis"\nscore_scale = "probability"\n'


def hospital(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    scores = random.random(samples)
    return (random.random(samples) < scores).astype(int), scores


DATA = {owner: hospital(size, 40 + size) for owner, size in zip(OWNERS, (160, 60, 120), strict=True)}


def done(nodes: Trials, name: str, *, counts: str = "hidden", floor: int = 10) -> Study:
    """Of harbour, with its result."""
    policy = POLICY.replace("COUNTS", counts).replace("FLOOR", str(floor))
    nodes.study(name, owners=OWNERS, head=HEAD, policy=policy, more=evaluation())
    studies = {owner: Study(nodes.kit(owner), name) for owner in OWNERS}
    for owner, (labels, scores) in DATA.items():
        send(studies[owner], check_samples(owner, labels, scores))
    studies["harbour"].wait(timeout=300)
    return studies["harbour"]


@pytest.fixture(scope="module")
def study(running: Trials) -> Study:
    return done(running, "reported", counts="exact")


@pytest.fixture(scope="module")
def facts(study: Study) -> Facts:
    return facts_of(source_of(study.results))


@pytest.fixture(scope="module")
def own(study: Study) -> Facts:
    labels, scores = DATA["harbour"]
    source = source_of(study.results)
    samples = own_samples(source, check_samples("my/data.csv", labels, scores), Columns())
    return facts_of(source, samples)


def pairs(*owners: str) -> list[tuple[float, int]]:
    return [(float(score), int(label)) for owner in owners for label, score in zip(*DATA[owner], strict=True)]


def test_facts_are_those_of_the_pooled_samples(facts: Facts) -> None:
    numbers = {one.metric: one for one in facts.single}
    pooled = pairs(*OWNERS)
    assert numbers["auroc"].shown == f"{float(defined(exact_auroc(pooled))):.2f}"
    assert numbers["ap"].shown == f"{float(defined(exact_average_precision(pooled))):.2f}"
    reach = 1.96 * float(defined(exact_delong_variance(pooled))) ** 0.5
    bounds = numbers["auroc"].bounds
    assert bounds is not None
    assert float(bounds[0]) == pytest.approx(float(defined(exact_auroc(pooled))) - reach, abs=0.02)
    assert (facts.institutions, facts.samples) == (3, 340)
    assert facts.positives == sum(label for _, label in pooled)
    assert f"n = 340, of which {facts.positives} positive" in facts.results
    assert numbers["sensitivity_at_specificity"].title == "highest sensitivity (specificity 0.9)"
    assert "rounded to 2 or 3 decimals" in facts.methods
    assert HOSTILE in facts.results


def test_the_owners_own_numbers_are_those_of_its_samples(own: Facts) -> None:
    assert own.own is not None
    numbers = {(one.metric, one.name, *one.at.values()): one for one in own.own.numbers}
    labels, scores = DATA["harbour"]
    mine = pairs("harbour")
    auroc, error = float(defined(exact_auroc(mine))), float(defined(exact_delong_variance(mine))) ** 0.5
    assert numbers["auroc", "auroc"].value == pytest.approx(auroc)
    assert numbers["auroc", "auroc"].interval == pytest.approx(
        (auroc - 1.959964 * error, auroc + 1.959964 * error), abs=1e-6
    )
    assert numbers["ap", "ap"].value == pytest.approx(float(defined(exact_average_precision(mine))))
    assert numbers["brier", "brier"].value == pytest.approx(float(np.mean((scores - labels) ** 2)))
    assert numbers["sensitivity", "sensitivity", 0.3].value == pytest.approx(
        float(np.mean(scores[labels == 1] >= 0.3))
    )
    in_bin = (scores > 0.2) & (scores <= 0.3)
    assert numbers["reliability", "observed", 0.2, 0.3].value == pytest.approx(float(labels[in_bin].mean()))
    for name in ("aupr", "youden_j", "observed_expected"):
        metric = ppaurora.METRICS[name]()
        assert numbers[name, name].value == pytest.approx(metric.reference(labels, scores)), name
    assert (own.own.samples, own.own.positives, own.own.fits) == (60, int(labels.sum()), True)
    assert own.own.source == "data.csv"
    assert "times narrower" in own.own.words


def test_a_page_from_the_command_line(study: Study, tmp_path: Path, run: RunCommand) -> None:
    page = tmp_path / "new" / "report.html"
    code, said = run("report", study.results, "--out", page)
    assert (code, said) == (0, f"report: {page}\n")
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert study.manifest.hash in text
    assert page.stat().st_mode & 0o777 == 0o600
    code, printed = run(
        "report", study.kit.folder, "--study", "reported", "--manifest-hash", study.manifest.hash
    )
    assert (code, printed) == (0, text)
    before = page.stat().st_ino
    assert run("report", study.results, "--out", page)[0] == 0  # replaced as a whole
    assert (page.read_text(), page.stat().st_ino != before) == (text, True)


def test_charts_of_what_is_released(study: Study, tmp_path: Path) -> None:
    """Intervals, reliability and decision curve; curves of ranks only of the own data."""
    ppaurora.write_report(study.results, tmp_path / "public.html")
    labels, scores = DATA["harbour"]
    ppaurora.write_report(study.results, tmp_path / "own.html", data=(labels, scores))
    found = {
        name: re.findall(r"<svg class=\"chart\".*?<title>(.*?)</title>", (tmp_path / name).read_text())
        for name in ("public.html", "own.html")
    }
    public = ["Values and their uncertainty", "Decision curve", "Reliability diagram"]
    assert found["public.html"] == public
    assert found["own.html"] == [
        *public,
        "ROC curve of your own data",
        "Precision-recall curve of your own data",
        "Scores by class in your own data",
    ]


def test_no_secret_is_in_a_report(study: Study, tmp_path: Path, run: RunCommand) -> None:
    """No salt, no part of the result, no key, nobody's scores; the positive control is the result's file."""
    content = json.loads(study.results.read_text())
    secrets = [one["salt"] for one in content["parts"]]
    secrets += [str(one["part"])[10:60] for one in content["parts"]]
    secrets += [repr(float(score)) for owner in OWNERS for score in DATA[owner][1]]
    filed = json.dumps(content)
    assert all(one["salt"] in filed for one in content["parts"])
    for name in ("page.html", "text.md", "table.tex", "facts.json"):
        assert run("report", study.results, "--out", tmp_path / name)[0] == 0
        text = re.sub(r"[0-9a-f]{64}|\d+ samples", "", (tmp_path / name).read_text())
        assert [one for one in secrets if re.search(rf"(?<![\d.]){re.escape(one)}(?![\d.])", text)] == []
        assert "PRIVATE" not in text


def test_own_data_is_told_prominently_and_compared(study: Study, tmp_path: Path, run: RunCommand) -> None:
    labels, scores = DATA["harbour"]
    auroc = float(defined(exact_auroc(pairs("harbour"))))
    path, page = write_csv(tmp_path / "data.csv", labels, scores), tmp_path / "own.html"
    code, said = run("report", study.results, "--data", path, "--out", page)
    assert code == 0
    warning = "This report contains figures from your own data. Keep it to yourself."
    assert warning in said
    text = page.read_text()
    assert text.index("This report contains figures from your own data") < text.index('id="results"')
    assert "not the same data" not in text
    for output in ("markdown", "latex", "json"):
        code, said = run("report", study.results, "--data", path, "--format", output)
        assert (code, f"{auroc:.3f}" in said) == (0, True)
        assert warning.split(".")[0] in said
    other = write_csv(tmp_path / "other.csv", labels[:50], scores[:50])
    code, said = run("report", study.results, "--data", other, "--format", "markdown")
    assert "has 50 samples, but harbour submitted 60: it is not the same data" in said
    ppaurora.write_report(study.results, tmp_path / "public.html")
    assert "your own data" not in (tmp_path / "public.html").read_text().lower()


def test_what_does_not_verify_is_not_reported(study: Study, tmp_path: Path, run: RunCommand) -> None:
    """Every number, and the receipt; nothing is written."""

    def value(content: Any) -> None:
        content["metrics"]["auroc"]["value"] = 0.99

    def cell(content: Any) -> None:
        content["metrics"]["reliability"]["rows"][0]["values"]["observed"]["value"] = 0.5

    def statement(content: Any) -> None:
        content["receipt"]["statements"][1]["statement"]["attempt"] += 1

    def owner(content: Any) -> None:
        content["owner"] = "north"

    for change in (value, cell, statement, owner):
        content = json.loads(study.results.read_text())
        change(content)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(content))
        code, said = run("report", path, "--out", tmp_path / "report.html")
        assert (code, "changed.json: does not verify" in said) == (7, True), change.__name__
    assert not (tmp_path / "report.html").exists()
    code, said = run("report", study.results, "--manifest-hash", "123456789abc")
    assert (code, "which is not the one that was given" in said) == (7, True)


def test_a_result_in_memory_is_verified_too(study: Study, tmp_path: Path) -> None:
    report = study.result()
    ppaurora.write_report(report, tmp_path / "a.json")
    ppaurora.write_report(study.results, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert json.loads((tmp_path / "a.json").read_text())["format"] == "ppaurora report 1"


def test_a_suppressed_result_is_told_in_words(running: Trials, tmp_path: Path, run: RunCommand) -> None:
    study = done(running, "suppressed-report", floor=300)
    page = tmp_path / "report.html"
    code, said = run("report", study.results, "--out", page)
    assert (code, said) == (5, f"report: {page}\n")
    facts = facts_of(source_of(study.results))
    assert (facts.state, facts.positives) == ("suppressed", None)
    assert "no performance estimate of" in facts.results
    items = {one.item: one.status for one in facts.reporting}
    assert (items["23a"], items["20a"]) == ("withheld", "withheld")
    assert "The policy withholds this result" in page.read_text()


def test_hidden_counts_are_named_as_withheld(running: Trials) -> None:
    study = done(running, "hidden-report")
    facts = facts_of(source_of(study.results))
    assert "the number of positives was not disclosed" in facts.results
    items = {one.item: one for one in facts.reporting}
    assert items["20a"].status == "withheld"
    assert (items["21"].status, "withheld by the policy" in items["21"].words) == ("in part", True)
    ap = next(one for one in facts.single if one.metric == "ap")
    assert "average precision" in items["23a"].words
    assert "which the policy hides" in ap.note


def test_an_undefined_result_has_a_report_of_its_receipt(
    running: Trials, tmp_path: Path, run: RunCommand
) -> None:
    """There are no values to file; the receipt says who took part, and the report says why."""
    running.study("one-class-report")
    studies = {owner: Study(running.kit(owner), "one-class-report") for owner in ("north", "harbour")}
    for number, owner in enumerate(studies):
        scores = np.random.default_rng(90 + number).random(20)
        studies[owner].submit(check_samples(owner, np.ones(20, dtype=int), scores))
    with pytest.raises(UndefinedResultError):
        studies["harbour"].wait(timeout=300)
    code, said = run("report", running.kit("harbour"), "--study", "one-class-report", "--format", "markdown")
    assert code == 0
    assert "which contains no values" in said
    assert "40 samples" in said or "n = 40" in said
    page = tmp_path / "receipt.html"
    assert run("report", running.kit("harbour"), "--study", "one-class-report", "--out", page)[0] == 0
    assert "without values" in page.read_text()
    assert '<svg class="chart"' not in page.read_text()


def test_own_data_needs_a_result(study: Study, tmp_path: Path) -> None:
    receipt = study.results.with_suffix(".receipt.json")
    with pytest.raises(InputError, match="own data is compared with the result of a study"):
        ppaurora.write_report(receipt, tmp_path / "a.html", data=DATA["harbour"])
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        ppaurora.write_report(study.results, tmp_path / "a.html", data=([1, 0], [0.5, 1.5]))
    assert list(tmp_path.iterdir()) == []


def test_own_data_of_one_class_has_no_curve(study: Study, tmp_path: Path) -> None:
    ppaurora.write_report(study.results, tmp_path / "a.html", data=([1, 1, 1], [0.2, 0.5, 0.5]))
    text = (tmp_path / "a.html").read_text()
    assert "They give no interval for AUROC." in text
    assert "ROC curve of your own data" not in text
    assert "Scores by class in your own data" in text


def test_which_result_of_a_kit(study: Study, tmp_path: Path) -> None:
    kit = tmp_path / "kit"
    shutil.copytree(study.kit.folder, kit)
    for path in (kit / "results").iterdir():
        if not path.name.startswith("reported."):
            path.unlink()
    assert source_of(kit).verification == source_of(study.results).verification
    shutil.copy(kit / "results/reported.json", kit / "results/second.json")
    with pytest.raises(InputError, match="name one of its results with --study: reported, second"):
        source_of(kit)
    with pytest.raises(NotReleasedError, match="holds no result of 'third', but of: reported, second"):
        source_of(kit, study="third")
