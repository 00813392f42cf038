"""`python -m benchmarks paper`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.options import out_option
from benchmarks.paper.experiments import (
    SEED,
    Estimate,
    Experiment,
    Measured,
    all_experiments,
    measure,
    quick_experiments,
)
from benchmarks.paper.figures import draw_all
from benchmarks.paper.tables import Measurements, report
from benchmarks.progress import progress_of
from benchmarks.saving import Results
from ppaurora.errors import InputError


@click.command("paper")
@click.option("--quick", is_flag=True, help="A few minutes instead of an evening: small settings only.")
@click.option(
    "--only", metavar="REGEX", default="", help="Only runs whose name fits, for instance 'fast, WAN'."
)
@out_option("paper", "paper.json, paper.md and the figures")
def paper_command(quick: bool, only: str, out: Path) -> None:
    """The paper's evaluation: both protocols beside the paper's printed traffic and time.

    What is in --out already is not measured again: an interrupted run goes on where it stopped.
    """
    results = Results(out / "paper.json", SEED)
    try:
        wanted = re.compile(only)
    except re.error as error:
        raise InputError(f"--only '{only}' is not a regular expression: {error}") from None
    experiments = quick_experiments() if quick else all_experiments()
    chosen = [experiment for experiment in experiments if wanted.search(str(experiment))]
    if not chosen:
        raise InputError(f"no run's name fits --only '{only}'; a name is for instance '{experiments[0]}'")
    try:
        _measure(chosen, results)
    finally:
        if results.rows():
            measurements = Measurements(Measured.of_row(row) for row in results.rows())
            text = report(measurements)
            (out / "paper.md").write_text(text)
            draw_all(measurements, out)
            click.echo(text)
            click.echo(f"paper.json, paper.md and the figures are in {out}", err=True)


def _measure(chosen: Sequence[Experiment], results: Results) -> None:
    """What is missing, with one line per run."""
    done = Measurements(Measured.of_row(row) for row in results.rows())
    missing = [experiment for experiment in chosen if experiment not in done]
    estimate = Estimate()
    click.echo(
        f"{len(missing)} runs, {len(chosen) - len(missing)} measured before; {_left(estimate, missing)}",
        err=True,
    )
    for number, experiment in enumerate(missing, start=1):
        start = time.monotonic()
        with progress_of(experiment) as progress:
            measured = measure(experiment, progress)
        results.add(asdict(measured))
        estimate.learn(experiment, time.monotonic() - start)
        click.echo(
            f"[{number}/{len(missing)}] {experiment}: {measured.seconds:.2f} s, "
            f"{measured.bytes / 1e6:.1f} MB, {measured.rounds} rounds; {_left(estimate, missing[number:])}",
            err=True,
        )


def _left(estimate: Estimate, experiments: Sequence[Experiment]) -> str:
    minutes, seconds = divmod(round(estimate.seconds(experiments)), 60)
    return f"about {minutes} min {seconds:02} s left"
