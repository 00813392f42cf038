"""What each primitive costs all parties together: messages, bytes, rounds. A test holds the meter to it.

Per element, without headers and padding: MUL 40 bytes in 1 round; a comparison 131 bytes in 3
rounds; a compare-exchange of two records 139 bytes in 3 rounds; a comparison that is opened 123 bytes
in 3 rounds; a division (bits + 1) times 155 bytes and 3 rounds.
"""

from __future__ import annotations

from ppaurora.channel.meter import Cost
from ppaurora.sharing.algebra import BITS, RING, XOR_WORDS, Shape
from ppaurora.suites.cecilia.compare import message_shape, thresholds_shape
from ppaurora.suites.cecilia.dealing import Kinds, message_cost
from ppaurora.suites.cecilia.residues import RESIDUES


def mul(x: Shape, y: Shape, product: Shape) -> Cost:
    """Two proxies reveal both operands masked; the helper deals the masks' product, ahead of them."""
    return message_cost([(RING, x), (RING, y)], 2) + message_cost([(RING, product)], 1, rounds=0)


def to_ring(count: int) -> Cost:
    return message_cost([(BITS, (count,))], 2) + message_cost([(RING, (count,))], 1, rounds=0)


def _private_compare(revealed: Kinds, count: int) -> Cost:
    """Reveal, ask the helper: one round each. The thresholds are dealt ahead."""
    return (
        message_cost(revealed, 2)
        + message_cost([(RESIDUES, thresholds_shape(count))], 1, rounds=0)
        + message_cost([(RESIDUES, message_shape(count))], 2)
    )


def _masked_sign(revealed: Kinds, dealt: Kinds, count: int) -> Cost:
    """A private compare, and the helper deals its answer."""
    return _private_compare(revealed, count) + message_cost(dealt, 1)


def compare(count: int) -> Cost:
    """Also MSB and modulus conversion."""
    ring = (RING, (count,))
    return _masked_sign([ring], [ring], count)


def exchange(count: int) -> Cost:
    ring, bits = (RING, (count,)), (BITS, (count,))
    return _masked_sign([ring, bits], [ring, ring, bits], count)


def div(count: int, bits: int) -> Cost:
    ring = (RING, (count,))
    return _masked_sign([ring, ring], [ring, ring], count) * (bits + 1)


def differ(count: int) -> Cost:
    """Algorithm 3 with as many dummies, zero and not, as differences."""
    listed = 2 * count
    return message_cost([(XOR_WORDS, (listed,))], 2) + message_cost([(RING, (listed,))], 1)


def open_comparison(count: int) -> Cost:
    """A private compare, and the helper tells both proxies its answer."""
    return _private_compare([(RING, (count,))], count) + message_cost([(BITS, (count,))], 2)


def tell_helper(count: int) -> Cost:
    """From one proxy. The helper waits a round for it, and so does what it deals next."""
    return message_cost([(RING, (count,))], 1)
