"""A look at an owner's data before it is submitted, with what the kit knows: the study, and earlier ones."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from ppaurora.check import Concern, DataCheck, DataWarning, check_data
from ppaurora.data import Columns, Dataset, Description, Samples, read_dataset
from ppaurora.data.tables import has_columns
from ppaurora.errors import InputError
from ppaurora.owner.ledger import OverlapWarning
from ppaurora.owner.outbox import Outbox
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest


@dataclass(frozen=True)
class OwnData:
    """What an owner is about to submit, and how it was read; of `Samples`, nothing is known of that."""

    samples: Samples
    description: Description | None
    columns: Columns = field(repr=False)


def read_own(kit: OwnerKit, data: Any, y_score: ArrayLike | None, columns: Columns) -> OwnData:
    """As `Study.submit` takes it. Errors name the file, or the owner whose data it is."""
    is_file = isinstance(data, str | os.PathLike)
    if y_score is not None:
        if is_file or isinstance(data, Samples | Dataset) or has_columns(data):
            raise InputError(
                "behind a table nothing is expected; name its columns with score='...' and label='...'"
            )
        data = (data, y_score)
    if isinstance(data, Samples):
        return OwnData(data, None, columns)
    if not isinstance(data, Dataset):
        data = read_dataset(data, columns, name=None if is_file else kit.name)
    return OwnData(data.samples(columns.pos_label), data.description, columns)


def look(kit: OwnerKit, manifest: Manifest, own: OwnData, overlaps: Sequence[Concern]) -> DataCheck:
    """What there is to say, also why it would be refused."""
    refusal = ""
    try:
        Outbox(kit, manifest).check(own.samples)
    except InputError as error:
        refusal = str(error)
    return check_data(
        own.samples,
        own.description,
        pos_label=own.columns.pos_label,
        owner=kit.name,
        manifest=manifest,
        overlaps=overlaps,
        refusal=refusal,
    )


def warn(check: DataCheck) -> None:
    """As Python does, where the owner's own code called. What is refused is told by an error."""
    if not check.refusal:
        for said in check.warnings:
            kind = OverlapWarning if said.code == "overlap" else DataWarning
            warnings.warn(said.text, kind, stacklevel=_levels_up() + 1)


def _levels_up() -> int:
    """How many calls lie between the one of this function and the code outside of the package."""
    frame, levels = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("ppaurora."):
        frame, levels = frame.f_back, levels + 1
    return levels
