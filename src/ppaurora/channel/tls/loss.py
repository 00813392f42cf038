"""What an error of a connection says of the peer: it was lost, or TLS has found something wrong."""

from __future__ import annotations

import ssl

_CUT_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
LOST = "the connection was lost"


def is_lost(error: Exception) -> bool:
    """Return whether the connection ended, by whatever is on the way; TLS itself had no objection."""
    return not isinstance(error, ssl.SSLError) or isinstance(error, _CUT_OFF)
