"""The released integers of a private study as its reader sees them: numbers of which the noise is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from ppaurora.data.grid import Grid
from ppaurora.errors import MisuseError
from ppaurora.metrics.private.mechanism import Coordinate, Mechanism, MechanismName
from ppaurora.metrics.private.sums import Moment, SumsMechanism
from ppaurora.metrics.private.table import Cell, Cut, CutKind, OffsetsIn, TableMechanism
from ppaurora.statistics.confusion import Confusion
from ppaurora.statistics.noisy import Noise
from ppaurora.statistics.noisy_numbers import NoisyNumber, added_up, given_total, independent

M = TypeVar("M", bound=Mechanism)

_OFFSET_SCALE = 4  # a quarter of the offsets is released


@dataclass(frozen=True)
class NoisyRelease:
    """What a private study has released, mechanism by mechanism."""

    samples: int
    negated: bool  # whether lower scores are the more positive ones
    mechanisms: Mapping[MechanismName, Mechanism]
    numbers: Mapping[MechanismName, Sequence[NoisyNumber]] = field(repr=False)
    grid: Grid | None = None  # on which scores were read
    rows_per_person: int = 1  # at most, where rows of one person are not independent

    @classmethod
    def of(
        cls,
        samples: int | None,
        mechanisms: Sequence[Mechanism],
        rates: Sequence[Sequence[Fraction]],
        integers: Sequence[int],
        *,
        negated: bool,
        grid: Grid | None = None,
        rows_per_person: int = 1,
    ) -> NoisyRelease:
        """Read integers that follow each other, in the order of the mechanisms.

        Where the number of samples is secret, it is what the noisy counts add up to.
        """
        numbers, rest = {}, iter(integers)
        for mechanism, own in zip(mechanisms, rates, strict=True):
            coordinates = mechanism.coordinates
            values = [next(rest) / one.steps for one in coordinates]
            noises = [_noise_of(rate, one) for rate, one in zip(own, coordinates, strict=True)]
            numbers[mechanism.name] = independent(values, noises)
            if isinstance(mechanism, TableMechanism) and samples is not None:
                numbers[mechanism.name] = _of_all(
                    mechanism, numbers[mechanism.name], samples, negated=negated
                )
        if samples is None:
            table = next(one for one in mechanisms if isinstance(one, TableMechanism))
            counts = numbers[table.name][: 2 * len(table.cells)]
            samples = max(round(added_up(counts).value), 1)
        by_name = {one.name: one for one in mechanisms}
        return cls(samples, negated, by_name, numbers, grid, rows_per_person)

    def won_and_lost(self) -> tuple[NoisyNumber, NoisyNumber]:
        """Return AUROC·M and (1 - AUROC)·M, for M the size of the smaller class."""
        difference, total = self.numbers["auroc"]
        return (total + difference) * 0.5, (total - difference) * 0.5

    def count(self, span: Cell, label: int) -> NoisyNumber:
        """Return how many samples of a class have scores in a span between two cuts."""
        cells = len(self._table.cuts) + 1
        of_class = self.numbers["table"][:cells] if label else self.numbers["table"][cells : 2 * cells]
        return added_up(of_class[self._table.within(span)])

    def confusion(self, threshold: float) -> Confusion:
        """Return the counts at a threshold."""
        cut = Cut(threshold, CutKind.THRESHOLD)
        called = Cell(None, cut) if self.negated else Cell(cut, None)
        everywhere = Cell(None, None)
        return Confusion(*(self.count(span, label) for span in (called, everywhere) for label in (1, 0)))

    def offsets(self, mean: OffsetsIn) -> NoisyNumber:
        """Return the sum over a bin of how far each sample is from its middle, in widths."""
        place = 2 * len(self._table.cells) + self._table.means.index(mean)
        return self.numbers["table"][place] * _OFFSET_SCALE

    def moment(self, moment: Moment) -> NoisyNumber:
        """Return a sum over all samples."""
        moments, numbers = self._sums.moments, self.numbers["sums"][-len(self._sums.moments) :]
        if moment not in moments and moment is Moment.ERROR:
            return numbers[moments.index(Moment.HALF_ERROR)] * 2
        return numbers[moments.index(moment)]

    def sum_of_labels(self) -> NoisyNumber:
        """Return the number of positives, as the sums tell it."""
        return self.numbers["sums"][0]

    def positives(self) -> int | None:
        """Return how many positives there are, by what tells it with the least noise, if anything does."""
        told = sorted(self.counts_of_positives(), key=lambda count: float(count.noise.variance))
        return round(min(max(told[0].value, 0.0), float(self.samples))) if told else None

    def counts_of_positives(self) -> list[NoisyNumber]:
        """Return the number of positives, as each mechanism tells it that does."""
        of_table = [self.count(Cell(None, None), 1)] if "table" in self.mechanisms else []
        of_sums = [self.sum_of_labels()] if "sums" in self.mechanisms and self._sums.in_the_large else []
        return of_table + of_sums

    @property
    def _table(self) -> TableMechanism:
        return _checked(self.mechanisms.get("table"), TableMechanism)

    @property
    def _sums(self) -> SumsMechanism:
        return _checked(self.mechanisms.get("sums"), SumsMechanism)


def _noise_of(rate: Fraction, coordinate: Coordinate) -> Noise:
    return Noise.two_sided_geometric(math.exp(-rate)).scaled(1 / coordinate.steps)


def _of_all(
    table: TableMechanism, numbers: Sequence[NoisyNumber], samples: int, *, negated: bool
) -> list[NoisyNumber]:
    """All counts add up to all samples; cells in which no score can be count nothing."""
    counts, cells = 2 * len(table.cells), table.cells * 2
    places = [place for place in range(counts) if not cells[place].is_empty(negated=negated)]
    known = [number * 0 for number in numbers[:counts]]
    for place, number in zip(places, given_total([numbers[place] for place in places], samples), strict=True):
        known[place] = number
    return [*known, *numbers[counts:]]


def _checked(found: Mechanism | None, kind: type[M]) -> M:
    if not isinstance(found, kind):
        raise MisuseError("this was not released")
    return found
