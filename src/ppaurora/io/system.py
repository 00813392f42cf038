"""What this machine's system can do, and how commands are written for its command line."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence

from ppaurora.errors import InputError

if sys.platform == "win32":
    INSTALL_APP = "powershell -ExecutionPolicy Bypass -File install.ps1 app"
else:
    INSTALL_APP = "sh install.sh app"
_NEEDS_NO_QUOTES = re.compile(r"[\w@+=:,./\\-]+")


def check_posix(what: str) -> None:
    """Raise on Windows, for what needs the processes, sockets and files of POSIX."""
    if sys.platform == "win32":
        raise InputError(
            f"{what} needs Linux or macOS; on Windows, ppaurora has the commands of owners and coordinators"
        )


def quoted(word: str) -> str:
    """Return a word as it is typed on a command line: of a POSIX shell, or of PowerShell and cmd."""
    if sys.platform == "win32":
        return word if _NEEDS_NO_QUOTES.fullmatch(word) else '"' + word.replace('"', '""') + '"'
    return shlex.quote(word)


def command_line(words: Sequence[str]) -> str:
    """Return a command as it is typed."""
    return " ".join(map(quoted, words))
