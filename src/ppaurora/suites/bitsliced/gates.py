"""The gates that need a message: products of bits, of ring values, and of a bit and ring values.

A secret is x = m xor r, or x = m - r in the ring. Both proxies know m and hold parts of r, the
helper knows r. For z = xy, in the notation of the ring:

    1. the helper deals the parts of g = rx·ry: proxy 0's is pseudorandom, proxy 1's is sent
    2. a fresh mask rz of the output, parts pseudorandom
    3. proxy i sends t_i = [i = 1]·mx·my - mx·ry_i - my·rx_i + g_i + rz_i
    4. mz = t_0 + t_1 = xy + rz

One round. Three bits for an AND, 24 bytes for a product; and 24 bytes for a dot product of any
length, because both sides sum before they send. In the same way any sum of products is opened at
once: every monomial of secrets is expanded into monomials of m's times monomials of r's, and the helper
deals each product of two or more r's that occurs.

A gate is begun and finished in two steps, so that many can be under way; several gates share a
frame. The helper waits for nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.channel.meter import Meter
from ppaurora.session import Context
from ppaurora.sharing.algebra import RING, XOR_WORDS, Ring
from ppaurora.sharing.shares import Elements, Words
from ppaurora.sharing.spans import spans
from ppaurora.suites.bitsliced.sums import SumsOfProducts
from ppaurora.suites.role import Role

Finish = Callable[[], list[Elements]]


class Gates:
    """One party's end of the gates. Operands and results are arrays whose first axis is the component."""

    def __init__(self, context: Context) -> None:
        self.role = Role(context.role)
        self._channel = context.channel
        peers = (Role.PROXY_0, Role.PROXY_1) if self.role.is_helper else (Role.HELPER,)
        self._masks = [context.stream(peer, "bitsliced/masks") for peer in peers]
        if self.role is not Role.PROXY_1:
            dealer_peer = Role.PROXY_0 if self.role.is_helper else Role.HELPER
            self._deals = context.stream(dealer_peer, "bitsliced/deals")
        if not self.role.is_helper:
            self._common = context.stream(self.role.other_proxy, "bitsliced/common")

    @property
    def components(self) -> int:
        return 1 if self.role.is_helper else 2

    @property
    def meter(self) -> Meter:
        return self._channel.meter

    def fresh_mask(self, out: Words) -> None:
        """Fill `out` with a part of a new mask, or at the helper with the mask."""
        self._masks[0].fill(out)
        if self.role.is_helper:
            out ^= self._masks[1].words(out.shape)

    def fresh_ring_mask(self, out: Elements, ring: Ring = RING) -> None:
        ring.fill(self._masks[0], out)
        if self.role.is_helper:
            out += ring.draw(self._masks[1], out.shape)
            ring.reduced(out)

    def fresh_secret(self, shape: tuple[int, ...]) -> Words:
        """Return uniform bits x = m xor r that nobody knows, without a message.

        1. r is a fresh mask: its parts are pseudorandom, each under a key of the helper and one proxy
        2. m is pseudorandom under a key of the two proxies

        A proxy knows m and its own part of r, the helper knows r. What is missing is uniform to each of them.
        """
        out = np.empty((self.components, *shape), dtype=np.uint64)
        self.fresh_mask(out[-1])
        if not self.role.is_helper:
            self._common.fill(out[0])
        return out

    def deal_bits(self, shape: tuple[int, ...], make: Callable[[], Words]) -> Words:
        """Parts modulo 2 of what the helper makes; the helper gets its own value back."""
        return self._deal(shape, make, XOR_WORDS)

    def deal_ring(self, shape: tuple[int, ...], make: Callable[[], Elements], ring: Ring = RING) -> Elements:
        return self._deal(shape, make, ring)

    def _deal(self, shape: tuple[int, ...], make: Callable[[], Elements], ring: Ring) -> Elements:
        if self.role is Role.PROXY_1:
            return self._receive(Role.HELPER, shape, ring)
        pad = ring.draw(self._deals, shape)
        if self.role is Role.PROXY_0:
            return pad
        value = make()
        self._send(Role.PROXY_1, ring.sub(value, pad), ring)
        return value

    def begin_and(self, x: Words, y: Words) -> Callable[[], Words]:
        """AND; shapes behind the component axis broadcast."""
        shape = np.broadcast_shapes(x.shape[1:], y.shape[1:])
        out = np.empty((self.components, *shape), dtype=np.uint64)
        self.fresh_mask(out[-1])
        g = self.deal_bits(shape, lambda: x[0] & y[0])
        if self.role.is_helper:
            return lambda: out
        t = g ^ out[1]
        # [i = 1]·mx·my - mx·ry_i is mx·(my - ry_i) at proxy 1.
        t ^= x[0] & ((y[0] ^ y[1]) if self.role is Role.PROXY_1 else y[1])
        t ^= x[1] & y[0]
        return self._begin_masked_bits(t, out)

    def begin_sums(self, groups: Sequence[SumsOfProducts]) -> Callable[[], list[list[Words]]]:
        """Begin any sums of products of bits; for every group its outputs, all in one round."""
        lanes = groups[0].inputs[0].shape[2:]
        dealt_places = spans(group.dealt for group in groups)
        shown_places = spans(group.shown for group in groups)
        out = np.empty((self.components, shown_places[-1].stop, *lanes), dtype=np.uint64)
        self.fresh_mask(out[-1])

        def helper_products() -> Words:
            g = np.empty((dealt_places[-1].stop, *lanes), dtype=np.uint64)
            for group, place in zip(groups, dealt_places, strict=True):
                group.multiply_masks(g[place])
            return g

        def outputs(whole: Words) -> list[list[Words]]:
            return [
                group.outputs_of(whole[:, place]) for group, place in zip(groups, shown_places, strict=True)
            ]

        g = self.deal_bits((dealt_places[-1].stop, *lanes), helper_products)
        if self.role.is_helper:
            return lambda: outputs(out)
        t = out[1].copy()
        for group, dealt, shown in zip(groups, dealt_places, shown_places, strict=True):
            group.add_parts(t[shown], g[dealt], unit=self.role is Role.PROXY_1)
        finish = self._begin_masked_bits(t, out)
        return lambda: outputs(finish())

    def _begin_masked_bits(self, t: Words, out: Words) -> Callable[[], Words]:
        """The end of a gate on bits: the proxies show t, whose sum is the output's m."""
        self._send(self.role.other_proxy, t)

        def finish() -> Words:
            np.bitwise_xor(t, self._receive(self.role.other_proxy, t.shape), out=out[0])
            return out

        return finish

    def begin_product(self, x: Elements, y: Elements, *, ring: Ring = RING) -> Finish:
        """Begin the product of two ring values."""
        shape: tuple[int, ...] = np.broadcast_shapes(x.shape[1:], y.shape[1:])
        out = self._masked_output(shape, ring)
        g = self.deal_ring(shape, lambda: x[0] * y[0], ring)
        if self.role.is_helper:
            return lambda: [out]
        return self._begin_masked(self._cross_terms(x, y) + g, out, ring)

    def begin_dot(self, pairs: Iterable[tuple[Words, Words]]) -> Finish:
        """Begin the sum of all products of the pairs, elements along the last axis; it is (component, 1)."""
        out = self._masked_output((1,))
        total = np.zeros(1, dtype=np.uint64)
        for x, y in pairs:
            products = x[0] * y[0] if self.role.is_helper else self._cross_terms(x, y)
            total += products.sum(dtype=np.uint64)
        g = self.deal_ring((1,), lambda: total)
        if self.role.is_helper:
            return lambda: [out]
        return self._begin_masked(total + g, out)

    def begin_sums_of_products(self, pairs: Iterable[tuple[Words, Words]]) -> Finish:
        """Begin the sum of the products of all pairs, which have one shape, element by element."""
        products = (x[0] * y[0] if self.role.is_helper else self._cross_terms(x, y) for x, y in pairs)
        total = next(products)
        for further in products:
            total += further
        g = self.deal_ring(total.shape, lambda: total)
        return self.begin_remask(g if self.role.is_helper else total + g)

    def begin_dot_squares(self, pairs: Iterable[tuple[Words, Words]]) -> Finish:
        """Begin the sum of x·y² over all pairs, elements along the last axis.

        x·y² = mx·my² - 2·mx·my·ry - rx·my² + mx·ry² + 2·my·rx·ry - rx·ry². The helper deals <ry²> and <rx·ry>
        of every element, a frame per pair, and the sum of all rx·ry² once.
        """
        total = np.zeros(1, dtype=np.uint64)
        for x, y in pairs:
            total = total + self._square_terms(x, y).sum(axis=-1, keepdims=True, dtype=np.uint64)
        out = self._masked_output(total.shape)
        g = self.deal_ring(total.shape, lambda: total)
        if self.role.is_helper:
            return lambda: [out]
        return self._begin_masked(total - g, out)

    def _square_terms(self, x: Words, y: Words) -> Words:
        """At the helper rx·ry², at a proxy its part of all other terms of x·y²."""
        squares, products = self.deal_ring((2, *x.shape[1:]), lambda: np.stack([y[0] * y[0], x[0] * y[0]]))
        if self.role.is_helper:
            last: Words = x[0] * squares
            return last
        (mx, rx), (my, ry) = x, y
        terms: Words = mx * squares + my * (mx * (self.role.unit * my - 2 * ry) - rx * my + 2 * products)
        return terms

    def _cross_terms(self, x: Elements, y: Elements) -> Elements:
        """[i = 1]·mx·my - mx·ry_i - my·rx_i."""
        term = (y[0] - y[1]) if self.role is Role.PROXY_1 else -y[1]
        terms: Elements = x[0] * term - x[1] * y[0]
        return terms

    def bit_parts(self, bits: NDArray[Any], ring: Ring = RING) -> Elements:
        """Convert masked bits, as numbers 0 and 1, to additive parts in the ring; at the helper it is r.

        1. the helper deals <r> in the ring
        2. b = m xor r = m + (1 - 2m)<r>
        """
        bits = bits.astype(ring.dtype, copy=False)
        r = self.deal_ring(bits.shape[1:], lambda: bits[0], ring)
        if self.role.is_helper:
            return r
        part: Elements = self.role.unit * bits[0] + (1 - bits[0] - bits[0]) * r
        return part

    def begin_bit_product(
        self,
        bits: NDArray[Any],
        values: Elements,
        *,
        ring: Ring = RING,
        sum_first_axis: bool = False,
        parts: Elements | None = None,
    ) -> Finish:
        """b·x for bits, as numbers 0 and 1, and ring values; or the sum of all b·x along the first axis.

        With b = m xor r = m + (1 - 2m)r and x = mx - rx, b·x = b·mx - m·rx - (1 - 2m)·r·rx. The helper deals
        <r·rx>, and what <b> needs unless its parts are there already.
        """
        shape: tuple[int, ...] = np.broadcast_shapes(bits.shape[1:], values.shape[1:])
        out = self._masked_output(shape[1:] if sum_first_axis else shape, ring)
        parts = self.bit_parts(bits, ring) if parts is None else parts
        bits = bits.astype(ring.dtype, copy=False)
        r_times_mask = self.deal_ring(shape, lambda: bits[0] * values[0], ring)
        if self.role.is_helper:
            return lambda: [out]
        m, (mx, rx) = bits[0], values
        t = parts * mx - m * rx - (1 - m - m) * r_times_mask
        if sum_first_axis:
            t = t.sum(axis=0, dtype=ring.dtype)
        return self._begin_masked(t, out, ring)

    def begin_remask(self, part: Elements, *, ring: Ring = RING) -> Finish:
        """Convert additive parts, zero at the helper, to masked form: the proxies show x + r."""
        out = self._masked_output(part.shape, ring)
        if self.role.is_helper:
            return lambda: [out]
        return self._begin_masked(part, out, ring)

    def _masked_output(self, shape: tuple[int, ...], ring: Ring = RING) -> Elements:
        """Return a fresh mask, and at a proxy room for m."""
        out = np.empty((self.components, *shape), dtype=ring.dtype)
        self.fresh_ring_mask(out[-1], ring)
        return out

    def _begin_masked(self, part: Elements, out: Elements, ring: Ring = RING) -> Finish:
        """The end of a gate in the ring: the proxies show their parts under the mask in `out`."""
        t = ring.reduced(part + out[1])
        self._send(self.role.other_proxy, t, ring)

        def finish() -> list[Elements]:
            np.add(t, self._receive(self.role.other_proxy, t.shape, ring), out=out[0])
            ring.reduced(out[0])
            return [out]

        return finish

    def begin_input(self, share: Words | None, out: Words) -> Callable[[], Words]:
        """Bits that the proxies hold parts of, under the mask in `out`; the helper has no part."""
        if share is None:
            return lambda: out
        return self._begin_masked_bits(share ^ out[1], out)

    def _send(self, to: Role, values: Elements, ring: Ring = RING) -> None:
        self._channel.send(to, ring.to_wire(values))

    def _receive(self, sender: Role, shape: tuple[int, ...], ring: Ring = RING) -> Elements:
        return ring.from_wire(self._channel.receive(sender, ring.wire_bytes(math.prod(shape))), shape)
