"""docs/statisticians.md: its example gives what it says, and its rules are the policy's."""

from __future__ import annotations

import re

import pytest

from ppaurora.policy.rules import Policy
from ppaurora.version import __version__
from tests.support.repository import ROOT

TEXT = " ".join((ROOT / "docs/statisticians.md").read_text().split())


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/statisticians.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(example, "docs/statisticians.md", "exec"), {})  # noqa: S102
    interval, line = capsys.readouterr().out.splitlines()
    low, high = (f"{float(bound):.4f}" for bound in interval.strip("()").split(", "))
    assert f"It prints {low} and {high}, and `{line}`." in TEXT
    value, shown_low, shown_high = re.findall(r"0\.\d\d", line)
    assert f"AUROC was {value} (95 % CI {shown_low} to {shown_high})" in TEXT


def test_the_rules_are_those_of_the_policy() -> None:
    assert (Policy().minimum_positives, Policy().minimum_negatives, Policy().minimum_per_cell) == (10, 10, 10)
    assert TEXT.count("ten positives") >= 2
    assert f"ppaurora {__version__}, protocol `fast`" in TEXT
