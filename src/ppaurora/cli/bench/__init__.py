"""`ppaurora bench`: measurements, printed and saved."""

from __future__ import annotations

import click

from ppaurora.cli.bench.correctness import correctness_command
from ppaurora.cli.bench.docs import docs_command
from ppaurora.cli.bench.paper import paper_command
from ppaurora.cli.bench.peers import peers_command
from ppaurora.cli.bench.primitives import primitives_command
from ppaurora.cli.bench.scale import scale_command
from ppaurora.cli.bench.study import study_command


@click.group("bench")
def bench_group() -> None:
    """Measure what a run costs."""


for command in (
    correctness_command,
    paper_command,
    peers_command,
    primitives_command,
    scale_command,
    study_command,
    docs_command,
):
    bench_group.add_command(command)
