"""An owner's own values of a study's metrics, kept in its kit to show them beside the pooled ones.

Data is not kept, so they are computed when it is submitted: the file `own/STUDY.json` of the kit, mode 0600,
from then on until they are deleted, or the submission is replaced or withdrawn. They are in no report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppaurora.check import DataCheck
from ppaurora.data import Samples
from ppaurora.evaluation.reading import read_metrics
from ppaurora.io.models import StrictModel
from ppaurora.metrics.roc import Auroc
from ppaurora.owner.outbox import OutgoingSubmission
from ppaurora.owner.prepared import PreparedSubmission
from ppaurora.owner.records import keep_record, read_record, writing
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.own import own_numbers, own_values
from ppaurora.pages.report.texts import titled
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

FOLDER = "own"


class OwnPart(StrictModel):
    """The values of one model and outcome, without names where the study has one of each."""

    model: str
    outcome: str
    metrics: dict[str, Any]

    def __repr__(self) -> str:
        return "<OwnPart>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Without this, `rich` would print the fields of any model."""
        return []


class OwnValues(StrictModel):
    """Own values of a submission, which is known by the commitments to its shares."""

    commitments: tuple[str, ...]
    samples: int
    positives: int
    parts: tuple[OwnPart, ...]

    def __repr__(self) -> str:
        return "<OwnValues>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Without this, `rich` would print the fields of any model."""
        return []

    @classmethod
    def of(cls, sent: OutgoingSubmission, prepared: PreparedSubmission, manifest: Manifest) -> OwnValues:
        """Compute them of what was sent, as the study reads it."""
        check = prepared.check
        return cls(
            commitments=tuple(str(one) for one in sent.offer.commitments),
            samples=check.samples,
            positives=check.positives,
            parts=tuple(_parts(prepared, check, manifest)),
        )


def _parts(prepared: PreparedSubmission, check: DataCheck, manifest: Manifest) -> Sequence[OwnPart]:
    """Return all metrics where rows are there; of several models, or of counts, what the check has."""
    terms, samples = manifest.terms, prepared.samples
    if check.design is not None and not terms.is_plain:
        return [
            OwnPart(
                model=one.slice.model, outcome=one.slice.outcome, metrics={Auroc.name: one.auroc.to_dict()}
            )
            for one in check.design.wholes
        ]
    if isinstance(samples, Samples):
        read = manifest.protocol.read(manifest.evaluation.read(samples))
        values = own_values(terms.metrics, read, terms.confidence_level)
        metrics = {name: value.to_dict() for name, value in values.items()}
    else:
        metrics = {Auroc.name: check.auroc.to_dict()}
    return [OwnPart(model="", outcome="", metrics=metrics)]


OwnRow = tuple[str, str, str]
"""A number of the release in words, its value, and the same of the owner's own samples."""


@dataclass(frozen=True)
class OwnView:
    """The owner's own values, as the result's page shows them."""

    single: tuple[OwnRow, ...]
    at_places: tuple[OwnRow, ...]  # at thresholds and in bins

    @classmethod
    def of(cls, values: OwnValues, facts: Facts, manifest: Manifest) -> OwnView:
        """Put them beside the released ones."""
        by_slice = {(one.model, one.outcome): (one.name, one.numbers) for one in facts.design.slices}
        counts = f"{values.samples:,}, of which {values.positives:,} positive"
        single: list[OwnRow] = [("Samples", f"{facts.samples:,}", counts)]
        at_places: list[OwnRow] = []
        for part in values.parts:
            name, numbers = by_slice.get((part.model, part.outcome), ("", facts.numbers))
            own = own_numbers(read_metrics(part.metrics), manifest.terms.metrics)
            pooled = {one.key: one.text for one in numbers}
            for one in own:
                if one.key in pooled:  # a metric that nobody asked for is not compared
                    title = f"{titled(one)}, {name}" if name else titled(one)
                    (at_places if one.at else single).append((title, pooled[one.key], one.text))
        return cls(tuple(single), tuple(at_places))


class OwnValuesFile:
    """The file `own/STUDY.json` of an owner's kit."""

    def __init__(self, kit: OwnerKit, manifest: Manifest) -> None:
        self._path: Path = kit.folder / FOLDER / f"{manifest.study}.json"

    def keep(self, values: OwnValues) -> None:
        """Durable, for its owner's eyes only, in the place of what was kept before."""
        with writing(self._path):
            self._path.parent.mkdir(exist_ok=True, mode=0o700)
        keep_record(self._path, values)

    def find(self, submission: OutgoingSubmission | None) -> OwnValues | None:
        """Return those of this submission; of another one, which it has replaced, they say nothing."""
        if submission is None or submission.withdrawal:
            return None
        found = read_record(OwnValues, self._path)
        is_same = found is not None and found.commitments == tuple(map(str, submission.offer.commitments))
        return found if is_same else None

    def delete(self) -> None:
        with writing(self._path):
            self._path.unlink(missing_ok=True)
