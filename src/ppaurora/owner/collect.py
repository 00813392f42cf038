"""The end: an owner adds the two proxies' result shares."""

from __future__ import annotations

from collections.abc import Sequence

from ppaurora.algorithms.curves import QUOTIENT_BITS
from ppaurora.errors import ProtocolError, UndefinedResultError
from ppaurora.sharing.stages import ResultShare


def combine(shares: Sequence[ResultShare], metrics: Sequence[str]) -> dict[str, float]:
    """The metrics by name. Only an owner may do this."""
    from_proxy_0, from_proxy_1 = shares
    defined, *quotients = (from_proxy_0.words + from_proxy_1.words).tolist()
    if (
        len(quotients) != len(metrics)
        or defined > 1
        or any(quotient >> (QUOTIENT_BITS + 1) for quotient in quotients)
    ):
        raise ProtocolError("the two result shares do not belong together; run the evaluation again")
    if not defined:
        raise UndefinedResultError("undefined: one class only")
    return {name: quotient / (1 << QUOTIENT_BITS) for name, quotient in zip(metrics, quotients, strict=True)}
