"""What tests of packed kits have in common."""

from __future__ import annotations

from click.testing import CliRunner, Result

from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.suites.role import Role

OWNERS = ("hospital-a", "hospital-b", "hospital-c")
NAMES = (*(role.file_name for role in Role), *OWNERS)


def unpack(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["unpack", *map(str, arguments)])


def said(result: Result) -> str:
    """What it was refused with."""
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)
