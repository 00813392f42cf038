"""What a copy of a proxy gives away, as of a machine that was restored with its memory during an attempt.

It draws the same masks again. That nothing follows from that takes a peer who answers it as before.
"""

from __future__ import annotations

import numpy as np

from ppaurora.suites.role import Role
from tests.support.gates import Words, run_gate

MASKS = [np.array([number], dtype=np.uint64) for number in (11, 12, 13, 14, 15, 16, 17)]
X_0, X_1, Y_0, Y_1, OUT_0, OUT_1, PAD = MASKS
X, Y = (np.array([number], dtype=np.uint64) for number in (1_000, 2_000))


def shown(answer: Words) -> Words:
    """What proxy 0 says in a product of X and Y, if proxy 1 has told it X under its mask with this added."""
    m = X + X_0 + X_1 + answer
    x = {Role.PROXY_0: [m, X_0], Role.PROXY_1: [m, X_1], Role.HELPER: [X_0 + X_1]}
    shown_y = Y + Y_0 + Y_1
    y = {Role.PROXY_0: [shown_y, Y_0], Role.PROXY_1: [shown_y, Y_1], Role.HELPER: [Y_0 + Y_1]}
    _, seen = run_gate(
        lambda gates: gates.begin_product(np.stack(x[gates.role]), np.stack(y[gates.role])),
        masks=([OUT_0], [OUT_1]),
        pads=[PAD],
    )
    return seen[Role.PROXY_0, Role.PROXY_1][0]


def test_a_copy_that_is_answered_as_before_says_the_same() -> None:
    assert shown(np.array([0], dtype=np.uint64)) == shown(np.array([0], dtype=np.uint64))


def test_a_copy_that_is_answered_otherwise_tells_a_secret() -> None:
    """Proxy 1 knows Y under its mask and its own part of that mask; the other part it learns like this."""
    nothing, one = (np.array([number], dtype=np.uint64) for number in (0, 1))
    learnt = shown(nothing) - shown(one)
    assert learnt == Y_0
    assert (Y + Y_0 + Y_1) - Y_1 - learnt == Y
