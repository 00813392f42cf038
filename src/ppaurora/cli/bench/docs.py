"""`ppaurora bench docs`."""

from __future__ import annotations

from pathlib import Path

import click

from ppaurora.bench.documents import stale_documents
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
    """Write the tables in README.md and docs/performance.md from benchmarks/results."""
    stale = stale_documents(root)
    if check and stale:
        names = ", ".join(str(path.relative_to(root)) for path in stale)
        raise InputError(f"{names}: not what benchmarks/results says; run 'ppaurora bench docs'")
    for path, text in stale.items():
        path.write_text(text)
        click.echo(f"written: {path.relative_to(root)}")
