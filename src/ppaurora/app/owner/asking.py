"""Asks the nodes how a study stands and, where they tell of an amendment, what it changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace

from ppaurora.app.jobs import sentence_of
from ppaurora.app.owner.poller import Seen
from ppaurora.errors import InputError, PeerError, RefusedError
from ppaurora.messages.owners import StudyStatus
from ppaurora.messages.refusals import RefusalCode
from ppaurora.owner.agreeing import amended_since
from ppaurora.owner.study import NodeStatus, Study, Unreachable
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

_SECONDS = 10.0


@dataclass
class StudyAsker:
    """Asks with a study of its own, which has less patience than work has, and follows the kit's manifest.

    What amendments change is asked for once, until a node tells something else of them.
    """

    kit: OwnerKit
    manifest: Callable[[], Manifest]  # as it counts for this owner now
    _study: Study | None = None
    _heard: Hashable = None
    _told: Seen = field(default_factory=Seen)

    def __call__(self) -> Seen:
        manifest = self.manifest()
        if self._study is None or self._study.manifest.hash != manifest.hash:
            self._study = Study(self.kit.folder, manifest.study, timeout=_SECONDS)
        answers = self._study.status()
        heard = (manifest.hash, tuple(map(_about_amendments, answers.values())))
        if heard != self._heard:
            self._told = _look(self._study, answers)
            self._heard = None if self._told.doubt else heard
        return replace(self._told, answers=answers)


def _about_amendments(answer: NodeStatus) -> Hashable:
    if isinstance(answer, StudyStatus):
        return answer.amendment, answer.to_agree
    return answer.refused


def _look(study: Study, answers: Mapping[str, NodeStatus]) -> Seen:
    is_refused = any(isinstance(answer, Unreachable) and answer.refused for answer in answers.values())
    is_amended = amended_since(study.manifest, study.kit.name, answers.values())
    if not (is_amended or is_refused):
        return Seen()
    try:
        proposal = study.proposal()
    except RefusedError as error:
        return Seen(refusal=sentence_of(error)) if error.code == RefusalCode.NOT_AN_OWNER else Seen()
    except (PeerError, InputError) as error:
        return Seen(doubt=sentence_of(error)) if is_amended else Seen()
    return Seen(proposal=proposal, is_untold=is_amended and proposal is None)
