"""Memory that was freed goes back to the system, so that a server holds what a step needs and no more.

The C library keeps freed pieces for the next ones, and large arrays of one step seldom fit into what those of
another have left.
"""

from __future__ import annotations

import ctypes
import sys

_LARGE_BYTES = 4 << 20  # parts of lists; what a round of gates works with is smaller, and used again
_KEPT_BYTES = 64 << 20  # of what rounds work with, from one to the next
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as mallopt(3) has them
_library = None if sys.platform == "win32" else ctypes.CDLL(None)
_trim = getattr(_library, "malloc_trim", None)  # of glibc; others have none
_set_option = getattr(_library, "mallopt", None)


def give_back_freed_memory() -> None:
    """Give memory back that was freed, where the C library can."""
    if _trim is not None:
        _trim(0)


def keep_large_arrays_apart() -> None:
    """Give each large array pages of its own from now on, which go back when it is freed.

    By itself the C library would soon take arrays of up to 32 MiB from among the small ones. What rounds work
    with it keeps for the next round: pages that are new each time took a fifth of all CPU seconds.
    """
    if _trim is not None and _set_option is not None:
        _set_option(_MMAP_THRESHOLD, _LARGE_BYTES)
        _set_option(_TRIM_THRESHOLD, _KEPT_BYTES)
