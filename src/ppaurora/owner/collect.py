"""The end: an owner adds the two proxies' result shares."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.sharing.stages import ResultShare

_MOST_BITS = 200


def combine(
    shares: Sequence[ResultShare], metrics: Sequence[str], checked: Sequence[str] = ()
) -> dict[str, float]:
    """The metrics by name. Only an owner may do this.

    `checked` names the owners whose lists were checked for order, in the order of the study. Servers
    must not be told how this ends: one that spoiled its share could learn from it.
    """
    if [share.words.shape for share in shares] != [(2, 1 + len(metrics) + len(checked))] * 2:
        raise ProtocolError("each proxy must give one share of every flag and of every metric asked for")
    from_proxy_0, from_proxy_1 = shares
    mantissas, exponents = (from_proxy_0.words + from_proxy_1.words).tolist()
    values_end = 1 + len(metrics)
    in_order = mantissas[values_end:]
    are_flags = all(flag <= 1 for flag in in_order) and not any(exponents[values_end:])
    defined = mantissas[0]
    # No metric is above one; without both classes, or with an unsorted list, all are zero.
    released = zip(mantissas[:values_end], exponents[:values_end], strict=True)
    fits = all(e <= _MOST_BITS and m <= defined << e for m, e in released)
    if defined > 1 or not are_flags or not fits:
        raise ProtocolError("the two result shares do not belong together")
    for name, flag in zip(checked, in_order, strict=True):
        if not flag:
            raise UnsortedListError(f"{name}: the list that was sent is not sorted; there is no result")
    if not defined:
        raise UndefinedResultError("undefined: one class only")
    values = [math.ldexp(m, -e) for m, e in zip(mantissas, exponents, strict=True)]
    return dict(zip(metrics, values[1:values_end], strict=True))
