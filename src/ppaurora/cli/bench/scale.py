"""`ppaurora bench scale`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from ppaurora.bench.results import Results
from ppaurora.bench.scale import (
    HEADINGS,
    SEED,
    Measurement,
    Setting,
    run_scale,
    settings,
)
from ppaurora.channel.shaped import Network
from ppaurora.cli.progress import progress_bar
from ppaurora.errors import InputError
from ppaurora.evaluation import TRANSPORTS
from ppaurora.session import Progress

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGE = 10_000_000
OWNERS = (2, 8, 32)


@click.command("scale")
@click.option(
    "--sizes", default=",".join(map(str, SIZES)), show_default=True, help="Numbers of samples in all."
)
@click.option("--owners", default=",".join(map(str, OWNERS)), show_default=True, help="Numbers of owners.")
@click.option(
    "--transports",
    default=",".join(TRANSPORTS),
    show_default=True,
    help="Three threads, three processes, or both.",
)
@click.option(
    "--key-bits", type=click.Choice(["32", "64"]), default="64", show_default=True, help="Width of the keys."
)
@click.option("--large", is_flag=True, help=f"Also {LARGE:,} samples; takes minutes and some gigabytes.")
@click.option("--rtt", help="Round-trip time of a slower network, for instance 10ms.")
@click.option("--bandwidth", help="Bandwidth of a slower network, for instance 100mbit.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    default="bench-scale.json",
    show_default=True,
    help="JSON file that the measurements are added to.",
)
def scale_command(
    sizes: str,
    owners: str,
    transports: str,
    key_bits: str,
    large: bool,
    rtt: str | None,
    bandwidth: str | None,
    save: Path,
) -> None:
    """Time, traffic, rounds and memory against samples and owners, checked against scikit-learn."""
    network = Network.parse(rtt, bandwidth)
    chosen = settings(
        _numbers(sizes, "sizes") + ([LARGE] if large else []),
        _numbers(owners, "owners"),
        _names(transports),
        int(key_bits),
    )
    results = Results(save, SEED)
    done: list[Measurement] = []
    with progress_bar() as progress:

        def progress_for(setting: Setting) -> Progress:
            return lambda step, part, total: progress(f"{setting}: {step}", part, total)

        for measurement in run_scale(chosen, network, progress_for):
            done.append(measurement)
            results.add(asdict(measurement))
    _print(done)


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(float(part)) for part in text.split(",") if part.strip()]
    except (ValueError, OverflowError):
        numbers = []
    if not numbers or min(numbers) < 2:
        raise InputError(f"--{option} takes numbers from 2 on, separated by commas")
    return numbers


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in TRANSPORTS:
            raise InputError(f"unknown transport '{name}'; there are: {', '.join(TRANSPORTS)}")
    return names


def _print(measurements: list[Measurement]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("via", "network") else "right", no_wrap=True)
    for measurement in measurements:
        table.add_row(*measurement.cells())
    Console().print(table)
