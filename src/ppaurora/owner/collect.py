"""The end: an owner adds the two proxies' result shares."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ppaurora.errors import ProtocolError, UndefinedResultError
from ppaurora.sharing.stages import ResultShare

_MOST_BITS = 200


def combine(shares: Sequence[ResultShare], metrics: Sequence[str]) -> dict[str, float]:
    """The metrics by name. Only an owner may do this."""
    if [share.words.shape for share in shares] != [(2, 1 + len(metrics))] * 2:
        raise ProtocolError("each proxy must give one share of the flag and of every metric asked for")
    from_proxy_0, from_proxy_1 = shares
    mantissas, exponents = (from_proxy_0.words + from_proxy_1.words).tolist()
    defined = mantissas[0]
    # No metric is above one; without both classes all is zero.
    fits = all(e <= _MOST_BITS and m <= defined << e for m, e in zip(mantissas, exponents, strict=True))
    if defined > 1 or not fits:
        raise ProtocolError("the two result shares do not belong together; run the evaluation again")
    if not defined:
        raise UndefinedResultError("undefined: one class only")
    values = [math.ldexp(m, -e) for m, e in zip(mantissas, exponents, strict=True)]
    return dict(zip(metrics, values[1:], strict=True))
