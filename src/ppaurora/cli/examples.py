"""The common form of commands' help: sentences that are not cut, and examples below."""

from __future__ import annotations

LONGEST_SENTENCE = 200  # of a command, in a list of them


def example(*lines: str) -> str:
    """Command lines as they are typed, which click does not wrap."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])
