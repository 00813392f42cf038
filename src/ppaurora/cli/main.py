"""`ppaurora`, and what every command has in common: errors without a traceback, stable exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

import ppaurora
from ppaurora.cli.bench import bench_group
from ppaurora.cli.evaluate import evaluate_command
from ppaurora.cli.node import retry_command, serve_command
from ppaurora.cli.owner import preflight_command, result_command, status_command, submit_command
from ppaurora.cli.study import accept_command, provision_command, renew_command
from ppaurora.errors import MisuseError, PpauroraError

EXIT_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ppaurora.__version__, prog_name="ppaurora")
def cli() -> None:
    """Exact pooled AUROC and AUPR over several owners' samples, on shares of their data.

    Exit codes: 0 done, 2 bad input or an undefined result, 3 the computation failed or a server
    cannot be reached, 4 there is no result yet, 70 a bug in ppaurora, 130 interrupted.
    """


for command in (
    evaluate_command,
    provision_command,
    accept_command,
    renew_command,
    serve_command,
    retry_command,
    preflight_command,
    submit_command,
    status_command,
    result_command,
    bench_group,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        code = cli.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except PpauroraError as error:
        click.echo(f"ppaurora: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("ppaurora: interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        # The text of an unforeseen error might quote data: only its type is told.
        if os.environ.get("PPAURORA_DEBUG"):
            raise
        click.echo(
            f"ppaurora: internal error: {type(error).__name__}; to see where, set PPAURORA_DEBUG=1 and run "
            "again (what it prints may quote data)",
            err=True,
        )
        sys.exit(MisuseError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)
