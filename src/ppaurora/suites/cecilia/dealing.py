"""The few ways in which secrets move between two proxies and a helper.

    mask        proxies get parts of a random value that the helper alone knows      no message
    zero        proxies get parts of zero that nobody else knows                     no message
    blind       proxies get a common random value unknown to the helper              no message
    deal        the helper shares a value: proxy 0's part is pseudorandom            helper -> proxy 1
    reveal      proxies learn a value of which each holds a part                     proxy 0 <-> proxy 1
    to_helper   the helper learns a value of which the proxies hold parts            proxies -> helper
    tell        the helper learns a value that the proxies know                      proxy 0 -> helper
    answer      the proxies learn a value that the helper knows                      helper -> proxies

Each is called by all three parties in the same order. Several values go in one frame.
Whatever `reveal`, `to_helper` and `answer` show must be uniform or masked, or be an opening that says
so; what is told follows from an opening.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.meter import Cost
from ppaurora.session import Context
from ppaurora.sharing.algebra import Algebra, Array, Shape
from ppaurora.suites.role import Role

Kinds = Sequence[tuple[Algebra, Shape]]
Parts = Sequence[tuple[Algebra, Array]]


class Dealing:
    """One party's end of the moves."""

    def __init__(self, context: Context, label: str) -> None:
        self.role = Role(context.role)
        self._channel = context.channel
        self._masks = {}
        if self.role is not Role.PROXY_1:
            self._deals = context.stream(
                Role.HELPER if self.role is Role.PROXY_0 else Role.PROXY_0, f"{label}/deals"
            )
        for proxy in (Role.PROXY_0, Role.PROXY_1):
            if self.role.is_helper:
                self._masks[proxy] = context.stream(proxy, f"{label}/masks")
            elif self.role is proxy:
                self._masks[proxy] = context.stream(Role.HELPER, f"{label}/masks")
        if not self.role.is_helper:
            self._zeros = context.stream(self.role.other_proxy, f"{label}/zeros")
            self.blind = context.stream(self.role.other_proxy, f"{label}/blinds")

    def mask(self, algebra: Algebra, shape: Shape) -> Array:
        """Return a proxy's part of a random value, or the value itself at the helper."""
        parts = [algebra.draw(stream, shape) for stream in self._masks.values()]
        return algebra.add(*parts) if self.role.is_helper else parts[0]

    def zero(self, algebra: Algebra, shape: Shape) -> Array:
        """Return a proxy's part of zero."""
        part = algebra.draw(self._zeros, shape)
        return part if self.role is Role.PROXY_0 else algebra.sub(np.zeros_like(part), part)

    def deal(self, kinds: Kinds, make: Callable[[], Sequence[Array]]) -> list[Array]:
        """Parts of the values that the helper makes; the helper gets its own values back.

        `make` is called at the helper only.
        """
        if self.role is Role.PROXY_1:
            return self.receive(Role.HELPER, kinds)
        pads = [algebra.draw(self._deals, shape) for algebra, shape in kinds]
        if self.role is Role.PROXY_0:
            return pads
        values = list(make())
        self.send(
            Role.PROXY_1,
            [
                (algebra, algebra.sub(v, pad))
                for (algebra, _), v, pad in zip(kinds, values, pads, strict=True)
            ],
        )
        return values

    def reveal(self, parts: Parts) -> Callable[[], list[Array]]:
        """Send our parts now; calling what is returned waits for the other's and gives the sums.

        What can be computed without the sums belongs between the two. The helper learns nothing
        and must not call.
        """
        if not self.role.is_helper:
            self.send(self.role.other_proxy, parts)

        def sums() -> list[Array]:
            theirs = self.receive(self.role.other_proxy, [(algebra, part.shape) for algebra, part in parts])
            return [algebra.add(ours, other) for (algebra, ours), other in zip(parts, theirs, strict=True)]

        return sums

    def to_helper(self, algebra: Algebra, part: Array) -> None:
        """A proxy's side of showing a value to the helper."""
        self.send(Role.HELPER, [(algebra, part)])

    def at_helper(self, algebra: Algebra, shape: Shape) -> Array:
        """Return, at the helper, the value that the proxies show it."""
        parts = [self.receive(proxy, [(algebra, shape)])[0] for proxy in (Role.PROXY_0, Role.PROXY_1)]
        return algebra.add(*parts)

    def tell(self, algebra: Algebra, value: Array) -> Array:
        """Return the proxies' value, at all three. Proxy 0 sends it and nobody but the helper waits."""
        if self.role.is_helper:
            (value,) = self.receive(Role.PROXY_0, [(algebra, value.shape)])
        elif self.role is Role.PROXY_0:
            self.send(Role.HELPER, [(algebra, value)])
        return value

    def answer(self, algebra: Algebra, shape: Shape, make: Callable[[], Array]) -> Array:
        """Return the helper's value, at all three. `make` is called at the helper only."""
        if not self.role.is_helper:
            return self.receive(Role.HELPER, [(algebra, shape)])[0]
        value = make()
        for proxy in (Role.PROXY_0, Role.PROXY_1):
            self.send(proxy, [(algebra, value)])
        return value

    def send(self, to: Role, parts: Parts) -> None:
        self._channel.send(to, *(algebra.to_wire(values) for algebra, values in parts))

    def receive(self, sender: Role, kinds: Kinds) -> list[Array]:
        lengths = [algebra.wire_bytes(math.prod(shape)) for algebra, shape in kinds]
        payload = self._channel.receive(sender, sum(lengths))
        values: list[Any] = []
        start = 0
        for (algebra, shape), length in zip(kinds, lengths, strict=True):
            values.append(algebra.from_wire(payload[start : start + length], shape))
            start += length
        return values


def message_cost(kinds: Kinds, messages: int, rounds: int = 1) -> Cost:
    """Return what it costs to send these values as one frame, `messages` times."""
    payload = sum(algebra.wire_bytes(math.prod(shape)) for algebra, shape in kinds)
    return Cost(messages, messages * (HEADER_BYTES + payload), rounds)
