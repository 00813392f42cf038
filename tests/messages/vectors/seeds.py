"""What test vectors use where the real thing is drawn at random. None of it is a secret of anybody."""

from __future__ import annotations

import hashlib
from pathlib import Path

# Made once by `Authority.make`; its key was thrown away.
AUTHORITY = (Path(__file__).parent / "authority.pem").read_text()


def seed(label: str, count: int = 32) -> bytes:
    """Bytes that nobody chose: digests of the label."""
    blocks = (
        hashlib.sha256(f"ppaurora test vector, {label}, {number}".encode()).digest()
        for number in range(-(-count // 32))
    )
    return b"".join(blocks)[:count]
