"""A table of probabilities as few masses on public nodes of the logit scale, by which smooth sums are taken.

The sum over all samples of f(x, x), for x the logit of the sample's probability and any smooth f, is nearly

    sum over nodes u and v of mass(u, v)·f(u, v)

where u are multiples of 1/16, v are whole numbers, and every sample is divided between the 6·6 nodes around
it by Lagrange's weights: exact for polynomials of degree 5 in either. f must be smooth at the scale of 1/16
in its first argument and at that of 1 in its second. So the work that follows does not depend on the number
of values of the grid, and a sum is linear in the masses, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ppaurora.algorithms.elementary import Floats, log
from ppaurora.sharing.shares import RingShare

PER_UNIT = 16  # first nodes of one unit of the logit
_POINTS = 6  # nodes that a sample is divided between
_BEFORE = _POINTS // 2 - 1  # of these, before the node next below it
_LOWEST = -_BEFORE - 1  # second nodes that meet a first one, from the whole number below it on: -3 to 4
BAND = _POINTS + 2

Integers = NDArray[np.int64]


def logits(probabilities: Floats, step: float) -> Floats:
    """Return log(p / (1 - p)), where 0 and 1 are read as half a step from the end."""
    clipped = np.clip(probabilities, step / 2, 1 - step / 2)
    return log(clipped / (1 - clipped))


def lagrange_weights(position: Floats) -> Iterator[Floats]:
    """Give the weights of the 6 nodes around positions from 0 to 1 between the third one and the fourth."""
    nodes = np.arange(_POINTS) - _BEFORE
    for own in nodes:
        others = nodes[nodes != own]
        yield np.prod([(position - other) / (own - other) for other in others], axis=0)


@dataclass(frozen=True)
class LogitNodes:
    """The nodes for samples whose logits are given, in increasing order. Public."""

    x: Floats = field(repr=False)

    @cached_property
    def _below(self) -> Integers:
        """For every logit the number of the first node next below it, in sixteenths."""
        return np.floor(self.x * PER_UNIT).astype(np.int64)

    @cached_property
    def units(self) -> range:
        """The whole numbers u that have first nodes u, u + 1/16, ..., u + 15/16."""
        first, last = self._below[0] - _BEFORE, self._below[-1] + _POINTS - _BEFORE - 1
        return range(int(first // PER_UNIT), int(last // PER_UNIT) + 1)

    @cached_property
    def first(self) -> Integers:
        """First nodes, in sixteenths."""
        return np.arange(self.units[0] * PER_UNIT, (self.units[-1] + 1) * PER_UNIT, dtype=np.int64)

    @cached_property
    def second(self) -> Integers:
        """Second nodes."""
        return np.arange(self.units[0] + _LOWEST, self.units[-1] + _LOWEST + BAND, dtype=np.int64)

    def masses(self, counts: RingShare, bits: int) -> RingShare:
        """Rows of masses in units of 2^-bits: row k has those of each first node u with second node
        floor(u) - 3 + k.

        Samples are summed between neighbouring first nodes, weight by weight.
        """
        intervals, starts = np.unique(self._below, return_index=True)
        by_u = list(lagrange_weights(self.x * PER_UNIT - self._below))
        units = self._below // PER_UNIT
        by_v = list(lagrange_weights(self.x - units))
        size = len(self.first)
        total = np.zeros((*counts.values.shape[:-1], BAND * size), dtype=np.uint64)
        for i, of_u in enumerate(by_u):
            u = intervals + i - _BEFORE
            for j, of_v in enumerate(by_v):
                v = intervals // PER_UNIT + j - _BEFORE
                places = (v - u // PER_UNIT - _LOWEST) * size + u - self.first[0]
                weights = np.rint(np.ldexp(of_u * of_v, bits)).astype(np.int64)
                total[..., places] += np.add.reduceat((counts * weights).values, starts, axis=-1)
        return counts.like(total.reshape(*counts.values.shape[:-1], BAND, size))
