"""`ppaurora bench correctness`."""

from __future__ import annotations

from pathlib import Path

import click

from ppaurora.bench import correctness
from ppaurora.bench.results import Results


@click.command("correctness")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="bench-correctness",
    show_default=True,
    help="Folder for correctness.json, stability.json and the figure.",
)
def correctness_command(out: Path) -> None:
    """Private against pooled values on real test sets, and how unsteady an AUROC of few samples is."""
    compared = Results(out / "correctness.json", correctness.SEED, keep_earlier=False)
    for scored in correctness.scored_sets():
        click.echo(f"{scored.name}: {len(scored.labels)} samples", err=True)
        for row in correctness.compare(scored):
            compared.add(row)
    click.echo(correctness.correctness_table(compared.rows()))
    click.echo(f"AUROC of few samples, {correctness.DRAWS} draws each", err=True)
    unsteady = Results(out / "stability.json", correctness.SEED, keep_earlier=False)
    for row in correctness.stability():
        unsteady.add(row)
    click.echo(f"drawn: {correctness.draw_stability(unsteady.rows(), out / 'stability.svg')}")
