"""Proofs of concept that leave nothing running, whatever becomes of a test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.deployment import cleaned_environment, command, nodes_in, samples

FOLDER = "ppaurora-poc"


class Place:
    """A folder to work in, and the command there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.poc = folder / FOLDER

    def __call__(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return command(*arguments, cwd=self.folder, **{"env": cleaned_environment(), **options})

    def shell(self, line: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A printed command, as it was printed."""
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.folder,
            env=env or cleaned_environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def process(self, node: str) -> int:
        return int((self.poc / "processes" / f"{node}.pid").read_text())

    def running(self) -> list[str]:
        """The command lines of its nodes, however they were started."""
        return nodes_in(self.folder)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    if place.poc.exists():
        place("poc", "clean", "--yes")
    assert place.running() == []


@pytest.fixture
def hospitals(tmp_path: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels and scores of two files with columns of their own, as a hospital might have them."""
    data = {"North Hospital.csv": samples(120, 1), "harbour.csv": samples(90, 2)}
    for name, (labels, scores) in data.items():
        rows = [
            f"{score!r},{'died' if label else 'alive'}"
            for label, score in zip(labels, scores.tolist(), strict=True)
        ]
        (tmp_path / name).write_text("\n".join(["risk at 48h,outcome", *rows]) + "\n")
    return data
