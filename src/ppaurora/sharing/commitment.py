"""Commitments: an owner's to its shares, and a server's to its part of a result.

Each server that takes submissions gets all commitments, its own share and its own salt. So the servers can
tell each other which shares they hold, and learn nothing of the others': without a salt, a server could try
all lists of a small owner against another share's digest. Likewise of a part of a result: whoever has the
other parts could try all results, of which there are few once they are rounded.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Self

SALT_BYTES = 32


def fresh_salt() -> bytes:
    return os.urandom(SALT_BYTES)


def commit(salt: bytes, share: bytes) -> str:
    return hashlib.sha256(salt + share).hexdigest()


class Salt:
    """The salt of a commitment, in hexadecimal in JSON. It does not print itself."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Salt) and other.raw == self.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return "<Salt>"

    def to_plain(self) -> str:
        return self.raw.hex()

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        if not isinstance(plain, str):
            raise ValueError("a salt is a text")  # noqa: TRY004 (models want a ValueError)
        raw = bytes.fromhex(plain)
        if len(raw) != SALT_BYTES or raw.hex() != plain:
            raise ValueError(f"a salt has {2 * SALT_BYTES} digits from 0 to 9 and a to f")
        return cls(raw)
