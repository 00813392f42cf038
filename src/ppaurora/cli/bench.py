"""`ppaurora bench`: measurements, printed and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from ppaurora.bench.environment import environment
from ppaurora.bench.scale import (
    HEADINGS,
    SEED,
    Measurement,
    Setting,
    markdown_table,
    run_scale,
    settings,
    to_rows,
)
from ppaurora.channel.shaped import Network
from ppaurora.cli.progress import progress_bar
from ppaurora.errors import InputError
from ppaurora.evaluation import TRANSPORTS
from ppaurora.party.context import Progress

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGE = 10_000_000
OWNERS = (2, 8, 32)


@click.group("bench")
def bench_group() -> None:
    """Measure what a run costs."""


@bench_group.command("scale")
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
    earlier = _runs(save) if save.exists() else []
    where = environment()
    done: list[Measurement] = []
    with progress_bar() as progress:

        def progress_for(setting: Setting) -> Progress:
            return lambda step, part, total: progress(f"{setting}: {step}", part, total)

        for measurement in run_scale(chosen, network, progress_for):
            done.append(measurement)
            # After every run, so that an interrupted evening is not lost.
            run = {"environment": where, "seed": SEED, "measurements": to_rows(done)}
            _save(save, [*earlier, run])
    _print(done)


@bench_group.command("table")
@click.argument("saved", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--into",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Replace the table between this file's markers for SAVED instead of printing.",
)
def table_command(saved: Path, into: Path | None) -> None:
    """SAVED measurements as a Markdown table."""
    table = markdown_table([row for run in _runs(saved) for row in run["measurements"]])
    if into is None:
        click.echo(table)
        return
    begin, end = (f"<!-- from {saved.as_posix()}: {word} -->" for word in ("begin", "end"))
    text = into.read_text()
    if text.count(begin) != 1 or text.count(end) != 1:
        raise InputError(f"{into}: needs the lines '{begin}' and '{end}' once each")
    head, rest = text.split(begin)
    into.write_text(f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}")


def _runs(path: Path) -> list[dict[str, Any]]:
    """What earlier runs of the command saved, each with the machine and versions it ran on."""
    try:
        runs: list[dict[str, Any]] = json.loads(path.read_text())["runs"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: holds no saved measurements; name another file") from None
    return runs


def _save(path: Path, runs: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"runs": runs}, indent=2) + "\n")


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
