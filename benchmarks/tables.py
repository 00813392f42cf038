"""Tables: aligned for whoever runs a benchmark, in Markdown for documents."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Table:
    """Columns are numbers, set to the right, but for those whose headings are among `words`."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str] = ()

    def text(self) -> str:
        """As wide as it needs to be: nothing is cut off."""
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        rule = ["-" * width for width in widths]
        return "\n".join(self._aligned(cells, widths) for cells in (self.headings, rule, *self.rows))

    def _aligned(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        columns = zip(self.headings, cells, widths, strict=True)
        aligned = (
            cell.ljust(width) if heading in self.words else cell.rjust(width)
            for heading, cell, width in columns
        )
        return "  ".join(aligned).rstrip()

    def markdown(self) -> str:
        rule = ["---" if heading in self.words else "--:" for heading in self.headings]
        lines = [_line(self.headings), f"|{'|'.join(rule)}|", *map(_line, self.rows)]
        return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def show(*tables: Table) -> None:
    click.echo("\n\n".join(table.text() for table in tables))
