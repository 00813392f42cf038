"""`ppaurora bench peers`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from ppaurora.bench.peers.comparison import (
    FEWEST_SAMPLES,
    HEADINGS,
    LEFT_OUT,
    SEED,
    SIZES,
    Measurement,
    left_out,
    measure,
    owners_of,
)
from ppaurora.bench.peers.exact import exact_auroc
from ppaurora.bench.peers.systems import all_systems
from ppaurora.bench.results import Results
from ppaurora.cli.progress import progress_bar
from ppaurora.errors import InputError

PEERS_PYTHON = Path(".venv-peers/bin/python")  # of `make peers`


@click.command("peers")
@click.option(
    "--sizes",
    default=",".join(map(str, SIZES)),
    show_default=True,
    help="Numbers of samples in all; of 3 owners, or 8 from 8,000 on.",
)
@click.option(
    "--python",
    type=click.Path(path_type=Path),
    help=f"Interpreter that has the peers; by default {PEERS_PYTHON}, or else the running one.",
)
@click.option("--long", is_flag=True, help="Also what takes minutes or hours.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    default="bench-peers.json",
    show_default=True,
    help="JSON file that the measurements are added to.",
)
def peers_command(sizes: str, python: Path | None, long: bool, save: Path) -> None:
    """The AUROC by other systems: time, error, traffic, and what they leave out.

    `make peers` installs SecretFlow SPU and MPyC in an environment of their own. What is not installed, fails
    or takes too long is listed with the reason.
    """
    systems = all_systems(_interpreter(python), long=long)
    chosen = [(owners, exact_auroc(owners)) for owners in map(owners_of, _sizes(sizes))]
    results = Results(save, SEED)
    done: list[Measurement] = []
    for owners, exact in chosen:
        for system in systems:
            with progress_bar() as progress:
                progress(system.name, 0, 1)
                measurement = measure(system, owners, exact, progress)
            done.append(measurement)
            results.add(asdict(measurement))
            _tell(measurement, len(done), len(chosen) * len(systems))
    _print(done)


def _sizes(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < FEWEST_SAMPLES:
        raise InputError(f"--sizes takes numbers from {FEWEST_SAMPLES} on, separated by commas")
    return numbers


def _interpreter(python: Path | None) -> Path:
    if python is None:
        return PEERS_PYTHON.absolute() if PEERS_PYTHON.exists() else Path(sys.executable)
    if not python.is_file():
        raise InputError(f"--python {python}: no such file; 'make peers' makes {PEERS_PYTHON}")
    return python.absolute()


def _tell(measurement: Measurement, number: int, total: int) -> None:
    """One line per run, for whoever waits or reads a log."""
    result = measurement.not_measured or f"{measurement.seconds:.3g} s"
    click.echo(f"[{number}/{total}] {measurement.samples:,} samples, {measurement.name}: {result}", err=True)


def _print(measurements: Sequence[Measurement]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0))
    for heading in HEADINGS:
        words = heading in ("system", "remark")
        table.add_column(heading, justify="left" if words else "right", no_wrap=heading != "remark")
    for measurement in measurements:
        table.add_row(*measurement.cells())
    second = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0))
    second.add_column("system", no_wrap=True)
    second.add_column(LEFT_OUT)
    for system, shown in left_out(measurements).items():
        second.add_row(system, shown)
    console = Console()
    console.print(table)
    console.print(second)
