"""A metric knows itself: nothing outside of `metrics/` spells its name; whoever needs it asks the class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.metrics import METRICS
from tests.support.repository import ROOT

HOME = ROOT / "src/ppaurora/metrics"
QUOTED = re.compile(rf"""["']({"|".join(METRICS)})["']""")


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of strings that are a metric's name, or hold one in quotes; docstrings are examples."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        if node.value in METRICS or QUOTED.search(node.value):
            yield node.lineno, node.value


def files() -> list[Path]:
    found = [path for room in ("src", "benchmarks", "tools") for path in sorted((ROOT / room).rglob("*.py"))]
    return [path for path in found if HOME not in path.parents]


def test_no_code_spells_a_metrics_name() -> None:
    assert len(files()) > 200
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:40]!r}"
        for path in files()
        for line, text in literals(path.read_text())
    ]
    assert found == []


def test_no_template_spells_a_metrics_name() -> None:
    templates = sorted((ROOT / "src").rglob("*.html"))
    assert len(templates) > 10
    assert [path.name for path in templates if QUOTED.search(path.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        'x = report["auroc"]',
        "def f(name):\n    return name == 'ppv'",
        'plan = f"metrics = [\\"ap\\"]\\nname = {name}"',
        '"""Module."""\nNAMES = {"brier": 1}',
    ],
)
def test_the_search_finds_one(source: str) -> None:
    assert len(list(literals(source))) == 1


def test_docstrings_may_have_examples() -> None:
    source = '''
def f():
    """Of `report["auroc"]`.

    >>> evaluate(metrics=["auroc"])
    """
'''
    assert list(literals(source)) == []
