"""`python -m benchmarks primitives`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.options import out_option
from benchmarks.primitives import limits, timing
from benchmarks.primitives.cases import CASES
from benchmarks.primitives.made_up import SEED
from benchmarks.primitives.parties import Parties
from benchmarks.progress import progress_of
from benchmarks.saving import Results
from benchmarks.tables import show
from ppaurora.cli.progress import progress_bar
from ppaurora.errors import InputError

OWNERS = 8


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
@out_option("primitives")
def primitives_command(elements: int | None, samples: int | None, quick: bool, out: Path) -> None:
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
    results = Results(out / "primitives.json", SEED)
    measured: list[timing.Measurement] = []
    with progress_bar() as progress, Parties() as parties:
        for measurement in timing.measure_all(parties, elements, effort.repeats):
            measured.append(measurement)
            results.add(timing.to_row(measurement))
            progress("primitives", len(measured), len(CASES))
        progress("limits", 0, 1)
        rates = limits.measure_rates(parties, effort.megabytes, effort.repeats)
        progress("limits", 1, 1)
    with progress_of("whole") as progress:
        found = limits.measure_limits(rates, samples, OWNERS, effort.runs, progress)
    results.add(limits.to_row(found))
    show(timing.table(measured), limits.table([found]))
