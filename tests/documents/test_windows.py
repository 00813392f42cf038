"""What needs POSIX is named; all else, owners' and coordinators' commands, is checked as on Windows."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

PACKAGE = ROOT / "src/ppaurora"
CHECKED = ROOT / "tools/windows.ini"
ONLY_POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
NEVER_ON_WINDOWS = ("node", "poc", "testing", "workers")
# Each behind a look at the platform.
ELSEWHERE = {"io/dumps.py": {"resource"}, "io/locks.py": {"fcntl"}, "party/run.py": {"resource"}}


def imported(text: str) -> set[str]:
    """The modules of POSIX alone that a text imports, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names & ONLY_POSIX


def test_only_nodes_need_posix() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): imported(path.read_text()) for path in PACKAGE.rglob("*.py")
    }
    assert len(found) > 300
    needing = {path: names for path, names in found.items() if names}
    assert {
        path: names for path, names in needing.items() if path.partition("/")[0] not in NEVER_ON_WINDOWS
    } == ELSEWHERE
    assert any(path.startswith("node/") for path in needing)  # the control


def test_types_are_checked_as_windows_has_them_except_those_of_nodes() -> None:
    parser = configparser.ConfigParser()
    parser.read(CHECKED)
    ignored = [name for name in parser.sections() if parser.getboolean(name, "ignore_errors", fallback=False)]
    assert ignored == ["mypy-" + ",".join(f"ppaurora.{room}.*" for room in NEVER_ON_WINDOWS)]
    assert parser["mypy"]["platform"] == "win32"
    assert f"mypy --config-file {CHECKED.relative_to(ROOT)}" in (ROOT / "Makefile").read_text()


def test_a_name_that_windows_lacks_is_found(tmp_path: Path) -> None:
    """The control of what `make lint` does with that file."""
    code = tmp_path / "bad.py"
    code.write_text("import os, signal\nos.fchmod(1, 0o600)\nsignal.SIGHUP\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(CHECKED), "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [*command, str(code)], capture_output=True, text=True, check=False, cwd=ROOT, timeout=300
    )
    assert 'has no attribute "fchmod"' in done.stdout
    assert 'has no attribute "SIGHUP"' in done.stdout
