"""On what, and with what, something was measured; and what may be missing for it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ppaurora.errors import InputError

_PACKAGES = ("ppaurora", "numpy", "cryptography", "scikit-learn")


def environment() -> dict[str, Any]:
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def not_installed(why: str) -> InputError:
    """Something of the dependency group `bench` is missing; `why` it is needed."""
    return InputError(f"{why}: 'make demo' sets up .venv, which has it")


def _commit() -> str | None:
    """The commit of the source at hand, if it is a checkout."""
    try:
        done = subprocess.run(  # noqa: S603 (our own words)
            ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
