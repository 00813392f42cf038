"""`python -m benchmarks`: measurements, printed and saved."""

from __future__ import annotations

from collections.abc import Sequence

import click

from benchmarks.against import against_command
from benchmarks.alone import alone_command
from benchmarks.app import app_command
from benchmarks.attacks.command import attacks_command
from benchmarks.audit import audit_command
from benchmarks.correctness import correctness_command
from benchmarks.coverage.command import coverage_command
from benchmarks.designs import designs_command
from benchmarks.documents import docs_command
from benchmarks.paper.command import paper_command
from benchmarks.peers.command import peers_command
from benchmarks.policies import policies_command
from benchmarks.primitives.command import primitives_command
from benchmarks.releases import release_command
from benchmarks.scale import scale_command
from benchmarks.study import study_command
from ppaurora.cli.main import run


@click.group("benchmarks", context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure what a run costs.

    Exit codes: 0 done, 1 another result than in plain text, 2 bad input, 3 the computation failed or
    cost something else than declared, 70 a bug, 130 interrupted.
    """


for command in (
    against_command,
    alone_command,
    app_command,
    attacks_command,
    audit_command,
    correctness_command,
    coverage_command,
    designs_command,
    paper_command,
    peers_command,
    policies_command,
    primitives_command,
    release_command,
    scale_command,
    study_command,
    docs_command,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    run(cli, "python -m benchmarks", arguments)


if __name__ == "__main__":
    main()
