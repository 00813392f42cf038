"""Input that must be refused: what a case says, and under which protocols it is tried.

`PLANTED` stands in the values that are wrong, and no message may repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from ppaurora.protocols import Fast, GridProtocol, Paper, Protocol

ALL: tuple[Protocol, ...] = (Fast(key_bits=64), GridProtocol(), Paper())
ONLY_FAST_32: tuple[Protocol, ...] = (Fast(key_bits=32),)
ONLY_PAPER: tuple[Protocol, ...] = (Paper(),)
ONLY_GRID: tuple[Protocol, ...] = (GridProtocol(),)
PLANTED_DIGITS = "7391826450917"
PLANTED = f"0.{PLANTED_DIGITS}"
GOOD_FILE = b"patient,score,label\na,0.25,0\nb,0.75,1\n"


@dataclass(frozen=True)
class BadFile:
    """A file, the arguments it is read with, and where and how it is wrong."""

    name: str
    content: bytes
    row: int | None
    column: str | None
    says: str
    options: dict[str, str] = field(default_factory=dict)
    protocols: tuple[Protocol, ...] = ALL


@dataclass(frozen=True)
class BadArrays:
    name: str
    y_true: Any
    y_score: Any
    row: int | None
    column: str | None
    says: str
    pos_label: object = None
    protocols: tuple[Protocol, ...] = ALL


Bad = TypeVar("Bad", BadFile, BadArrays)


def one_of_each_kind(cases: Sequence[Bad]) -> list[Bad]:
    """Return the first case for each kind of place and for the same protocols.

    tests/data has all cases; these are for the layers above, which hand on what is said there.
    """
    kinds = {(case.row is None, case.column, case.protocols): case for case in reversed(cases)}
    return list(reversed(kinds.values()))


def by_protocol(cases: Sequence[BadFile | BadArrays]) -> list[Any]:
    """Parameters (case, protocol): every case under every protocol that must refuse it."""
    return [
        pytest.param(case, protocol, id=f"{case.name}-{protocol.name}")
        for case in cases
        for protocol in case.protocols
    ]
