"""Options that benchmarks have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ppaurora.channel.shaped import Network
from ppaurora.errors import InputError

Command = Callable[..., Any]


def out_option(benchmark: str, files: str | None = None) -> Callable[[Command], Command]:
    """`out`, the folder for what a benchmark saves: a JSON file of its name, and what else it makes."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=f"bench-{benchmark}",
        show_default=True,
        help=f"Folder for {files or f'{benchmark}.json, which the measurements are added to'}.",
    )


def network_options(command: Command) -> Command:
    """`network`, if another one than the machine's own is asked for."""

    @click.option("--rtt", help="Round-trip time of a slower network, for instance 10ms.")
    @click.option("--bandwidth", help="Bandwidth of a slower network, for instance 100mbit.")
    @functools.wraps(command)
    def with_network(rtt: str | None, bandwidth: str | None, **others: Any) -> Any:
        return command(network=Network.parse(rtt, bandwidth), **others)

    return with_network


def numbers(text: str, option: str, fewest: int) -> list[int]:
    """Those of an option that takes several."""
    try:
        found = [int(float(part)) for part in text.split(",") if part.strip()]
    except (ValueError, OverflowError):
        found = []
    if not found or min(found) < fewest:
        raise InputError(f"--{option} takes numbers from {fewest} on, separated by commas")
    return found
