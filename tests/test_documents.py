"""What the documents say is what the code does."""

from __future__ import annotations

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
    saved = json.loads((ROOT / "benchmarks/results/scale.json").read_text())
    marker = "<!-- from benchmarks/results/scale.json: {} -->"
    table = README.split(marker.format("begin"))[1].split(marker.format("end"))[0].strip()
    assert table == markdown_table(saved["measurements"])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_every_opening_in_the_code_is_explained() -> None:
    named = set()
    for source in (ROOT / "src/ppaurora/algorithms").glob("*.py"):
        named |= set(re.findall(r'"((?:merge|order check): [^"]+)"', source.read_text()))
    leakage = (ROOT / "docs/leakage.md").read_text()
    assert len(named) == 1
    assert all(f"`{name}`" in leakage for name in named)


@pytest.mark.parametrize("document", ["docs/protocol.md", "ARCHITECTURE.md"])
def test_modules_named_in_documents_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    modules = set(re.findall(r"`((?:algorithms|suites|owner|sharing)\.[a-z_]+(?:\.[a-z_]+)?)", text))
    files = set(re.findall(r"\b((?:[a-z]+/)+[a-z_]+\.py)\b", text))
    for module in modules:
        path = ROOT / "src/ppaurora" / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or path.is_dir() or path.parent.with_suffix(".py").exists(), (
            module
        )
    for file in files:
        places = (ROOT / "src/ppaurora", ROOT / "src/ppaurora/suites", ROOT)
        assert any((place / file).exists() for place in places), file
