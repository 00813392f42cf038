"""`ppaurora`, and what every command line has in common: errors without a traceback, stable exit codes."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from ppaurora.cli.examples import LONGEST_SENTENCE, example
from ppaurora.errors import MisuseError, PpauroraError
from ppaurora.io.dumps import forbid_dumps
from ppaurora.party.starting import ONE_THREAD
from ppaurora.version import Versions

EXIT_INTERRUPTED = 130

# By who needs them, and where each is defined.
ROLES = {
    "Try it out": {
        "evaluate": "ppaurora.cli.evaluate:evaluate_command",
        "poc": "ppaurora.cli.poc:poc_command",
        "app": "ppaurora.cli.app:app_command",
    },
    "Study coordinator": {
        "provision": "ppaurora.cli.study:provision_command",
        "amend": "ppaurora.cli.amend:amend_command",
        "renew": "ppaurora.cli.study:renew_command",
    },
    "Data owner": {
        "check": "ppaurora.cli.check:check_command",
        "submit": "ppaurora.cli.owner:submit_command",
        "withdraw": "ppaurora.cli.owner:withdraw_command",
        "status": "ppaurora.cli.owner:status_command",
        "result": "ppaurora.cli.owner:result_command",
        "report": "ppaurora.cli.report:report_command",
    },
    "Node operator": {
        "serve": "ppaurora.cli.node:serve_command",
        "studies": "ppaurora.cli.node:studies_command",
        "abort": "ppaurora.cli.node:abort_command",
        "stop": "ppaurora.cli.node:stop_command",
        "retry": "ppaurora.cli.node:retry_command",
        "delete": "ppaurora.cli.node:delete_command",
        "confirm-clock": "ppaurora.cli.node:confirm_clock_command",
        "recover": "ppaurora.cli.node:recover_command",
        "audit": "ppaurora.cli.records:audit_command",
    },
    "Everyone": {
        "disclosure": "ppaurora.cli.study:disclosure_command",
        "unpack": "ppaurora.cli.unpack:unpack_command",
        "accept": "ppaurora.cli.study:accept_command",
        "preflight": "ppaurora.cli.owner:preflight_command",
        "verify": "ppaurora.cli.records:verify_command",
        "compare": "ppaurora.cli.compare:compare_command",
    },
}
COMMANDS = {name: place for commands in ROLES.values() for name, place in commands.items()}


class _LazyGroup(click.Group):
    """Loads a command when it is asked for, so that each starts with what it needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands by role; each with its first sentence, uncut, and all of these in one column."""
        width = max(map(len, COMMANDS))
        for role, names in ROLES.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(role):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(LONGEST_SENTENCE))
                        for name, command in commands
                        if command is not None
                    ]
                )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


def _tell_versions(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(Versions())
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("ppaurora evaluate a.csv b.csv c.csv", "ppaurora submit --help"),
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_tell_versions,
    help="Show the versions of ppaurora, of studies, of a node's database and of Python, and exit.",
)
def cli() -> None:
    """Exact pooled AUROC, AUPR and more over several owners' samples, computed on secret shares.

    Exit codes: 0 done, 2 bad input or an undefined result, 3 the computation failed or a server
    cannot be reached, 4 there is no result yet, 5 the policy suppresses the result, 6 the data
    check has warnings, 7 a receipt, a result or an audit log does not verify, 8 studies would spend
    more epsilon than an owner's floor allows, 70 a bug in ppaurora, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    forbid_dumps()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # what a code page lacks ends no command
    os.environ.update(ONE_THREAD | os.environ)  # before NumPy is loaded
    run(cli, "ppaurora", arguments)


def run(command: click.Command, program: str, arguments: Sequence[str] | None = None) -> NoReturn:
    """Do what the command line of `program` asks for, and leave with an exit code."""
    try:
        code = command.main(
            args=None if arguments is None else list(arguments), prog_name=program, standalone_mode=False
        )
    except PpauroraError as error:
        click.echo(f"{program}: {error}", err=True)
        _tell_notes(error)
        sys.exit(error.exit_code)
    except click.exceptions.Abort as error:
        click.echo(f"{program}: interrupted", err=True)
        _tell_notes(error.__cause__ or error)
        sys.exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        # The text of an unforeseen error might quote data: only its type is told.
        if os.environ.get("PPAURORA_DEBUG"):
            raise
        click.echo(
            f"{program}: internal error: {type(error).__name__}; to see where, set PPAURORA_DEBUG=1 and run "
            "again (what it prints may quote data)",
            err=True,
        )
        sys.exit(MisuseError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _tell_notes(error: BaseException) -> None:
    """How far it came, and what to do next."""
    for note in getattr(error, "__notes__", ()):
        click.echo(f"    {note}", err=True)
