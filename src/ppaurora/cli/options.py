"""Options that several commands have, said once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import click

from ppaurora.protocols import DEFAULT_PROTOCOL, protocols

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)

format_option = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or JSON alone on standard output.",
)
study_option = click.option("--study", help="Which of the kit's studies, if it has several.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def column_options(command: F) -> F:
    """Which columns of a file hold what."""
    for option in (
        click.option("--pos-label", help="The positive label, if labels are not 0/1 or true/false."),
        click.option("--label", default="label", show_default=True, help="Column with the true labels."),
        click.option("--score", default="score", show_default=True, help="Column with the model's scores."),
    ):
        command = option(command)
    return command


def protocol_options(command: F) -> F:
    """`--protocol`, and an option for every parameter of every protocol."""
    known = protocols()
    for name, protocol in reversed(known.items()):
        for parameter, hint in get_type_hints(protocol.Parameters, include_extras=True).items():
            description = get_args(hint)[1].description if get_origin(hint) is Annotated else ""
            flag = f"--{parameter.replace('_', '-')}"
            command = click.option(flag, parameter, type=int, help=f"For '{name}': {description}")(command)
    summaries = "; ".join(f"'{name}': {protocol.summary}" for name, protocol in known.items())
    choice = click.Choice(list(known))
    option = click.option(
        "--protocol", type=choice, default=DEFAULT_PROTOCOL, show_default=True, help=f"{summaries}."
    )
    return option(command)
