"""What the documents say is what the code does."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path

import pytest

from ppaurora.bench.scale import markdown_table

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_readmes_python_runs_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102
    auroc, aupr, seconds, sent, rounds = map(float, capsys.readouterr().out.split())
    assert 0.5 < auroc < 1
    assert 0.5 < aupr < 1
    assert seconds > 0
    assert sent > rounds > 0


def test_the_readmes_cost_table_is_the_measured_one() -> None:
    runs = json.loads((ROOT / "benchmarks/results/scale.json").read_text())["runs"]
    rows = [row for run in runs for row in run["measurements"]]
    marker = "<!-- from benchmarks/results/scale.json: {} -->"
    table = README.split(marker.format("begin"))[1].split(marker.format("end"))[0].strip()
    assert table == markdown_table(rows)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def openings_in_the_code() -> set[str]:
    """The names that calls of `suite.open` carry, anywhere in the package."""
    names = set()
    for source in (ROOT / "src/ppaurora").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("suite.open", "self.open", "s.open"):
                names |= {
                    a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
                }
    return names


def test_every_opening_in_the_code_is_explained_and_no_other() -> None:
    leakage = (ROOT / "docs/leakage.md").read_text()
    section = leakage.split("## Openings, by name")[1].split("##")[0]
    explained = set(re.findall(r"^\| `([^`]+)`", section, flags=re.MULTILINE))
    assert openings_in_the_code() == explained == {"merge: which of two tops is larger"}


def resolves(dotted: str) -> bool:
    """Whether it is a module, or something that a module has."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.parametrize("document", ["docs/protocol.md", "ARCHITECTURE.md"])
def test_what_documents_name_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    names = set(re.findall(r"`((?:algorithms|suites|owner|sharing)(?:\.[A-Za-z_]+)+)", text))
    files = set(re.findall(r"\b((?:[a-z]+/)+[a-z_]+\.py)\b", text))
    assert names | files
    for name in names:
        assert resolves(f"ppaurora.{name}"), name
    for file in files:
        places = (ROOT / "src/ppaurora", ROOT / "src/ppaurora/suites", ROOT)
        assert any((place / file).exists() for place in places), file


def test_names_that_do_not_exist_are_noticed() -> None:
    assert resolves("ppaurora.algorithms.curves.auroc")
    assert not resolves("ppaurora.algorithms.curves.no_such_metric")
    assert not resolves("ppaurora.algorithms.no_such_module.auroc")
