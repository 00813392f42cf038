"""Tables and figures of speech in documents that are written from saved measurements.

A document marks the place; what stands between the marks is generated:

    <!-- generated: scale -->
    ...
    <!-- end of generated -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ppaurora.bench import scale
from ppaurora.bench.results import load_rows
from ppaurora.errors import InputError

DOCUMENTS = ("README.md", "docs/performance.md")
RESULTS = "benchmarks/results"

Block = Callable[[Path], str]  # from the folder of results

BLOCKS: Mapping[str, Block] = {
    "scale": lambda results: scale.markdown_table(load_rows(results / "scale.json")),
}

_MARKED = re.compile(r"(<!-- generated: (\S+) -->\n)(.*?)(<!-- end of generated -->)", re.DOTALL)


def regenerated(text: str, results: Path) -> str:
    """The document with every marked block written anew."""

    def block(match: re.Match[str]) -> str:
        if match[2] not in BLOCKS:
            raise InputError(f"unknown block '{match[2]}' in a document; there are: {', '.join(BLOCKS)}")
        return f"{match[1]}{BLOCKS[match[2]](results)}\n{match[4]}"

    return _MARKED.sub(block, text)


def stale_documents(root: Path) -> dict[Path, str]:
    """What each document that is not what the results say should be instead."""
    stale = {}
    for name in DOCUMENTS:
        path = root / name
        text = path.read_text()
        fresh = regenerated(text, root / RESULTS)
        if fresh != text:
            stale[path] = fresh
    return stale
