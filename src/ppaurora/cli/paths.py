"""Paths on the command line, apart from options that need metrics and protocols: this loads nothing."""

from __future__ import annotations

from pathlib import Path

import click

FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
