"""An owner's commitment to its two shares.

Each proxy gets both commitments, its own share and its own salt. So the proxies can tell each other
which shares they hold, and learn nothing of the other's: without a salt, a proxy could try all lists
of a small owner against the other share's digest.
"""

from __future__ import annotations

import hashlib
import os

SALT_BYTES = 32


def fresh_salt() -> bytes:
    return os.urandom(SALT_BYTES)


def commit(salt: bytes, share: bytes) -> str:
    return hashlib.sha256(salt + share).hexdigest()
