"""A result on its way out: parts made fresh for every recipient."""

from __future__ import annotations

from ppaurora.session import Context
from ppaurora.sharing.shares import Words
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.role import Role


def fresh_parts(context: Context, part: Words, recipients: int) -> tuple[ResultShare, ...]:
    """Return a proxy's additive part of the same result for every recipient, by common randomness."""
    role = Role(context.role)
    pads = context.stream(role.other_proxy, "release")
    drawn = [pads.words(part.shape) for _ in range(recipients)]
    return tuple(ResultShare(part + pad if role is Role.PROXY_0 else part - pad) for pad in drawn)
