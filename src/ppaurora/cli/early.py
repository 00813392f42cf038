"""Servers that are started while the command that needs them still loads its modules."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ppaurora.channel.servers import Server
from ppaurora.party.starting import WarmPool
from ppaurora.suites.role import Role

# What the protocols say of themselves, known before they are loaded. One that is not named here has its
# servers started when the data has been read.
DEFAULT = "fast"
SERVERS: dict[str, type[Server]] = {"fast": Role, "paper": Role}
MODULE = "ppaurora.party"

_HINTS = click.Command(
    "evaluate",
    params=[
        click.Option(["--protocol"], default=DEFAULT),
        click.Option(["--transport"], default="tls"),
        click.Option(["-h", "--help"], is_flag=True),
    ],
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)


def start_early(arguments: Sequence[str], warm_pool: WarmPool) -> None:
    """The servers that `evaluate` will want, by its arguments; if these are wrong, nobody takes them."""
    hints = _HINTS.make_context("evaluate", list(arguments), resilient_parsing=True).params
    if arguments and hints["transport"] == "tls" and not hints["help"]:
        for server in SERVERS.get(hints["protocol"], ()):
            warm_pool.keep(MODULE, server.title)
