"""Rules of the house that a reader relies on, and that no linter knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ppaurora.protocols import protocols
from tests.support.repository import ROOT

REGISTRY = Path("src/ppaurora/protocols/registry.py")


def modules(*folders: str) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text()


def comparisons_with_a_protocols_name(path: Path, text: str) -> list[str]:
    """`== "fast"`, `in ("fast", ...)`, `case "fast":`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            compared: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            compared = [node.value]
        else:
            continue
        constants = [part for one in compared for part in ast.walk(one) if isinstance(part, ast.Constant)]
        found += [f"{path}:{one.lineno}" for one in constants if one.value in protocols()]
    return found


def test_a_protocols_name_is_compared_in_the_registry_only() -> None:
    sources = [(path, text) for path, text in modules("src", "benchmarks", "examples") if path != REGISTRY]
    assert len(sources) > 100
    assert [place for source in sources for place in comparisons_with_a_protocols_name(*source)] == []


def test_a_comparison_with_a_protocols_name_is_found() -> None:
    """The positive control."""
    text = """
if protocol == "fast": pass
if name not in ("paper", "other"): pass
match name:
    case "fast": pass
protocols = ("paper", "fast")
"""
    found = comparisons_with_a_protocols_name(Path("bad.py"), text)
    assert sorted(found) == ["bad.py:2", "bad.py:3", "bad.py:5"]
