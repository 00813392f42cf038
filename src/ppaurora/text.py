"""Words of other machines, as people may see them."""

from __future__ import annotations

_LONGEST = 500


def printable(text: object) -> str:
    """Without control of the terminal, and no longer than anybody reads."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(text)[:_LONGEST])
