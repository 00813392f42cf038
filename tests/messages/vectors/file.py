"""What a file of test vectors is: vectors that are computed from seeds, and bad ones that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppaurora import errors, messages

FOLDER = Path(__file__).resolve().parents[3] / "test_vectors"

Entry = dict[str, Any]


@dataclass(frozen=True)
class Bad:
    """What must be refused, why in words, with which error, and a word that this error says.

    The word is checked when vectors are made, so that nothing is refused for another reason than the one
    that is claimed. It is not written to the file: how an error is worded is nobody else's concern.
    """

    why: str
    error: type[Exception]
    says: str
    content: Entry


@dataclass(frozen=True)
class VectorFile:
    """`make` and `spoil` compute from seeds; `check` and `take` work on what is written in the file."""

    name: str
    what: str
    make: Callable[[], list[Entry]]
    spoil: Callable[[], list[Bad]]
    check: Callable[[Entry], None]  # decodes and encodes; fails if either gives something else
    take: Callable[[Entry], object]  # raises for what must be refused

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def content(self) -> Entry:
        return {
            "what": " ".join(self.what.split()),
            "version": messages.VERSION,
            "vectors": self.make(),
            "refused": [self._refused(bad) for bad in self.spoil()],
        }

    def text(self) -> str:
        return _laid_out(self.content()) + "\n"

    def recorded(self) -> Entry:
        content: Entry = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    def _refused(self, bad: Bad) -> Entry:
        entry = {"why": bad.why, "error": bad.error.__name__, **bad.content}
        try:
            self.take(entry)
        except bad.error as error:
            if bad.says not in str(error):
                raise AssertionError(
                    f"{self.name}, {bad.why}: refused for another reason: {error}"
                ) from error
            return entry
        raise AssertionError(f"{self.name}, {bad.why}: was not refused")


def error_named(name: str) -> type[Exception]:
    """An error of ours, or ValueError, which is what the codec raises."""
    kind: type[Exception] = getattr(errors, name, ValueError)
    if kind.__name__ != name:
        raise LookupError(f"there is no error {name}")
    return kind


def _laid_out(content: Any, depth: int = 3, indent: str = "") -> str:
    """JSON with a line for every field of an entry, so that changes can be read."""
    inner = indent + " "
    if depth and isinstance(content, dict):
        fields = [
            f"{inner}{json.dumps(key)}: {_laid_out(value, depth - 1, inner)}"
            for key, value in content.items()
        ]
        return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
    if depth and isinstance(content, list) and content:
        items = [f"{inner}{_laid_out(value, depth - 1, inner)}" for value in content]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    return json.dumps(content, ensure_ascii=False)
