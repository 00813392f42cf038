"""What an extra is: numbers that several slices, or what owners state beside them, give together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppaurora.data.layout import Block, Layout
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.errors import MisuseError
from ppaurora.metrics.evidence import EvaluatedPart, Evidence
from ppaurora.metrics.outputs import Output, Ratio
from ppaurora.metrics.query import Query
from ppaurora.sharing.shares import RingShare, WideShare, concat
from ppaurora.suites.base import Suite


class Statement(ABC):
    """Whole numbers below 2^63 that every owner states beside its list or table. Public but for the numbers;
    two that are equal are made once."""

    words: int  # how many numbers

    @abstractmethod
    def of(self, samples: Samples) -> Sequence[int]:
        """Return one owner's numbers."""

    @abstractmethod
    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        """Return numbers by owner that are above 0 if the statement is one that an owner can make.

        `words` has a row for every number, and a column for every owner.
        """


@dataclass(frozen=True)
class StudySecrets:
    """All that there is in secret of a study with a design, once its slices are evaluated."""

    suite: Suite
    layout: Layout
    negated: bool
    parts: Mapping[Slice, EvaluatedPart] = field(repr=False)
    counts: RingShare | None = field(repr=False)  # a row for every owner
    words: Mapping[Statement, RingShare] = field(repr=False)

    def by_owner(self, block: Block) -> RingShare:
        """Return the counts of a block, a row for every owner."""
        if self.counts is None:
            raise MisuseError("no counts were submitted")
        return self.counts[self.layout.places[block]]

    def pooled(self, block: Block) -> RingShare:
        """Return the counts of a block over all owners."""
        rows = self.by_owner(block).rows()
        return sum(rows[1:], rows[0])

    def block(self, kind: type[Block], **fields: object) -> Block:
        """Return the block of a kind that has these fields."""
        return next(
            block
            for block in self.layout.blocks
            if isinstance(block, kind)
            and all(getattr(block, name) == value for name, value in fields.items())
        )

    def evidence(self, slice_: Slice) -> Evidence:
        """Return the secrets of a slice in wide integers."""
        found = self.parts[slice_].evidence
        if found is None:
            raise MisuseError("nothing of this slice was widened")
        return found

    def eligible(self, slice_: Slice, query: Query) -> RingShare:
        """Return 1 for every owner that meets the floors on both classes by itself, else 0."""
        counts, policy = self.parts[slice_].inputs.list_counts, query.policy
        floors = ((counts.positives, policy.minimum_positives), (counts.negatives, policy.minimum_negatives))
        holds = self.suite.is_positive(concat([by_owner - (least - 1) for by_owner, least in floors]))
        owners = len(holds) // 2
        return self.suite.mul(holds[:owners], holds[owners:])

    def widen(self, words: Sequence[RingShare]) -> list[WideShare]:
        """Return numbers below 2^64, each a list of one, as wide integers."""
        wide = self.suite.widen(concat(words))
        return [wide[place] for place in range(len(wide))]


class Extra(ABC):
    """Some numbers that are released beside those of slices. Public in all its parts."""

    def statements(self, query: Query) -> tuple[Statement, ...]:
        """Return what owners state for it."""
        return ()

    @abstractmethod
    def outputs(self, query: Query) -> tuple[Output, ...]:
        """Return the numbers that are released."""

    @abstractmethod
    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        """Return one ratio for every output."""


@dataclass(frozen=True)
class ExtrasQuery(Query):
    """The query of all extras of one outcome."""

    extras: tuple[Extra, ...] = ()

    @property
    def is_of_extras(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All numbers of all extras, one after the other."""
        if self.policy.is_private:
            return super().outputs
        return tuple(output for extra in self.extras for output in extra.outputs(self))
