"""The functionalities: what an algorithm may ask of the three parties, whatever realises it.

The paper proves its algorithms in the (F_MUL, F_MUX, F_CMP, F_DIV)-hybrid model; any secure
realisation of these serves. An algorithm sees this interface and the share types, nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.sharing.shares import HalfWords, Holder, Public, RingShare, WideShare, Words, concat, stack
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.team import Part, Team

# A scheme's own types, opaque to algorithms: additive shares, say, or bit planes.
Keys = TypeVar("Keys", bound="Secrets")  # what records are sorted by
Flags = TypeVar("Flags", bound="Secrets")  # bits, and labels
Marks = TypeVar("Marks", bound=Part)  # flags one by one, as they are carried along a curve

FIXED_POINT_BITS = 50
SIGNIFICAND_BITS = 53  # of a float64
WIDE_BOUND = 1 << 230  # of wide denominators
GRID_BOUND = 1 << 254  # of what is compared on a grid


class Secrets(Protocol):
    """A list of secrets of any kind, which can be measured and sliced."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int | slice) -> Self: ...


class Records(Protocol):
    """A list of samples: keys to sort by, and labels that travel with them."""

    @property
    def keys(self) -> Any: ...

    @property
    def labels(self) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int | slice) -> Self: ...

    @classmethod
    def concat(cls, parts: Sequence[Any]) -> Self: ...

    def wires(self, other: Any, least_half: int = 1) -> Wires:
        """Next to each other, the second list from a wire on that is a multiple of `least_half`."""

    def deal(self, ways: int) -> list[Self]:
        """List k has the records k, k + ways, k + 2·ways, ...; `ways` is a power of two."""

    @classmethod
    def interleave(cls, parts: list[Any]) -> Self:
        """Return what was dealt in one list again. Takes the parts: the list is empty afterwards."""

    def to_arrays(self) -> list[NDArray[Any]]: ...

    def like(self, arrays: Sequence[NDArray[Any]], size: int) -> Self:
        """Another list of the same kind and holder."""


class Wires(Protocol):
    """Two sorted lists laid next to each other for a merge network; see `algorithms.merge_network`."""

    def strides(self) -> Iterator[int]:
        """The layers that have comparators, first to last."""

    def merged(self) -> Records:
        """Return the merged list in the end; the wires are of no further use."""


R = TypeVar("R", bound=Records)
N = TypeVar("N", RingShare, WideShare)  # numbers of one ring or the other


def concat_records(parts: Sequence[R]) -> R:
    """Return the records of all lists, one list after the other."""
    return type(parts[0]).concat(parts)


def side_by_side(groups: Sequence[Sequence[int]], count: int) -> NDArray[np.intp]:
    """Groups of positions as columns; position 0 fills them up, and the `count` positions follow it."""
    if any(not 0 <= position < count for group in groups for position in group):
        raise MisuseError(f"a group has a position that is not one of {count}")
    columns = [[1 + position for position in group] for group in groups]
    longest = max(map(len, columns))
    return np.array([column + [0] * (longest - len(column)) for column in columns], dtype=np.intp).T


class SuiteOf(ABC, Generic[Keys, Flags, Marks]):
    """One party's end of the functionalities, or that of one of its workers, with a scheme's own types.

    Records, wires and owners' shares have types that depend on these, which Python cannot say: they are Any.
    """

    holder: Holder  # of the numbers that it computes on
    additive: Holder  # of parts whose sum is the secret, as owners share their sums
    team = Team()

    @staticmethod
    @abstractmethod
    def reconstruct(parts: Sequence[Any]) -> NDArray[Any]:
        """Return the secret behind all servers' parts. No server has these together: it is for tests."""

    @abstractmethod
    def inputs(self, shares: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
        """Owners' lists, of these sizes, as records; a server that takes no submissions has no shares."""

    @abstractmethod
    def input_words(self, parts: Sequence[Words], shape: tuple[int, int]) -> RingShare:
        """Return what owners shared modulo 2^64, as rows: of (owners, words), one column per owner."""

    def input_counts(self, parts: Sequence[HalfWords], shape: tuple[int, int]) -> RingShare:
        """Return what owners shared modulo 2^32, as numbers from 0 to 2^32 - 1: one row per owner.

        `shape` is (owners, counts); a server that takes no submissions has no parts.
        """
        raise MisuseError(f"{type(self).__name__} has no counts modulo 2^32")

    def count_positives(self, lists: Sequence[Records]) -> RingShare:
        """Per list, how many labels are 1."""
        return concat([self.count_ones(records.labels, [slice(0, len(records))]) for records in lists])

    @abstractmethod
    def result(self, x: RingShare, recipients: int) -> tuple[ResultShare, ...]:
        """This server's part of a result for every recipient, each made fresh; none if it gets no part.

        So what one recipient gets from one server does not fit what another gets from the other.
        """

    @abstractmethod
    def mul(self, x: N, y: N) -> N:
        """x·y, elementwise; shapes broadcast, and an operand that broadcasts is masked only once."""

    def begin_mul(self, x: N, y: N) -> Callable[[], N]:
        """Begun now, finished when it is called, so that several products share a round."""
        product = self.mul(x, y)
        return lambda: product

    def begin_dot(self, pairs: Iterable[tuple[RingShare, RingShare]]) -> Callable[[], RingShare]:
        """Begin the sum of x·y over all elements of all pairs, as a list of one; a call finishes it."""
        total = sum((self.mul(x, y).sum() for x, y in pairs), self.constant(0))
        return lambda: total

    def begin_sums_of_products(self, pairs: Iterable[tuple[RingShare, RingShare]]) -> Callable[[], RingShare]:
        """The sum of x·y over the pairs, element by element; all pairs, of which there is one at least,
        broadcast to one shape. Finished when it is called.
        """
        first, *further = (self.mul(x, y) for x, y in pairs)
        total = sum(further, first)
        return lambda: total

    def dot(self, x: RingShare, y: RingShare) -> RingShare:
        return self.begin_dot([(x, y)])()

    def begin_dot_squares(self, pairs: Iterable[tuple[RingShare, RingShare]]) -> Callable[[], RingShare]:
        """Begin the sum of x·y² over all elements of all pairs, as a list of one; a call finishes it."""
        total = sum((self.mul(x, self.mul(y, y)).sum() for x, y in pairs), self.constant(0))
        return lambda: total

    def mux(self, x: RingShare, y: RingShare, select: RingShare) -> RingShare:
        """x - b(x - y): select = 1 chooses y."""
        return x - self.mul(select, x - y)

    @abstractmethod
    def compare(self, x: Keys, y: Keys) -> Flags:
        """1 where x >= y, else 0."""

    @abstractmethod
    def differ(self, x: Keys, y: Keys) -> Flags:
        """1 where x != y, else 0."""

    @abstractmethod
    def compare_neighbours(self, lists: Sequence[Keys]) -> Flags:
        """Return 1 where, in its list, a key is not smaller than the next one; list after list."""

    @abstractmethod
    def ends_of_groups(self, keys: Keys) -> Flags:
        """1 where a key differs from the next one, and at the last."""

    @abstractmethod
    def exchange(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Per pair, the record with the larger key to the left. Records of equal keys may trade places."""

    @abstractmethod
    def exchange_layer(self, layer: Sequence[tuple[Any, int]]) -> None:
        """Exchange where wires meet at a stride, in place, for several merges in the same rounds."""

    @abstractmethod
    def flags_from_start(self, flags: Flags) -> Marks:
        """Return the flags one by one, after a first one that is set."""

    @abstractmethod
    def carry(self, flags: Marks, values: RingShare, source: slice, target: slice, *, join: bool) -> None:
        """Values go from source to target positions where the target has no flag; in place, for all rows.

        No position is both. With `join`, a target then has a flag if it or its source had.
        """

    @abstractmethod
    def count_ones(self, flags: Flags, places: Sequence[slice]) -> RingShare:
        """Return how many flags are 1 in every stretch; one follows the other, from the first flag on."""

    @abstractmethod
    def to_ring(self, flags: Flags, into: RingShare | None = None) -> RingShare:
        """Return the same bits as elements of the ring, written to `into` if that is given."""

    @abstractmethod
    def is_positive(self, x: RingShare) -> RingShare:
        """1 where x > 0, else 0, for |x| < 2^62."""

    def all_positive(self, x: RingShare, groups: Sequence[Sequence[int]]) -> RingShare:
        """Return, for every group of positions, 1 if x > 0 at all of them, else 0, for |x| < 2^62.

        A position may be in several groups; a group without any gives 1.
        """
        if not any(groups):
            return self.constant(1, len(groups))
        flags = concat([self.constant(1), self.is_positive(x)])
        rows = [flags.take(positions) for positions in side_by_side(groups, len(x))]
        while len(rows) > 1:
            half = len(rows) // 2
            products = self.mul(stack(rows[:half]), stack(rows[half : 2 * half])).rows()
            rows = products + rows[2 * half :]
        return rows[0]

    @abstractmethod
    def div(self, numerator: RingShare, denominator: RingShare, bits: int, bound: int) -> RingShare:
        """floor(2^bits·n / d) for 0 <= n <= d <= bound < 2^61; all ones where d = 0."""

    @abstractmethod
    def div_public(
        self, x: RingShare, divisors: range, bits: int, into: RingShare | None = None
    ) -> RingShare:
        """2^bits·x / divisor, at most one off, for public divisors and 0 <= x <= divisor."""

    @abstractmethod
    def shift_right(self, x: RingShare, bits: int) -> RingShare:
        """floor(x / 2^bits) for 0 <= x < 2^63, of few elements."""

    def rounded_quotients(
        self,
        numerator: RingShare,
        denominator: RingShare,
        shifts: Sequence[int],
        bound: int,
        leading_zeros: int,
    ) -> RingShare:
        """Rows (mantissa, exponent) of n / (d·2^shift) = mantissa / 2^exponent.

        For 0 <= n <= d·2^shift < 2^62 and d <= bound. By default a fixed point, rounded down. A suite
        may give the nearest float64 of quotients that have at most `leading_zeros` zeros in front.
        """
        scales = np.array([1 << shift for shift in shifts], dtype=np.uint64)
        most = bound << max(shifts)
        quotient = self.div(numerator, denominator * scales, FIXED_POINT_BITS, most)
        return stack([quotient, self.constant(FIXED_POINT_BITS, len(quotient))])

    def widen(self, x: RingShare) -> WideShare:
        """Return the same numbers modulo 2^256, for 0 <= x < 2^64."""
        raise self._no_wide_integers()

    def absolute(self, x: WideShare) -> tuple[RingShare, WideShare]:
        """1 where x < 0, else 0; and |x|. In two's complement, for |x| < 2^254."""
        raise self._no_wide_integers()

    def grid_steps(
        self, reach: WideShare, slope: WideShare, curvature: WideShare, most: int, bound: int = GRID_BOUND
    ) -> RingShare:
        """Return the largest k in 1..most with k·slope + k²·curvature <= reach, elementwise; 0 if none.

        So numbers are rounded, half away from zero: round(n/d) is the k of reach = 2·n + d, slope = 2·d and
        curvature = 0; round(sqrt(n/d)) is that of reach = 4·n - d, slope = -4·d and curvature = 4·d. What
        is larger becomes `most`.

        k·slope + k²·curvature must not decrease from any k in 1..most to the next. It and reach must be
        between -bound and bound; a smaller bound is cheaper. Where slope and curvature are zero, some k
        comes out.
        """
        raise self._no_wide_integers()

    def wide_quotients(
        self,
        numerator: WideShare,
        denominator: WideShare,
        leading_zeros: int,
        significant_bits: int = SIGNIFICAND_BITS,
        bound: int = WIDE_BOUND,
    ) -> RingShare:
        """Rows (mantissa, exponent) of n/d = mantissa / 2^exponent, for 0 <= n <= d < bound <= 2^230.

        Rounded to so many bits, half up; by default to the nearest float64. A quotient with more
        than `leading_zeros` zeros in front loses as many bits.
        """
        raise self._no_wide_integers()

    def random_bits(self, thresholds: Words) -> Flags:
        """Return independent bits that nobody knows; bit i is 1 with probability thresholds[i] / 2^64."""
        raise MisuseError(f"{type(self).__name__} draws no secrets")

    def _no_wide_integers(self) -> MisuseError:
        return MisuseError(f"{type(self).__name__} has no wide integers")

    def open_comparison(self, x: Keys, y: Keys, name: str) -> NDArray[np.bool_]:
        """OPENING. The proxies learn where x >= y. The helper learns nothing; it gets False throughout.

        Counted under `name`, which docs/leakage.md explains. Only a suite that says so opens anything.
        """
        raise MisuseError(f"{type(self).__name__} opens nothing")

    def tell_helper(self, numbers: Sequence[int], most: Sequence[int]) -> list[int]:
        """Tell the helper numbers that follow from an opening, each at most as large as `most` says.

        What the helper itself passes is ignored; all parties get the proxies' numbers.
        """
        raise MisuseError(f"{type(self).__name__} opens nothing")

    @abstractmethod
    def constant(self, value: Public, length: int = 1) -> RingShare:
        """Return a public value, or array of values, as a share."""

    @abstractmethod
    def blank(self, rows: int, length: int) -> RingShare:
        """Rows of zeros, to be written to."""

    @abstractmethod
    def no_records(self) -> Records:
        """Return an empty list of records."""

    @abstractmethod
    def step(self, name: str) -> AbstractContextManager[None]:
        """Attribute the cost of what happens inside to `name`."""

    @abstractmethod
    def progress(self, step: str, done: int, total: int) -> None:
        """How much of a step is done, and how much it is. Depends on public sizes alone.

        The session makes it a part of the whole run's work before it tells whoever watches.
        """


Suite = SuiteOf[Any, Any, Any]
"""Any scheme's suite, as algorithms see it."""
