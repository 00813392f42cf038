"""Sums of products of secret bits, opened once: a gate of any degree.

Every secret is x = m xor r. A product of secrets expands into

    x·y·z = sum over all subsets S of {x, y, z} of (product of m's outside S)·(product of r's in S)

Both proxies know the m's. Of a single r each holds its part; the products of two or more r's are dealt by the
helper, each once, in however many sums it occurs; the empty product, 1, is proxy 1's. So a proxy's part of
a sum is local, and one bit per output is shown, under a fresh mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from ppaurora.sharing.shares import Words
from ppaurora.sharing.spans import spans

Monomial = tuple[int, ...]  # inputs, by number
Output = tuple[tuple[Monomial, ...], int]  # monomials, and how many planes are wanted


class SumsOfProducts:
    """Outputs that are sums of products of inputs, plane by plane.

    Inputs are arrays of (component, plane, lane words). An output is given by its monomials and by how many
    planes, from the first on, are wanted of it. Public inputs, of which both proxies know the value, have no
    mask: nothing is dealt for them. A monomial has an input at least that is not public.
    """

    def __init__(
        self, inputs: Sequence[Words], outputs: tuple[Output, ...], public: range = range(0)
    ) -> None:
        self.inputs = inputs
        self._outputs = outputs
        self._public = public
        self._products = _products(outputs, public)

    @property
    def dealt(self) -> int:
        """Planes that the helper deals."""
        return sum(planes for _, planes in self._products.values())

    @property
    def shown(self) -> int:
        """Planes that each proxy shows."""
        return sum(planes for _, planes in self._outputs)

    def multiply_masks(self, out: Words) -> None:
        """At the helper: each product from a shorter one and one more mask."""
        for product, (start, planes) in self._products.items():
            *shorter, last = product
            if len(shorter) == 1:
                left = self.inputs[shorter[0]][0]
            else:
                left = out[self._products[tuple(shorter)][0] :]
            np.bitwise_and(left[:planes], self.inputs[last][0][:planes], out=out[start : start + planes])

    def add_parts(self, t: Words, dealt: Words, *, unit: bool) -> None:
        """At a proxy: add its part of every output to t."""
        start = 0
        for monomials, planes in self._outputs:
            target = t[start : start + planes]
            for monomial in monomials:
                secret = tuple(one for one in monomial if one not in self._public)
                product = self._expand(secret, (), planes, dealt, unit=unit)
                for one in monomial:
                    if one in self._public:
                        product = product & self.inputs[one][0][:planes]
                target ^= product
            start += planes

    def _expand(self, rest: Monomial, masks: Monomial, planes: int, dealt: Words, *, unit: bool) -> Words:
        """Return the sum over subsets of `rest`, each with the masks that were chosen before."""
        if not rest:
            if len(masks) == 1:
                own: Words = self.inputs[masks[0]][1][:planes]
                return own
            start, _ = self._products[masks]
            return dealt[start : start + planes]
        first, *others = rest
        m = self.inputs[first][0][:planes]
        with_mask = self._expand(tuple(others), (*masks, first), planes, dealt, unit=unit)
        if not others and not masks:
            return m ^ with_mask if unit else with_mask
        part: Words = m & self._expand(tuple(others), masks, planes, dealt, unit=unit)
        part ^= with_mask
        return part

    def outputs_of(self, whole: Words) -> list[Words]:
        """Return the outputs one by one, from all planes that were shown."""
        return [whole[:, place] for place in spans(planes for _, planes in self._outputs)]


@lru_cache(maxsize=1024)
def _products(outputs: tuple[Output, ...], public: range) -> Mapping[Monomial, tuple[int, int]]:
    """Products of masks that are dealt: from which plane of what is dealt, and how many planes."""
    planes: dict[Monomial, int] = {}
    for monomials, wanted in outputs:
        for monomial in monomials:
            masked = [one for one in monomial if one not in public]
            for size in range(2, len(masked) + 1):
                for product in combinations(masked, size):
                    planes[product] = max(planes.get(product, 0), wanted)
    places, start = {}, 0
    for product in sorted(planes, key=lambda product: (len(product), product)):
        places[product] = start, planes[product]
        start += planes[product]
    return places
