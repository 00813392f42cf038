"""An owner's data, read and looked at, with what the kit knows; nothing of it is kept or sent yet."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from ppaurora.check import DataCheck, DataWarning
from ppaurora.data import (
    Columns,
    CountedDataset,
    CountTable,
    Dataset,
    Description,
    Design,
    Grid,
    Samples,
    read_dataset,
)
from ppaurora.data.owners import check_further, check_table
from ppaurora.data.tables import has_columns
from ppaurora.errors import InputError
from ppaurora.owner.ledger import OverlapWarning, Seen
from ppaurora.owner.outbox import OutboxState
from ppaurora.policy.rules import Floors

Scores = ArrayLike | Mapping[str, ArrayLike]
"""An array of scores, or in a study that names models, one for each."""

_READ = Samples | CountTable | Dataset | CountedDataset


@dataclass(frozen=True)
class OwnData:
    """Data that an owner is about to submit, and how it was read, unless it came as `Samples`."""

    samples: Samples | CountTable
    description: Description | None
    columns: Columns = field(repr=False)
    moved: int | None = field(default=None, repr=False)  # scores that were read as another number, if counted

    @classmethod
    def read(
        cls,
        owner: str,
        data: Any,
        y_score: Scores | None,
        columns: Columns,
        grid: Grid | None,
        design: Design | None = None,
    ) -> OwnData:
        """Read what `Study.submit` takes. Errors name the file, or the owner whose data it is.

        With a grid, a source of many rows is counted on it; of a design that names columns, rows are kept.
        """
        is_file, is_read = isinstance(data, str | os.PathLike), isinstance(data, _READ)
        if y_score is not None:
            if is_file or is_read or has_columns(data):
                raise InputError(
                    "behind a table nothing is expected; name its columns with score='...' and label='...'"
                )
            data = (data, y_score)
        if isinstance(data, Samples | CountTable):
            if isinstance(data, CountTable):
                check_table(data, columns, design)
            check_further(data, design)
            return cls(data, None, columns)
        if not is_read:
            data = read_dataset(data, columns, design=design, name=None if is_file else owner, grid=grid)
        moved = data.moved if isinstance(data, CountedDataset) else None
        samples = data.samples(columns.pos_label)
        check_further(samples, design)
        return cls(samples, data.description, columns, moved)

    def fixed(self) -> OwnData:
        """Return the same with samples that nobody can change."""
        return replace(self, samples=self.samples.fixed())


@dataclass(frozen=True)
class PreparedSubmission:
    """A submission that `Study.prepare` returns and `Study.send` sends: exactly this, or nothing.

    It is for one study, one owner and what the kit has sent so far. If something else was submitted from the
    kit meanwhile, or withdrawn, it is refused, and has to be prepared again.

    Attributes
    ----------
    check
        What to look at before it is sent, with what was submitted to other studies, and what all of them
        spend on this data.
    replace
        Whether it takes the place of something else that was submitted before.
    is_begun
        Whether the same data has left this kit before: sending it goes on where that was cut off.

    Examples
    --------
    >>> import ppaurora
    >>> study = ppaurora.Study("kits/north", "corrected-2026")
    >>> prepared = study.prepare(([1, 0, 0], [0.75, 0.25, 0.45]))
    >>> prepared.is_begun, prepared.check.samples
    (False, 3)
    """

    check: DataCheck
    replace: bool
    is_begun: bool
    samples: Samples | CountTable = field(repr=False)
    floors: Floors = field(repr=False)
    seen: Seen = field(repr=False)  # what the kit knows of earlier studies on this data; the check says it
    refusal: InputError | None = field(repr=False)  # why the study does not take it, if it does not
    before: OutboxState = field(repr=False)  # what the kit had sent when this was prepared

    def warn(self) -> None:
        """Warn of what the check warns of, where the owner's own code called; an error tells a refusal."""
        if not self.is_begun and not self.check.refusal:
            for said in self.check.warnings:
                kind = OverlapWarning if said.code == "overlap" else DataWarning
                warnings.warn(said.text, kind, stacklevel=_levels_up() + 1)


def _levels_up() -> int:
    """Return how many calls lie between that of this function and the code outside of the package."""
    frame, levels = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ppaurora."):
        frame, levels = frame.f_back, levels + 1
    return levels
