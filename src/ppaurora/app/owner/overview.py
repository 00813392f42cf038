"""The list of an owner's studies: of each, how it stands, what is to be done next and by whom, until when.

The list is there before what asks the nodes is loaded; it then says that they are being asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ppaurora.app.owner.kits import KitStudy
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.pack import MOST_BYTES

STUDIES = "owner/studies.html"  # its template


@dataclass(frozen=True)
class Standing:
    """Where a study is, whose turn it is, and what this owner may do now. Kinds are those of a notice."""

    title: str
    text: str
    kind: str = "plain"
    turn: str = ""  # who has to do something, in words; nobody, if empty
    step: str = ""  # what they have to do
    can_choose: bool = False  # a file
    can_withdraw: bool = False
    can_collect: bool = False
    takes_data: bool = False  # so that its deadline matters
    can_tell: bool = False  # the servers again that this owner has agreed to an amendment

    @property
    def is_own_turn(self) -> bool:
        return self.turn == YOU


YOU = "you"
ASKING = Standing("Contacting the servers", "One moment.")


@dataclass(frozen=True)
class StudyRow:
    """A study in the list."""

    name: str
    description: str
    details: str
    standing: Standing
    deadline: str  # for submissions, as long as that matters; empty if it does not

    @property
    def path(self) -> str:
        return f"/studies/{self.name}"

    @classmethod
    def of(cls, study: KitStudy, standing: Standing = ASKING) -> StudyRow:
        manifest = study.manifest
        return cls(
            manifest.study,
            manifest.evaluation.description or "The plan does not say what this study evaluates.",
            f"{len(manifest.owners)} owners; {', '.join(metric.title for metric in manifest.terms.metrics)}",
            standing,
            deadline_of(manifest, standing),
        )


def listing(kit: OwnerKit, rows: Sequence[StudyRow]) -> dict[str, Any]:
    """Return what the page prints; without a script, it is loaded again."""
    return {"kit": kit, "rows": rows, "most_bytes": MOST_BYTES, "reload": True}


def deadline_of(manifest: Manifest, standing: Standing) -> str:
    """Return until when data can be submitted, as long as that matters."""
    if not (standing.takes_data or standing is ASKING):
        return ""
    until = manifest.evaluation.submissions_until
    return (
        "none; data can be submitted until all owners have submitted theirs"
        if until is None
        else until.described
    )
