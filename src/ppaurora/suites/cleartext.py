"""The functionalities in the clear: one holder, no cryptography. The oracle of every algorithm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ppaurora.sharing.shares import BitShare, Holder, RingShare
from ppaurora.sharing.stages import AdditiveShare, ResultShare
from ppaurora.suites.arrays import ArrayRecords, ArraySuite


class CleartextSuite(ArraySuite):
    holder = Holder.CLEARTEXT

    def __init__(self) -> None:
        self.openings: Counter[str] = Counter()

    def inputs(self, shares: Sequence[AdditiveShare], sizes: Sequence[int]) -> list[ArrayRecords]:
        return [ArrayRecords(self._share(one.keys), BitShare(self.holder, one.labels)) for one in shares]

    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        return (ResultShare(x.values),) * recipients

    def _share(self, values: NDArray[np.uint64]) -> RingShare:
        return RingShare(self.holder, values)

    def mul(self, x: RingShare, y: RingShare) -> RingShare:
        return self._share(x.values * y.values)

    def compare(self, x: RingShare, y: RingShare) -> RingShare:
        difference = (x.values - y.values).view(np.int64)
        return self._share((difference >= 0).astype(np.uint64))

    def differ(self, x: RingShare, y: RingShare) -> RingShare:
        return self._share((x.values != y.values).astype(np.uint64))

    def exchange(self, left: ArrayRecords, right: ArrayRecords) -> tuple[ArrayRecords, ArrayRecords]:
        swap = self.compare(left.keys, right.keys).values == 0
        keys, labels = (left.keys.values, right.keys.values), (left.labels.values, right.labels.values)
        high, low = (
            ArrayRecords(
                self._share(np.where(swap, keys[1 - side], keys[side])),
                BitShare(self.holder, np.where(swap, labels[1 - side], labels[side])),
            )
            for side in (0, 1)
        )
        return high, low

    def is_positive(self, x: RingShare) -> RingShare:
        return self._share((x.values.view(np.int64) > 0).astype(np.uint64))

    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        pairs = zip(numerator.values.tolist(), denominator.values.tolist(), strict=True)
        quotients = [(n << bits) // d if d else (2 << bits) - 1 for n, d in pairs]
        return self._share(np.array(quotients, dtype=np.uint64))

    def lift(self, flags: RingShare | BitShare) -> RingShare:
        return self._share(flags.values.astype(np.uint64))

    def open_comparison(self, x: RingShare, y: RingShare, name: str) -> NDArray[np.bool_]:
        self.openings[name] += len(x)
        at_least: NDArray[np.bool_] = self.compare(x, y).values == 1
        return at_least

    def tell_helper(self, numbers: Sequence[int], most: Sequence[int]) -> list[int]:
        return list(numbers)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        yield

    def progress(self, step: str, done: int, total: int) -> None:
        pass
