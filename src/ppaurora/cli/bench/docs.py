"""`ppaurora bench docs`."""

from __future__ import annotations

from pathlib import Path

import click

from ppaurora.bench.documents import draw_figures, stale_documents, stale_figures
from ppaurora.errors import InputError


@click.command("docs")
@click.option("--check", is_flag=True, help="Write nothing; fail if a document is not what the results say.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    help="The checkout; by default the folder at hand.",
)
def docs_command(check: bool, root: Path) -> None:
    """Write the tables and draw the figures of README.md and docs/performance.md from benchmarks/results."""
    documents, figures = stale_documents(root), stale_figures(root)
    stale = [str(path.relative_to(root)) for path in (*documents, *figures)]
    if check and stale:
        raise InputError(f"not what benchmarks/results says: {', '.join(stale)}; run 'ppaurora bench docs'")
    for path, text in documents.items():
        path.write_text(text)
    if figures:
        draw_figures(root)
    for name in stale:
        click.echo(f"made anew: {name}")
