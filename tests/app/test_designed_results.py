"""The result's page of a study with two models and subgroups; that of a plain study has nothing of this."""

from __future__ import annotations

import html

import numpy as np

import ppaurora
from ppaurora.app.owner.own_values import OwnValues, OwnValuesFile
from ppaurora.evaluation.designed import NO_INTERVAL
from ppaurora.owner.study import Study
from tests.support.local_app import Browser
from tests.support.sending import send
from tests.support.trials import PAIR, Trials

HEAD = 'confidence_level = 0.95\nmetrics = ["auroc"]\ncomparisons = [["new", "old"]]\nleft_out = true\n'
POLICY = '[policy]\nkind = "exact"\ndigits = 3\n'
DESIGN = """\
[models.new]
grid = { decimals = 2 }
[models.old]
grid = { decimals = 2 }
[subgroups.sex]
levels = ["f", "m"]
"""


def test_the_page_has_models_comparison_subgroups_and_rows_left_out(nodes: Trials, browser: Browser) -> None:
    nodes.study("two-models", head=HEAD, policy=POLICY, more=DESIGN)
    random = np.random.default_rng(11)
    for owner in PAIR:
        died = random.random(80) < 0.5
        data = {
            "new": np.round(random.beta(2 + 2 * died, 3), 2).tolist(),
            "old": np.round(random.beta(2 + died, 3), 2).tolist(),
            "label": died.astype(int).tolist(),
            "sex": random.choice(["f", "m"], 80).tolist(),
        }
        own = Study(nodes.kit(owner), "two-models")
        prepared = own.prepare(data, left_out={"excluded": 4})
        values = OwnValues.of(own.send(prepared), prepared, own.manifest)
        OwnValuesFile(own.kit, own.manifest).keep(values)
    study = Study(nodes.kit("north"), "two-models")
    study.wait(timeout=120)
    report = study.result()
    kept = OwnValuesFile(study.kit, study.manifest).find(study.submitted)
    assert kept is not None
    page = browser.get("/studies/two-models/result").text
    for name in ("Models", "Comparison of models", "Subgroups", "Rows left out"):
        assert f">{name}</h2>" in page
    for model, one in report.models.items():
        auroc = one["auroc"]
        assert isinstance(auroc, ppaurora.Estimate)
        [of_model] = [part for part in kept.parts if part.model == model]
        own_auroc = f"{of_model.metrics['auroc']['value']:.3f}"
        assert f'<tr><th scope="row">AUROC, {model}</th><td>{auroc.shown()}' in page
        assert f"<td>{own_auroc} (95% CI" in page
        assert f'<p class="card__title">AUROC, {model}</p><p class="card__value">{auroc.shown()}</p>' in page
    compared = report.comparison("new", "old").auroc
    assert compared is not None
    assert html.escape(compared.test_line()) in page
    for title in ("Differences between models", "Subgroups: new", "Subgroups: old"):
        assert f"<title>{title}</title>" in page
    assert '<th scope="row">Rows excluded for another reason</th><td>8</td>' in page
    quote = page.split('<blockquote class="quote')[1].split("</blockquote>")[0]
    assert quote.count("<p>") == 4  # models, comparison, subgroups, rows left out


def test_the_page_of_a_study_with_weights_counts_by_weight_and_explains_intervals(
    nodes: Trials, browser: Browser
) -> None:
    head = 'confidence_level = 0.95\nmetrics = ["auroc", "ap"]\n'
    design = '[protocol]\nname = "grid"\ndecimals = 2\n[weight]\ncolumn = "times"\nmost = 3\n'
    nodes.study("weights", head=head, policy=POLICY, more=design)
    random = np.random.default_rng(12)
    for owner in PAIR:
        died = random.random(80) < 0.5
        data = {
            "score": np.round(random.beta(2 + 2 * died, 3), 2).tolist(),
            "label": died.astype(int).tolist(),
            "times": random.integers(1, 4, 80).tolist(),
        }
        send(Study(nodes.kit(owner), "weights"), data)
    study = Study(nodes.kit("north"), "weights")
    study.wait(timeout=120)
    one = study.result().results.wholes[0]
    page = browser.get("/studies/weights/result").text
    assert f"by weight {one.positives} positive and {one.negatives} negative" in page
    assert page.count(f"Where there is {NO_INTERVAL}.") == page.count(NO_INTERVAL) == 1
