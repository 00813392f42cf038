"""`python -m benchmarks attacks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.attacks import counts, differencing, made_up, order, prevalence, rules, tampering
from benchmarks.attacks.frame import SEED, Effort, Rate, Setting, rates_table
from benchmarks.options import out_option
from benchmarks.saving import Results, Row
from benchmarks.tables import Table, show
from ppaurora.cli.progress import progress_bar

Settings = Callable[[Effort], Iterator[Setting]]

FIVE: Mapping[str, Settings] = {
    counts.NAME: counts.settings,
    order.NAME: order.settings,
    made_up.NAME: made_up.settings,
    differencing.NAME: differencing.settings,
    tampering.NAME: tampering.settings,
}
MORE: Mapping[str, Settings] = {
    differencing.PRECISION: differencing.precision_settings,
    prevalence.NAME: prevalence.settings,
    rules.NAME: rules.settings,
}
ALL = {**FIVE, **MORE}
USUAL, QUICK = Effort(), Effort(part=0.1, fewest=20, largest=400, lists=2)


def saved_table(rows: Sequence[Row], attack: str) -> Table:
    return rates_table([rate for rate in (Rate(**row) for row in rows) if rate.attack == attack])


@click.command("attacks")
@click.option("--quick", is_flag=True, help="Half a minute: the five attacks, small studies, few trials.")
@out_option("attacks", "attacks.json, which is written anew")
def attacks_command(quick: bool, out: Path) -> None:
    """What published numbers tell: five attacks, on exact numbers and with the release policy.

    "guess" is how often the best guess without a result is right; the other columns say how often the
    attacker is right, with 95 % Wilson intervals. docs/disclosure.md explains every attack.
    """
    effort, attacks = (QUICK, FIVE) if quick else (USUAL, ALL)
    chosen = [one for make in attacks.values() for one in make(effort) if effort.takes_on(one)]
    results = Results(out / "attacks.json", SEED, keep_earlier=False)
    with progress_bar() as progress:
        for done, setting in enumerate(chosen):
            progress(setting.attack, done, len(chosen))
            results.add(asdict(setting.measure()))
    for attack in attacks:
        click.echo(f"\n{attack}")
        show(saved_table(results.rows(), attack))
