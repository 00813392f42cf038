"""`ppaurora bench study`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ppaurora.bench.results import Results
from ppaurora.bench.study import SEED, markdown_table, measure


@click.command("study")
@click.option("--samples", type=click.IntRange(min=100), default=1_000_000, show_default=True, help="In all.")
@click.option("--owners", type=click.IntRange(min=2, max=64), default=8, show_default=True)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    default="bench-study.json",
    show_default=True,
    help="JSON file that the measurement is added to.",
)
def study_command(samples: int, owners: int, save: Path) -> None:
    """A study through three nodes on this machine, beside the same data in one call of evaluate."""
    results = Results(save, SEED)
    measurement = measure(samples, owners)
    results.add(asdict(measurement))
    click.echo(markdown_table([asdict(measurement)]))
