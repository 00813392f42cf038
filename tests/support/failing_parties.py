"""Tasks for the parties of benchmarks that do not end well; in a module that a process loads at once."""

from __future__ import annotations

import os

from ppaurora.channel.base import Transport
from ppaurora.errors import InputError
from ppaurora.suites.role import Role


def refuse_at_the_helper(transport: Transport) -> None:
    if transport.role is Role.HELPER:
        raise InputError("no")
    transport.get(Role.HELPER)


def die_at_proxy_1(transport: Transport) -> None:
    if transport.role is Role.PROXY_1:
        os._exit(1)
    transport.get(Role.PROXY_1)
