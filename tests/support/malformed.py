"""Malformed documents and messages: a good one, spoilt in one place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

DEEP = 10_000
_HOLE = "@hole@"
# As JSON; what does not fit a type, or a number that is too large for somebody.
_INSTEAD = (
    "null",
    "true",
    '""',
    '"text"',
    '"\\ud800"',
    '"\\u0000\\u001b[2J"',
    "-1",
    "0",
    "1.5",
    "1000000000",
    "1" + "0" * 30,
    "-1" + "0" * 30,
    "1" + "0" * 5000,
    "1e308",
    "1e400",
    "NaN",
    "[]",
    "{}",
    "[null]",
    '{"x":{}}',
    "[" * DEEP + "]" * DEEP,
    '{"x":' * DEEP + "1" + "}" * DEEP,
)


def malformed(good: Any) -> Iterator[bytes]:
    """As JSON: with one value exchanged, missing or one too many, cut off, or encoded wrongly."""
    whole = json.dumps(good)
    for holed in _holed(good):
        text = json.dumps(holed)
        for instead in _INSTEAD:
            yield text.replace(f'"{_HOLE}"', instead).encode()
    for short in _shortened(good):
        yield json.dumps(short).encode()
    yield from (whole[: len(whole) // 2].encode(), whole.encode() + b"{}", b"", b"\0")
    yield from (whole.encode("utf-16"), b"\xef\xbb\xbf" + whole.encode(), b"\xff" + whole.encode())
    yield whole.replace("0", "\xff").encode("latin-1")


def _holed(good: Any) -> Iterator[Any]:
    """With a hole in the place of every value, one at a time."""
    yield _HOLE
    if isinstance(good, dict):
        for name, value in good.items():
            for holed in _holed(value):
                yield {**good, name: holed}
        yield {**good, "surplus": _HOLE}
    elif isinstance(good, list) and good:
        for holed in _holed(good[0]):
            yield [holed, *good[1:]]


def _shortened(good: Any) -> Iterator[Any]:
    """Without one entry, wherever it is."""
    if isinstance(good, dict):
        for name, value in good.items():
            yield {other: kept for other, kept in good.items() if other != name}
            for short in _shortened(value):
                yield {**good, name: short}
    elif isinstance(good, list) and good:
        yield good[1:]
        for short in _shortened(good[0]):
            yield [short, *good[1:]]
