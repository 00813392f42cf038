"""Ways to spoil a JSON document in one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

Path = tuple[str | int, ...]
MISSING = object()  # in a table of faults, the value of what is left out
Fault = tuple[str, str, str, Any]  # why, what the error says, where (with dots), and the value there


def with_value(content: Any, path: Path, value: Any) -> Any:
    """Another value there, or a new one, or none if it is MISSING."""
    whole = copy.deepcopy(content)
    place = whole
    for step in path[:-1]:
        place = place[step]
    if value is MISSING:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return whole


def at(dotted: str) -> Path:
    """ "owners.0.pin" as a path."""
    return tuple(int(step) if step.isdigit() else step for step in dotted.split("."))


def spoilt(good: Any, faults: Sequence[Fault]) -> Iterator[tuple[str, str, Any]]:
    """Why, what the error says, and the content with that one fault."""
    for why, says, where, value in faults:
        yield why, says, with_value(good, at(where), value)
