"""`python -m benchmarks attacks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.attacks import (
    cells,
    collusion,
    counts,
    designs,
    differencing,
    made_up,
    order,
    prevalence,
    tampering,
)
from benchmarks.attacks.frame import SEED, Effort, Rate, Setting, rates_table
from benchmarks.options import out_option
from benchmarks.saving import Results, Row
from benchmarks.tables import Table, show
from ppaurora.cli.progress import progress_bar

ATTACKS: Mapping[str, Callable[[Effort], Iterator[Setting]]] = {
    counts.NAME: counts.settings,
    prevalence.NAME: prevalence.settings,
    order.NAME: order.settings,
    cells.EXTREMES: cells.extreme_settings,
    cells.CELLS: cells.cell_settings,
    cells.TABLES: cells.table_settings,
    differencing.NAME: differencing.settings,
    collusion.NAME: collusion.settings,
    made_up.NAME: made_up.settings,
    tampering.NAME: tampering.settings,
    designs.DIFFERENCES: designs.settings_of_differences,
    designs.LEVELS: designs.settings_of_levels,
    designs.SITES: designs.settings_of_sites,
}
USUAL, QUICK = Effort(), Effort(part=0.1, fewest=20, largest=1_000, lists=2)


def saved_table(rows: Sequence[Row], attack: str) -> Table:
    return rates_table([rate for rate in (Rate(**row) for row in rows) if rate.attack == attack])


@click.command("attacks")
@click.option("--quick", is_flag=True, help="Half a minute: small studies, few trials.")
@click.option(
    "--only",
    type=click.Choice([*ATTACKS]),
    multiple=True,
    help="An attack to run; others keep their earlier figures. Repeatable.",
)
@out_option("attacks", "attacks.json, which is written anew")
def attacks_command(quick: bool, only: tuple[str, ...], out: Path) -> None:
    """What published numbers tell: attacks on every kind of release policy.

    "guess" is how often the best guess without a result is right; the other columns say how often the
    attacker is right, with 95 % Wilson intervals. docs/disclosure.md explains every attack.
    """
    effort = QUICK if quick else USUAL
    made = {name: make for name, make in ATTACKS.items() if not only or name in only}
    chosen = [one for make in made.values() for one in make(effort) if effort.takes_on(one)]
    results = Results(
        out / "attacks.json", SEED, keep_earlier=bool(only), kept=lambda row: row["attack"] not in only
    )
    with progress_bar() as progress:
        for done, setting in enumerate(chosen):
            progress(setting.attack, done, len(chosen))
            for rate in setting.measure():
                results.add(asdict(rate))
    for attack in made:
        click.echo(f"\n{attack}")
        show(saved_table(results.rows(), attack))
