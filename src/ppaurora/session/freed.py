"""Memory that was freed goes back to the system, so that a server holds what a step needs and no more.

The C library keeps freed pieces for the next ones, and large arrays of one step seldom fit into what those of
another have left.
"""

from __future__ import annotations

import ctypes

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc; others have none


def give_back_freed_memory() -> None:
    """Where the C library can."""
    if _trim is not None:
        _trim(0)
