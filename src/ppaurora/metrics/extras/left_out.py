"""How many rows owners left out before they submitted the rest, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ppaurora.data.further import LEFT_OUT_REASONS, MOST_LEFT_OUT, Further
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError
from ppaurora.metrics.extras.base import Extra, Statement, StudySecrets
from ppaurora.metrics.outputs import Form, Output, Ratio
from ppaurora.metrics.private.mechanism import Coordinate, Ingredients, Mechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.sums import OwnerSum
from ppaurora.sharing.shares import RingShare, concat
from ppaurora.suites.base import Suite

_MOST_OF_ALL = MOST_LEFT_OUT << 8  # of up to 256 owners


@dataclass(frozen=True)
class LeftOutCounts(Statement):
    """How many rows an owner left out, by reason."""

    words = len(LEFT_OUT_REASONS)

    def of(self, samples: Samples) -> Sequence[int]:
        counts = (samples.further or Further()).left_out.counts
        if not all(0 <= count <= MOST_LEFT_OUT for count in counts):
            raise InputError(f"{samples.source}: rows left out are numbers from 0 to {MOST_LEFT_OUT:,}")
        return counts

    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        """Numbers are not negative, and not too large."""
        return [number for row in words.rows() for number in (row + 1, MOST_LEFT_OUT - row + 1)]


@dataclass(frozen=True)
class LeftOutRows(Extra):
    """Over all owners, how many rows were left out for each reason."""

    def statements(self, query: Query) -> tuple[Statement, ...]:
        return (LeftOutCounts(),)

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return tuple(Output(reason, form=Form.COUNT, highest=_MOST_OF_ALL) for reason in LEFT_OUT_REASONS)

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        rows = study.words[LeftOutCounts()].rows()
        wide = study.widen([row.sum() for row in rows])
        return [Ratio(number, behind=(row,)) for number, row in zip(wide, rows, strict=True)]


@dataclass(frozen=True)
class LeftOutSum(OwnerSum):
    """How many rows an owner left out for a reason, as a mechanism takes it."""

    reason: str

    def of_each(self, samples: Samples) -> Any:
        """Rows that were left out are not among the samples."""
        return np.zeros(len(samples), dtype=np.bool_)


@dataclass(frozen=True)
class LeftOutMechanism(Mechanism):
    """The numbers of rows left out, with noise.

    **Sensitivity 2.** The numbers of rows that are evaluated are public, so a person who is left out is
    replaced by one who is left out as well, perhaps for another reason: two numbers move by 1.
    """

    name = "left_out"

    def __or__(self, other: LeftOutMechanism) -> LeftOutMechanism:
        return self

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(2)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(map(Coordinate, LEFT_OUT_REASONS))

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        return tuple(map(LeftOutSum, LEFT_OUT_REASONS))

    def integers(self, suite: Suite, given: Ingredients) -> RingShare:
        return concat([given.totals[total] for total in self.sums])
