"""`python -m benchmarks peers`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.options import numbers, out_option
from benchmarks.peers.comparison import (
    FEWEST_SAMPLES,
    SEED,
    SIZES,
    Measurement,
    measure,
    owners_of,
    tables,
)
from benchmarks.peers.exact import exact_auroc
from benchmarks.peers.systems import all_systems
from benchmarks.saving import Results
from benchmarks.tables import show
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
@out_option("peers")
def peers_command(sizes: str, python: Path | None, long: bool, out: Path) -> None:
    """The AUROC by other systems: time, error, traffic, and what they leave out.

    `make peers` installs SecretFlow SPU and MPyC in an environment of their own. What is not installed, fails
    or takes too long is listed with the reason.
    """
    systems = all_systems(_interpreter(python), long=long)
    totals = numbers(sizes, "sizes", FEWEST_SAMPLES)
    chosen = [(owners, exact_auroc(owners)) for owners in map(owners_of, totals)]
    results = Results(out / "peers.json", SEED)
    done: list[Measurement] = []
    for owners, exact in chosen:
        for system in systems:
            with progress_bar() as progress:
                progress(system.name, 0, 1)
                measurement = measure(system, owners, exact, progress)
            done.append(measurement)
            results.add(asdict(measurement))
            _tell(measurement, len(done), len(chosen) * len(systems))
    show(*tables(done))


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
