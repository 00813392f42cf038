"""Commands as processes that lack what Windows lacks, and have what it has instead, made of what is here.

It shows that a command needs nothing of POSIX, and that its branches for Windows work together; not what
Windows itself does. tests/io/test_windows_stand_in.py says what it notices.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deployment import cleaned_environment
from tests.support.repository import ROOT

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="what Windows lacks is taken from Linux")
CODE_PAGE = "cp1252"


@functools.cache
def windows_environment(**more: str) -> dict[str, str]:
    """Of such a process, and of those that it starts. Modules are compiled apart: they read otherwise."""
    variables = cleaned_environment(
        PYTHONPATH=os.pathsep.join((str(Path(__file__).with_name("windows")), str(ROOT / "src"))),
        PYTHONIOENCODING=CODE_PAGE,
        PYTHONWARNDEFAULTENCODING="1",
        PYTHONPYCACHEPREFIX=str(ROOT / "build" / "-".join(["compiled-for-windows", *more])),
        **more,
    )
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def python_on_windows(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        encoding=CODE_PAGE,
        timeout=300,
        check=False,
        cwd=ROOT,
        env=windows_environment(**more),
    )


def on_windows(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """`ppaurora ...`."""
    return python_on_windows("-m", "ppaurora", *arguments, **more)
