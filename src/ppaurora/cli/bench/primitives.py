"""`ppaurora bench primitives`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from ppaurora.bench.primitives import limits, timing
from ppaurora.bench.primitives.cases import CASES, SEED
from ppaurora.bench.primitives.parties import Parties
from ppaurora.bench.results import Results
from ppaurora.cli.progress import progress_bar
from ppaurora.errors import InputError

OWNERS = 8
_TEXT_COLUMNS = ("suite", "primitive", "limit")


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    elements: int
    repeats: int
    megabytes: int
    samples: int
    runs: int


USUAL = Effort(elements=1 << 18, repeats=7, megabytes=128, samples=OWNERS * 12_500, runs=3)
QUICK = Effort(elements=1 << 12, repeats=3, megabytes=8, samples=OWNERS * 250, runs=1)


@click.command("primitives")
@click.option(
    "--elements",
    type=int,
    help=f"Elements at once; expensive primitives take fewer. By default {USUAL.elements:,}.",
)
@click.option(
    "--samples", type=int, help=f"Samples of the whole run, of {OWNERS} owners. By default {USUAL.samples:,}."
)
@click.option("--quick", is_flag=True, help="A few seconds, with little of everything.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    default="bench-primitives.json",
    show_default=True,
    help="JSON file that the measurements are added to.",
)
def primitives_command(elements: int | None, samples: int | None, quick: bool, save: Path) -> None:
    """Time, bytes and rounds of every primitive, and how far a whole run is from the machine's limits.

    Three server processes, mutual TLS on loopback. Of a primitive's repeats the median counts, after
    a call to warm up; of a limit's the best. Bytes and rounds must be what the suite declares: a
    difference ends the measurement with exit code 3.
    """
    effort = QUICK if quick else USUAL
    elements = effort.elements if elements is None else elements
    samples = effort.samples if samples is None else samples
    if elements < 1:
        raise InputError("--elements takes a number from 1 on")
    if samples < OWNERS:
        raise InputError(f"--samples takes a number from {OWNERS} on, one for each owner")
    results = Results(save, SEED)
    measured: list[timing.Measurement] = []
    with progress_bar() as progress:
        with Parties() as parties:
            for measurement in timing.measure_all(parties, elements, effort.repeats):
                measured.append(measurement)
                results.add(timing.to_row(measurement))
                progress("primitives", len(measured), len(CASES))
            progress("limits", 0, 1)
            rates = limits.measure_rates(parties, effort.megabytes, effort.repeats)
            progress("limits", 1, 1)
        found = limits.measure_limits(
            rates,
            samples,
            OWNERS,
            effort.runs,
            lambda step, done, total: progress(f"whole: {step}", done, total),
        )
        results.add(limits.to_row(found))
    _print(timing.HEADINGS, [measurement.cells() for measurement in measured])
    _print(limits.HEADINGS, found.cells())


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in _TEXT_COLUMNS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
