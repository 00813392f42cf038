"""Where measurements are kept: JSON, each run with the machine and versions it ran on.

    {"runs": [{"environment": {...}, "seed": 2023, "measurements": [{...}, ...]}, ...]}

Files in `benchmarks/results/` are committed; documents are written from them, see `documents`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.environment import environment
from ppaurora.errors import InputError
from ppaurora.io.files import replace_file

Row = dict[str, Any]


class Results:
    """A file of measurements. New ones join it one by one, so that an interrupted evening is not lost."""

    def __init__(
        self,
        path: Path,
        seed: int | None = None,
        *,
        keep_earlier: bool = True,
        kept: Callable[[Row], bool] = lambda row: True,
    ) -> None:
        """Of earlier runs, only rows that are kept stay."""
        earlier = load_runs(path) if path.exists() and keep_earlier else []
        left = [{**run, "measurements": [row for row in run["measurements"] if kept(row)]} for run in earlier]
        self._path = path
        self._earlier = [run for run in left if run["measurements"]]
        self._run: dict[str, Any] = {"environment": environment(), "seed": seed, "measurements": []}

    def rows(self) -> list[Row]:
        """Return the rows of all runs, oldest first."""
        return rows_of([*self._earlier, self._run])

    def add(self, row: Row) -> None:
        self._run["measurements"].append(row)
        save_json(self._path, {"runs": [*self._earlier, self._run]})


def load_runs(path: Path) -> list[dict[str, Any]]:
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        rows_of(runs)
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: holds no saved measurements; name another file") from None
    return list(runs)


def rows_of(runs: list[dict[str, Any]]) -> list[Row]:
    return [row for run in runs for row in run["measurements"]]


def load_rows(path: Path) -> list[Row]:
    return rows_of(load_runs(path))


def save_json(path: Path, content: Mapping[str, Any]) -> None:
    replace_file(path, json.dumps(content, indent=1).encode() + b"\n")
