"""Where the repository's documents are, and what their tables say."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def rows_under(text: str, heading: str) -> list[list[str]]:
    """The cells of all rows of the tables in a document's section, without those that head them."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def missing_places(text: str) -> list[str]:
    """Files and tests that a document names, `tests/FILE` or `tests/FILE::TEST`, and that are not there."""
    found = re.findall(r"`((?:tests|tools)/[\w./]+)(?:::(\w+))?`", text)
    assert found, "the document names none"
    return [f"{file}::{test}" if test else file for file, test in found if not _is_there(ROOT / file, test)]


def _is_there(file: Path, test: str) -> bool:
    return file.exists() and (not test or f"\ndef {test}(" in file.read_text())


def missing_commands(text: str) -> set[str]:
    """Targets of make that a document names, and that the Makefile does not have."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    return set(re.findall(r"`make ([a-z-]+)", text)) - targets
