"""Protocols' names and parameters as types, for editors and type checkers.

The registry decides which names there are; a test compares.
"""

from __future__ import annotations

from typing import Literal, TypedDict

ProtocolName = Literal["fast", "paper"]
"""How it is computed: "fast", the default, or "paper", as in the paper."""


class ProtocolParameters(TypedDict, total=False):
    """Those of all protocols, as `evaluate` takes them."""

    key_bits: Literal[32, 64] | None
    delta: int
