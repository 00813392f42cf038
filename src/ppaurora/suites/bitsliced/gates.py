"""The two gates that need a message: AND on bit planes, product in the ring.

A secret is x = m xor r, or x = m - r in the ring. Both proxies know m and hold parts of r, the
helper knows r. For z = xy, in the notation of the ring:

    1. the helper deals the parts of g = rx·ry: proxy 0's is pseudorandom, proxy 1's is sent
    2. a fresh mask rz of the output, parts pseudorandom
    3. proxy i sends t_i = [i = 1]·mx·my - mx·ry_i - my·rx_i + g_i + rz_i
    4. mz = t_0 + t_1 = xy + rz

One round. Three bits for an AND, 24 bytes for a product; and 24 bytes for a dot product of any
length, because both sides sum before they send. A gate is begun and finished in two steps, so that
many can be under way; several gates share a frame. The helper waits for nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import numpy as np

from ppaurora.session import Context
from ppaurora.sharing.algebra import RING
from ppaurora.sharing.shares import Words
from ppaurora.sharing.spans import spans
from ppaurora.suites.role import Role

T = TypeVar("T")
Operands = Sequence[tuple[Words, Words]]
Finish = Callable[[], list[Words]]
Steps = Generator[None, None, T]


class Gates:
    """One party's end. Operands and results are arrays whose first axis is the component."""

    def __init__(self, context: Context) -> None:
        self.role = Role(context.role)
        self._channel = context.channel
        peers = (Role.PROXY_0, Role.PROXY_1) if self.role.is_helper else (Role.HELPER,)
        self._masks = [context.stream(peer, "bitsliced/masks") for peer in peers]
        if self.role is not Role.PROXY_1:
            dealer_peer = Role.PROXY_0 if self.role.is_helper else Role.HELPER
            self._deals = context.stream(dealer_peer, "bitsliced/deals")

    @property
    def components(self) -> int:
        return 1 if self.role.is_helper else 2

    def fresh_mask(self, out: Words) -> None:
        """Fill `out` with a part of a new mask, or at the helper with the mask."""
        self._masks[0].fill(out)
        if self.role.is_helper:
            out ^= self._masks[1].words(out.shape)

    def fresh_ring_mask(self, out: Words) -> None:
        self._masks[0].fill(out)
        if self.role.is_helper:
            out += self._masks[1].words(out.shape)

    def deal_bits(self, shape: tuple[int, ...], make: Callable[[], Words]) -> Words:
        """Parts modulo 2 of what the helper makes; the helper gets its own value back."""
        return self._deal(shape, make, np.bitwise_xor)

    def deal_ring(self, shape: tuple[int, ...], make: Callable[[], Words]) -> Words:
        return self._deal(shape, make, np.subtract)

    def _deal(self, shape: tuple[int, ...], make: Callable[[], Words], hide: Any) -> Words:
        if self.role is Role.PROXY_1:
            return self._receive(Role.HELPER, shape)
        pad = self._deals.words(shape)
        if self.role is Role.PROXY_0:
            return pad
        value = make()
        self._send(Role.PROXY_1, hide(value, pad))
        return value

    def begin_and(self, operands: Operands) -> Finish:
        """AND of every pair; shapes behind the component axis broadcast."""
        shapes = [np.broadcast_shapes(x.shape[1:], y.shape[1:]) for x, y in operands]
        places = spans(math.prod(shape) for shape in shapes)
        total = places[-1].stop
        out = np.empty((self.components, total), dtype=np.uint64)
        self.fresh_mask(out[-1])

        def helper_products() -> Words:
            g = np.empty(total, dtype=np.uint64)
            for (x, y), shape, place in zip(operands, shapes, places, strict=True):
                np.bitwise_and(x[0], y[0], out=g[place].reshape(shape))
            return g

        g = self.deal_bits((total,), helper_products)
        if self.role.is_helper:
            return lambda: _split(out, shapes, places)
        t = g ^ out[1]
        for (x, y), shape, place in zip(operands, shapes, places, strict=True):
            part = t[place].reshape(shape)
            # [i = 1]·mx·my - mx·ry_i is mx·(my - ry_i) at proxy 1.
            term = (y[0] ^ y[1]) if self.role is Role.PROXY_1 else y[1]
            part ^= x[0] & term
            part ^= x[1] & y[0]
        self._send(self.role.other_proxy, t)

        def finish() -> list[Words]:
            np.bitwise_xor(t, self._receive(self.role.other_proxy, (total,)), out=out[0])
            return _split(out, shapes, places)

        return finish

    def begin_product(self, x: Words, y: Words, sum_last_axis: bool = False) -> Finish:
        """The product of two ring values, or their dot product along the last axis."""
        shape: tuple[int, ...] = np.broadcast_shapes(x.shape[1:], y.shape[1:])

        def collect(terms: Words) -> Words:
            return terms.sum(axis=-1, keepdims=True, dtype=np.uint64) if sum_last_axis else terms

        if sum_last_axis:
            shape = (*shape[:-1], 1)
        out = np.empty((self.components, *shape), dtype=np.uint64)
        self.fresh_ring_mask(out[-1])
        g = self.deal_ring(shape, lambda: collect(x[0] * y[0]))
        if self.role.is_helper:
            return lambda: [out]
        term = (y[0] - y[1]) if self.role is Role.PROXY_1 else np.uint64(0) - y[1]
        t = collect(x[0] * term - x[1] * y[0]) + g + out[1]
        return self._begin_masked(t, out)

    def begin_remask(self, part: Words) -> Finish:
        """From additive parts, zero at the helper, to masked form: the proxies show x + r."""
        out = np.empty((self.components, *part.shape), dtype=np.uint64)
        self.fresh_ring_mask(out[-1])
        if self.role.is_helper:
            return lambda: [out]
        return self._begin_masked(part + out[1], out)

    def _begin_masked(self, t: Words, out: Words) -> Finish:
        self._send(self.role.other_proxy, t)

        def finish() -> list[Words]:
            np.add(t, self._receive(self.role.other_proxy, t.shape), out=out[0])
            return [out]

        return finish

    def swap_masked_bits(self, part: Words) -> Words:
        """Both proxies' parts of bits under a mask, put together. Not for the helper."""
        self._send(self.role.other_proxy, part)
        combined: Words = part ^ self._receive(self.role.other_proxy, part.shape)
        return combined

    def _send(self, to: Role, words: Words) -> None:
        self._channel.send(to, RING.to_wire(words))

    def _receive(self, sender: Role, shape: tuple[int, ...]) -> Words:
        return RING.from_wire(self._channel.receive(sender, RING.wire_bytes(math.prod(shape))), shape)


def _split(out: Words, shapes: Sequence[tuple[int, ...]], places: Sequence[slice]) -> list[Words]:
    return [out[:, place].reshape(len(out), *shape) for shape, place in zip(shapes, places, strict=True)]


def run_together(steps: Sequence[Steps[T]]) -> list[T]:
    """Run computations that pause between begin and finish side by side, in the same rounds.

    While one waits for its peer's message, the next computes and sends.
    """
    results: dict[int, T] = {}
    running = dict(enumerate(steps))
    while running:
        for number, generator in list(running.items()):
            try:
                next(generator)
            except StopIteration as stop:
                results[number] = stop.value
                del running[number]
    return [results[number] for number in range(len(steps))]
