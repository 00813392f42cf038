"""Wheel and source archive, built by `make dist` from a copy of this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.deployment import cleaned_environment
from tests.support.repository import ROOT

LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "bench-*", "__pycache__", ".*_cache")


@dataclass(frozen=True)
class Packages:
    """What `make dist` has built."""

    wheel: Path
    archive: Path
    sums: str


def copy_checkout(folder: Path, *, mode: int = 0o755, time: int | None = None) -> Path:
    """All of it, with these permissions (files: without execution) and, if given, this time of change."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(mode if path.is_dir() else mode & 0o666)
        if time is not None:
            os.utime(path, (time, time))
    return folder


def make_dist(checkout: Path, *, umask: int = 0o022, **environment: str) -> Packages:
    """With the packages of the environment that runs the tests."""
    command = ["make", "--silent", "--assume-old=.venv/ready", "dist", f"BIN={Path(sys.executable).parent}"]
    done = subprocess.run(
        command,
        cwd=checkout,
        env=cleaned_environment(**environment),
        umask=umask,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (archive,) = (list((checkout / "dist").glob(name)) for name in ("*.whl", "*.tar.gz"))
    return Packages(wheel, archive, (checkout / "dist/SHA256SUMS").read_text())
