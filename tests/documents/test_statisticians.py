"""docs/statisticians.md and docs/metrics.md: the example gives what it says, and rules are the policy's."""

from __future__ import annotations

import re

import pytest

from ppaurora.metrics import METRICS
from ppaurora.policy.rules import COUNT_STEP, Policy
from ppaurora.version import __version__
from tests.support.repository import ROOT

PAGE = "".join((ROOT / f"docs/{name}.md").read_text() for name in ("statisticians", "metrics"))
TEXT = " ".join(PAGE.replace("\n> ", "\n").split())


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(example, "docs/metrics.md", "exec"), {})  # noqa: S102
    interval, line = capsys.readouterr().out.splitlines()
    low, high = (f"{float(bound):.4f}" for bound in interval.strip("()").split(", "))
    assert f"It prints {low} and {high}, and `{line}`." in TEXT
    value, shown_low, shown_high = re.findall(r"0\.\d\d\d", line)
    assert f"AUROC was {value} (95 % CI {shown_low} to {shown_high})" in TEXT


def test_the_rules_are_those_of_the_policy() -> None:
    policy = Policy.publication()
    assert (policy.digits, COUNT_STEP, policy.counts) == (3, 5, "rounded")
    assert TEXT.count("three decimals") >= 3
    assert TEXT.count("to the nearest five") == 2
    assert (policy.minimum_positives, policy.minimum_negatives, policy.minimum_per_cell) == (10, 10, 10)
    assert "fewer than ten positives or ten negatives, in total or without any one owner" in TEXT
    assert "fewer than ten samples are on either side of the threshold" in TEXT
    assert f"differentially private (epsilon = {Policy.private().epsilon:g})" in TEXT
    assert f"ppaurora {__version__}, protocol `fast`" in TEXT


def test_what_private_studies_refuse_is_named() -> None:
    refused = {name for name, metric in METRICS.items() if metric.sample().mechanism() is None}
    assert refused == {
        "ap",
        "aupr",
        "auroc_no_ties",
        "youden_j",
        "partial_auroc",
        "sensitivity_at_specificity",
        "specificity_at_sensitivity",
    }
    for words in ("AP, AUPR, Youden's J, partial areas", "sensitivity at a specificity"):
        assert words in TEXT
