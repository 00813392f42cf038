"""Texts that people see: words of other machines, and those of plans and manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

_LONGEST = 500
# A name that the domain name system may have, or an address of either family; as a pattern.
HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)"


def printable(text: object) -> str:
    """Return a text without control of the terminal, and no longer than anybody reads."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(text)[:_LONGEST])


def listed(words: Sequence[str], last: str = " and ") -> str:
    """Return words as a list within a sentence."""
    return last.join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class CheckedText(str):
    """A text that a model takes only if it is in order."""

    __slots__ = ()

    def to_plain(self) -> str:
        return str(self)

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        if not isinstance(plain, str):
            raise ValueError("is not a text")  # noqa: TRY004 (models want a ValueError)
        cls.check(plain)
        return cls(plain)

    @classmethod
    def check(cls, text: str) -> None:
        """Raise ValueError, which says what is wrong, unless the text is as it should be."""


class Line(CheckedText):
    """Shown to people, so without control of their terminals, and on one line."""

    __slots__ = ()
    longest: ClassVar[int] = 200

    @classmethod
    def check(cls, text: str) -> None:
        if len(text) > cls.longest or printable(text) != text:
            raise ValueError(f"expected one line of at most {cls.longest} printable letters")


class LongLine(Line):
    """Likewise, for a sentence or two."""

    __slots__ = ()
    longest: ClassVar[int] = _LONGEST
