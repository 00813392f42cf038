"""A row of the table, the folder in which it is tried, and steps that fill the folder."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.deployment import samples
from tests.support.trials import Trials


@dataclass(frozen=True)
class Place:
    """The folder of one row, where all its paths begin."""

    folder: Path
    patch: pytest.MonkeyPatch
    until_the_end: contextlib.ExitStack
    find_nodes: Callable[[], Trials]

    @property
    def nodes(self) -> Trials:
        """Running; the first row that needs them starts them."""
        return self.find_nodes()


Step = Callable[[Place], object]


@dataclass(frozen=True)
class Row:
    """What somebody has, what they try, and what they are told.

    `tried` is a command line without its first word, or a call in Python. `says` is what stands on standard
    error, without the preview that `submit`, `provision` and `accept` show before; or an exception's text.
    PORT stands for a port, HASH for a hash of 64 digits, TIME for a time, and HERE for the folder.
    """

    name: str
    given: tuple[Step, ...]
    tried: str | Callable[[Place], Any]
    says: str
    code: int = 2
    goes_on: bool = False  # when it is tried again: what was sent until now stays


def table(seed: int, rows: int = 60) -> bytes:
    """A file in order."""
    labels, scores = samples(rows, seed)
    lines = [f"{score!r},{int(label)}" for label, score in zip(labels, scores.tolist(), strict=True)]
    return "\n".join(["score,label", *lines, ""]).encode()


GOOD, OTHER = table(1301), table(1302)


def file(name: str, content: bytes | str) -> Step:
    def write(place: Place) -> None:
        path = place.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return write


data = file("data.csv", GOOD)


def kit(name: str, *studies: str) -> Step:
    """A copy of a participant's kit, from before it has done anything, with these studies only."""

    def copy(place: Place) -> None:
        ignored = shutil.ignore_patterns("data", "outbox", "inbox", "results", "ledger.json")
        shutil.copytree(place.nodes.kit(name), place.folder / "kit", ignore=ignored)
        for path in (place.folder / "kit/studies").glob("*.json"):
            if path.stem not in studies:
                path.unlink()

    return copy


def changed(name: str, old: str, new: str) -> Step:
    """One text in a file for another."""

    def change(place: Place) -> None:
        path = place.folder / name
        text = path.read_text()
        assert old in text, (name, old)
        path.write_text(text.replace(old, new, 1))

    return change


def without(name: str) -> Step:
    return lambda place: (place.folder / name).unlink()


def study(name: str, **options: Any) -> Step:
    """Accepted by all nodes, with the owners north and harbour."""

    def make(place: Place) -> None:
        if not (place.nodes.folder / name).exists():  # another row has made it
            place.nodes.study(name, **options)

    return make
