"""Protocols' names and parameters as types, for editors and type checkers.

The registry decides which names there are; a test compares.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from ppaurora.data.grid import Grid

ProtocolName = Literal["fast", "grid", "paper"]
"""How it is computed: "fast", the default; "grid", on scores read to some decimals; or "paper"."""


class ProtocolParameters(TypedDict, total=False):
    """Those of all protocols, as `evaluate` takes them."""

    key_bits: Literal[32, 64] | None
    grid: Grid | dict[str, float] | None
    low: float
    high: float
    decimals: int
    delta: int
