"""The result's page of a study with two models and subgroups; that of a plain study has nothing of this."""

from __future__ import annotations

import html

import numpy as np

import ppaurora
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
        send(Study(nodes.kit(owner), "two-models"), data, left_out={"excluded": 4})
    study = Study(nodes.kit("north"), "two-models")
    study.wait(timeout=120)
    report = study.result()
    page = browser.get("/studies/two-models/result").text
    for name in ("Models", "Comparison of models", "Subgroups", "Rows left out"):
        assert f">{name}</h2>" in page
    for model, one in report.models.items():
        auroc = one["auroc"]
        assert isinstance(auroc, ppaurora.Estimate)
        assert f'<p class="card__title">AUROC, {model}</p><p class="card__value">{auroc.shown()}</p>' in page
    compared = report.comparison("new", "old").auroc
    assert compared is not None
    assert html.escape(compared.test_line()) in page
    for title in ("Differences between models", "Subgroups: new", "Subgroups: old"):
        assert f"<title>{title}</title>" in page
    assert '<th scope="row">Rows excluded for another reason</th><td>8</td>' in page
