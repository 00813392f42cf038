"""`ppaurora bench`: measurements, printed and saved."""

from __future__ import annotations

import click

from ppaurora.cli.bench.docs import docs_command
from ppaurora.cli.bench.paper import paper_command
from ppaurora.cli.bench.scale import scale_command


@click.group("bench")
def bench_group() -> None:
    """Measure what a run costs."""


for command in (paper_command, scale_command, docs_command):
    bench_group.add_command(command)
