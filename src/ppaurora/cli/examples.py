"""Examples below the help of commands."""

from __future__ import annotations


def example(*lines: str) -> str:
    """Command lines as they are typed, which click does not wrap."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])
