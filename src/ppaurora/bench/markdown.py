"""Tables for documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are text, the others numbers."""
    rule = ["---"] * left + ["--:"] * (len(headings) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, rule, *rows))
